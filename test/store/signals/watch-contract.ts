import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aScore, aSpan, aUnit, running, SECOND, spanIdOf, T0, traceIdOf } from './factories.ts';
import type { OpenStore } from './opening.ts';

/** What every engine promises to those who watch. `open` gives an empty store. */
export const watchContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: numbers for monitors and SLOs`, () => {
    let opened: Awaited<ReturnType<OpenStore>>;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.remove());

    const whole = { project: 'default', from: T0, to: T0 + 100n * SECOND };
    /** A run of one span. */
    const aRun = (n: number, fields: Parameters<typeof aSpan>[0] = {}) =>
      aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(n), ...fields });

    it('counts runs and failed runs of the project in the half-open window', async () => {
      await opened.store.write(
        aUnit({
          spans: [
            aRun(1, { startTime: T0 }),
            aRun(2, { startTime: T0 + 50n * SECOND, endTime: T0 + 51n * SECOND, status: 'error' }),
            aRun(3, { startTime: T0 - 1n }),
            aRun(4, { startTime: whole.to, endTime: whole.to }),
            aRun(5, { correlation: { project: 'other' }, status: 'error' }),
            running(aRun(6)),
          ],
        }),
      );
      expect(await opened.store.runTotals(whole)).toEqual({ runs: 3, failed: 1, cancelled: 0 });
    });

    it('a run whose root did not fail counts once and as good, whatever its other spans did', async () => {
      const root = aRun(1);
      await opened.store.write(
        aUnit({
          spans: [root, aSpan({ traceId: traceIdOf(1), parentSpanId: root.spanId, status: 'error' })],
        }),
      );
      expect(await opened.store.runTotals(whole)).toEqual({ runs: 1, failed: 0, cancelled: 0 });
    });

    it('counts cancelled runs apart: they are runs, and none of them failed', async () => {
      const cancelled = { attributes: { 'svc.run.status': 'cancelled' } };
      await opened.store.write(
        aUnit({
          spans: [
            aRun(1, { ...cancelled, status: 'unset' }),
            aRun(2, cancelled),
            aRun(3),
            aRun(4, { status: 'error' }),
          ],
        }),
      );
      expect(await opened.store.runTotals(whole)).toEqual({ runs: 4, failed: 1, cancelled: 2 });
    });

    it('sums money to twelve significant digits', async () => {
      const cost = (totalCost: number) => ({ cost: { totalCost, currency: 'USD', isEstimated: true } });
      await opened.store.write(aUnit({ spans: [aRun(1, cost(0.1)), aRun(2, cost(0.2))] }));
      expect((await opened.store.runTotals(whole)).totalCost).toBe(0.3);
    });

    it('sums what was priced, and has no cost where nothing was', async () => {
      const cost = (totalCost: number) => ({ totalCost, currency: 'USD', isEstimated: true });
      expect(await opened.store.runTotals(whole)).toEqual({ runs: 0, failed: 0, cancelled: 0 });
      await opened.store.write(aUnit({ spans: [aRun(1)] }));
      expect(await opened.store.runTotals(whole)).toEqual({ runs: 1, failed: 0, cancelled: 0 });
      await opened.store.write(aUnit({ spans: [aRun(2, { cost: cost(0.5) }), aRun(3, { cost: cost(0.25) })] }));
      expect(await opened.store.runTotals(whole)).toEqual({ runs: 3, failed: 0, cancelled: 0, totalCost: 0.75 });
    });

    it.each([
      [1, 0.95, 1],
      [19, 0.95, 19],
      [20, 0.95, 19],
      [21, 0.95, 20],
      [100, 0.95, 95],
      [100, 1, 100],
      [7, 0.5, 4],
    ])('of %i durations of 1 s, 2 s, … the share %f took at most the %i. of them', async (runs, share, rank) => {
      const spans = Array.from({ length: runs }, (_, n) => aRun(n + 1, { endTime: T0 + BigInt(n + 1) * SECOND }));
      await opened.store.write(aUnit({ spans: [...spans.reverse(), running(aRun(runs + 1))] }));
      expect(await opened.store.latencyPercentile(whole, share)).toEqual({ runs, durationMs: rank * 1000 });
    });

    it('has no latency while nothing has ended', async () => {
      await opened.store.write(aUnit({ spans: [running(aRun(1))] }));
      expect(await opened.store.latencyPercentile(whole, 0.95)).toEqual({ runs: 0 });
    });

    it('agrees with the summary report on the percentile', async () => {
      const spans = Array.from({ length: 60 }, (_, n) => aRun(n + 1, { endTime: T0 + BigInt((n * 37) % 61) * SECOND }));
      await opened.store.write(aUnit({ spans }));
      const { latency } = await opened.store.summaryReport({
        projects: ['default'],
        from: whole.from,
        to: whole.to,
        bookModels: [],
      });
      expect((await opened.store.latencyPercentile(whole, 0.95)).durationMs).toBe(latency?.p95);
    });

    it('gives the mean of one scorer, in all its versions, by the time of the score', async () => {
      await opened.store.write(
        aUnit({
          scores: [
            aScore({ scorerId: 'mine', scorerVersion: '1', value: 0.5 }),
            aScore({ scorerId: 'mine', scorerVersion: '2', value: 1, timestamp: whole.to - 1n }),
            aScore({ scorerId: 'mine', value: 9, timestamp: whole.to }),
            aScore({ scorerId: 'mine', value: 9, timestamp: T0 - 1n }),
            aScore({ scorerId: 'other', value: 9 }),
            aScore({ scorerId: 'mine', value: 9, correlation: { project: 'other' } }),
          ],
        }),
      );
      expect(await opened.store.scoreSample(whole, 'mine')).toEqual({ scores: 2, mean: 0.75 });
      await opened.store.write(
        aUnit({
          scores: [1e308, 1e308].map((value) => aScore({ scorerId: 'huge', value, max: Number.MAX_VALUE })),
        }),
      );
      expect(await opened.store.scoreSample(whole, 'huge')).toEqual({ scores: 2, mean: 1e308 });
      expect(await opened.store.scoreSample(whole, 'nobody')).toEqual({ scores: 0 });
      expect(await opened.store.scoreSample({ ...whole, project: 'unheard' }, 'mine')).toEqual({ scores: 0 });
    });
  });
};
