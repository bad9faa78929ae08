import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/model/span.ts';
import { aSpan, SECOND, spanIdOf, T0, traceIdOf } from './factories.ts';
import { type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of analytics. */
export const analyticsContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { holding } = storesOf(open);

    describe('analytics', () => {
      const call = (
        n: number,
        model: string,
        cost: number | undefined,
        ms: number,
        extra: Parameters<typeof aSpan>[0] = {},
      ): Span => {
        const start = T0 + BigInt(n) * SECOND;
        return aSpan({
          traceId: traceIdOf(n),
          kind: 'model_generation',
          model,
          provider: `of ${model}`,
          startTime: start,
          endTime: start + BigInt(ms) * 1_000_000n,
          usage: { inputTokens: 10, outputTokens: 1 },
          ...(cost === undefined ? {} : { cost: { totalCost: cost, currency: 'USD', isEstimated: true } }),
          ...extra,
        });
      };
      const window = { projects: ['default'], from: T0, to: T0 + 100n * SECOND } as const;
      const seeded = () =>
        holding({
          spans: [
            call(1, 'a', 0.5, 100, { correlation: { userId: 'u' } }),
            call(2, 'a', 0.25, 300, { status: 'error', error: { message: 'x' } }),
            call(3, 'b', 1, 50),
            call(4, 'unpriced', undefined, 10),
            call(200, 'a', 9, 1),
          ],
        });
      it('costs by model count priced model calls, the largest first; an unpriced model is excluded', async () => {
        const store = await seeded();
        expect(await store.costReport({ ...window, groupBy: 'model' })).toEqual({
          currency: 'USD',
          totalCost: 1.75,
          groups: [
            {
              key: 'b',
              count: 1,
              errorCount: 0,
              totalCost: 1,
              inputTokens: 10,
              outputTokens: 1,
              latency: { mean: 50, max: 50 },
            },
            {
              key: 'a',
              count: 2,
              errorCount: 1,
              totalCost: 0.75,
              inputTokens: 20,
              outputTokens: 2,
              latency: { mean: 200, max: 300 },
            },
          ],
        });
      });
      it('costs by any other field count runs; a run without a value has no key, a group without a cost no total', async () => {
        const store = await seeded();
        const { groups } = await store.costReport({ ...window, groupBy: 'user_id' });
        expect(groups.map(({ key, count, totalCost }) => ({ key, count, totalCost }))).toEqual([
          { key: undefined, count: 3, totalCost: 1.25 },
          { key: 'u', count: 1, totalCost: 0.5 },
        ]);
        const byStatus = await store.costReport({ ...window, groupBy: 'status' });
        expect(byStatus.groups.map(({ key, count }) => [key, count])).toEqual([
          ['ok', 3],
          ['error', 1],
        ]);
      });
      it('every grouping answers', async () => {
        const store = await seeded();
        for (const groupBy of [
          'model',
          'provider',
          'entity_name',
          'environment',
          'status',
          'session_id',
          'user_id',
          'service_name',
          'name',
        ] as const) {
          const isOfCalls = ['model', 'provider', 'entity_name'].includes(groupBy);
          const { groups } = await store.costReport({ ...window, groupBy });
          expect([groupBy, groups.reduce((sum, { count }) => sum + count, 0)]).toEqual([groupBy, isOfCalls ? 3 : 4]);
          const summary = await store.summaryReport({ ...window, groupBy });
          expect(summary.traceCount).toBe(4);
        }
      });
      it('a series has one point a bucket and group, at multiples of its width', async () => {
        const store = await seeded();
        const { series } = await store.costReport({ ...window, groupBy: 'model', bucketSeconds: 30 });
        const total = (series ?? []).reduce((sum, { totalCost }) => sum + (totalCost ?? 0), 0);
        expect(total).toBe(1.75);
        expect((series ?? []).every(({ time }) => time % (30n * SECOND) === 0n)).toBe(true);
      });
      it('at most 100 groups', async () => {
        const store = await holding({
          spans: Array.from({ length: 120 }, (_, i) => call(i % 90, `m${i}`, i, 1, { spanId: spanIdOf(i + 1) })),
        });
        const { groups, totalCost } = await store.costReport({ ...window, groupBy: 'model' });
        expect(groups).toHaveLength(100);
        expect(groups[0]?.key).toBe('m119');
        expect(totalCost).toBe((119 * 120) / 2);
      });
      it('an empty window has no currency and no total', async () => {
        const store = await seeded();
        const nothing = { projects: 'all', from: T0 - SECOND, to: T0 } as const;
        expect(await store.costReport({ ...nothing, groupBy: 'model' })).toEqual({ groups: [] });
        expect(await store.summaryReport(nothing)).toEqual({
          traceCount: 0,
          errorCount: 0,
          inputTokens: 0,
          outputTokens: 0,
          groups: [],
        });
      });
      it('a summary has nearest-rank percentiles of the durations of runs', async () => {
        const store = await holding({ spans: Array.from({ length: 100 }, (_, i) => call(i % 100, 'a', 0.01, i + 1)) });
        const { latency, traceCount } = await store.summaryReport(window);
        expect(traceCount).toBe(100);
        expect(latency).toEqual({ mean: 50.5, max: 100, p50: 50, p90: 90, p95: 95, p99: 99 });
      });
      it('a summary by model counts each trace under every model it used', async () => {
        const store = await holding({ spans: [call(1, 'a', 1, 10), call(1, 'b', 1, 10), call(2, 'b', 1, 10)] });
        const { groups, traceCount } = await store.summaryReport({ ...window, groupBy: 'model' });
        expect(traceCount).toBe(2);
        expect(groups.map(({ key, traceCount }) => [key, traceCount])).toEqual([
          ['b', 2],
          ['a', 1],
        ]);
      });
    });
  });
};
