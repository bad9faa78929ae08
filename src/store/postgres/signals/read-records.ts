import { metricTypes } from '../../../model/signal.ts';
import type {
  LogQuery,
  MetricName,
  MetricPointQuery,
  Order,
  Page,
  Paging,
  ProjectSummary,
  ScoreQuery,
  Window,
} from '../../signals/query.ts';
import type { AspectNote, Feedback, LogRecord, MetricPoint, Score } from '../../../model/signal.ts';
import { nameAt, timeAndRow } from '../../signals/position.ts';
import { severityCode } from '../../signals/rows/codes.ts';
import type { Row } from '../../signals/rows/columns.ts';
import {
  decodeTextFeedback,
  decodeLog,
  decodeMetricName,
  decodeMetricPoint,
  decodeNote,
  decodeProject,
  decodeScore,
} from '../../signals/rows/decode-records.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { isStorable, isTraceId } from '../../signals/storable.ts';
import { int4Array } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { signalKey } from './keys.ts';
import { projectNumbers } from './reach.ts';
import { type Binding, binding } from './statement.ts';
import { readWhole, type Whole } from './whole-rows.ts';

/** How a table of records is read by time. The names are constants of this file. */
export type Table = {
  readonly table: string;
  readonly key: string;
  readonly columns: string;
  readonly texts: readonly string[];
};

/** Conditions on the rows `r` of a table, while they are put together. */
type Narrowing = {
  readonly to: Binding;
  /** Adds a condition unless its value is absent. One that no signal can have leaves nothing to be found. */
  readonly add: (sql: string, value: string | number | bigint | undefined, type: string) => void;
  /** The same for a column that an index holds by its key. */
  readonly addKeyed: (column: string, value: string | undefined) => void;
};

const isIndex = (value: number): boolean => Number.isSafeInteger(value);

/**
 * Reads a page by time and then by row. Each project is one stretch of an index, and pages of several are merged, so that a page costs the
 * same however much there is.
 * @param of rows that are looked at instead of the whole table: a SELECT of all columns
 */
const listByTime = async <T>(
  ask: Ask,
  { table, key, columns, texts }: Table,
  query: Paging & Window,
  order: Order,
  decode: (row: Row) => T,
  narrow: (narrowing: Narrowing) => string | undefined | void,
): Promise<Page<T>> => {
  const direction = order === 'desc' ? 'DESC' : 'ASC';
  const projects = await projectNumbers(ask, query.projects);
  const to = binding(int4Array(projects));
  const parts: string[] = [];
  let isPossible = projects.length > 0;
  const add: Narrowing['add'] = (sql, value, type) => {
    if (value === undefined) return;
    if (typeof value === 'string' && !isStorable(value)) isPossible = false;
    else parts.push(`${sql} ${to.bind(value, type)}`);
  };
  const addKeyed: Narrowing['addKeyed'] = (column, value) => {
    if (value !== undefined && isStorable(value)) add(`signal_key(${column}) =`, signalKey(value), 'text');
    add(`${column} =`, value, 'text');
  };
  add('r.at_ns >=', query.from, 'int8');
  add('r.at_ns <', query.to, 'int8');
  if (query.after !== undefined) {
    const [at, row] = timeAndRow(query.after);
    parts.push(
      `(r.at_ns, r.${key}) ${order === 'desc' ? '<' : '>'} (${to.bind(at, 'int8')}, ${to.bind(isIndex(row) ? row : 0, 'int8')})`,
    );
  }
  const of = narrow({ to, add, addKeyed });
  if (!isPossible) return { items: [] };
  const conditions = parts.map((part) => ` AND ${part}`).join('');
  const page = `${direction}, c.key ${direction} LIMIT ${query.limit + 1}`;
  const found = await ask<[at: bigint, key: bigint]>(
    of === undefined
      ? `SELECT c.at_ns, c.key FROM unnest($1::int4[]) AS k (project) CROSS JOIN LATERAL (
           SELECT r.at_ns, r.${key} AS key FROM ${table} AS r WHERE r.project = k.project${conditions}
           ORDER BY r.at_ns ${direction}, r.${key} ${direction} LIMIT ${query.limit + 1}
         ) AS c ORDER BY c.at_ns ${page}`
      : `SELECT c.at_ns, c.key FROM (SELECT r.at_ns, r.${key} AS key FROM (${of} OFFSET 0) AS r WHERE true${conditions}) AS c
         ORDER BY c.at_ns ${page}`,
    to.values,
  );
  const whole: Whole = {
    from: `${table} AS r JOIN projects AS p ON p.project = r.project`,
    key: [[key, 'int8']],
    columns,
    texts,
  };
  const wanted = found.slice(0, query.limit);
  const { rows, taken } = await readWhole(
    ask,
    whole,
    wanted.map(([, row]): Row => [row]),
    query.maxBytes,
  );
  const items = await decodeInTurns(rows, decode);
  const last = wanted[taken - 1];
  return found.length > taken && last !== undefined
    ? { items, next: [last[0].toString(), Number(last[1])] }
    : { items };
};

