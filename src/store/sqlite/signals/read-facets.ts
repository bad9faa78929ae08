import { type CountedValues, facetCounts, frequentValues, sumOf } from '../../signals/facet-counts.ts';
import type { FacetQuery, FacetReport } from '../../signals/query.ts';
import { facetOf, facets } from '../../signals/rows/codes.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import type { CountedFacet } from '../../signals/trace-facets.ts';
import {
  addTallyText,
  COUNTED,
  type FacetTally,
  newFacetTally,
  parseIds,
  type ValueTally,
  valueTally,
} from './facet-tally.ts';
import { facetsOfHours, startOfHour } from './read-hours.ts';
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

/** What was counted of the traces of one project. */
type ProjectCounts = {
  readonly traces: number;
  readonly lookedAt: number;
  readonly isComplete: boolean;
  readonly tally: FacetTally;
  /** Values of which the name is known already. */
  readonly names: Map<number, string>;
};

/** Adds traces that were read one by one. */
const addRead = (
  statements: Statements,
  project: number,
  read: ValueTally,
  { tally, names }: Pick<ProjectCounts, 'tally' | 'names'>,
): void => {
  const facetOfValue = new Map<number, number>();
  for (const [id, facet, value] of namesOf(statements, project, read.ids)) {
    facetOfValue.set(id, facet);
    names.set(id, value);
  }
  read.addTo(tally, (id) => facetOfValue.get(id));
};

/** Traces that an hour holds on average, from which on its row says more than it costs to find. */
const MANY_AN_HOUR = 8;

/**
 * The traces of one project in a window, where nothing else is asked of them: hours that were added up, the last first, and the traces
 * between and beside them.
 * @returns `undefined` where hours hold too little to be of use
 */
const readHours = (
  statements: Statements,
  project: number,
  filter: PrintedFilter,
  most: number,
): ProjectCounts | undefined => {
  const timeOf = (wanted: 'at_least' | 'below'): bigint | undefined => {
    const found = filter.bounds.find(({ bound }) => bound.is === wanted);
    return found === undefined ? undefined : BigInt(found.bound.value);
  };
  const hours = facetsOfHours(statements, project, { from: timeOf('at_least'), to: timeOf('below') }, most);
  if (hours.reduce((sum, { traces }) => sum + traces, 0) < hours.length * MANY_AN_HOUR || hours.length === 0)
    return undefined;

  const tally = newFacetTally();
  const read = valueTally();
  const ids: number[] = [];
  const inWindow = within(filter, 't.start_ns');
  let left = most;
  let isComplete = true;
  /** Reads the traces between two times, as many as are left. */
  const readBetween = (from: bigint | undefined, to: bigint | undefined): void => {
    const where = [
      ...inWindow,
      ...(from === undefined ? [] : [{ sql: 't.start_ns >= ?', values: [from] }]),
      ...(to === undefined ? [] : [{ sql: 't.start_ns < ?', values: [to] }]),
    ];
    const found = statements
      .pluck<string>(
        `SELECT t.facets FROM traces AS t INDEXED BY traces_by_start WHERE ${['t.project = ?', ...where.map(({ sql }) => sql)].join(' AND ')}
         ORDER BY t.start_ns DESC, t.trace DESC LIMIT ?`,
      )
      .all(project, ...where.flatMap(({ values }) => values), left + 1);
    isComplete = found.length <= left;
    for (const text of found.slice(0, left)) {
      parseIds(text, ids);
      read.add(ids);
    }
    left -= Math.min(found.length, left);
  };
  let at: bigint | undefined;
  for (const { hour, traces, text } of hours) {
    const end = startOfHour(hour + 1);
    if (at !== end) readBetween(end, at);
    // The traces of this hour that are left, and whether there are more, is read at the end.
    at = end;
    if (!isComplete || traces > left) break;
    addTallyText(tally, text);
    left -= traces;
    at = startOfHour(hour);
  }
  if (isComplete) readBetween(undefined, at);
  const names = new Map<number, string>();
  addRead(statements, project, read, { tally, names });
  const traces = most - left;
  return { traces, lookedAt: traces, isComplete, tally, names };
};

