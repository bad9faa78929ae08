import type { FacetCount } from './query.ts';
import { countedFacets, type FacetValue, type TraceFacet } from './trace-facets.ts';

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
    const all = [...(counts.get(facet) ?? [])].sort(
      ([a, countOfA], [b, countOfB]) => countOfB - countOfA || (a < b ? -1 : 1),
    );
    const others = all.slice(limit);
    return {
      facet,
      values: all.slice(0, limit).map(([value, count]) => ({ value, traces: count })),
      otherValues: others.length,
      otherCount: others.reduce((sum, [, count]) => sum + count, 0),
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
