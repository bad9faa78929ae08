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
      const withoutUsage = (span: Span): Span => {
        const { usage: _, ...rest } = span;
        return rest;
      };
      const window = { projects: ['default'], from: T0, to: T0 + 100n * SECOND, bookModels: ['a', 'b'] } as const;
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
      // Both sides of the number of groups that the embedded store adds up one by one.
      it.each([1, 8, 9, 12])(
        '%i models have figures of their own, each with calls that failed and calls that ended before they began',
        async (count) => {
          const models = Array.from({ length: count }, (_, n) => `m${String(n).padStart(2, '0')}`);
          const store = await holding({
            spans: models.flatMap((model, n) => [
              call(1 + n, model, 2 ** -n, 100 + n),
              call(40 + n, model, 2 ** -(n + 1), -50, { status: 'error', error: { message: 'x' } }),
            ]),
          });
          expect((await store.costReport({ ...window, groupBy: 'model' })).groups).toEqual(
            models.map((key, n) => ({
              key,
              count: 2,
              errorCount: 1,
              totalCost: 2 ** -n + 2 ** -(n + 1),
              inputTokens: 20,
              outputTokens: 2,
              latency: { mean: (100 + n) / 2, max: 100 + n },
            })),
          );
        },
      );
      it('a series of very many values has the points of those that the report shows, and of what has none', async () => {
        const spansOf = (n: number, userId: string | undefined): Span[] =>
          [0, 1, 7].map((second) =>
            call(1_000 * n + second, 'a', n, 5, {
              startTime: T0 + BigInt(second) * SECOND,
              correlation: userId === undefined ? {} : { userId },
            }),
          );
        const store = await holding({
          spans: [
            ...Array.from({ length: 450 }, (_, n) => spansOf(n + 1, `user ${n + 1}`)).flat(),
            ...spansOf(500, undefined),
          ],
        });
        const { groups, series, totalCost } = await store.costReport({
          ...window,
          groupBy: 'user_id',
          bucketSeconds: 5,
        });
        expect(totalCost).toBe(3 * (500 + (450 * 451) / 2));
        expect(groups.map(({ key }) => key)).toEqual([
          undefined,
          ...Array.from({ length: 99 }, (_, n) => `user ${450 - n}`),
        ]);
        const width = 5n * SECOND;
        const costs = new Map<string, number>();
        for (const n of [500, ...Array.from({ length: 99 }, (_, at) => 450 - at)])
          for (const second of [0n, 1n, 7n]) {
            const point = `${((T0 + second * SECOND) / width) * width} ${n === 500 ? undefined : `user ${n}`}`;
            costs.set(point, (costs.get(point) ?? 0) + n);
          }
        const points = (series ?? []).map(({ time, key, totalCost: cost }) => [`${time} ${key}`, cost]);
        expect(new Map(points as [string, number][])).toEqual(costs);
        expect(points.length).toBe(costs.size);
        const times = (series ?? []).map(({ time }) => time);
        expect(times).toEqual(times.toSorted((x, y) => (x < y ? -1 : 1)));
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
        const nothing = { ...window, projects: 'all', from: T0 - SECOND, to: T0 } as const;
        expect(await store.costReport({ ...nothing, groupBy: 'model' })).toEqual({ groups: [] });
        expect(await store.summaryReport(nothing)).toEqual({
          traceCount: 0,
          errorCount: 0,
          cancelledCount: 0,
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
      it('a call of a model in the book that failed counts, and has no cost; a model whose every call failed has no total', async () => {
        const failed = { status: 'error', error: { message: 'overloaded' } } as const;
        const store = await holding({
          spans: [
            call(1, 'a', 0.5, 100),
            withoutUsage(call(2, 'a', undefined, 300, failed)),
            withoutUsage(call(3, 'b', undefined, 40, failed)),
            withoutUsage(call(4, 'b', undefined, 60, failed)),
          ],
        });
        expect(await store.costReport({ ...window, groupBy: 'model', bucketSeconds: 86_400 })).toMatchObject({
          totalCost: 0.5,
          groups: [
            { key: 'a', count: 2, errorCount: 1, totalCost: 0.5, inputTokens: 10, latency: { mean: 200, max: 300 } },
            { key: 'b', count: 2, errorCount: 2, inputTokens: 0, latency: { mean: 50, max: 60 } },
          ],
          series: [
            { key: 'a', count: 2, totalCost: 0.5 },
            { key: 'b', count: 2 },
          ],
        });
        const { groups } = await store.costReport({ ...window, groupBy: 'provider' });
        expect(groups.map(({ key, count, errorCount, totalCost }) => [key, count, errorCount, totalCost])).toEqual([
          ['of a', 2, 1, 0.5],
          ['of b', 2, 2, undefined],
        ]);
        expect(groups[1]).not.toHaveProperty('totalCost');
      });
      it('a call that ended well and told no tokens counts too: a share of failures is one of all calls', async () => {
        const store = await holding({ spans: [withoutUsage(call(1, 'a', undefined, 10))] });
        expect((await store.costReport({ ...window, groupBy: 'model' })).groups).toMatchObject([
          { key: 'a', count: 1, errorCount: 0 },
        ]);
      });
      it.each([
        ['of a model that the book does not hold', {}, 'unpriced'],
        ['that still runs', { status: 'unset', endTime: undefined }, 'a'],
        ['that is none: it only names a model', { kind: 'agent_run' }, 'a'],
        ['that repeats what its children used', { attributes: { 'svc.cost.skipped': 'aggregate' } }, 'a'],
      ] as const)('a call without a cost %s is in no group of costs', async (_which, fields, model) => {
        const { endTime, ...rest } = { ...call(1, model, undefined, 10), ...fields };
        const span: Span = endTime === undefined ? rest : { ...rest, endTime };
        const store = await holding({ spans: [span] });
        expect(await store.costReport({ ...window, groupBy: 'model', bucketSeconds: 30 })).toEqual({
          groups: [],
          series: [],
        });
      });
      it('ids that name the same entry of the book are one group, with the ids beneath, the largest cost first', async () => {
        const store = await holding({
          spans: [
            call(1, 'a', 0.5, 100),
            call(2, 'a-2024-07-18', 1, 300),
            call(3, 'openrouter/A', 0.25, 200, { status: 'error' }),
            call(4, 'b', 0.125, 10),
          ],
        });
        const models = [
          { model: 'a-2024-07-18', count: 1, totalCost: 1 },
          { model: 'a', count: 1, totalCost: 0.5 },
          { model: 'openrouter/A', count: 1, totalCost: 0.25 },
        ];
        const cost = await store.costReport({ ...window, groupBy: 'model', bucketSeconds: 86_400 });
        expect(cost.groups).toEqual([
          {
            ...{ key: 'a', count: 3, errorCount: 1, totalCost: 1.75, inputTokens: 30, outputTokens: 3 },
            latency: { mean: 200, max: 300 },
            models,
          },
          {
            ...{ key: 'b', count: 1, errorCount: 0, totalCost: 0.125, inputTokens: 10, outputTokens: 1 },
            latency: { mean: 10, max: 10 },
          },
        ]);
        expect(cost.series?.map(({ key, count, totalCost }) => [key, count, totalCost])).toEqual([
          ['a', 3, 1.75],
          ['b', 1, 0.125],
        ]);
        const summary = await store.summaryReport({ ...window, groupBy: 'model' });
        expect(summary.groups).toMatchObject([
          { key: 'a', traceCount: 3, errorCount: 1, totalCost: 1.75, inputTokens: 30, models },
          { key: 'b', traceCount: 1, errorCount: 0, totalCost: 0.125 },
        ]);
        expect(summary.groups[1]).not.toHaveProperty('models');
      });
      it('a group of one dated id names it', async () => {
        const store = await holding({ spans: [call(1, 'a-2024-07-18', 1, 10)] });
        expect((await store.costReport({ ...window, groupBy: 'model' })).groups).toMatchObject([
          { key: 'a', models: [{ model: 'a-2024-07-18', count: 1, totalCost: 1 }] },
        ]);
      });
      it('a group names at most 100 ids', async () => {
        const spans = Array.from({ length: 105 }, (_, n) => call(n % 90, `p${n}/a`, n + 1, 1));
        const store = await holding({ spans });
        const [group] = (await store.costReport({ ...window, groupBy: 'model' })).groups;
        expect(group).toMatchObject({ key: 'a', count: 105, totalCost: (105 * 106) / 2 });
        expect(group?.models).toHaveLength(100);
        expect(group?.models?.[0]).toEqual({ model: 'p104/a', count: 1, totalCost: 105 });
      });
      it('a summary gives each group the cost and tokens of its own calls, and each trace to every group that it is in', async () => {
        const usage = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } });
        const store = await holding({
          spans: [
            call(1, 'a', 0.5, 10, usage(100, 10)),
            call(1, 'b', 2, 10, usage(7, 3)),
            call(1, 'own', undefined, 10, usage(5, 4)),
            call(2, 'a-2024-07-18', 0.25, 10, usage(20, 2)),
            call(2, 'a', 0.125, 10, usage(1, 1)),
          ],
        });
        const { groups, ...whole } = await store.summaryReport({ ...window, groupBy: 'model' });
        expect(whole).toMatchObject({ traceCount: 2, totalCost: 2.875, inputTokens: 133, outputTokens: 20 });
        expect(groups).toMatchObject([
          { key: 'b', traceCount: 1, errorCount: 0, totalCost: 2, inputTokens: 7, outputTokens: 3 },
          { key: 'a', traceCount: 2, errorCount: 0, totalCost: 0.875, inputTokens: 121, outputTokens: 13 },
          { key: 'own', traceCount: 1, errorCount: 0, inputTokens: 5, outputTokens: 4 },
        ]);
        expect(groups[2]).not.toHaveProperty('totalCost');
        const byProvider = await store.summaryReport({ ...window, groupBy: 'provider' });
        expect(byProvider.groups.map(({ key, totalCost, inputTokens }) => [key, totalCost, inputTokens])).toEqual([
          ['of b', 2, 7],
          ['of a', 0.625, 101],
          ['of a-2024-07-18', 0.25, 20],
          ['of own', undefined, 5],
        ]);
      });
      it('a percentile of a merged group is one of its traces, not of percentiles', async () => {
        const dated = Array.from({ length: 99 }, (_, n) => call(n, 'a-2024-07-18', 0.01, 1));
        const store = await holding({ spans: [...dated, call(0, 'a', 0.01, 1), call(99, 'a', 0.01, 1000)] });
        const { groups } = await store.summaryReport({ ...window, groupBy: 'model' });
        expect(groups).toMatchObject([{ key: 'a', traceCount: 100, latency: { p50: 1, p99: 1, max: 1000 } }]);
      });
      it('tokens of a span that repeats what its children used are in no group', async () => {
        const store = await holding({
          spans: [
            call(1, 'a', 0.5, 10),
            call(1, 'a', undefined, 10, { kind: 'agent_run', attributes: { 'svc.cost.skipped': 'aggregate' } }),
          ],
        });
        expect((await store.summaryReport({ ...window, groupBy: 'model' })).groups).toMatchObject([
          { key: 'a', totalCost: 0.5, inputTokens: 10, outputTokens: 1 },
        ]);
      });
      it('a cancelled run counts as a trace of its groups, and apart from those that failed', async () => {
        const cancelled = { status: 'unset', attributes: { 'svc.run.status': 'cancelled' } } as const;
        const store = await holding({
          spans: [call(1, 'a', 1, 10, cancelled), call(2, 'a', 1, 10, { status: 'error' })],
        });
        const counts = { traceCount: 2, errorCount: 1, cancelledCount: 1 };
        for (const groupBy of ['model', 'name'] as const)
          expect(await store.summaryReport({ ...window, groupBy })).toMatchObject({ ...counts, groups: [counts] });
        const byStatus = await store.summaryReport({ ...window, groupBy: 'status' });
        expect(byStatus.groups.map(({ key, traceCount, cancelledCount }) => [key, traceCount, cancelledCount])).toEqual(
          [
            ['error', 1, 0],
            ['unset', 1, 1],
          ],
        );
        const cost = await store.costReport({ ...window, groupBy: 'status' });
        expect(cost.groups.map(({ key, count, totalCost }) => [key, count, totalCost])).toEqual([
          ['error', 1, 1],
          ['unset', 1, 1],
        ]);
      });
      it('sums of money have twelve significant digits: a tenth and two tenths are three tenths', async () => {
        const store = await holding({ spans: [call(1, 'a', 0.1, 1), call(2, 'a', 0.2, 1)] });
        const cost = await store.costReport({ ...window, groupBy: 'model', bucketSeconds: 86_400 });
        expect([cost.totalCost, cost.groups[0]?.totalCost, cost.series?.[0]?.totalCost]).toEqual([0.3, 0.3, 0.3]);
        const byName = await store.costReport({ ...window, groupBy: 'name' });
        expect([byName.totalCost, byName.groups[0]?.totalCost]).toEqual([0.3, 0.3]);
        const summary = await store.summaryReport({ ...window, groupBy: 'model' });
        expect([summary.totalCost, summary.groups[0]?.totalCost]).toEqual([0.3, 0.3]);
      });
      it.each([3, 7, 10, 100])('the longest of %i equal latencies is not below their mean', async (count) => {
        const forty = 40n * 86_400n * SECOND + 1n;
        const spans = Array.from({ length: count }, (_, n) => {
          const span = call(n % 90, 'a', 0.01, 0, { spanId: spanIdOf(n + 1) });
          return { ...span, endTime: span.startTime + forty };
        });
        const store = await holding({ spans });
        const [cost] = (await store.costReport({ ...window, groupBy: 'model' })).groups;
        const { latency } = await store.summaryReport(window);
        for (const { mean, max } of [cost?.latency, latency].filter((one) => one !== undefined)) {
          expect(max).toBeGreaterThanOrEqual(mean);
          expect(max).toBe(Number(forty) / 1e6);
        }
      });
      it('a call that ended before it began took no time', async () => {
        const store = await holding({ spans: [{ ...call(2, 'a', 1, 0), endTime: T0 }] });
        const [group] = (await store.costReport({ ...window, groupBy: 'model' })).groups;
        expect(group?.latency).toEqual({ mean: 0, max: 0 });
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
