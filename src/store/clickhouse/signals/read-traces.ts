import { traceIdAt } from '../../signals/position.ts';
import type { Page, Position, TraceQuery, TraceSort, TraceSummary } from '../../signals/query.ts';
import { decodeTrace } from '../../signals/rows/decode.ts';
import { SUMMARY_COLUMNS } from '../../signals/rows/columns.ts';
import { decodeInTurns } from '../../signals/rows/in-turns.ts';
import { storable } from '../../signals/storable.ts';
import { traceConditions } from '../../signals/trace-conditions.ts';
import { mayBeNull, sortKeyAt, tracePosition, type TraceSortKey } from '../../signals/trace-position.ts';
import { type Binding, binding } from '../binding.ts';
import type { Database } from '../connection.ts';
import { keyText, type TraceKey } from './keyed.ts';
import { inReach } from './reach.ts';
import { openSearch, type Search } from './read-search.ts';
import { TRACES } from './tables.ts';
import { printFilter } from './trace-filter.ts';
import { readWhole, weightOf, type Whole } from './whole-rows.ts';

/** What `decodeTrace` reads of a trace. */
export const summaryColumns = (t: string): string =>
  `${t}.trace_id, ${t}.project, ${SUMMARY_COLUMNS.map((column) => `${t}.${column}`).join(', ')}`;

const SUMMARIES: Whole = {
  of: TRACES,
  columns: summaryColumns('r'),
  weight: weightOf([
    ...['name', 'models', 'tags', 'environment', 'service_name', 'service_version', 'release', 'user_id', 'session_id'],
    ...['thread_id', 'run_id', 'experiment_id', 'scores', 'feedback'],
  ]),
};

/** Traces that are looked at in one go to find a phrase in them: from the first to the last chunk. */
const FIRST_CHUNK = 64;
const LAST_CHUNK = 1_024;

/** A row of the list before the rest of it is read: what the order compares. */
type Candidate = { readonly trace: TraceKey; readonly key: TraceSortKey };

const types = {
  start_time: 'Int64',
  duration: 'Int64',
  cost: 'Float64',
  span_count: 'Float64',
  score: 'Float64',
} as const satisfies Record<TraceSort, string>;

/** A position comes back from a client, who may have made it up. */
const candidateOf = (sort: TraceSort, [key, traceId, project]: Position): Candidate => ({
  trace: [storable(String(project)), traceIdAt(traceId)],
  key: sortKeyAt(sort, key),
});
const positionOf = ({ key, trace: [project, traceId] }: Candidate): Position => tracePosition(key, traceId, project);

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

/** Reads a page of the trace list. No payload is read but to find a phrase, and only rows of the page are read completely. */
export const listTraces = async (database: Database, query: TraceQuery): Promise<Page<TraceSummary>> => {
  const { ask } = database;
  const conditions = traceConditions(query);
  const filter = printFilter(conditions, binding());
  if (filter === undefined) return { items: [] };
  const search = filter.q === undefined ? undefined : await openSearch(database, filter.q, query.projects);
  columnOf(query, binding());
  if (filter.q !== undefined && search === undefined) return { items: [] };
  const isDescending = query.order === 'desc';
  const direction = isDescending ? 'DESC' : 'ASC';
  const beyond = isDescending ? '<' : '>';

  /** Traces after a position, in order; those without a key come last. */
  const candidates = async (after: Candidate | undefined, limit: number): Promise<Candidate[]> => {
    const to = binding();
    const column = columnOf(query, to);
    const parts = [inReach(query.projects, to, 't.'), ...(printFilter(conditions, to)?.parts ?? [])];
    if (search !== undefined) parts.push(search.print(to));
    if (after !== undefined) {
      const [project, traceId] = after.trace;
      const place = `(t.trace_id, t.project) ${beyond} (${to.bind(traceId, 'String')}, ${to.bind(project, 'String')})`;
      if (after.key === null) parts.push(`${column} IS NULL AND ${place}`);
      else {
        const key = to.bind(after.key, types[query.sort]);
        const orNone = mayBeNull[query.sort] ? ` OR ${column} IS NULL` : '';
        parts.push(`(${column} ${beyond} ${key} OR (${column} = ${key} AND ${place})${orNone})`);
      }
    }
    const found = await ask<[string, string, string | number | null]>(
      `SELECT t.project, t.trace_id, ${column} AS key FROM traces AS t FINAL WHERE ${parts.join(' AND ')}
       ORDER BY key ${direction} NULLS LAST, t.trace_id ${direction}, t.project ${direction} LIMIT ${limit}`,
      to.params,
    );
    return found.map(([project, traceId, key]) => ({
      trace: [project, traceId],
      key: key === null || types[query.sort] === 'Float64' ? (key === null ? null : Number(key)) : BigInt(key),
    }));
  };

  /** Walks the list, and keeps the traces in which all phrases stand. */
  const walk = async (from: Candidate | undefined, { verify }: Search): Promise<Candidate[]> => {
    const wanted = query.limit + 1;
    const found: Candidate[] = [];
    let after = from;
    for (let chunk = FIRST_CHUNK; ; chunk = Math.min(chunk * 2, LAST_CHUNK)) {
      const next = await candidates(after, chunk);
      const kept = await verify(
        next.map(({ trace }) => trace),
        wanted - found.length,
      );
      for (const candidate of next) if (kept.has(keyText(candidate.trace))) found.push(candidate);
      if (found.length >= wanted || next.length < chunk) return found.slice(0, wanted);
      after = next.at(-1);
    }
  };

  const after = query.after === undefined ? undefined : candidateOf(query.sort, query.after);
  const found = search?.hasPhrases === true ? await walk(after, search) : await candidates(after, query.limit + 1);
  const page = found.slice(0, query.limit);
  const { rows, taken } = await readWhole(
    ask,
    SUMMARIES,
    page.map(({ trace }) => trace),
    query.maxBytes,
  );
  const items = await decodeInTurns(rows, decodeTrace);
  const last = page[taken - 1];
  return found.length > taken && last !== undefined ? { items, next: positionOf(last) } : { items };
};
