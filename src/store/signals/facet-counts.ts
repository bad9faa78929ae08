import type { FacetCount } from './query.ts';
import { type CountedFacet, countedFacets, type FacetValue, type TraceFacet } from './trace-facets.ts';

/** The values that can be among the most frequent ones: the others are surely too rare. */
export const frequentValues = <V>(counts: ReadonlyMap<V, number>, limit: number): [value: V, count: number][] => {
  const least = Uint32Array.from(counts.values()).sort().at(-limit) ?? 0;
  const frequent: [V, number][] = [];
  for (const [value, count] of counts) if (count >= least) frequent.push([value, count]);
  return frequent;
};

/** What was counted of one property. */
export type CountedValues = {
  /** Those that can be among the most frequent ones. */
  readonly frequent: readonly (readonly [value: string, count: number])[];
  /** How many values there are, and the sum of their counts. */
  readonly values: number;
  readonly sum: number;
  /** How many traces have any value. */
  readonly holders: number;
};

export const sumOf = (counts: ReadonlyMap<unknown, number>): number => {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
};

/**
 * The answer to how many traces have which values: the most frequent values are named, of equally frequent ones the first in their order,
 * and the rest is summed up.
 * @param traces how many were counted
 * @param limit values of a facet that are named
 */
export const facetCounts = (
  countedOf: (facet: CountedFacet) => CountedValues | undefined,
  traces: number,
  limit: number,
): FacetCount[] =>
  countedFacets.map((facet) => {
    const { frequent, values, sum, holders } = countedOf(facet) ?? { frequent: [], values: 0, sum: 0, holders: 0 };
    const named = frequent
      .toSorted(([a, countOfA], [b, countOfB]) => countOfB - countOfA || (a < b ? -1 : 1))
      .slice(0, limit);
    return {
      facet,
      values: named.map(([value, count]) => ({ value, traces: count })),
      otherValues: values - named.length,
      otherCount: named.reduce((left, [, count]) => left - count, sum),
      without: traces - holders,
    };
  });

/** Counts properties trace by trace, each value of a trace once. */
export const tallyFacets = () => {
  const holders = new Map<TraceFacet, number>();
  const counts = new Map<TraceFacet, Map<string, number>>(countedFacets.map((facet) => [facet, new Map()]));
  return {
    add: (properties: Iterable<FacetValue>): void => {
      const held = new Set<TraceFacet>();
      const values = new Set<string>();
      for (const [facet, value] of properties) {
        const ofFacet = counts.get(facet);
        const key = `${facet}/${value}`;
        if (ofFacet === undefined || values.has(key)) continue;
        values.add(key);
        held.add(facet);
        ofFacet.set(value, (ofFacet.get(value) ?? 0) + 1);
      }
      for (const facet of held) holders.set(facet, (holders.get(facet) ?? 0) + 1);
    },
    /** @param traces how many were counted */
    counted: (traces: number, limit: number): FacetCount[] =>
      facetCounts(
        (facet) => {
          const ofFacet = counts.get(facet) ?? new Map<string, number>();
          return {
            frequent: frequentValues(ofFacet, limit),
            values: ofFacet.size,
            sum: sumOf(ofFacet),
            holders: holders.get(facet) ?? 0,
          };
        },
        traces,
        limit,
      ),
  };
};
