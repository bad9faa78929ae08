import { traceIdAt } from '../../signals/position.ts';
import type { Page, Position, TraceQuery, TraceSort, TraceSummary } from '../../signals/query.ts';
import { decodeTrace } from '../../signals/rows/decode.ts';
import { type Row, SUMMARY_COLUMNS } from '../../signals/rows/columns.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { SUMMARY } from '../../signals/rows/joined-trace.ts';
import { storable } from '../../signals/storable.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { mayBeNull, sortKeyAt, tracePosition, type TraceSortKey } from '../../signals/trace-position.ts';
import { type Binding, binding } from '../binding.ts';
import type { Database } from '../connection.ts';
import { keyText, nextTraces, ofTraces, type TraceKey } from './keyed.ts';
import { inReach, NO_PROJECT } from './reach.ts';
import { openSearch, type Search, type SearchWay } from './read-search.ts';
import { TRACES } from './tables.ts';
import { printFilter } from './trace-filter.ts';
import { readWhole, type Whole } from './whole-rows.ts';

/** What `decodeTrace` reads of a trace. */
export const summaryColumns = (t: string): string =>
  `${t}.trace_id, ${t}.project, ${SUMMARY_COLUMNS.map((column) => `${t}.${column}`).join(', ')}`;

const SUMMARIES: Whole = { of: TRACES, columns: 'r.summary' };
/** The row that `decodeTrace` reads, from the column that holds all of it. */
const parseRow = (summary: string): Row => JSON.parse(summary) as Row;

/** A place in the list: what the order compares. */
type Place = { readonly trace: TraceKey; readonly key: TraceSortKey };

const types = {
  start_time: 'Int64',
  duration: 'Int64',
  cost: 'Float64',
  span_count: 'Float64',
  score: 'Float64',
} as const satisfies Record<TraceSort, string>;

/** A position comes back from a client, who may have made it up. */
const placeOf = (sort: TraceSort, [key, traceId, project]: Position): Place => ({
  trace: [storable(String(project)), traceIdAt(traceId)],
  key: sortKeyAt(sort, key),
});
const positionOf = ({ key, trace: [project, traceId] }: Place): Position => tracePosition(key, traceId, project);

const columnOf = ({ sort, hasScore }: TraceQuery, { bind }: Binding): string => {
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
  const own = bind(key, types[sort]);
  const orNone = mayBeNull[sort] ? ` OR ${column} IS NULL` : '';
  return `(${column} ${beyond} ${own} OR (${column} = ${own} AND ${tie})${orNone})`;
};

/** The condition that a key stands behind another or beside it. */
const printFromKey = ({ sort, order }: TraceQuery, column: string, key: bigint | number, { bind }: Binding): string => {
  const notBefore = `${column} ${order === 'desc' ? '<=' : '>='} ${bind(key, types[sort])}`;
  return mayBeNull[sort] ? `(${notBefore} OR ${column} IS NULL)` : notBefore;
};

/** Orders texts as the server does, by their bytes. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Orders places as the statements do. */
const comparePlaces = ({ order }: TraceQuery) => {
  const sign = order === 'desc' ? -1 : 1;
  return (a: Place, b: Place): number => {
    if (a.key === null || b.key === null) {
      if (a.key !== b.key) return a.key === null ? 1 : -1;
    } else if (a.key < b.key) return -sign;
    else if (a.key > b.key) return sign;
    return sign * (compareBytes(a.trace[1], b.trace[1]) || compareBytes(a.trace[0], b.trace[0]));
  };
};

/** Orders of which few traces have the same key. */
const hasKeysThatDiffer = ({ sort }: TraceQuery): boolean => sort === 'start_time' || sort === 'duration';

/** Stored rows that are read beyond those that are wanted: some may be replaced. */
const SPARE_ROWS = 16;
/** Stored rows that are read in one go, after the first time. */
const MOST_ROWS = 1_024;
/** The same, of traces whose current rows are asked for. */
const SPARE_TRACES = 4;
/** Traces of which is asked at once, at the least, and at the most where payloads are searched for a phrase. */
const FEW_TRACES = 32;
const PHRASE_TRACES = 64;
/** Stored rows, for each that is wanted and in any case, after which it is not worth while to go through more that do not count. */
const WALKED_FOR_EACH = 16;
const WALKED_IN_ANY_CASE = 1_024;

type Found = { readonly place: Place; readonly weight: number; readonly row: Row | undefined };
/** Places of stored rows in order, whether they are the last, and current rows of their traces where they were read at once. */
type Near = {
  readonly places: readonly Place[];
  readonly isOver: boolean;
  readonly current?: ReadonlyMap<string, Found>;
};
/** Which part of the list is read: what stands behind `after`, up to `upTo`. */
type Stretch = { readonly after: Place | undefined; readonly upTo?: Place | undefined };

