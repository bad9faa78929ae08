import type { FacetCount } from './query.ts';
import { countedFacets, type FacetValue, type TraceFacet } from './trace-facets.ts';

/** The most frequent values, and of equally frequent ones the first in their order. Those that are surely too rare are not sorted. */
const mostFrequent = (counts: ReadonlyMap<string, number>, limit: number): [value: string, count: number][] => {
  const least = Uint32Array.from(counts.values()).sort().at(-limit) ?? 0;
  return [...counts]
    .filter(([, count]) => count >= least)
    .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || (a < b ? -1 : 1))
    .slice(0, limit);
};

/**
 * The answer to how many traces have which values: the most frequent values are named, the rest is summed up.
 * @param counts of each facet, in how many traces each value is
 * @param holders of each facet, how many traces have any value
 * @param traces how many were counted
 * @param limit values of a facet that are named
 */
export const facetCounts = (
  counts: ReadonlyMap<TraceFacet, ReadonlyMap<string, number>>,
  holders: ReadonlyMap<TraceFacet, number>,
  traces: number,
  limit: number,
): FacetCount[] =>
  countedFacets.map((facet) => {
    const ofFacet = counts.get(facet) ?? new Map<string, number>();
    let sum = 0;
    for (const count of ofFacet.values()) sum += count;
    const named = mostFrequent(ofFacet, limit);
    return {
      facet,
      values: named.map(([value, count]) => ({ value, traces: count })),
      otherValues: ofFacet.size - named.length,
      otherCount: named.reduce((left, [, count]) => left - count, sum),
      without: traces - (holders.get(facet) ?? 0),
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
    counted: (traces: number, limit: number): FacetCount[] => facetCounts(counts, holders, traces, limit),
  };
};
