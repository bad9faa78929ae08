import { MAX_UNIX_NANO } from '../../../model/time.ts';
import type { Position, TraceQuery, TraceSort } from '../../signals/query.ts';
import { type Facet, facets, kindCode, statusCode } from './codes.ts';
import { openSearch, type Search } from './read-search.ts';
import { instantOf } from './position.ts';
import { projectNumbers, type Statements } from './statements.ts';
import type { Column, Row } from './wire.ts';

export const TRACE_COLUMNS =
  't.trace_id, p.name, t.name, t.status, t.start_ns, t.duration_ns, t.span_count, t.error_count, t.total_cost, t.currency, ' +
  't.input_tokens, t.output_tokens, t.total_tokens, t.models, t.tags, t.environment, t.service_name, t.service_version, ' +
  't.release, t.user_id, t.session_id, t.thread_id, t.run_id, t.experiment_id, t.scores, t.feedback';

/** Entries up to which a condition is so rare that its traces are all read and sorted. */
const RARE = 4_000;
/** Traces that a search looks at in one go when it walks the list: from the first to the last chunk. */
const FIRST_CHUNK = 64;
const LAST_CHUNK = 1_024;

/**
 * A duration in nanoseconds: the nearest, as the product of 8.2 ms falls just short of it in floating point; at most what a
 * duration can be, as a filter may name any number.
 */
const nanosOf = (millis: number): bigint => {
  const nanos = Math.round(millis * NANOS_PER_MILLI);
  return nanos < Number(MAX_UNIX_NANO) ? BigInt(nanos) : MAX_UNIX_NANO;
};

type Key = bigint | number | null;
/** A row of the list before it is read whole: what the order compares. */
type Candidate = { readonly trace: number; readonly key: Key };

/** How each order reads: its column, and the index that has it. */
const orders = {
  start_time: { key: 't.start_ns', index: 'traces_by_start', mayBeNull: false },
  duration: { key: 't.duration_ns', index: 'traces_by_duration', mayBeNull: true },
  cost: { key: 't.total_cost', index: 'traces_by_cost', mayBeNull: true },
  span_count: { key: 't.span_count', index: 'traces_by_span_count', mayBeNull: false },
  score: { key: 'd.mean', index: undefined, mayBeNull: false },
} as const satisfies Record<TraceSort, unknown>;

/** Stands in a position for "no cost" and "no duration": such rows come last in both directions. */
const NO_KEY = '';

const keyOfPosition = (sort: TraceSort, at: string | number | undefined): Key => {
  if (at === undefined || at === NO_KEY) return null;
  return sort === 'start_time' || sort === 'duration' ? instantOf(at) : Number(at);
};
const positionOf = ({ key, trace }: Candidate): Position => [
  key === null ? NO_KEY : typeof key === 'bigint' ? key.toString() : key,
  trace,
];

const compareKeys = (a: Key, b: Key): number => {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
};

type Part = { readonly sql: string; readonly values: readonly unknown[] };
/** Where candidates come from: a FROM clause that binds `t`, and what it demands. */
type Source = {
  readonly from: string;
  readonly where: readonly Part[];
  /** Set when the source itself lies in the order of start times. */
  readonly isByStart?: boolean;
};

const facetFilters = (query: TraceQuery): [Facet, string][] => {
  const wanted: [Facet, string | undefined][] = [
    ['runId', query.runId],
    ['sessionId', query.sessionId],
    ['threadId', query.threadId],
    ['userId', query.userId],
    ['experimentId', query.experimentId],
    ['name', query.name],
    ['entityName', query.entityName],
    ['tag', query.tag],
    ['model', query.model],
    ['provider', query.provider],
    ['kind', query.kind === undefined ? undefined : String(kindCode(query.kind))],
    ['status', query.status === undefined ? undefined : String(statusCode(query.status))],
    ['hasError', query.hasError === true ? '1' : undefined],
    ['feedback', query.hasFeedback],
    ['score', query.hasScore],
    ['environment', query.environment],
    ['serviceName', query.serviceName],
    ['serviceVersion', query.serviceVersion],
    ['release', query.release],
  ];
  return wanted.filter((entry): entry is [Facet, string] => entry[1] !== undefined);
};

const NANOS_PER_MILLI = 1_000_000;

/**
 * Conditions on the trace's own row. A bound leaves out a trace whose figure is unknown: one that could not be priced, one
 * that still runs. A `min_cost` of zero bounds nothing, so it keeps them.
 */
