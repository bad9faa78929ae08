import type { FacetCount } from './query.ts';
import { countedFacets, type TraceFacet } from './trace-facets.ts';

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