export const LOGS: Table = {
  table: 'logs',
  key: 'log',
  columns: `p.name, r.correlation, r.log_id, r.at_ns, r.received_ns, r.severity, r.message, r.logger, r.trace_id, r.span_id, r.attributes`,
  texts: ['correlation', 'log_id', 'message', 'logger', 'attributes'],
};

export const listLogs = (ask: Ask, query: LogQuery): Promise<Page<LogRecord>> =>
  listByTime(ask, LOGS, query, query.order, decodeLog, ({ to, add, addKeyed }) => {
    add('r.span_id =', query.spanId, 'text');
    add('r.severity =', query.severity === undefined ? undefined : severityCode(query.severity), 'int4');
    add('r.severity >=', query.minSeverity === undefined ? undefined : severityCode(query.minSeverity), 'int4');
    add('r.logger =', query.logger, 'text');
    add('r.service_name =', query.serviceName, 'text');
    add('r.environment =', query.environment, 'text');
    addKeyed('r.session_id', query.sessionId);
    addKeyed('r.user_id', query.userId);
    return query.traceId === undefined ? undefined : ofTrace('logs', query.traceId, to);
  });

/** The rows that name the trace. */
const ofTrace = (table: string, traceId: string, { bind }: Binding): string =>
  isStorable(traceId)
    ? `SELECT * FROM ${table} WHERE trace_id = ${bind(traceId, 'text')} AND project = ANY ($1::int4[])`
    : nothingOf(table);

/** Names with their type, unit and count over all projects in reach: the type and unit are those of the newest point. */
export const listMetricNames = async (ask: Ask, query: Paging): Promise<Page<MetricName>> => {
  const after = query.after === undefined ? undefined : nameAt(query.after);
  if (after !== undefined && !isStorable(after)) return { items: [] };
  const { bind, values } = binding(int4Array(await projectNumbers(ask, query.projects)));
  const found = await ask<Row>(
    `SELECT n.name, l.type, l.unit, n.points, n.last_ns FROM (
       SELECT m.name, count(*) AS points, max(m.at_ns) AS last_ns FROM metric_points AS m
       WHERE m.project = ANY ($1::int4[]) ${after === undefined ? '' : `AND m.name > ${bind(after, 'text')}`}
       GROUP BY m.name ORDER BY m.name LIMIT ${query.limit + 1}
     ) AS n CROSS JOIN LATERAL (
       SELECT m.type, m.unit FROM metric_points AS m
       WHERE m.project = ANY ($1::int4[]) AND signal_key(m.name) = signal_key(n.name) AND m.name = n.name AND m.at_ns = n.last_ns
       ORDER BY m.point DESC LIMIT 1
     ) AS l ORDER BY n.name`,
    values,
  );
  const page = found.slice(0, query.limit);
  const items = page.map(([name = '', type, ...rest]) =>
    decodeMetricName([name, metricTypes[Number(type)] ?? '', ...rest]),
  );
  return found.length > query.limit ? { items, next: [String(page.at(-1)?.[0])] } : { items };
};

export const POINTS: Table = {
  table: 'metric_points',
  key: 'point',
  columns: `p.name, r.correlation, r.name, r.type, r.unit, r.description, r.at_ns, r.received_ns, r.value, r.sum, r.count, r.bounds,
    r.bucket_counts, r.temporality, r.attributes, r.exemplars`,
  texts: ['correlation', 'name', 'unit', 'description', 'bounds', 'bucket_counts', 'attributes', 'exemplars'],
};

export const listMetricPoints = (ask: Ask, query: MetricPointQuery): Promise<Page<MetricPoint>> =>
  listByTime(ask, POINTS, query, query.order, decodeMetricPoint, ({ add, addKeyed }) => {
    addKeyed('r.name', query.name);
    add('r.service_name =', query.serviceName, 'text');
  });

/** No rows. The projects are named, as every statement binds them. */
const nothingOf = (table: string): string => `SELECT * FROM ${table} WHERE false AND project = ANY ($1::int4[])`;

