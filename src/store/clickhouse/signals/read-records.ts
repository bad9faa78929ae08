import { metricTypes } from '../../../model/signal.ts';
import type {
  LogQuery,
  MetricName,
  MetricPointQuery,
  Page,
  Paging,
  ProjectSummary,
  ScoreQuery,
} from '../../signals/query.ts';
import type { AspectNote, Feedback, LogRecord, MetricPoint, Score } from '../../../model/signal.ts';
import { nameAt } from '../../signals/position.ts';
import { severityCode } from '../../signals/rows/codes.ts';
import type { Row } from '../../signals/rows/columns.ts';
import {
  decodeLog,
  decodeMetricName,
  decodeMetricPoint,
  decodeNote,
  decodeProject,
  decodeScore,
  decodeTextFeedback,
} from '../../signals/rows/decode-records.ts';
import { isStorable, isTraceId } from '../../signals/storable.ts';
import { binding } from '../binding.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { listByTime, type Narrowing, type RecordTable } from './record-page.ts';
import { FEEDBACK, LOGS, METRICS, NOTES, SCORES } from './tables.ts';
import { weightOf } from './whole-rows.ts';

export const LOG_RECORDS: RecordTable = {
  of: LOGS,
  ties: ['row', 'project'],
  columns:
    'r.project, r.correlation, r.log_id, r.at_ns, r.received_ns, r.severity, r.message, r.logger, r.trace_id, r.span_id, r.attributes',
  weight: weightOf(['correlation', 'log_id', 'message', 'logger', 'attributes']),
};

export const listLogs = (ask: Ask, query: LogQuery): Promise<Page<LogRecord>> =>
  listByTime(ask, LOG_RECORDS, query, query.order, decodeLog, ({ add }) => {
    add('r.trace_id =', query.traceId, 'String');
    add('r.span_id =', query.spanId, 'String');
    add('r.severity =', query.severity === undefined ? undefined : severityCode(query.severity), 'UInt8');
    add('r.severity >=', query.minSeverity === undefined ? undefined : severityCode(query.minSeverity), 'UInt8');
    add('r.logger =', query.logger, 'String');
    add('r.service_name =', query.serviceName, 'String');
    add('r.environment =', query.environment, 'String');
    add('r.session_id =', query.sessionId, 'String');
    add('r.user_id =', query.userId, 'String');
  });

/** Names with their type, unit and count over all projects in reach: the type and unit are those of the newest point. */
export const listMetricNames = async (ask: Ask, query: Paging): Promise<Page<MetricName>> => {
  const after = query.after === undefined ? undefined : nameAt(query.after);
  if (after !== undefined && !isStorable(after)) return { items: [] };
  const to = binding();
  const parts = [inReach(query.projects, to, 'm.')];
  if (after !== undefined) parts.push(`m.name > ${to.bind(after, 'String')}`);
  // A tuple, as the newest of values leaves out those that are NULL.
  const found = await ask<Row>(
    `SELECT m.name, tupleElement(newest, 1), tupleElement(newest, 2), points, last FROM (
       SELECT m.name, argMax((m.type, m.unit), (m.at_ns, m.row)) AS newest, count() AS points, max(m.at_ns) AS last
       FROM metric_points AS m FINAL WHERE ${parts.join(' AND ')} GROUP BY m.name ORDER BY m.name LIMIT ${query.limit + 1}
     ) AS m ORDER BY m.name`,
    to.params,
  );
  const page = found.slice(0, query.limit);
  const items = page.map(([name = '', type, ...rest]) =>
    decodeMetricName([name, metricTypes[Number(type)] ?? '', ...rest]),
  );
  return found.length > query.limit ? { items, next: [String(page.at(-1)?.[0])] } : { items };
};

export const POINTS: RecordTable = {
  of: METRICS,
  ties: ['row', 'project'],
  columns: `r.project, r.correlation, r.name, r.type, r.unit, r.description, r.at_ns, r.received_ns, r.value, r.sum, r.count, r.bounds,
    r.bucket_counts, r.temporality, r.attributes, r.exemplars`,
  weight: weightOf([
    'correlation',
    'name',
    'unit',
    'description',
    'bounds',
    'bucket_counts',
    'attributes',
    'exemplars',
  ]),
};

export const listMetricPoints = (ask: Ask, query: MetricPointQuery): Promise<Page<MetricPoint>> =>
  listByTime(ask, POINTS, query, query.order, decodeMetricPoint, ({ add }) => {
    add('r.name =', query.name, 'String');
    add('r.service_name =', query.serviceName, 'String');
  });

