import { traceIdAt } from '../../signals/position.ts';
import type { Position, TraceQuery, TraceSort } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { storable } from '../../signals/storable.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { mayBeNull, sortKeyAt, tracePosition, type TraceSortKey } from '../../signals/trace-position.ts';
import { type Binding, binding } from '../binding.ts';
import type { Database } from '../connection.ts';
import { keyText, ofTraces, type TraceKey } from './keyed.ts';
import { inReach, isInReach } from './reach.ts';
import type { Search, SearchWay } from './read-search.ts';
import { printFilter } from './trace-filter.ts';

/** The row that `decodeTrace` reads, from the column that holds all of it. */
export const parseRow = (summary: string): Row => JSON.parse(summary) as Row;

/** A place in the list: what the order compares. */
export type Place = { readonly trace: TraceKey; readonly key: TraceSortKey };

const types = {
  start_time: 'Int64',
  duration: 'Int64',
  cost: 'Float64',
  span_count: 'Float64',
  score: 'Float64',
} as const satisfies Record<TraceSort, string>;

/** A position comes back from a client, who may have made it up. */
export const placeOf = (sort: TraceSort, [key, traceId, project]: Position): Place => ({
  trace: [storable(String(project)), traceIdAt(traceId)],
  key: sortKeyAt(sort, key),
});
export const positionOf = ({ key, trace: [project, traceId] }: Place): Position => tracePosition(key, traceId, project);

/** What an order compares. @throws RangeError where it needs a scorer, and none is named */
export const columnOf = ({ sort, hasScore }: TraceQuery, { bind }: Binding): string => {
  switch (sort) {
    case 'start_time':
      return 't.start_ns';
    case 'duration':
      return 't.duration_ns';
    case 'cost':
      return 't.total_cost';
    case 'span_count':
      return 't.span_count';
    case 'score':
      if (hasScore === undefined) throw new RangeError('the order "score" needs the scorer whose mean it compares');
      return `t.means[${bind(hasScore, 'String')}]`;
    default:
      return sort satisfies never;
  }
};

/** A key in a statement. A number goes as its bits: servers before 26.7 read the digits of some as those of the number beside it. */
const bindKey = (sort: TraceSort, key: bigint | number, bind: Binding['bind']): string =>
  types[sort] === 'Float64'
    ? `reinterpretAsFloat64(${bind(new BigUint64Array(Float64Array.of(Number(key)).buffer)[0], 'UInt64')})`
    : bind(key, types[sort]);

/** The condition that a trace `t` stands behind a place. Traces without a key come last. */
const printBehind = (
  { sort, order }: TraceQuery,
  column: string,
  { key, trace: [project, traceId] }: Place,
  { bind }: Binding,
): string => {
  const beyond = order === 'desc' ? '<' : '>';
  const tie = `(t.trace_id, t.project) ${beyond} (${bind(traceId, 'String')}, ${bind(project, 'String')})`;
  if (key === null) return `(${column} IS NULL AND ${tie})`;
  const own = bindKey(sort, key, bind);
  const orNone = mayBeNull[sort] ? ` OR ${column} IS NULL` : '';
  return `(${column} ${beyond} ${own} OR (${column} = ${own} AND ${tie})${orNone})`;
};

/** The condition that a key stands behind another or beside it. */
const printFromKey = ({ sort, order }: TraceQuery, column: string, key: bigint | number, { bind }: Binding): string => {
  const notBefore = `${column} ${order === 'desc' ? '<=' : '>='} ${bindKey(sort, key, bind)}`;
  return mayBeNull[sort] ? `(${notBefore} OR ${column} IS NULL)` : notBefore;
};

/** Orders texts as the server does, by their bytes. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const compareKeys = (a: TraceSortKey, b: TraceSortKey, sign: 1 | -1): number => {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return a < b ? -sign : a > b ? sign : 0;
};

/** Orders of which few traces have the same key. */
const hasKeysThatDiffer = ({ sort }: TraceQuery): boolean => sort === 'start_time' || sort === 'duration';

/** A trace of the list, by its current row, which is absent where it is heavy. */
export type Found = { readonly place: Place; readonly weight: number; readonly row: Row | undefined };
/** Places of stored rows in order, whether they are the last, and current rows of their traces where they were read at once. */
export type Near = {
  readonly places: readonly Place[];
  readonly isOver: boolean;
  readonly current?: ReadonlyMap<string, Found>;
};
/** Which part of the list is read: what stands behind `after`, up to `upTo`. */
export type Stretch = { readonly after: Place | undefined; readonly upTo?: Place | undefined };