/** Ways to read a stretch of the list. */
const listOf = ({ ask }: Database, query: TraceQuery, search: Search | undefined, way: SearchWay | undefined) => {
  const conditions = traceConditions(query);
  const direction = query.order === 'desc' ? 'DESC' : 'ASC';
  const inOrder = (limit: number): string =>
    `ORDER BY key ${direction} NULLS LAST, t.trace_id ${direction}, t.project ${direction} LIMIT ${limit}`;
  const within = (to: Binding, column: string, { after, upTo }: Stretch): string[] => [
    inReach(query.projects, to, 't.'),
    ...(printFilter(conditions, to)?.parts ?? []),
    ...(after === undefined ? [] : [printBehind(query, column, after, to)]),
    ...(upTo === undefined ? [] : [`NOT ${printBehind(query, column, upTo, to)}`]),
  ];
  const read = (project: string, traceId: string, key: string | number | null): Place => ({
    trace: [project, traceId],
    key: key === null || types[query.sort] === 'Float64' ? (key === null ? null : Number(key)) : BigInt(key),
  });
  /** What a row may weigh to be read at once. */
  const share = query.maxBytes === undefined ? undefined : query.maxBytes / (query.limit + 1);

  const summaryIn = ({ bind }: Binding): string =>
    share === undefined ? 't.summary' : `if(weight <= ${bind(share, 'Float64')}, t.summary, '')`;
  type CurrentRow = [project: string, traceId: string, key: string | number | null, weight: string, summary: string];
  const currentOf = (to: Binding, column: string): string =>
    `SELECT t.project, t.trace_id, ${column} AS key, length(t.summary) AS weight, ${summaryIn(to)} FROM traces AS t FINAL`;
  const foundOf = ([project, traceId, key, bytes, text]: CurrentRow): Found => ({
    place: read(project, traceId, key),
    weight: Number(bytes),
    row: text === '' ? undefined : parseRow(text),
  });
  const inListOrder = comparePlaces(query);

  type NearRow = [project: string, traceId: string, key: string | number | null];
  /** @param near the statement that reads the places */
  const askNear = async (near: string, to: Binding): Promise<Place[]> =>
    (await ask<NearRow>(near, to.params)).map((row) => read(...row));
  /** The same, and the current rows of these traces: one statement takes a fifth less time than two. */
  const askNearWithRows = async (near: string, to: Binding, column: string): Promise<[Place[], Map<string, Found>]> => {
    const rows = await ask<CurrentRow>(
      `WITH (SELECT groupArray((project, trace_id, key)) FROM (${near})) AS near
       ${currentOf(to, column)} WHERE t.trace_id IN (near.2) AND ${within(to, column, { after: undefined }).join(' AND ')}
       UNION ALL SELECT '${NO_PROJECT}', '', NULL, 0, toJSONString(near)`,
      to.params,
    );
    const places = rows.find(([project]) => project === NO_PROJECT)?.[4] ?? '[]';
    const current = rows.filter(([project]) => project !== NO_PROJECT).map(foundOf);
    return [
      (JSON.parse(places) as NearRow[]).map((row) => read(...row)),
      new Map(current.map((found) => [keyText(found.place.trace), found])),
    ];
  };
  const nearOf = (column: string, parts: readonly string[], order: string, isExact = false): string =>
    `SELECT t.project, t.trace_id, ${column} AS key FROM traces AS t${isExact ? ' FINAL' : ''} WHERE ${parts.join(' AND ')} ${order}`;
  const storedParts = (to: Binding): string[] => [
    't.is_deleted = 0',
    ...(search !== undefined && way?.kind === 'matches' ? [search.printNear(to)] : []),
  ];
  const readNear = async (near: string, to: Binding, column: string, withRows: boolean): Promise<Near> => {
    if (!withRows) return { places: await askNear(near, to), isOver: false };
    const [places, current] = await askNearWithRows(near, to, column);
    return { places, isOver: false, current };
  };
  const nearInOrder = async (
    after: Place | undefined,
    limit: number,
    isExact: boolean,
    withRows: boolean,
  ): Promise<Near> => {
    const to = binding();
    const column = columnOf(query, to);
    const parts = within(to, column, { after });
    if (!isExact) parts.push(...storedParts(to));
    else if (search !== undefined) parts.push(search.print(to));
    const near = await readNear(nearOf(column, parts, inOrder(limit), isExact), to, column, withRows);
    return { ...near, isOver: near.places.length < limit };
  };
  /**
   * The same in less time: by the key alone the server reads the ids of the rows that it gives, and of no others. Rows with the last key may be
   * more than are given, so they are left for the next time. @returns `undefined` when that leaves none
   */
  const nearByKey = async (after: Place | undefined, limit: number, withRows: boolean): Promise<Near | undefined> => {
    if (!hasKeysThatDiffer(query) || after?.key === null) return undefined;
    const to = binding();
    const column = columnOf(query, to);
    const parts = [...within(to, column, { after: undefined }), ...storedParts(to)];
    if (after !== undefined) parts.push(printFromKey(query, column, after.key, to));
    const order = `ORDER BY key ${direction} NULLS LAST LIMIT ${limit}`;
    const near = await readNear(nearOf(column, parts, order), to, column, withRows);
    const last = near.places.at(-1)?.key;
    const behind = near.places
      .filter((place) => after === undefined || inListOrder(place, after) > 0)
      .sort(inListOrder);
    if (near.places.length < limit) return { ...near, places: behind, isOver: true };
    const whole = behind.filter(({ key }) => key !== last);
    return whole.length === 0 ? undefined : { ...near, places: whole };
  };

  return {
    /**
     * Places of stored rows, in order. Each trace of the list has one there; others are of rows that are replaced or removed, which are
     * not kept apart here as that takes as long again.
     * @param isExact whether they are, and the words too
     * @param withRows whether current rows are wanted of all of them
     */
    near: async (after: Place | undefined, limit: number, isExact: boolean, withRows: boolean): Promise<Near> =>
      (isExact ? undefined : await nearByKey(after, limit, withRows)) ?? nearInOrder(after, limit, isExact, withRows),
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
    /** Those of the given traces that stand in a stretch now, in order, with their rows, but for rows that are heavy. */
    current: async (traces: readonly TraceKey[], stretch: Stretch, limit: number): Promise<Found[]> => {
      if (traces.length === 0) return [];
      const to = binding();
      const column = columnOf(query, to);
      const parts = [ofTraces(traces, to, 't.'), ...within(to, column, stretch)];
      const rows = await ask<CurrentRow>(
        `${currentOf(to, column)} WHERE ${parts.join(' AND ')} ${inOrder(limit)}`,
        to.params,
      );
      return rows.map(foundOf);
    },
  };
};