/** Judgements that name the trace, and those that name only a span of it. */
const ofTrace = (traceId: string | undefined, { to, add, also }: Narrowing): void => {
  if (traceId === undefined) return;
  if (!isTraceId(traceId)) {
    add('r.trace_id =', traceId, 'String');
    return;
  }
  const id = to.bind(traceId, 'String');
  also(`(r.trace_id = ${id} OR (r.trace_id IS NULL AND (r.project, r.span_id) IN (
    SELECT s.project, s.span_id FROM spans AS s FINAL WHERE s.trace_id = ${id})))`);
};

export const SCORE_RECORDS: RecordTable = {
  of: SCORES,
  ties: ['score_id', 'project'],
  columns: `r.project, r.correlation, r.score_id, r.trace_id, r.span_id, r.scorer_id, r.scorer_version, r.value, r.min, r.max, r.label,
    r.reason, r.source, r.score_trace_id, r.cost, r.at_ns, r.received_ns, r.experiment_id, r.metadata`,
  weight: weightOf(['correlation', 'score_id', 'scorer_id', 'label', 'reason', 'metadata', 'experiment_id']),
};

export const listScores = (ask: Ask, query: ScoreQuery): Promise<Page<Score>> =>
  listByTime(ask, SCORE_RECORDS, query, 'desc', decodeScore, (narrowing) => {
    const { add } = narrowing;
    add('r.scorer_id =', query.scorerId, 'String');
    add('r.source =', query.source, 'String');
    add('r.experiment_id =', query.experimentId, 'String');
    add('r.value >=', query.minValue, 'Float64');
    add('r.value <=', query.maxValue, 'Float64');
    ofTrace(query.traceId, narrowing);
  });

export const FEEDBACK_RECORDS: RecordTable = {
  of: FEEDBACK,
  ties: ['feedback_id', 'project'],
  columns: `r.project, r.correlation, r.feedback_id, r.trace_id, r.span_id, r.kind, r.value, r.comment, r.author_kind, r.author_id,
    r.metadata, r.at_ns, r.received_ns`,
  weight: weightOf(['correlation', 'feedback_id', 'value', 'comment', 'author_id', 'metadata']),
};

/** Oldest first. */
export const listFeedback = (ask: Ask, traceId: string, paging: Paging): Promise<Page<Feedback>> =>
  listByTime(ask, FEEDBACK_RECORDS, paging, 'asc', decodeTextFeedback, (narrowing) => ofTrace(traceId, narrowing));

export const NOTE_RECORDS: RecordTable = {
  of: NOTES,
  ties: ['note_id', 'project'],
  columns:
    'r.project, r.correlation, r.note_id, r.trace_id, r.span_id, r.aspect, r.text, r.model, r.at_ns, r.received_ns',
  weight: weightOf(['correlation', 'note_id', 'aspect', 'text', 'model']),
};

/** Newest first. */
export const listAspectNotes = (
  ask: Ask,
  query: Paging & { readonly traceId?: string; readonly aspect?: string },
): Promise<Page<AspectNote>> =>
  listByTime(ask, NOTE_RECORDS, query, 'desc', decodeNote, ({ add }) => {
    add('r.aspect =', query.aspect, 'String');
    add('r.trace_id =', query.traceId, 'String');
  });

const RECORDS = [LOGS, METRICS, SCORES, FEEDBACK, NOTES] as const;

/** Projects that hold signals, by name. */
export const listProjects = async (ask: Ask, paging: Paging): Promise<Page<ProjectSummary>> => {
  const after = paging.after === undefined ? undefined : nameAt(paging.after);
  if (after !== undefined && !isStorable(after)) return { items: [] };
  const to = binding();
  const where = [
    inReach(paging.projects, to),
    ...(after === undefined ? [] : [`project > ${to.bind(after, 'String')}`]),
  ];
  const own = `WHERE ${where.join(' AND ')} GROUP BY project`;
  const found = await ask<Row>(
    `SELECT project, sum(traces), min(first), max(last) FROM (
       SELECT project, count() AS traces, toNullable(min(start_ns)) AS first, toNullable(max(start_ns)) AS last FROM traces FINAL ${own}
       ${RECORDS.map(({ table }) => `UNION ALL SELECT project, 0, NULL, NULL FROM ${table} FINAL ${own}`).join('\n')}
     ) GROUP BY project ORDER BY project LIMIT ${paging.limit + 1}`,
    to.params,
  );
  const page = found.slice(0, paging.limit);
  const items = page.map(decodeProject);
  return found.length > paging.limit ? { items, next: [String(page.at(-1)?.[0])] } : { items };
};