type Key = string | number | null;
type StoredRow = [
  project: string,
  traceId: string,
  key: Key,
  version: string,
  fits: 0 | 1 | null,
  weight: string,
  summary: string,
];
/** A row of the table: of those of one trace the newest counts. Two of one version hold the same. */
type Stored = {
  readonly place: Place;
  readonly version: bigint;
  readonly fits: boolean;
  readonly weight: number;
  readonly summary: string;
};

/**
 * How rows that do not count are kept out: `loose` leaves it to the index to keep projects apart, so that rows beside those of a project are
 * read too and its column is not; `strict` reads that column; `exact` keeps out rows that are replaced, and traces without the words, as well.
 */
type Care = 'loose' | 'strict' | 'exact';
/** What is read of the order: places behind one, at most so many, with current rows of their traces or without. */
type Reading = {
  readonly after: Place | undefined;
  readonly limit: number;
  readonly withRows: boolean;
  readonly care: Care;
};

/** Ways to read a stretch of the list. */
export const listOf = (
  { ask }: Database,
  query: TraceQuery,
  search: Search | undefined,
  way: SearchWay | undefined,
) => {
  const conditions = traceConditions(query);
  const direction = query.order === 'desc' ? 'DESC' : 'ASC';
  const sign = query.order === 'desc' ? -1 : 1;
  const inListOrder = (a: Place, b: Place): number =>
    compareKeys(a.key, b.key, sign) ||
    sign * (compareBytes(a.trace[1], b.trace[1]) || compareBytes(a.trace[0], b.trace[0]));
  const byKey = `ORDER BY key ${direction}${mayBeNull[query.sort] ? ' NULLS LAST' : ''}`;
  // Among the traces of one project no two have an id, and its column is not read.
  const byIds =
    query.projects !== 'all' && query.projects.length === 1
      ? `t.trace_id ${direction}`
      : `t.trace_id ${direction}, t.project ${direction}`;
  const inOrder = (limit: number): string => `${byKey}, ${byIds} LIMIT ${limit}`;
  const reach = (to: Binding): string => inReach(query.projects, to, 't.');
  const isOwn = ({ trace: [project] }: Place): boolean => isInReach(query.projects, project);
  const fitting = (to: Binding): readonly string[] => [
    't.is_deleted = 0',
    ...(printFilter(conditions, to)?.parts ?? []),
  ];
  const readPlace = (project: string, traceId: string, key: Key): Place => ({
    trace: [project, traceId],
    key: key === null ? null : types[query.sort] === 'Float64' ? Number(key) : BigInt(key),
  });

  /** What a row may weigh to be read at once. */
  const share = query.maxBytes === undefined ? undefined : query.maxBytes / (query.limit + 1);
  /** All stored rows of some traces. Of a project that is not in reach nothing is read but places. */
  const askStored = async (to: Binding, column: string, isOfTraces: string): Promise<Stored[]> => {
    const isRead = [reach(to), ...(share === undefined ? [] : [`weight <= ${to.bind(share, 'Float64')}`])];
    const rows = await ask<StoredRow>(
      `SELECT t.project, t.trace_id, ${column} AS key, toString(t.version), ${fitting(to).join(' AND ')}, length(t.summary) AS weight,
         if(${isRead.join(' AND ')}, t.summary, '')
       FROM traces AS t WHERE ${isOfTraces}`,
      to.params,
    );
    return rows.map(([project, traceId, key, version, fits, weight, summary]) => ({
      place: readPlace(project, traceId, key),
      version: BigInt(version),
      fits: fits === 1,
      weight: Number(weight),
      summary,
    }));
  };
  /** Those that count, by their traces. `FINAL`, which finds them in the server, merges all parts of the table for it. */
  const newestOf = (stored: readonly Stored[]): Map<string, Found> => {
    const newest = new Map<string, Stored>();
    for (const one of stored) {
      const name = keyText(one.place.trace);
      const other = newest.get(name);
      if (other === undefined || one.version > other.version) newest.set(name, one);
    }
    return new Map(
      [...newest]
        .filter(([, { fits, place }]) => fits && isOwn(place))
        .map(([name, { place, weight, summary }]) => [
          name,
          { place, weight, row: summary === '' ? undefined : parseRow(summary) },
        ]),
    );
  };

  /**
   * The first places of stored rows.
   * @param near the statement that reads them
   * @param isNear what it says of a place, where current rows are wanted too
   */
  const askFirst = async (
    near: string,
    to: Binding,
    column: string,
    limit: number,
    isNear: ((place: Place) => boolean) | undefined,
  ): Promise<Near> => {
    if (isNear === undefined) {
      const rows = await ask<[project: string, traceId: string, key: Key]>(near, to.params);
      return { places: rows.map((row) => readPlace(...row)), isOver: rows.length < limit };
    }
    // One statement, which sees one state of the table: what it found first are the first of all that it reads of their traces.
    const stored = await askStored(to, column, `t.trace_id IN (SELECT trace_id FROM (${near}))`);
    const places = stored
      .flatMap(({ place, fits }) => (fits && isNear(place) ? [place] : []))
      .sort(inListOrder)
      .slice(0, limit);
    return { places, isOver: places.length < limit, current: newestOf(stored) };
  };
  const nearOf = (column: string, parts: readonly string[], order: string, care: Care): string =>
    `SELECT t.project, t.trace_id, ${column} AS key FROM traces AS t${care === 'exact' ? ' FINAL' : ''} WHERE ${parts.join(' AND ')} ${order}`;
  const wordsIn = (to: Binding, care: Care): string[] => {
    if (search === undefined) return [];
    if (care === 'exact') return [search.print(to)];
    return way?.kind === 'matches' ? [search.printNear(to)] : [];
  };
  const partsOf = (to: Binding, care: Care): string[] => [
    care === 'loose' ? `indexHint(${reach(to)})` : reach(to),
    ...fitting(to),
    ...wordsIn(to, care),
  ];
  const firstInOrder = ({ after, limit, withRows, care }: Reading): Promise<Near> => {
    const to = binding();
    const column = columnOf(query, to);
    const parts = partsOf(to, care);
    if (after !== undefined) parts.push(printBehind(query, column, after, to));
    const isNear = (place: Place): boolean =>
      (care === 'loose' || isOwn(place)) && (after === undefined || inListOrder(place, after) > 0);
    return askFirst(nearOf(column, parts, inOrder(limit), care), to, column, limit, withRows ? isNear : undefined);
  };
  /**
   * The same in less time: by the key alone the server reads the ids of the rows that it gives, and of no others. Rows with the last key may be
   * more than are given, so they are left for the next time. @returns `undefined` when that leaves none
   */
  const firstByKey = async ({ after, limit, withRows, care }: Reading): Promise<Near | undefined> => {
    if (!hasKeysThatDiffer(query) || after?.key === null) return undefined;
    const to = binding();
    const column = columnOf(query, to);
    const parts = partsOf(to, care);
    if (after !== undefined) parts.push(printFromKey(query, column, after.key, to));
    const isNear = (place: Place): boolean =>
      (care === 'loose' || isOwn(place)) && (after === undefined || compareKeys(place.key, after.key, sign) >= 0);
    const near = nearOf(column, parts, `${byKey} LIMIT ${limit}`, care);
    const first = await askFirst(near, to, column, limit, withRows ? isNear : undefined);
    const last = first.places.at(-1)?.key;
    const behind = first.places
      .filter((place) => after === undefined || inListOrder(place, after) > 0)
      .sort(inListOrder);
    if (first.isOver) return { ...first, places: behind };
    const whole = behind.filter(({ key }) => key !== last);
    return whole.length === 0 ? undefined : { ...first, places: whole };
  };
  const first = async (reading: Reading): Promise<Near> => (await firstByKey(reading)) ?? firstInOrder(reading);
  /** Whether a project is so small among others that its own rows were the fewer of those read. */
  let isSmall = false;

  return {
    /**
     * Places of stored rows, in order. Each trace of the list has one there; others are of rows that are replaced or removed, which are
     * not kept apart here as that takes as long again.
     * @param isExact whether they are, and the words too
     * @param withRows whether current rows are wanted of all of them
     */
    near: async (after: Place | undefined, limit: number, isExact: boolean, withRows: boolean): Promise<Near> => {
      if (isExact) return firstInOrder({ after, limit, withRows: false, care: 'exact' });
      if (!isSmall) {
        const all = await first({ after, limit, withRows, care: 'loose' });
        const places = all.places.filter(isOwn);
        if (all.isOver || 2 * places.length >= all.places.length) return { ...all, places };
        isSmall = true;
      }
      return first({ after, limit, withRows, care: 'strict' });
    },
    /** Those of the given traces that stand in a stretch, of rows that were read with their places. */
    among: (current: ReadonlyMap<string, Found>, traces: readonly TraceKey[], { after, upTo }: Stretch): Found[] =>
      traces
        .flatMap((trace) => current.get(keyText(trace)) ?? [])
        .filter(
          ({ place }) =>
            (after === undefined || inListOrder(place, after) > 0) &&
            (upTo === undefined || inListOrder(place, upTo) <= 0),
        )
        .sort((a, b) => inListOrder(a.place, b.place)),
    /** Current rows of the given traces, but for those that are heavy. */
    current: async (traces: readonly TraceKey[]): Promise<ReadonlyMap<string, Found>> => {
      if (traces.length === 0) return new Map();
      const to = binding();
      return newestOf(await askStored(to, columnOf(query, to), ofTraces(traces, to, 't.')));
    },
  };
};