/** The traces of one project that meet the filter, read one by one. */
const readProject = (
  statements: Statements,
  project: number,
  filter: PrintedFilter,
  search: Search | undefined,
  most: number,
): ProjectCounts => {
  const read = valueTally();
  const tally = newFacetTally();
  const names = new Map<number, string>();
  const values = facetIds(statements, project, filter);
  if (values === undefined) return { traces: 0, lookedAt: 0, isComplete: true, tally, names };

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
    if (values.every((value) => ids.includes(value))) read.add(ids);
  }
  addRead(statements, project, read, { tally, names });
  return { traces: read.traces(), lookedAt: Math.min(entries, most), isComplete: entries <= most, tally, names };
};

/** Says what of the values of one project is named, or what may be. */
const countsOfOne = (statements: Statements, { tally, names }: ProjectCounts, limit: number) => {
  const frequent = new Map([...tally].map(([facet, { counts }]) => [facet, frequentValues(counts, limit)]));
  const unnamed = [...frequent.values()].flatMap((values) => values.map(([id]) => id)).filter((id) => !names.has(id));
  if (unnamed.length > 0)
    for (const [id, value] of statements
      .raw<[number, string]>(
        'SELECT v.id, v.value FROM json_each(?) AS j CROSS JOIN facet_values AS v ON v.id = j.value',
      )
      .iterate(JSON.stringify(unnamed)))
      names.set(id, value);
  return (name: CountedFacet): CountedValues | undefined => {
    const facet = facets[name];
    const values = tally.get(facet);
    return (
      values && {
        frequent: (frequent.get(facet) ?? []).map(([id, count]) => [facetOf(facet, names.get(id) ?? '')[1], count]),
        values: values.counts.size,
        sum: sumOf(values.counts),
        holders: values.holders,
      }
    );
  };
};

/** The same of several projects, whose values are equal where their names are. */
const countsOfSeveral = (statements: Statements, several: readonly ProjectCounts[], limit: number) => {
  const named = several.map((one) => countsOfOne(statements, one, Number.POSITIVE_INFINITY));
  return (name: CountedFacet): CountedValues => {
    const counts = new Map<string, number>();
    let holders = 0;
    for (const countedOf of named) {
      const counted = countedOf(name);
      holders += counted?.holders ?? 0;
      for (const [value, count] of counted?.frequent ?? []) counts.set(value, (counts.get(value) ?? 0) + count);
    }
    return { frequent: frequentValues(counts, limit), values: counts.size, sum: sumOf(counts), holders };
  };
};

/**
 * Counts values over the traces that meet a filter. The rows of at most `most` traces are read, so that a window of any size is counted
 * in about the same time; the answer says whether that was all.
 */
export const countFacets = (statements: Statements, query: FacetQuery): FacetReport => {
  const filter = printConditions(traceConditions(query));
  const search = filter.q === undefined ? undefined : openSearch(statements, filter.q);
  const isWalked = search !== undefined && search.traces === undefined;
  // What began when is the question of the page on which all traces are listed; other conditions are read trace by trace.
  const isOfWindow =
    filter.q === undefined &&
    filter.facets.length === 0 &&
    filter.meansBelow.length === 0 &&
    filter.bounds.every(({ figure }) => figure === 'startTime');

  const projects = filter.q !== undefined && search === undefined ? [] : projectNumbers(statements, query.projects);
  let left = isWalked ? Math.min(query.most, MOST_SEARCHED) : query.most;
  const counted = projects.map((project, at) => {
    const share = Math.ceil(left / (projects.length - at));
    const read =
      (isOfWindow ? readHours(statements, project, filter, share) : undefined) ??
      readProject(statements, project, filter, search, share);
    left -= read.lookedAt;
    return read;
  });
  const traces = counted.reduce((sum, one) => sum + one.traces, 0);
  const held = counted.filter((one) => one.traces > 0);
  const [only] = held;
  return {
    traces,
    isComplete: counted.every((one) => one.isComplete),
    facets: facetCounts(
      held.length === 1 && only !== undefined
        ? countsOfOne(statements, only, query.limit)
        : countsOfSeveral(statements, held, query.limit),
      traces,
      query.limit,
    ),
  };
};