/** Judgements that name the trace, and those that name only a span of it. */
const judgedTrace = (table: 'scores' | 'feedback', traceId: string, { bind }: Binding): string => {
  if (!isStorable(traceId)) return nothingOf(table);
  const own = `SELECT * FROM ${table} WHERE trace_id = ${bind(traceId, 'text')} AND project = ANY ($1::int4[])`;
  if (!isTraceId(traceId)) return own;
  return `SELECT * FROM (${own} UNION ALL
    SELECT j.* FROM spans AS s CROSS JOIN LATERAL (
      SELECT j.* FROM ${table} AS j
      WHERE j.trace_id IS NULL AND j.span_id = encode(s.span_id, 'hex') AND j.project = s.project OFFSET 0
    ) AS j WHERE s.project = ANY ($1::int4[]) AND s.trace_id = ${bind(traceId, 'uuid')}) AS judged`;
};

export const SCORES: Table = {
  table: 'scores',
  key: 'score',
  columns: `p.name, r.correlation, r.score_id, r.trace_id, r.span_id, r.scorer_id, r.scorer_version, r.value, r.min, r.max, r.label,
    r.reason, r.source, r.score_trace_id, r.cost, r.at_ns, r.received_ns, r.experiment_id, r.metadata`,
  texts: ['correlation', 'score_id', 'scorer_id', 'label', 'reason', 'metadata', 'experiment_id'],
};

export const listScores = (ask: Ask, query: ScoreQuery): Promise<Page<Score>> =>
  listByTime(ask, SCORES, query, 'desc', decodeScore, ({ to, add, addKeyed }) => {
    addKeyed('r.scorer_id', query.scorerId);
    add('r.source =', query.source, 'text');
    addKeyed('r.experiment_id', query.experimentId);
    add('r.value >=', query.minValue, 'float8');
    add('r.value <=', query.maxValue, 'float8');
    return query.traceId === undefined ? undefined : judgedTrace('scores', query.traceId, to);
  });

export const FEEDBACK: Table = {
  table: 'feedback',
  key: 'feedback',
  columns: `p.name, r.correlation, r.feedback_id, r.trace_id, r.span_id, r.kind, r.value, r.comment, r.author_kind, r.author_id,
    r.metadata, r.at_ns, r.received_ns`,
  texts: ['correlation', 'feedback_id', 'value', 'comment', 'author_id', 'metadata'],
};
/** Oldest first. */
export const listFeedback = (ask: Ask, traceId: string, paging: Paging): Promise<Page<Feedback>> =>
  listByTime(ask, FEEDBACK, paging, 'asc', decodeTextFeedback, ({ to }) => judgedTrace('feedback', traceId, to));

export const NOTES: Table = {
  table: 'aspect_notes',
  key: 'note',
  columns: `p.name, r.correlation, r.note_id, r.trace_id, r.span_id, r.aspect, r.text, r.model, r.at_ns, r.received_ns`,
  texts: ['correlation', 'note_id', 'aspect', 'text', 'model'],
};

/** Newest first. */
export const listAspectNotes = (
  ask: Ask,
  query: Paging & { readonly traceId?: string; readonly aspect?: string },
): Promise<Page<AspectNote>> =>
  listByTime(ask, NOTES, query, 'desc', decodeNote, ({ to, add }) => {
    add('r.aspect =', query.aspect, 'text');
    return query.traceId === undefined ? undefined : ofTrace('aspect_notes', query.traceId, to);
  });

const HOLDING_TABLES = ['traces', 'logs', 'metric_points', 'scores', 'feedback', 'aspect_notes'] as const;

/** Projects that hold signals, by name. */
export const listProjects = async (ask: Ask, paging: Paging): Promise<Page<ProjectSummary>> => {
  const after = paging.after === undefined ? undefined : nameAt(paging.after);
  if (after !== undefined && !isStorable(after)) return { items: [] };
  const { bind, values } = binding(int4Array(await projectNumbers(ask, paging.projects)));
  const traces = 'FROM traces AS t WHERE t.project = p.project';
  // Without OFFSET 0 the planner might read a table of all projects once, instead of one row of it a project.
  const holds = HOLDING_TABLES.map(
    (table) => `EXISTS (SELECT 1 FROM ${table} AS x WHERE x.project = p.project OFFSET 0)`,
  );
  const found = await ask<Row>(
    `SELECT p.name, (SELECT count(*) ${traces}), (SELECT min(t.start_ns) ${traces}), (SELECT max(t.start_ns) ${traces}) FROM (
       SELECT p.* FROM projects AS p WHERE p.project = ANY ($1::int4[]) ${after === undefined ? '' : `AND p.name > ${bind(after, 'text')}`}
         AND (${holds.join(' OR ')}) ORDER BY p.name LIMIT ${paging.limit + 1}
     ) AS p ORDER BY p.name`,
    values,
  );
  const page = found.slice(0, paging.limit);
  const items = page.map(decodeProject);
  return found.length > paging.limit ? { items, next: [String(page.at(-1)?.[0])] } : { items };
};
