import { tallyFacets } from '../../signals/facet-counts.ts';
import type { FacetQuery, FacetReport } from '../../signals/query.ts';
import { facetOf } from '../../signals/rows/codes.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { uuidArray } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { projectNumbers } from './reach.ts';
import { keyText, openSearch, type Search, type TraceKey } from './read-search.ts';
import { type Binding, binding, hex } from './statement.ts';
import {
  indexedFigures,
  printBounds,
  printConditions,
  type PrintedFilter,
  printFacet,
  readFilter,
} from './trace-filter.ts';

/** Traces that a search for frequent words is asked about, at the most: each is a question to the index. */
const MOST_SEARCHED = 2_000;

/** Traces to look at: a FROM and a WHERE, in which a column `trace_id` and, where it lies in that order, the start stand. */
type Source = { readonly print: (to: Binding) => string; readonly row: 'd' | 't'; readonly hasStart: boolean };

const sourcesOf = (project: number, filter: PrintedFilter): Source[] => [
  ...filter.facets.map(
    (facet): Source => ({
      print: (to) =>
        `trace_facets AS d WHERE d.project = ${to.bind(project, 'int4')} AND ${printFacet(filter, facet, to)}`,
      row: 'd',
      hasStart: true,
    }),
  ),
  ...indexedFigures.map(
    (figure): Source => ({
      print: (to) =>
        `traces AS t WHERE ${[`t.project = ${to.bind(project, 'int4')}`, ...printBounds(filter, figure, to)].join(' AND ')}`,
      row: 't',
      hasStart: figure === 'startTime',
    }),
  ),
];

/** What was found in one project: the properties of each trace, as they are stored. */
type Found = { readonly facets: readonly string[]; readonly lookedAt: number; readonly isComplete: boolean };

const readProject = async (
  ask: Ask,
  project: number,
  filter: PrintedFilter,
  search: { readonly search: Search; readonly traces: readonly TraceKey[] | undefined } | undefined,
  most: number,
): Promise<Found> => {
  const counting = binding();
  const sources = sourcesOf(project, filter);
  const [counts = []] = await ask<bigint[]>(
    `SELECT ${sources
      .map(({ print }) => `(SELECT count(*) FROM (SELECT 1 FROM ${print(counting)} LIMIT ${most + 1}) AS x)`)
      .join(', ')}`,
    counting.values,
  );
  let source: Source | undefined;
  let entries = most + 2;
  const offer = (count: number, one: Source): void => {
    // What holds too many is looked at from its newest end, so it must lie in that order.
    if (count >= entries || (count > most && !one.hasStart)) return;
    source = one;
    entries = count;
  };
  const own = search?.traces?.filter(([of]) => of === project).map(([, traceId]) => traceId);
  if (own !== undefined)
    offer(Math.min(own.length, most + 1), {
      print: (to) => `unnest(${to.bind(uuidArray(own), 'uuid[]')}) AS d (trace_id) WHERE true`,
      row: 'd',
      hasStart: false,
    });
  for (const [place, one] of sources.entries()) offer(Number(counts[place]), one);
  if (source === undefined) throw new Error('no source holds the traces of a project');

  const to = binding();
  const { print, row, hasStart } = source;
  const from = print(to);
  const order = hasStart ? `ORDER BY ${row}.start_ns DESC, ${row}.trace_id DESC` : '';
  const conditions = [
    `t.project = ${to.bind(project, 'int4')}`,
    't.trace_id = d.trace_id',
    ...printConditions(filter, to),
  ];
  const rows = await ask<[traceId: string, facets: string]>(
    `SELECT ${hex('t.trace_id')}, t.facets FROM (SELECT ${row}.trace_id FROM ${from} ${order} LIMIT ${most}) AS d
     CROSS JOIN LATERAL (SELECT t.trace_id, t.facets FROM traces AS t WHERE ${conditions.join(' AND ')} OFFSET 0) AS t`,
    to.values,
  );
  const keyOf = ([traceId]: (typeof rows)[number]): TraceKey => [project, traceId];
  const kept =
    search &&
    (search.traces === undefined
      ? await search.search.keepMatching(rows.map(keyOf), rows.length)
      : new Set(search.traces.map(keyText)));
  return {
    facets: rows.filter((one) => kept?.has(keyText(keyOf(one))) !== false).map(([, facets]) => facets),
    lookedAt: Math.min(entries, most),
    isComplete: entries <= most,
  };
};

/**
 * Counts values over the traces that meet a filter. The rows of at most `most` traces are read, so that a window of any size is counted
 * in about the same time; the answer says whether that was all.
 */
export const countFacets = async (ask: Ask, query: FacetQuery): Promise<FacetReport> => {
  const tally = tallyFacets();
  let traces = 0;
  let isComplete = true;
  const report = (): FacetReport => ({ traces, isComplete, facets: tally.counted(traces, query.limit) });

  const filter = readFilter(traceConditions(query));
  if (filter === undefined) return report();
  const projects = await projectNumbers(ask, query.projects);
  const opened = filter.q === undefined ? undefined : await openSearch(ask, filter.q, projects);
  if (filter.q !== undefined && opened === undefined) return report();
  const search = opened && { search: opened, traces: opened.isRare ? await opened.wholeSet() : undefined };

  const count = ([stored]: Row): void =>
    tally.add((JSON.parse(stored as string) as [number, string][]).map(([facet, value]) => facetOf(facet, value)));
  let left = search !== undefined && search.traces === undefined ? Math.min(query.most, MOST_SEARCHED) : query.most;
  for (const [at, project] of projects.entries()) {
    const share = Math.ceil(left / (projects.length - at));
    const found = await readProject(ask, project, filter, search, share);
    left -= found.lookedAt;
    isComplete &&= found.isComplete;
    traces += found.facets.length;
    await decodeInTurns(
      found.facets.map((facets): Row => [facets]),
      count,
    );
  }
  return report();
};
