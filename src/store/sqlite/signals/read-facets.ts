import { facetCounts } from '../../signals/facet-counts.ts';
import type { FacetQuery, FacetReport } from '../../signals/query.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { countedFacets, type TraceFacet } from '../../signals/trace-facets.ts';
import { facetOf, facets } from '../../signals/rows/codes.ts';
import { openSearch, type Search } from './read-search.ts';
import { projectNumbers, type Statements } from './statements.ts';
import {
  countUpTo,
  facetIds,
  indexes,
  type Part,
  type PrintedFilter,
  printConditions,
  printMeans,
  within,
} from './trace-filter.ts';

/** Traces that a search for frequent words is asked about, at the most: each is a question to the index. */
const MOST_SEARCHED = 2_000;

/** Properties that are counted, as they stand in the file. */
const COUNTED = countedFacets.map((facet) => facets[facet]).join(', ');

/** Traces to look at: a SELECT of their row numbers, those that began last first where it lies in that order. */
type Source = {
  readonly from: string;
  readonly where: readonly Part[];
  readonly trace: string;
  readonly start?: string;
  /** What `from` binds. */
  readonly bound?: readonly unknown[];
};

const sourcesOf = (project: number, filter: PrintedFilter, values: readonly number[]): Source[] => {
  const inWindow = within(filter, 'd.start_ns');
  return [
    ...values.map((value) => ({
      from: 'trace_facets AS d',
      where: [{ sql: 'd.value = ?', values: [value] }, ...inWindow],
      trace: 'd.trace',
      start: 'd.start_ns',
    })),
    ...indexes.map(([figure, index]) => ({
      from: `traces AS t INDEXED BY ${index}`,
      where: [
        { sql: 't.project = ?', values: [project] },
        ...filter.bounds.filter((one) => one.figure === figure).map(({ part }) => part),
      ],
      trace: 't.trace',
      ...(figure === 'startTime' ? { start: 't.start_ns' } : {}),
    })),
  ];
};

/** Traces that a search found, of all projects. */
const sourceOfSearch = (traces: readonly number[]): Source => ({
  from: 'json_each(?) AS d',
  where: [{ sql: 'd.value IS NOT NULL', values: [] }],
  trace: 'd.value',
  bound: [JSON.stringify(traces)],
});

/** The numbers that stand in `traces.facets`, separated by commas. */
const parseIds = (text: string, ids: number[]): void => {
  ids.length = 0;
  if (text === '') return;
  let id = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x2c) {
      ids.push(id);
      id = 0;
    } else id = id * 10 + code - 0x30;
  }
  ids.push(id);
};

/** The traces of one project that meet the filter: of each the numbers of its values. */
const readProject = (
  statements: Statements,
  project: number,
  filter: PrintedFilter,
  search: Search | undefined,
  most: number,
): { readonly found: readonly (readonly number[])[]; readonly lookedAt: number; readonly isComplete: boolean } => {
  const values = facetIds(statements, project, filter);
  if (values === undefined) return { found: [], lookedAt: 0, isComplete: true };

  let source: Source | undefined;
  let entries = most + 2;
  const offer = (count: number, one: Source): void => {
    // What holds too many is looked at from its newest end, so it must lie in that order.
    if (count >= entries || (count > most && one.start === undefined)) return;
    source = one;
    entries = count;
  };
  if (search?.traces !== undefined) offer(Math.min(search.traces.length, most + 1), sourceOfSearch(search.traces));
  for (const one of sourcesOf(project, filter, values))
    offer(countUpTo(statements, one.from, one.where, most + 1), one);
  if (source === undefined) throw new Error('no source holds the traces of a project');

  const conditions = [
    { sql: 't.project = ?', values: [project] },
    ...filter.bounds.map(({ part }) => part),
    ...printMeans(filter, project),
  ];
  const order = source.start === undefined ? '' : `ORDER BY ${source.start} DESC, ${source.trace} DESC`;
  const rows = statements
    .raw<[number, string]>(
      `SELECT t.trace, t.facets FROM (
         SELECT ${source.trace} AS trace FROM ${source.from} WHERE ${source.where.map(({ sql }) => sql).join(' AND ')} ${order} LIMIT ?
       ) AS d CROSS JOIN traces AS t ON t.trace = d.trace WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
    )
    .all(
      ...(source.bound ?? []),
      ...source.where.flatMap((part) => part.values),
      most,
      ...conditions.flatMap((part) => part.values),
    );
  const kept =
    search &&
    (search.traces === undefined
      ? search.keepMatching(
          rows.map(([trace]) => trace),
          rows.length,
        )
      : new Set(search.traces));
  const found: number[][] = [];
  const ids: number[] = [];
  for (const [trace, text] of rows) {
    if (kept?.has(trace) === false) continue;
    parseIds(text, ids);
    if (values.every((value) => ids.includes(value))) found.push([...ids]);
  }
  return { found, lookedAt: Math.min(entries, most), isComplete: entries <= most };
};

/**
 * Counts values over the traces that meet a filter. The rows of at most `most` traces are read, so that a window of any size is counted
 * in about the same time; the answer says whether that was all.
 */
export const countFacets = (statements: Statements, query: FacetQuery): FacetReport => {
  const filter = printConditions(traceConditions(query));
  const search = filter.q === undefined ? undefined : openSearch(statements, filter.q);
  const isWalked = search !== undefined && search.traces === undefined;
  const holders = new Map<TraceFacet, number>();
  const counts = new Map<TraceFacet, Map<string, number>>(countedFacets.map((facet) => [facet, new Map()]));
  let traces = 0;
  let isComplete = true;

  const projects = filter.q !== undefined && search === undefined ? [] : projectNumbers(statements, query.projects);
  let left = isWalked ? Math.min(query.most, MOST_SEARCHED) : query.most;
  for (const [at, project] of projects.entries()) {
    const share = Math.ceil(left / (projects.length - at));
    const read = readProject(statements, project, filter, search, share);
    left -= read.lookedAt;
    isComplete &&= read.isComplete;
    traces += read.found.length;

    const countById = new Map<number, number>();
    for (const ids of read.found) for (const id of ids) countById.set(id, (countById.get(id) ?? 0) + 1);
    const facetById = new Map<number, TraceFacet>();
    const named = statements
      .raw<[number, number, string]>(
        // Without those that are not counted: of sessions and runs there are nearly as many as traces.
        `SELECT v.id, v.facet, v.value FROM json_each(?) AS j CROSS JOIN facet_values AS v ON v.id = j.value
         WHERE v.facet IN (${COUNTED})`,
      )
      .iterate(JSON.stringify([...countById.keys()]));
    for (const [id, number, stored] of named) {
      const [facet, value] = facetOf(number, stored);
      const ofFacet = counts.get(facet);
      if (ofFacet === undefined) continue;
      facetById.set(id, facet);
      ofFacet.set(value, (ofFacet.get(value) ?? 0) + (countById.get(id) ?? 0));
    }
    for (const ids of read.found) {
      const held = new Set<TraceFacet>();
      for (const id of ids) {
        const facet = facetById.get(id);
        if (facet !== undefined) held.add(facet);
      }
      for (const facet of held) holders.set(facet, (holders.get(facet) ?? 0) + 1);
    }
  }

  return { traces, isComplete, facets: facetCounts(counts, holders, traces, query.limit) };
};
