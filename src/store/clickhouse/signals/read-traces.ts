import { decodeInTurns } from '../../in-turns.ts';
import type { Page, TraceQuery, TraceSummary } from '../../signals/query.ts';
import { SUMMARY_COLUMNS } from '../../signals/rows/columns.ts';
import { decodeTrace } from '../../signals/rows/decode.ts';
import { SUMMARY } from '../../signals/rows/joined-trace.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { binding } from '../binding.ts';
import type { Database } from '../connection.ts';
import { keyText, nextTraces } from './keyed.ts';
import { openSearch } from './read-search.ts';
import { TRACES } from './tables.ts';
import { printFilter } from './trace-filter.ts';
import { columnOf, type Found, listOf, parseRow, placeOf, positionOf } from './trace-list.ts';
import { readWhole, type Whole } from './whole-rows.ts';

/** What `decodeTrace` reads of a trace. */
export const summaryColumns = (t: string): string =>
  `${t}.trace_id, ${t}.project, ${SUMMARY_COLUMNS.map((column) => `${t}.${column}`).join(', ')}`;

const SUMMARIES: Whole = { of: TRACES, columns: 'r.summary' };
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
      const [holding, rowsOf] = await Promise.all([search?.verify(named), current ?? list.current(named)]);
      const kept = holding === undefined ? named : named.filter((trace) => holding.has(keyText(trace)));
      found.push(...list.among(rowsOf, kept, { after, upTo }).slice(0, missing));
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
