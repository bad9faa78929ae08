import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FacetCount, FacetQuery, TraceFilter } from '../../../src/store/signals/query.ts';
import { traceConditions } from '../../../src/store/signals/trace-conditions.ts';
import { countedFacets } from '../../../src/store/signals/trace-facets.ts';
import { aSpan, aUnit, T0, traceIdOf } from './factories.ts';
import { type OpenStore, storesOf } from './opening.ts';
import { aDrawnFilter, aDrawnTrace, meets, type Sent, sentOf, valuesOf } from './trace-oracle.ts';

const asked = (query: Partial<FacetQuery> = {}): FacetQuery => ({
  projects: ['default'],
  limit: 100,
  most: 1000,
  ...query,
});

/** What should be counted over these traces, looking at what was sent alone. */
const countedOf = (traces: readonly Sent[]): FacetCount[] =>
  countedFacets.map((facet) => {
    const counts = new Map<string, number>();
    let without = 0;
    for (const trace of traces) {
      const values = new Set(valuesOf(trace, facet).filter((value) => value !== undefined));
      if (values.size === 0) without += 1;
      for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts]
      .map(([value, count]) => ({ value, traces: count }))
      .sort((a, b) => b.traces - a.traces || (a.value < b.value ? -1 : 1));
    return { facet, values, otherValues: 0, otherCount: 0, without };
  });

/** What every engine promises of the counts over the list of traces. */
export const traceFacetsContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);
    const users = (ids: readonly string[]) =>
      ids.map((userId, at) =>
        aSpan({ traceId: traceIdOf(at + 1), startTime: T0 + BigInt(at), correlation: { userId }, input: 'needle' }),
      );
    const userOf = (facets: readonly FacetCount[]) => facets.find(({ facet }) => facet === 'userId');

    describe('facets of traces', () => {
      it('count what was sent, whatever the filter', async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(aDrawnTrace, { minLength: 1, maxLength: 5 }),
            fc.array(aDrawnFilter, { minLength: 1, maxLength: 8 }),
            async (drawn, filters) => {
              const sent = drawn.map((trace, index) => sentOf(trace, index, 'default'));
              const store = await empty();
              for (const { spans, scores, feedback } of sent) await store.write(aUnit({ spans, scores, feedback }));
              const compare = async (filter: TraceFilter): Promise<void> => {
                const conditions = traceConditions(filter);
                const kept = sent.filter((trace) => conditions.every((condition) => meets(trace, condition)));
                expect([filter, await store.countFacets(asked(filter))]).toEqual([
                  filter,
                  { traces: kept.length, isComplete: true, facets: countedOf(kept) },
                ]);
              };
              await Promise.all([{}, ...filters].map(compare));
            },
          ),
          { numRuns: 15 },
        );
      });

      it('name the most frequent values, equal ones by their value, and sum up the rest', async () => {
        const store = await holding({ spans: users(['c', 'a', 'b', 'b', 'd', 'a']) });
        expect(userOf((await store.countFacets(asked({ limit: 3 }))).facets)).toEqual({
          facet: 'userId',
          values: [
            { value: 'a', traces: 2 },
            { value: 'b', traces: 2 },
            { value: 'c', traces: 1 },
          ],
          otherValues: 1,
          otherCount: 1,
          without: 0,
        });
      });

      it('look at the newest traces alone when there are more than may be looked at, and say so', async () => {
        const store = await holding({ spans: users(['old', 'old', 'new', 'new', 'new']) });
        const newest = await store.countFacets(asked({ most: 3 }));
        expect([newest.traces, newest.isComplete, userOf(newest.facets)?.values]).toEqual([
          3,
          false,
          [{ value: 'new', traces: 3 }],
        ]);
        const all = await store.countFacets(asked({ most: 5 }));
        expect([all.traces, all.isComplete]).toEqual([5, true]);
      });

      it('are complete where the filter itself leaves few enough, however many there are besides', async () => {
        const store = await holding({ spans: users(['one', 'two', 'two', 'two', 'two']) });
        for (const filter of [{ userId: 'one' }, { to: T0 + 1n }, { q: 'needle', userId: 'one' }]) {
          const { traces, isComplete } = await store.countFacets(asked({ ...filter, most: 1 }));
          expect([filter, traces, isComplete]).toEqual([filter, 1, true]);
        }
      });

      it('join the values of several projects, and keep to the projects that are asked for', async () => {
        const spans = ['default', 'second', 'third'].map((project, at) =>
          aSpan({ traceId: traceIdOf(at + 1), correlation: { userId: 'u', project } }),
        );
        const store = await holding({ spans });
        const both = await store.countFacets(asked({ projects: ['default', 'second'] }));
        expect([both.traces, userOf(both.facets)?.values]).toEqual([2, [{ value: 'u', traces: 2 }]]);
        expect((await store.countFacets(asked({ projects: ['nobody'] }))).traces).toBe(0);
        const oneEach = await store.countFacets(asked({ projects: 'all', most: 3 }));
        expect([oneEach.traces, oneEach.isComplete]).toEqual([3, true]);
      });
    });
  });
};