const rowConditions = (query: TraceQuery): Part[] => {
  const parts: Part[] = [];
  const add = (sql: string, ...values: unknown[]): void => {
    parts.push({ sql, values });
  };
  if (query.from !== undefined) add('t.start_ns >= ?', query.from);
  if (query.to !== undefined) add('t.start_ns < ?', query.to);
  if (query.hasError === false) add('t.error_count = 0');
  if (query.minCost !== undefined)
    if (query.minCost > 0) add('t.total_cost >= ?', query.minCost);
    else add('coalesce(t.total_cost, 0) >= ?', query.minCost);
  if (query.maxCost !== undefined) add('t.total_cost <= ?', query.maxCost);
  if (query.minDurationMs !== undefined) add('t.duration_ns >= ?', nanosOf(query.minDurationMs));
  if (query.maxDurationMs !== undefined) add('t.duration_ns <= ?', nanosOf(query.maxDurationMs));
  return parts;
};

const listProject = (
  statements: Statements,
  project: number,
  query: TraceQuery,
  search: Search | undefined,
): Candidate[] => {
  const wanted = query.limit + 1;
  const isDescending = query.order === 'desc';
  const direction = isDescending ? 'DESC' : 'ASC';
  const beyond = isDescending ? '<' : '>';
  const order = orders[query.sort];

  const values: number[] = [];
  for (const [facet, value] of facetFilters(query)) {
    const id = statements
      .pluck<number>('SELECT id FROM facet_values WHERE project = ? AND facet = ? AND value = ?')
      .get(project, facets[facet], value);
    if (id === undefined) return [];
    values.push(id);
  }
  const conditions = rowConditions(query);
  const hasFacet = (id: number): Part => ({
    sql: 'EXISTS (SELECT 1 FROM trace_facets AS f WHERE f.value = ? AND f.start_ns = t.start_ns AND f.trace = t.trace)',
    values: [id],
  });
  const scoreIsBelow: Part[] =
    query.hasScore === undefined || query.scoreBelow === undefined
      ? []
      : [
          {
            sql: 'EXISTS (SELECT 1 FROM trace_scores AS s WHERE s.project = ? AND s.scorer_id = ? AND s.trace = t.trace AND s.mean < ?)',
            values: [project, query.hasScore, query.scoreBelow],
          },
        ];

  const countUpTo = (from: string, parts: readonly Part[]): number =>
    statements
      .pluck<number>(
        `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${parts.map(({ sql }) => sql).join(' AND ')} LIMIT ${RARE + 1})`,
      )
      .get(...parts.flatMap((part) => part.values)) ?? 0;

  const ofProject: Part = { sql: 't.project = ?', values: [project] };
  const window: Part[] = conditions.filter(({ sql }) => sql.startsWith('t.start_ns'));

  /** Sources that hold every wanted trace, each with the number of entries it would read, at most one more than `RARE`. */
  const rareSource = (): Source | undefined => {
    if (search?.traces !== undefined)
      return {
        from: 'json_each(?) AS d CROSS JOIN traces AS t ON t.trace = d.value',
        where: [{ sql: 'true', values: [] }, ofProject],
      };
    let best: Source | undefined;
    let least = RARE + 1;
    const offer = (count: number, source: Source): void => {
      if (count >= least) return;
      least = count;
      best = source;
    };
    for (const value of values) {
      const parts: Part[] = [
        { sql: 'd.value = ?', values: [value] },
        ...(query.from === undefined ? [] : [{ sql: 'd.start_ns >= ?', values: [query.from] }]),
        ...(query.to === undefined ? [] : [{ sql: 'd.start_ns < ?', values: [query.to] }]),
      ];
      offer(countUpTo('trace_facets AS d', parts), {
        from: 'trace_facets AS d CROSS JOIN traces AS t ON t.trace = d.trace',
        where: parts,
        isByStart: true,
      });
    }
    const overIndex = (index: string, column: string): void => {
      const parts = conditions.filter(({ sql }) => sql.startsWith(column));
      if (parts.length === 0) return;
      const from = `traces AS t INDEXED BY ${index}`;
      const where = [ofProject, ...parts];
      offer(countUpTo(from, where), { from, where });
    };
    overIndex('traces_by_cost', 't.total_cost');
    overIndex('traces_by_duration', 't.duration_ns');
    if (query.sort !== 'start_time') overIndex('traces_by_start', 't.start_ns');
    return best;
  };

  const rare = query.sort === 'score' ? undefined : rareSource();
  let source: Source;
  let key: string = order.key;
  let tie = 't.trace';
  if (query.sort === 'score') {
    if (query.hasScore === undefined) throw new RangeError('the order "score" needs the scorer whose mean it compares');
    source = {
      from: 'trace_scores AS d INDEXED BY trace_scores_by_mean CROSS JOIN traces AS t ON t.trace = d.trace',
      where: [
        { sql: 'd.project = ? AND d.scorer_id = ?', values: [project, query.hasScore] },
        ...(search?.traces === undefined
          ? []
          : [{ sql: 'd.trace IN (SELECT value FROM json_each(?))', values: [JSON.stringify(search.traces)] }]),
      ],
    };
    tie = 'd.trace';
  } else if (rare !== undefined) source = rare;
  else if (query.sort === 'start_time' && values[0] !== undefined) {
    source = {
      from: 'trace_facets AS d CROSS JOIN traces AS t ON t.trace = d.trace',
      where: [
        { sql: 'd.value = ?', values: [values[0]] },
        ...window.map((part) => ({ ...part, sql: part.sql.replace('t.', 'd.') })),
      ],
      isByStart: true,
    };
  } else source = { from: `traces AS t INDEXED BY ${order.index ?? 'traces_by_start'}`, where: [ofProject] };

  // The entries of a facet lie in the order of start times: the page is read off them, and the rest is never looked at.
  if (source.isByStart === true && query.sort === 'start_time') {
    key = 'd.start_ns';
    tie = 'd.trace';
  }

  const where = [...source.where, ...values.map(hasFacet), ...conditions, ...scoreIsBelow];
  const sourceValues = rare !== undefined && search?.traces !== undefined ? [JSON.stringify(search.traces)] : [];

  /** Candidates after a position, in order; first those with a key, then those without. */
  const candidates = (after: Candidate | undefined, limit: number): Candidate[] => {
    const read = (extra: readonly Part[], orderBy: string, count: number): Candidate[] => {
      const parts = [...where, ...extra];
      return statements
        .exact<[bigint, bigint | number | null]>(
          `SELECT t.trace, ${key} FROM ${source.from} WHERE ${parts.map(({ sql }) => sql).join(' AND ')}
           ORDER BY ${orderBy} LIMIT ?`,
        )
        .all(...sourceValues, ...parts.flatMap((part) => part.values), count)
        .map(([trace, found]) => ({ trace: Number(trace), key: query.sort === 'span_count' ? Number(found) : found }));
    };
    const found: Candidate[] = [];
    if (after === undefined || after.key !== null)
      found.push(
        ...read(
          [
            ...(order.mayBeNull ? [{ sql: `${key} IS NOT NULL`, values: [] }] : []),
            ...(after === undefined
              ? []
              : [{ sql: `(${key}, ${tie}) ${beyond} (?, ?)`, values: [after.key, after.trace] }]),
          ],
          `${key} ${direction}, ${tie} ${direction}`,
          limit,
        ),
      );
    if (order.mayBeNull && found.length < limit)
      found.push(
        ...read(
          [
            { sql: `${key} IS NULL`, values: [] },
            ...(after?.key === null ? [{ sql: `${tie} ${beyond} ?`, values: [after.trace] }] : []),
          ],
          `${tie} ${direction}`,
          limit - found.length,
        ),
      );
    return found;
  };

  let after: Candidate | undefined =
    query.after === undefined
      ? undefined
      : { key: keyOfPosition(query.sort, query.after[0]), trace: Number(query.after[1]) };
  if (search === undefined || search.traces !== undefined) return candidates(after, wanted);

  // A search for what many spans hold: walk the list, and keep what the index confirms.
  const found: Candidate[] = [];
  for (let chunk = FIRST_CHUNK; ; chunk = Math.min(chunk * 2, LAST_CHUNK)) {
    const next = candidates(after, chunk);
    const kept = search.keepMatching(
      next.map(({ trace }) => trace),
      wanted - found.length,
    );
    for (const candidate of next) if (kept.has(candidate.trace)) found.push(candidate);
    if (found.length >= wanted || next.length < chunk) return found.slice(0, wanted);
    after = next.at(-1);
  }
};

