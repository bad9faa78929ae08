import type { ProjectReach } from '../../../model/scope.ts';
import { metricTypes } from '../../../model/signal.ts';
import type {
  AuditQuery,
  LogQuery,
  MetricPointQuery,
  Order,
  Paging,
  Position,
  ScoreQuery,
  Window,
} from '../../signals/query.ts';
import { severityCode } from '../../signals/rows/codes.ts';
import type { RowPage } from './read-traces.ts';
import { readUpTo } from './read-up-to.ts';
import { nameAt, timeAndRow } from '../../signals/position.ts';
import { projectNumbers, type Statements } from './statements.ts';
import type { Row } from '../../signals/rows/columns.ts';

/** Conditions of a WHERE clause with their values, in order. */
const conditionsOf = () => {
  const parts: string[] = [];
  const values: unknown[] = [];
  return {
    parts,
    values,
    /** Adds a condition unless its value is absent. */
    add: (sql: string, value: unknown): void => {
      if (value === undefined) return;
      parts.push(sql);
      values.push(value);
    },
  };
};

/** How a table of records is read by time. The names are constants of this file. */
export type Table = {
  readonly from: string;
  readonly key: string;
  readonly columns: string;
  /** Which index to read, where the planner, which keeps no statistics, could take a longer way. */
  readonly by?: string | undefined;
};

/**
 * Reads a page by time and then by row. Each project is one stretch of an index, and pages of several are merged, so that a
 * page costs the same however much there is.
 */
export const listByTime = (
  statements: Statements,
  { from, key, columns, by = '' }: Table,
  query: Paging & Window,
  order: Order,
  narrow: (conditions: ReturnType<typeof conditionsOf>) => void,
): RowPage => {
  const direction = order === 'desc' ? 'DESC' : 'ASC';
  const conditions = conditionsOf();
  conditions.add('r.at_ns >= ?', query.from);
  conditions.add('r.at_ns < ?', query.to);
  if (query.after !== undefined) {
    conditions.parts.push(`(r.at_ns, r.${key}) ${order === 'desc' ? '<' : '>'} (?, ?)`);
    conditions.values.push(...timeAndRow(query.after));
  }
  narrow(conditions);
  const read = statements.exact<[bigint, bigint]>(
    `SELECT r.at_ns, r.${key} FROM ${from} AS r ${by} WHERE ${['r.project = ?', ...conditions.parts].join(' AND ')}
     ORDER BY r.at_ns ${direction}, r.${key} ${direction} LIMIT ?`,
  );
  const found = projectNumbers(statements, query.projects).flatMap((project) =>
    read.all(project, ...conditions.values, query.limit + 1),
  );
  const sign = order === 'desc' ? -1 : 1;
  found.sort(([atA, rowA], [atB, rowB]) => {
    if (atA !== atB) return (atA < atB ? -1 : 1) * sign;
    return (rowA < rowB ? -1 : 1) * sign;
  });
  const page = found.slice(0, query.limit);
  const whole = statements.exact<Row>(
    `SELECT ${columns} FROM ${from} AS r JOIN projects AS p ON p.project = r.project WHERE r.${key} = ?`,
  );
  const [rows, taken] = readUpTo(page, ([, row]) => whole.get(row), query.maxBytes);
  const last = page[taken - 1];
  const next: Position | undefined =
    found.length > taken && last !== undefined ? [last[0].toString(), Number(last[1])] : undefined;
  return [rows, next];
};

