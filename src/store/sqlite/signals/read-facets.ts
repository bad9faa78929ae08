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
    // An index without a bound holds all traces of the project, as that of start times does, which lies in their order.
    ...indexes
      .filter(([figure]) => figure === 'startTime' || filter.bounds.some((one) => one.figure === figure))
      .map(([figure, index]) => ({
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

/** The values that traces of one project have, by their numbers. */
const valueTally = () => {
  /** The place of each number among those that were met. */
  const places = new Map<number, number>();
  const ids: number[] = [];
  const counts: number[] = [];
  /** Places of the values of all traces, one trace after the other, and where each trace ends. */
  const held: number[] = [];
  const ends: number[] = [];
  return {
    ids,
    counts,
    add: (ofTrace: readonly number[]): void => {
      for (const id of ofTrace) {
        let place = places.get(id);
        if (place === undefined) {
          place = ids.length;
          places.set(id, place);
          ids.push(id);
          counts.push(0);
        }
        counts[place] = (counts[place] ?? 0) + 1;
        held.push(place);
      }
      ends.push(held.length);
    },
    place: (id: number): number | undefined => places.get(id),
    traces: (): number => ends.length,
    /** In how many traces a value of each group stands. @param groupOf the group of each place, below 31; -1 of those in none */
    countGroups: (groupOf: Int8Array): number[] => {
      const found = Array<number>(31).fill(0);
      let at = 0;
      for (const end of ends) {
        let groups = 0;
        for (; at < end; at += 1) {
          const group = groupOf[held[at] as number] as number;
          if (group >= 0) groups |= 1 << group;
        }
        for (let group = 0; groups !== 0; group += 1, groups >>>= 1)
          if (groups & 1) found[group] = (found[group] ?? 0) + 1;
      }
      return found;
    },
  };
};
type ValueTally = ReturnType<typeof valueTally>;

/** The traces of one project that meet the filter: the numbers of their values. */
const readProject = (
  statements: Statements,
  project: number,
  filter: PrintedFilter,
  search: Search | undefined,
  most: number,
): { readonly tally: ValueTally; readonly lookedAt: number; readonly isComplete: boolean } => {
  const tally = valueTally();
  const values = facetIds(statements, project, filter);
  if (values === undefined) return { tally, lookedAt: 0, isComplete: true };

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
  const ids: number[] = [];
  for (const [trace, text] of rows) {
    if (kept?.has(trace) === false) continue;
    parseIds(text, ids);
    if (values.every((value) => ids.includes(value))) tally.add(ids);
  }
  return { tally, lookedAt: Math.min(entries, most), isComplete: entries <= most };
};

/** Values of a project, as they stand in the file. */
type Named = [id: number, facet: number, value: string];

/**
 * The counted values among these numbers; others may be among them. Ids of sessions and runs, of which there are nearly as many as
 * traces, are not read where the values of the project are fewer than the numbers.
 */
const namesOf = (statements: Statements, project: number, ids: readonly number[]): Named[] => {
  const counted = `v.facet IN (${COUNTED})`;
  const ofProject = { sql: `v.project = ? AND ${counted}`, values: [project] };
  return countUpTo(statements, 'facet_values AS v', [ofProject], 2 * ids.length) < 2 * ids.length
    ? statements.raw<Named>(`SELECT v.id, v.facet, v.value FROM facet_values AS v WHERE ${ofProject.sql}`).all(project)
    : statements
        .raw<Named>(
          `SELECT v.id, v.facet, v.value FROM json_each(?) AS j CROSS JOIN facet_values AS v ON v.id = j.value WHERE ${counted}`,
        )
        .all(JSON.stringify(ids));
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
  const groups = new Map<TraceFacet, number>(countedFacets.map((facet, group) => [facet, group]));
  let traces = 0;
  let isComplete = true;

  const projects = filter.q !== undefined && search === undefined ? [] : projectNumbers(statements, query.projects);
  let left = isWalked ? Math.min(query.most, MOST_SEARCHED) : query.most;
  for (const [at, project] of projects.entries()) {
    const share = Math.ceil(left / (projects.length - at));
    const read = readProject(statements, project, filter, search, share);
    left -= read.lookedAt;
    isComplete &&= read.isComplete;
    const { tally } = read;
    traces += tally.traces();

    const groupOf = new Int8Array(tally.ids.length).fill(-1);
    for (const [id, number, stored] of namesOf(statements, project, tally.ids)) {
      const place = tally.place(id);
      if (place === undefined) continue;
      const [facet, value] = facetOf(number, stored);
      const group = groups.get(facet);
      const ofFacet = counts.get(facet);
      if (group === undefined || ofFacet === undefined) continue;
      ofFacet.set(value, (ofFacet.get(value) ?? 0) + (tally.counts[place] ?? 0));
      groupOf[place] = group;
    }
    const held = tally.countGroups(groupOf);
    for (const [facet, group] of groups) holders.set(facet, (holders.get(facet) ?? 0) + (held[group] ?? 0));
  }

  return { traces, isComplete, facets: facetCounts(counts, holders, traces, query.limit) };
};