/** A page of rows, as it goes to the main thread. */
export type RowPage = [rows: Row[], next: Position | undefined];

/** Reads a page of the trace list. No payload is read, and nothing but the page itself is read whole. */
export const listTraces = (statements: Statements, query: TraceQuery): RowPage => {
  const search = query.q === undefined ? undefined : openSearch(statements, query.q);
  if (query.q !== undefined && search === undefined) return [[], undefined];
  const found = projectNumbers(statements, query.projects).flatMap((project) =>
    listProject(statements, project, query, search),
  );
  const sign = query.order === 'desc' ? -1 : 1;
  found.sort((a, b) => {
    const byKey = compareKeys(a.key, b.key);
    if (byKey !== 0) return a.key === null || b.key === null ? byKey : byKey * sign;
    return (a.trace - b.trace) * sign;
  });
  const page = found.slice(0, query.limit);
  const read = statements.exact<Row>(
    `SELECT ${TRACE_COLUMNS} FROM traces AS t JOIN projects AS p ON p.project = t.project WHERE t.trace = ?`,
  );
  const rows = page.map(({ trace }) => read.get(trace)).filter((row): row is Column[] => row !== undefined);
  const last = page.at(-1);
  return [rows, found.length > query.limit && last !== undefined ? positionOf(last) : undefined];
};