/** How many rows are in the page: with that which brings it over the bound in bytes. */
const lengthOf = (found: readonly Found[], { limit, maxBytes = Infinity }: TraceQuery): number => {
  let bytes = 0;
  const over = found.findIndex(({ weight }) => (bytes += weight) >= maxBytes);
  return Math.min(limit, over === -1 ? found.length : over + 1);
};

/** Reads a page of the trace list. No payload is read but to find a phrase, and only rows of the page are read completely. */
export const listTraces = async (database: Database, query: TraceQuery): Promise<Page<TraceSummary>> => {
  columnOf(query, binding());
  const filter = printFilter(traceConditions(query), binding());
  if (filter === undefined) return { items: [] };
  const search = filter.q === undefined ? undefined : await openSearch(database, filter.q, query.projects);
  if (filter.q !== undefined && search === undefined) return { items: [] };
  const wanted = query.limit + 1;
  const way = await search?.chooseWay(wanted);
  if (way?.kind === 'nothing') return { items: [] };
  const list = listOf(database, query, search, way);
  const hits = way?.kind === 'walk' ? way.share : 1;

  const found: Found[] = [];
  let after = query.after === undefined ? undefined : placeOf(query.sort, query.after);
  const hasPhrases = search?.hasPhrases === true;
  const walkedAtMost = hasPhrases ? Infinity : WALKED_FOR_EACH * wanted + WALKED_IN_ANY_CASE;
  let walked = 0;
  let isOver = false;
  for (let rows = Math.ceil(wanted / hits) + SPARE_ROWS; !isOver && found.length < wanted; rows = MOST_ROWS) {
    const isFirst = walked === 0;
    const read = await list.near(after, rows, walked > walkedAtMost, isFirst && search === undefined);
    const { places: near, current } = read;
    walked += near.length;
    isOver = read.isOver;
    for (let at = 0; at < near.length && found.length < wanted; ) {
      const missing = wanted - found.length;
      const some = Math.max(FEW_TRACES, Math.ceil(missing / hits) + SPARE_TRACES);
      // Rows of one trace lie side by side where its place did not change.
      const { traces: open, to } = nextTraces(near, at, hasPhrases ? Math.min(some, PHRASE_TRACES) : some);
      at = to;
      const upTo = isOver && at === near.length ? undefined : near[at - 1];
      // One that moved meanwhile would stand here twice.
      for (const { place } of found) open.delete(keyText(place.trace));
      const named = [...open.values()];
      const holding = await search?.verify(named);
      const kept = holding === undefined ? named : named.filter((trace) => holding.has(keyText(trace)));
      const stretch = { after, upTo };
      found.push(
        ...(current === undefined
          ? await list.current(kept, stretch, missing)
          : list.among(current, kept, stretch).slice(0, missing)),
      );
      after = upTo;
    }
  }

  const page = found.slice(0, lengthOf(found, query));
  const heavy = page.flatMap(({ place, row }) => (row === undefined ? [place.trace] : []));
  const { rows } = await readWhole(database.ask, SUMMARIES, heavy, undefined);
  const heavyRows = new Map(
    rows.map(([text]) => {
      const row = parseRow(text as string);
      return [keyText([row[SUMMARY.project] as string, row[SUMMARY.traceId] as string]), row];
    }),
  );
  const items = await decodeInTurns(
    // One that is not there any more was removed since.
    page.flatMap(({ place, row = heavyRows.get(keyText(place.trace)) }) => (row === undefined ? [] : [row])),
    decodeTrace,
  );
  const last = page.at(-1);
  return found.length > page.length && last !== undefined ? { items, next: positionOf(last.place) } : { items };
};
