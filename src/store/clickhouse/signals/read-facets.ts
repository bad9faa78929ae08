import { tallyFacets } from '../../signals/facet-counts.ts';
import type { FacetQuery, FacetReport } from '../../signals/query.ts';
import { facetOf } from '../../signals/rows/codes.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { binding } from '../binding.ts';
import type { Database } from '../connection.ts';
import type { TraceKey } from './keyed.ts';
import { inReach } from './reach.ts';
import { openSearch } from './read-search.ts';
import { keyText } from './keyed.ts';
import { parseFacet } from './totals.ts';
import { printFilter } from './trace-filter.ts';

/** Traces in which a phrase is looked for, at the most: their payloads are read. */
const MOST_SEARCHED = 2_000;

/** Counts values over the newest traces that meet a filter; the answer says whether that was all. */
export const countFacets = async (database: Database, query: FacetQuery): Promise<FacetReport> => {
  const tally = tallyFacets();
  let traces = 0;
  let isComplete = true;
  const report = (): FacetReport => ({ traces, isComplete, facets: tally.counted(traces, query.limit) });

  const conditions = traceConditions(query);
  const filter = printFilter(conditions, binding());
  if (filter === undefined) return report();
  const search = filter.q === undefined ? undefined : await openSearch(database, filter.q, query.projects);
  if (filter.q !== undefined && search === undefined) return report();

  const reaching = binding();
  const projects = await database.ask<[string]>(
    `SELECT DISTINCT project FROM traces FINAL WHERE ${inReach(query.projects, reaching)} ORDER BY project`,
    reaching.params,
  );
  let left = search?.hasPhrases === true ? Math.min(query.most, MOST_SEARCHED) : query.most;
  for (const [at, [project]] of projects.entries()) {
    const share = Math.ceil(left / (projects.length - at));
    const to = binding();
    const parts = [`t.project = ${to.bind(project, 'String')}`, ...(printFilter(conditions, to)?.parts ?? [])];
    if (search !== undefined) parts.push(search.print(to));
    const found = await database.ask<[string, string[]]>(
      `SELECT t.trace_id, t.facets FROM traces AS t FINAL WHERE ${parts.join(' AND ')}
       ORDER BY t.start_ns DESC, t.trace_id DESC LIMIT ${share + 1}`,
      to.params,
    );
    if (found.length > share) {
      isComplete = false;
      found.length = share;
    }
    left -= found.length;
    const kept =
      search?.hasPhrases === true
        ? await search.verify(found.map(([traceId]): TraceKey => [project, traceId]))
        : undefined;
    for (const [traceId, facets] of found) {
      if (kept?.has(keyText([project, traceId])) === false) continue;
      traces += 1;
      tally.add(facets.map((text) => facetOf(...parseFacet(text))));
    }
  }
  return report();
};
