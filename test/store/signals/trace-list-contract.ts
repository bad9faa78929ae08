import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TraceFilter, TraceQuery } from '../../../src/store/signals/query.ts';
import { traceConditions } from '../../../src/store/signals/trace-conditions.ts';
import {
  aFeedback,
  aScore,
  aSpan,
  aUnit,
  inDefault,
  running,
  SECOND,
  spanIdOf,
  T0,
  traceIdOf,
  traces,
} from './factories.ts';
import { allPages, idsOf, type OpenStore, storesOf } from './opening.ts';
import { aDrawnFilter, aDrawnTrace, meets, sentOf } from './trace-oracle.ts';

/** What every engine promises of the list of traces, its filters, orders and pages. */
export const traceListContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);

    describe('trace list: filters', () => {
      const model = { kind: 'model_generation', model: 'gpt-x', provider: 'acme', entityName: 'planner' } as const;
      /** Trace 1 has everything that a filter can ask for; trace 2 has other values; trace 3 has nothing and still runs. */
      const seeded = () =>
        holding({
          spans: [
            aSpan({
              traceId: traceIdOf(1),
              spanId: spanIdOf(1),
              name: 'checkout',
              status: 'error',
              error: { message: 'x' },
              startTime: T0,
              endTime: T0 + 2n * SECOND,
              correlation: {
                userId: 'ann',
                sessionId: 's1',
                threadId: 't1',
                environment: 'prod',
                serviceName: 'shop',
                serviceVersion: '1.0',
                release: 'r1',
                runId: 'run1',
                experimentId: 'e1',
                tags: ['blue', 'fast'],
              },
            }),
            aSpan({
              traceId: traceIdOf(1),
              parentSpanId: spanIdOf(1),
              ...model,
              input: 'the quick brown fox',
              cost: { totalCost: 0.5, currency: 'USD', isEstimated: true },
            }),
            aSpan({
              traceId: traceIdOf(2),
              name: 'search',
              kind: 'tool_call',
              model: 'other',
              provider: 'other',
              entityName: 'other',
              startTime: T0 + SECOND,
              endTime: T0 + SECOND + 1_000_000n,
              input: 'a slow fox',
              cost: { totalCost: 0.1, currency: 'USD', isEstimated: true },
              correlation: {
                userId: 'bob',
                sessionId: 's2',
                threadId: 't2',
                environment: 'test',
                serviceName: 'find',
                serviceVersion: '2.0',
                release: 'r2',
                runId: 'run2',
                experimentId: 'e2',
                tags: ['red'],
              },
            }),
            running(aSpan({ traceId: traceIdOf(3), name: 'idle', startTime: T0 + 2n * SECOND })),
          ],
          scores: [
            aScore({ traceId: traceIdOf(1), scorerId: 'quality', value: 0.25 }),
            aScore({ traceId: traceIdOf(1), scorerId: 'quality', value: 0.75 }),
            aScore({ traceId: traceIdOf(2), scorerId: 'quality', value: 0.9 }),
            aScore({ traceId: traceIdOf(2), scorerId: 'speed', value: 0.1 }),
          ],
          feedback: [
            aFeedback({ traceId: traceIdOf(1), kind: 'thumbs' }),
            aFeedback({ traceId: traceIdOf(2), kind: 'comment', value: 'fine' }),
          ],
        });
      const rows: [TraceFilter, number[]][] = [
        [{}, [3, 2, 1]],
        [{ status: 'error' }, [1]],
        [{ status: 'ok' }, [2]],
        [{ status: 'unset' }, [3]],
        [{ name: 'checkout' }, [1]],
        [{ name: 'Checkout' }, []],
        [{ model: 'gpt-x' }, [1]],
        [{ model: 'gpt' }, []],
        [{ provider: 'acme' }, [1]],
        [{ entityName: 'planner' }, [1]],
        [{ kind: 'model_generation' }, [1]],
        [{ kind: 'tool_call' }, [2]],
        [{ kind: 'guardrail' }, []],
        [{ userId: 'ann' }, [1]],
        [{ sessionId: 's2' }, [2]],
        [{ threadId: 't1' }, [1]],
        [{ environment: 'prod' }, [1]],
        [{ serviceName: 'find' }, [2]],
        [{ serviceVersion: '1.0' }, [1]],
        [{ release: 'r2' }, [2]],
        [{ tag: 'blue' }, [1]],
        [{ tag: 'fast' }, [1]],
        [{ tag: 'bl' }, []],
        [{ runId: 'run1' }, [1]],
        [{ experimentId: 'e2' }, [2]],
        [{ hasError: true }, [1]],
        [{ hasError: false }, [3, 2]],
        [{ hasFeedback: 'thumbs' }, [1]],
        [{ hasFeedback: 'comment' }, [2]],
        [{ hasFeedback: 'rating' }, []],
        [{ hasScore: 'quality' }, [2, 1]],
        [{ hasScore: 'speed' }, [2]],
        [{ hasScore: 'quality', scoreBelow: 0.5 }, []], // the mean of trace 1 is 0.5: strict
        [{ hasScore: 'quality', scoreBelow: 0.5000001 }, [1]],
        [{ hasScore: 'quality', scoreBelow: 1 }, [2, 1]],
        [{ hasScore: 'unheard', scoreBelow: 1 }, []],
        [{ minCost: 0.5 }, [1]],
        [{ minCost: 0.50001 }, []],
        [{ minCost: 0.1 }, [2, 1]],
        [{ minCost: 0 }, [3, 2, 1]],
        [{ maxCost: 0.1 }, [2]], // what could not be priced is not known to be cheap
        [{ minCost: 0.05, maxCost: 0.1 }, [2]],
        [{ maxCost: 0.09 }, []],
        [{ minDurationMs: 2000 }, [1]],
        [{ minDurationMs: 2000.0001 }, []],
        [{ maxDurationMs: 1 }, [2]],
        [{ maxDurationMs: 0.999 }, []],
        [{ minDurationMs: 0 }, [2, 1]],
        [{ minDurationMs: 1e13 }, []], // more than a time can hold, and more than an integer can
        [{ minDurationMs: Number.MAX_VALUE }, []],
        [{ maxDurationMs: Number.MAX_VALUE }, [2, 1]],
        [{ from: T0 }, [3, 2, 1]],
        [{ from: T0 + 1n }, [3, 2]],
        [{ to: T0 }, []],
        [{ to: T0 + 1n }, [1]],
        [{ from: T0 + SECOND, to: T0 + 2n * SECOND }, [2]],
        [{ q: 'fox' }, [2, 1]],
        [{ q: 'quick' }, [1]],
        [{ q: 'slow quick' }, []],
        [{ q: 'fox', userId: 'bob' }, [2]],
        [{ q: 'fox', userId: 'bob', minCost: 1 }, []],
        [{ userId: 'ann', sessionId: 's1', kind: 'model_generation', tag: 'blue', status: 'error' }, [1]],
        [{ userId: 'ann', sessionId: 's2' }, []],
      ];
      it('each filter alone and together, both ways', async () => {
        const store = await seeded();
        for (const [filter, expected] of rows)
          expect([filter, idsOf(await store.listTraces(traces(filter)))]).toEqual([filter, expected.map(traceIdOf)]);
      });
      it('lists exactly the traces that meet every condition of the filter', async () => {
        const store = await empty();
        let project = 0;
        await fc.assert(
          fc.asyncProperty(
            fc.array(aDrawnTrace, { maxLength: 8 }),
            fc.array(aDrawnFilter, { size: 'max', maxLength: 12 }),
            async (drawn, filters) => {
              project += 1;
              const projects = [`p${project}`];
              const sent = drawn.map((one, index) => sentOf(one, index, `p${project}`));
              for (const { spans, scores, feedback } of sent) await store.write(aUnit({ spans, scores, feedback }));
              const compare = async (filter: TraceFilter): Promise<void> => {
                const conditions = traceConditions(filter);
                const expected = sent.filter((trace) => conditions.every((condition) => meets(trace, condition)));
                const found = await store.listTraces(traces({ ...filter, projects }));
                expect([filter, idsOf(found).toSorted()]).toEqual([
                  filter,
                  expected.map(({ spans: [root] }) => root.traceId).toSorted(),
                ]);
              };
              await Promise.all(filters.map(compare));
            },
          ),
          { numRuns: 30 },
        );
      });
      it('each filter gives the same set in every order', async () => {
        const store = await seeded();
        await Promise.all(
          rows.map(async ([filter, expected]) => {
            for (const sort of ['start_time', 'duration', 'cost', 'span_count'] as const)
              for (const order of ['asc', 'desc'] as const)
                expect([
                  filter,
                  sort,
                  idsOf(await store.listTraces(traces({ ...filter, sort, order }))).toSorted(),
                ]).toEqual([filter, sort, expected.map(traceIdOf).toSorted()]);
          }),
        );
      });
      it('nothing of another project is seen', async () => {
        const store = await seeded();
        for (const [filter] of rows)
          expect(await store.listTraces(traces({ ...filter, projects: ['other'] }))).toEqual({ items: [] });
      });
      it('sort by score: traces with that score by its mean', async () => {
        const store = await seeded();
        const by = (order: 'asc' | 'desc') => store.listTraces(traces({ sort: 'score', hasScore: 'quality', order }));
        expect(idsOf(await by('asc'))).toEqual([traceIdOf(1), traceIdOf(2)]);
        expect(idsOf(await by('desc'))).toEqual([traceIdOf(2), traceIdOf(1)]);
      });
      it('a trace without cost or duration comes last in both directions', async () => {
        const store = await seeded();
        for (const sort of ['cost', 'duration'] as const) {
          expect(idsOf(await store.listTraces(traces({ sort, order: 'asc' })))).toEqual([2, 1, 3].map(traceIdOf));
          expect(idsOf(await store.listTraces(traces({ sort, order: 'desc' })))).toEqual([1, 2, 3].map(traceIdOf));
        }
      });
      it('summaries carry a mean for each scorer and version, and counts of feedback by kind', async () => {
        const store = await holding({
          spans: [aSpan()],
          scores: [
            aScore({ scorerId: 'b', value: 1 }),
            aScore({ scorerId: 'a', scorerVersion: '2', value: 0.5 }),
            aScore({ scorerId: 'a', scorerVersion: '1', value: 1 }),
            aScore({ scorerId: 'a', scorerVersion: '1', value: 0 }),
          ],
          feedback: [
            aFeedback({ value: 'up' }),
            aFeedback({ value: 'down' }),
            aFeedback({ value: 'up' }),
            aFeedback({ kind: 'tag', value: 'up' }),
          ],
        });
        expect((await store.listTraces(traces())).items[0]).toMatchObject({
          scores: [
            { scorerId: 'a', scorerVersion: '1', mean: 0.5, count: 2 },
            { scorerId: 'a', scorerVersion: '2', mean: 0.5, count: 1 },
            { scorerId: 'b', mean: 1, count: 1 },
          ],
          feedback: { thumbs: 3, tag: 1 },
          thumbs: { up: 2, down: 1 },
        });
      });
      it('judgements that came before their trace are found when it comes', async () => {
        const store = await holding({ scores: [aScore({ value: 0.5 })], feedback: [aFeedback()] });
        expect(await store.listTraces(traces())).toEqual({ items: [] });
        await store.write(aUnit({ spans: [aSpan()] }));
        const [trace] = (await store.listTraces(traces({ hasScore: 'answered', hasFeedback: 'thumbs' }))).items;
        expect(trace).toMatchObject({
          scores: [{ scorerId: 'answered', mean: 0.5, count: 1 }],
          feedback: { thumbs: 1 },
        });
      });
      it('a judgement sent again under its id replaces the older one, on another trace too', async () => {
        const store = await holding({
          spans: [aSpan(), aSpan({ traceId: traceIdOf(2) })],
          scores: [aScore({ scoreId: 's', value: 1 })],
          feedback: [aFeedback({ feedbackId: 'f' })],
        });
        await store.write(
          aUnit({
            scores: [aScore({ scoreId: 's', value: 0.25, traceId: traceIdOf(2) })],
            feedback: [aFeedback({ feedbackId: 'f', kind: 'comment', value: 'no' })],
          }),
        );
        const byId = Object.fromEntries(
          (await store.listTraces(traces())).items.map((trace) => [trace.traceId, trace]),
        );
        expect(byId[traceIdOf(1)]).toMatchObject({ scores: [], feedback: { comment: 1 } });
        expect(byId[traceIdOf(2)]).toMatchObject({ scores: [{ mean: 0.25, count: 1 }], feedback: {} });
        expect(idsOf(await store.listTraces(traces({ hasScore: 'answered' })))).toEqual([traceIdOf(2)]);
        expect((await store.listScores(inDefault)).items).toHaveLength(1);
      });
      it('a duration filter holds at its bound for every tenth of a millisecond', async () => {
        const tenths = Array.from({ length: 100 }, (_, index) => index + 1);
        const store = await holding({
          spans: tenths.map((tenth) =>
            aSpan({ traceId: traceIdOf(tenth), startTime: T0, endTime: T0 + BigInt(tenth) * 100_000n }),
          ),
        });
        await Promise.all(
          tenths.map(async (tenth) => {
            const ms = tenth / 10;
            const page = await store.listTraces(traces({ minDurationMs: ms, maxDurationMs: ms }));
            expect([ms, page.items.map(({ traceId }) => traceId)]).toEqual([ms, [traceIdOf(tenth)]]);
          }),
        );
      });
    });

    describe('trace list: ties', () => {
      it('come in the order that the store says, the other way round when descending', async () => {
        const store = await empty();
        for (const n of [3, 1, 2]) await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(n) })] }));
        const ascending = (store.capabilities.order === 'arrival' ? [3, 1, 2] : [1, 2, 3]).map(traceIdOf);
        for (const sort of ['start_time', 'duration', 'cost', 'span_count'] as const) {
          expect(idsOf(await store.listTraces(traces({ sort, order: 'asc' })))).toEqual(ascending);
          expect(idsOf(await store.listTraces(traces({ sort, order: 'desc' })))).toEqual(ascending.toReversed());
        }
      });
    });

    describe('trace list: pages', () => {
      const many = (count: number) =>
        Array.from({ length: count }, (_, i) =>
          aSpan({
            traceId: traceIdOf(i + 1),
            startTime: T0 + BigInt(i % 4),
            endTime: T0 + BigInt(i % 4) + BigInt(i % 3),
            ...(i % 5 === 0 ? {} : { cost: { totalCost: 1 + (i % 2), currency: 'USD', isEstimated: true } }),
            correlation: { userId: 'u', project: i % 3 === 0 ? 'default' : 'second' },
            input: 'needle',
          }),
        );
      const orders: Partial<TraceQuery>[] = (['start_time', 'duration', 'cost', 'span_count'] as const).flatMap(
        (sort) =>
          (['asc', 'desc'] as const).flatMap((order) => [
            { sort, order },
            { sort, order, userId: 'u' },
            { sort, order, q: 'needle' },
          ]),
      );
      it('pages hold every trace once, in one order, with ties', async () => {
        const count = 24;
        const store = await holding({ spans: many(count), scores: [] });
        const readAll = async (query: Partial<TraceQuery>): Promise<void> => {
          const whole = await store.listTraces(traces({ ...query, projects: 'all', limit: 1000 }));
          expect(whole.next).toBeUndefined();
          for (const limit of [1, 7, count]) {
            const paged = await allPages((after) =>
              store.listTraces(traces({ ...query, projects: 'all', limit, ...(after && { after }) })),
            );
            expect([query, paged.map(({ traceId }) => traceId)]).toEqual([query, idsOf(whole)]);
          }
          if (query.sort !== 'score') expect(new Set(idsOf(whole)).size).toBe(count);
        };
        // All at once: a store over a network takes most of a read to wait for it.
        await Promise.all([...orders, { sort: 'score', hasScore: 'x', order: 'asc' } as const].map(readAll));
      });
      it('pages by score hold every trace once, with ties', async () => {
        const spans = many(30);
        const store = await holding({
          spans,
          scores: spans.map((span, i) =>
            aScore({ traceId: span.traceId, scorerId: 'x', value: i % 3, correlation: span.correlation }),
          ),
        });
        for (const order of ['asc', 'desc'] as const) {
          const query = traces({ sort: 'score', hasScore: 'x', order, projects: 'all', limit: 7 });
          const paged = await allPages((after) => store.listTraces({ ...query, ...(after && { after }) }));
          const means = paged.map(({ scores }) => scores[0]?.mean ?? Number.NaN);
          expect(means).toEqual(means.toSorted((a, b) => (order === 'asc' ? a - b : b - a)));
          expect(new Set(paged.map(({ traceId }) => traceId)).size).toBe(30);
        }
      });
      it('an insert during paging neither skips nor repeats an older row', async () => {
        const store = await holding({ spans: many(30) });
        let extra = 1000;
        const paged = await allPages(async (after) => {
          const page = await store.listTraces(traces({ projects: 'all', limit: 4, ...(after && { after }) }));
          await store.write(
            aUnit({ spans: [aSpan({ traceId: traceIdOf(++extra), startTime: T0 + BigInt(extra % 4) })] }),
          );
          return page;
        });
        expect(paged.length).toBe(new Set(paged.map(({ traceId }) => traceId)).size);
        for (const span of many(30)) expect(paged.map(({ traceId }) => traceId)).toContain(span.traceId);
      });
    });
  });
};
