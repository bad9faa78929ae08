import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/model/span.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { aFeedback, aScore, aSpan, aUnit, inDefault, SECOND, spanIdOf, T0, traceIdOf, traces } from './factories.ts';
import { allPages, idsOf, type OpenStore, storesOf } from './opening.ts';

/** One of the ways in to the same data, by turns. */
const turnsOf = ([one, other]: readonly [SignalStore, SignalStore]) => {
  let turn = 0;
  return (): SignalStore => ((turn += 1) % 2 === 0 ? other : one);
};

const aDrawnSpan = fc.record({
  trace: fc.integer({ min: 1, max: 3 }),
  span: fc.integer({ min: 1, max: 6 }),
  parent: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  start: fc.integer({ min: 0, max: 4 }),
  status: fc.constantFrom('ok' as const, 'error' as const),
  cost: fc.option(fc.double({ min: 0.001, max: 3, noNaN: true }), { nil: undefined }),
  userId: fc.option(fc.constantFrom('ann', 'bob'), { nil: undefined }),
});
type DrawnSpan = typeof aDrawnSpan extends fc.Arbitrary<infer T> ? T : never;

/** What every engine promises of several replicas on one database. An engine with one process a store has one, which plays both. */
export const replicasContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: replicas of a signal store`, () => {
    const { empty, pair } = storesOf(open);

    it('what was written through one is read through the other at once', async () => {
      const both = await pair();
      const next = turnsOf(both);
      for (let n = 1; n <= 10; n += 1) {
        await next().write(aUnit({ spans: [aSpan({ traceId: traceIdOf(n), input: `word${n}` })] }, `key ${n}`));
        const other = next();
        expect(idsOf(await other.listTraces(traces({ q: `word${n}` })))).toEqual([traceIdOf(n)]);
        expect(await other.isWritten(`key ${n}`)).toBe(true);
        next();
      }
    });

    it('the same unit through both at once is there once', async () => {
      const [one, other] = await pair();
      const isExact = one.capabilities.idempotency === 'exact';
      for (let round = 1; round <= 10; round += 1) {
        const unit = aUnit({ spans: [aSpan({ traceId: traceIdOf(round), spanId: spanIdOf(1) })] }, `key ${round}`);
        const outcomes = await Promise.all([one, other, one, other].map((store) => store.write(unit)));
        const written = outcomes.filter((outcome) => outcome === 'written').length;
        expect(written).toBeGreaterThan(0);
        if (isExact) expect(written).toBe(1);
        expect(await other.write(unit)).toBe('duplicate');
      }
      const listed = (await other.listTraces(traces())).items;
      expect(listed.map(({ spanCount }) => spanCount)).toEqual(Array(10).fill(1));
    });

    it('totals are those of all spans, whatever the order, the batches and the replicas that they came through', async () => {
      const spanOf = (drawn: DrawnSpan): Span =>
        aSpan({
          traceId: traceIdOf(drawn.trace),
          spanId: spanIdOf(drawn.span),
          ...(drawn.parent === undefined ? {} : { parentSpanId: spanIdOf(drawn.parent) }),
          startTime: T0 + BigInt(drawn.start) * SECOND,
          endTime: T0 + BigInt(drawn.start + 1) * SECOND,
          status: drawn.status,
          ...(drawn.cost === undefined ? {} : { cost: { totalCost: drawn.cost, currency: 'USD', isEstimated: false } }),
          correlation: drawn.userId === undefined ? {} : { userId: drawn.userId },
        });
      const all = traces({ order: 'asc', limit: 1000 });
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(aDrawnSpan, {
            minLength: 1,
            maxLength: 14,
            selector: ({ trace, span }) => `${trace}/${span}`,
          }),
          fc.infiniteStream(fc.nat()),
          async (drawn, chance) => {
            const spans = drawn.map(spanOf);
            const batches: Span[][] = [];
            for (const span of spans)
              if (chance.next().value % 2 === 0) batches.push([span]);
              else batches.splice(chance.next().value % (batches.length + 1), 0, [span, ...(batches.at(-1) ?? [])]);
            const whole = await empty();
            await whole.write(aUnit({ spans }));
            const both = await pair();
            await Promise.all(
              batches.map((batch, place) => (both[place % 2] as SignalStore).write(aUnit({ spans: batch }))),
            );
            const [expected, found] = await Promise.all([whole.listTraces(all), both[0].listTraces(all)]);
            const byId = (page: typeof found) => page.items.toSorted((a, b) => (a.traceId < b.traceId ? -1 : 1));
            expect(byId(found)).toEqual(byId(expected));
          },
        ),
        { numRuns: 8 },
      );
    });

    it('a span and its judgements at once: the trace has both', async () => {
      const both = await pair();
      const [one, other] = both;
      const ids = Array.from({ length: 20 }, (_, n) => traceIdOf(n + 1));
      await Promise.all(
        ids.flatMap((traceId) => [
          one.write(aUnit({ spans: [aSpan({ traceId })] })),
          other.write(aUnit({ scores: [aScore({ traceId })], feedback: [aFeedback({ traceId })] })),
        ]),
      );
      const { items } = await one.listTraces(traces({ hasScore: 'answered', hasFeedback: 'thumbs' }));
      expect(items.map(({ traceId }) => traceId).toSorted()).toEqual(ids);
      expect(items.every(({ scores, feedback }) => scores[0]?.count === 1 && feedback.thumbs === 1)).toBe(true);
    });

    it('a value that is new to both at once is found through both, and counted once a trace', async () => {
      const both = await pair();
      const next = turnsOf(both);
      await Promise.all(
        Array.from({ length: 16 }, (_, n) =>
          next().write(
            aUnit({
              spans: [aSpan({ traceId: traceIdOf(n + 1), correlation: { userId: 'new', project: 'made at once' } })],
            }),
          ),
        ),
      );
      for (const store of both) {
        const query = { projects: ['made at once'] };
        expect((await store.listTraces(traces({ ...query, userId: 'new' }))).items).toHaveLength(16);
        const { facets } = await store.countFacets({ ...query, limit: 10, most: 1000 });
        expect(facets.find(({ facet }) => facet === 'userId')?.values).toEqual([{ value: 'new', traces: 16 }]);
      }
    });

    it('pages that are read by turns hold every trace once', async () => {
      const both = await pair();
      const next = turnsOf(both);
      const ids = Array.from({ length: 30 }, (_, n) => traceIdOf(n + 1));
      await Promise.all(
        ids.map((traceId, n) =>
          next().write(aUnit({ spans: [aSpan({ traceId, startTime: T0 + BigInt(n % 3), input: 'needle' })] })),
        ),
      );
      for (const query of [{}, { q: 'needle' }, { sort: 'span_count' } as const]) {
        const paged = await allPages((after) =>
          next().listTraces(traces({ ...query, limit: 4, ...(after && { after }) })),
        );
        expect(paged.map(({ traceId }) => traceId).toSorted()).toEqual(ids);
      }
    });

    it('deletes and trims through one, while the other writes, leave no span without its trace and no trace without its spans', async () => {
      const [one, other] = await pair();
      const ids = Array.from({ length: 6 }, (_, n) => traceIdOf(n + 1));
      let isOver = false;
      const writing = (async () => {
        for (let n = 0; n < 60; n += 1)
          await other.write(
            aUnit({
              spans: [0, 1].map((more) =>
                aSpan({
                  traceId: ids[(n + more) % ids.length] as string,
                  spanId: spanIdOf(n),
                  startTime: T0 + BigInt(n % 7),
                  input: 'kept',
                  correlation: { userId: 'ann' },
                }),
              ),
            }),
          );
      })().finally(() => {
        isOver = true;
      });
      for (let n = 0; !isOver; n += 1) {
        await one.deleteTraces([ids[n % ids.length] as string], 'all');
        await one.trim('default', T0 + 2n, 2);
      }
      await writing;
      const query = { ...inDefault, limit: 1000 };
      const listed = (await other.listTraces(traces({ limit: 1000 }))).items;
      const spans = (await other.listSpans({ ...query, order: 'asc', payloads: false })).items;
      const counts = (of: readonly string[]) =>
        Object.fromEntries(ids.map((id) => [id, of.filter((held) => held === id).length]));
      expect(counts(spans.map(({ traceId }) => traceId))).toEqual(
        counts(listed.flatMap(({ traceId, spanCount }) => Array<string>(spanCount).fill(traceId))),
      );
      const withSpans = listed.map(({ traceId }) => traceId).toSorted();
      for (const narrowed of [{ userId: 'ann' }, { q: 'kept' }])
        expect(idsOf(await one.listTraces(traces({ ...narrowed, limit: 1000 }))).toSorted()).toEqual(withSpans);
      expect((await one.countFacets({ projects: ['default'], limit: 10, most: 1000 })).traces).toBe(withSpans.length);
    });
  });
};