export const LOGS: Table = {
  from: 'logs',
  key: 'log',
  columns: `p.name, r.correlation, r.log_id, r.at_ns, r.received_ns, r.severity, r.message, r.logger, r.trace_id, r.span_id,
    r.attributes`,
};
export const POINTS: Table = {
  from: 'metric_points',
  key: 'point',
  columns: `p.name, r.correlation, r.name, r.type, r.unit, r.description, r.at_ns, r.received_ns, r.value, r.sum, r.count,
    r.bounds, r.bucket_counts, r.temporality, r.attributes, r.exemplars`,
};
export const SCORES: Table = {
  from: 'scores',
  key: 'score',
  columns: `p.name, r.correlation, r.score_id, r.trace_id, r.span_id, r.scorer_id, r.scorer_version, r.value, r.min, r.max,
    r.label, r.reason, r.source, r.score_trace_id, r.cost, r.at_ns, r.received_ns, r.experiment_id, r.metadata`,
};
export const FEEDBACK: Table = {
  from: 'feedback',
  key: 'feedback',
  columns: `p.name, r.correlation, r.feedback_id, r.trace_id, r.span_id, r.kind, r.value, r.comment, r.author_kind,
    r.author_id, r.metadata, r.at_ns, r.received_ns`,
};
export const NOTES: Table = {
  from: 'aspect_notes',
  key: 'note',
  columns: `p.name, r.correlation, r.note_id, r.trace_id, r.span_id, r.aspect, r.text, r.model, r.at_ns, r.received_ns`,
};

export const listLogs = (statements: Statements, query: LogQuery): RowPage =>
  listByTime(
    statements,
    {
      ...LOGS,
      by: query.traceId === undefined ? undefined : 'INDEXED BY logs_by_trace',
    },
    query,
    query.order,
    ({ add }) => {
      add('r.trace_id = ?', query.traceId);
      add('r.span_id = ?', query.spanId);
      add('r.severity = ?', query.severity === undefined ? undefined : severityCode(query.severity));
      add('r.severity >= ?', query.minSeverity === undefined ? undefined : severityCode(query.minSeverity));
      add('r.logger = ?', query.logger);
      add('r.service_name = ?', query.serviceName);
      add('r.environment = ?', query.environment);
      add('r.session_id = ?', query.sessionId);
      add('r.user_id = ?', query.userId);
    },
  );

/** Names with their type, unit and count over all projects in reach: the type and unit are those of the newest point. */
export const listMetricNames = (statements: Statements, query: Paging): RowPage => {
  const numbers = JSON.stringify(projectNumbers(statements, query.projects));
  const found = statements
    .exact<Row>(
      `SELECT m.name, count(*), max(m.at_ns) FROM metric_points AS m
       WHERE m.project IN (SELECT value FROM json_each(?)) AND ${query.after === undefined ? 'true' : 'm.name > ?'} GROUP BY m.name ORDER BY m.name LIMIT ?`,
    )
    .all(numbers, ...(query.after === undefined ? [] : [nameAt(query.after)]), query.limit + 1);
  const newest = statements.exact<Row>(
    `SELECT m.type, m.unit FROM metric_points AS m WHERE m.project IN (SELECT value FROM json_each(?)) AND m.name = ? AND m.at_ns = ?
     ORDER BY m.point DESC LIMIT 1`,
  );
  const page = found.slice(0, query.limit);
  const rows = page.map(([name, points, lastSeen]): Row => {
    const [type, unit] = newest.get(numbers, name, lastSeen) ?? [0, null];
    return [name ?? '', metricTypes[Number(type)] ?? '', unit ?? null, points ?? 0, lastSeen ?? 0];
  });
  return [rows, found.length > query.limit ? [String(page.at(-1)?.[0])] : undefined];
};

export const listMetricPoints = (statements: Statements, query: MetricPointQuery): RowPage =>
  listByTime(
    statements,
    {
      ...POINTS,
      by: 'INDEXED BY metric_points_by_name',
    },
    query,
    query.order,
    ({ add }) => {
      add('r.name = ?', query.name);
      add('r.service_name = ?', query.serviceName);
    },
  );

/**
 * Judgements that name the trace, and those that name only a span of it; the id of the trace stands in it twice. The order of
 * the joins and the index are given: the planner, which keeps no statistics, would look at every judgement of the project.
 */
const judgedTrace = (table: 'scores' | 'feedback', key: 'score' | 'feedback'): string =>
  `r.${key} IN (
     SELECT j.${key} FROM ${table} AS j WHERE j.trace_id = ?
     UNION ALL
     SELECT j.${key} FROM traces AS t CROSS JOIN spans AS s ON s.trace = t.trace
       CROSS JOIN ${table} AS j INDEXED BY ${table}_by_span
         ON j.trace_id IS NULL AND j.span_id = s.span_id AND j.project = t.project
     WHERE t.trace_id = ?)`;

export const listScores = (statements: Statements, query: ScoreQuery): RowPage =>
  listByTime(
    statements,
    {
      ...SCORES,
      by: query.traceId === undefined ? undefined : 'NOT INDEXED',
    },
    query,
    'desc',
    ({ parts, values, add }) => {
      if (query.traceId !== undefined) {
        parts.push(judgedTrace('scores', 'score'));
        values.push(query.traceId, query.traceId);
      }
      add('r.scorer_id = ?', query.scorerId);
      add('r.source = ?', query.source);
      add('r.experiment_id = ?', query.experimentId);
      add('r.value >= ?', query.minValue);
      add('r.value <= ?', query.maxValue);
    },
  );

export const listFeedback = (statements: Statements, traceId: string, paging: Paging): RowPage =>
  listByTime(
    statements,
    {
      ...FEEDBACK,
      by: 'NOT INDEXED',
    },
    paging,
    'asc',
    ({ parts, values }) => {
      parts.push(judgedTrace('feedback', 'feedback'));
      values.push(traceId, traceId);
    },
  );

/** Newest first. */
export const listAspectNotes = (
  statements: Statements,
  query: Paging & { readonly traceId?: string; readonly aspect?: string },
): RowPage =>
  listByTime(
    statements,
    {
      ...NOTES,
      by: query.traceId === undefined ? undefined : 'INDEXED BY aspect_notes_by_trace',
    },
    query,
    'desc',
    ({ add }) => {
      add('r.trace_id = ?', query.traceId);
      add('r.aspect = ?', query.aspect);
    },
  );

const HOLDING_TABLES = ['traces', 'logs', 'metric_points', 'scores', 'feedback', 'aspect_notes'] as const;

export const listProjects = (statements: Statements, paging: Paging): RowPage => {
  const reach: ProjectReach = paging.projects;
  const found = statements
    .exact<Row>(
      `SELECT p.name, (SELECT count(*) FROM traces AS t INDEXED BY traces_by_start WHERE t.project = p.project),
         (SELECT min(t.start_ns) FROM traces AS t INDEXED BY traces_by_start WHERE t.project = p.project),
         (SELECT max(t.start_ns) FROM traces AS t INDEXED BY traces_by_start WHERE t.project = p.project)
       FROM projects AS p WHERE p.project IN (SELECT value FROM json_each(?)) AND ${paging.after === undefined ? 'true' : 'p.name > ?'}
         AND (${HOLDING_TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table} AS x WHERE x.project = p.project)`).join(' OR ')})
       ORDER BY p.name LIMIT ?`,
    )
    .all(
      JSON.stringify(projectNumbers(statements, reach)),
      ...(paging.after === undefined ? [] : [nameAt(paging.after)]),
      paging.limit + 1,
    );
  const page = found.slice(0, paging.limit);
  return [page, found.length > paging.limit ? [String(page.at(-1)?.[0])] : undefined];
};

export const AUDIT_COLUMNS =
  'a.audit_id, a.at_ns, a.operation, a.project, a.subject, a.key_fingerprint, a.remote_address, a.resource, a.outcome';

export const listAudit = (statements: Statements, query: AuditQuery): RowPage => {
  const { parts, values, add } = conditionsOf();
  add(
    'a.project IN (SELECT value FROM json_each(?))',
    query.projects === 'all' ? undefined : JSON.stringify(query.projects),
  );
  add('a.at_ns >= ?', query.from);
  add('a.at_ns < ?', query.to);
  add('a.operation = ?', query.operation);
  add('a.subject = ?', query.subject);
  if (query.after !== undefined) {
    parts.push('(a.at_ns, a.entry) < (?, ?)');
    values.push(...timeAndRow(query.after));
  }
  const found = statements
    .exact<Row>(
      `SELECT a.entry, ${AUDIT_COLUMNS}
       FROM audit AS a ${parts.length === 0 ? '' : `WHERE ${parts.join(' AND ')}`} ORDER BY a.at_ns DESC, a.entry DESC LIMIT ?`,
    )
    .all(...values, query.limit + 1);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  return [
    page.map(([, ...row]) => row),
    found.length > query.limit && last !== undefined ? [String(last[2]), Number(last[0])] : undefined,
  ];
};
