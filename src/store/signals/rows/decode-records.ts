import { roundSum } from '../../../model/money.ts';
import type { JsonObject } from '../../../model/json.ts';
import type {
  AspectNote,
  AuthorKind,
  Exemplar,
  Feedback,
  FeedbackKind,
  LogRecord,
  MetricPoint,
  MetricType,
  Score,
  ScoreSource,
} from '../../../model/signal.ts';
import { metricTypes } from '../../../model/signal.ts';
import type { Correlation, Cost } from '../../../model/span.ts';
import type { AuditEntry, MetricName, ProjectSummary, RollUp } from '../query.ts';
import { severityOf } from './codes.ts';
import { present, type RowReader, rowReader } from './decode.ts';
import type { Row } from './columns.ts';

const correlationOf = (r: RowReader): Correlation => {
  const project = r.mustText();
  return { project, ...r.json<Omit<Correlation, 'project'>>() };
};

export const decodeLog = (row: Row): LogRecord => {
  const r = rowReader(row);
  const correlation = correlationOf(r);
  return present<LogRecord>({
    logId: r.mustText(),
    timestamp: r.mustNanos(),
    receivedAt: r.mustNanos(),
    severity: severityOf(r.any()),
    message: r.mustText(),
    logger: r.text(),
    traceId: r.text(),
    spanId: r.text(),
    attributes: r.json<JsonObject>() ?? {},
    correlation,
  });
};

export const decodeMetricName = (row: Row): MetricName => {
  const r = rowReader(row);
  return present<MetricName>({
    name: r.mustText(),
    type: r.mustText() as MetricType,
    unit: r.text(),
    points: r.mustNumber(),
    lastSeen: r.mustNanos(),
  });
};

type StoredExemplar = [
  value: number,
  timestamp: string,
  attributes: JsonObject,
  traceId: string | null,
  spanId: string | null,
];

export const decodeMetricPoint = (row: Row): MetricPoint => {
  const r = rowReader(row);
  const correlation = correlationOf(r);
  return present<MetricPoint>({
    name: r.mustText(),
    type: metricTypes[r.mustNumber()] ?? 'gauge',
    unit: r.text(),
    description: r.text(),
    timestamp: r.mustNanos(),
    receivedAt: r.mustNanos(),
    value: r.number(),
    sum: r.number(),
    count: r.number(),
    bounds: r.json<number[]>(),
    bucketCounts: r.json<number[]>(),
    temporality: r.text() as MetricPoint['temporality'],
    attributes: r.json<JsonObject>() ?? {},
    exemplars: (r.json<StoredExemplar[]>() ?? []).map(([value, timestamp, attributes, traceId, spanId]) =>
      present<Exemplar>({
        value,
        timestamp: BigInt(timestamp),
        attributes,
        traceId: traceId ?? undefined,
        spanId: spanId ?? undefined,
      }),
    ),
    correlation,
  });
};

export const decodeScore = (row: Row): Score => {
  const r = rowReader(row);
  const correlation = correlationOf(r);
  return present<Score>({
    scoreId: r.mustText(),
    traceId: r.text(),
    spanId: r.text(),
    scorerId: r.mustText(),
    scorerVersion: r.text(),
    value: r.mustNumber(),
    min: r.mustNumber(),
    max: r.mustNumber(),
    label: r.text(),
    reason: r.text(),
    source: r.mustText() as ScoreSource,
    scoreTraceId: r.text(),
    cost: r.json<Cost>(),
    timestamp: r.mustNanos(),
    receivedAt: r.mustNanos(),
    experimentId: r.text(),
    metadata: r.json<JsonObject>(),
    correlation,
  });
};

export const decodeFeedback = (row: Row): Feedback => {
  const r = rowReader(row);
  const correlation = correlationOf(r);
  const feedbackId = r.mustText();
  const traceId = r.text();
  const spanId = r.text();
  const kind = r.mustText() as FeedbackKind;
  const value = r.any();
  return present<Feedback>({
    feedbackId,
    traceId,
    spanId,
    kind,
    value: typeof value === 'string' ? value : Number(value),
    comment: r.text(),
    authorKind: r.text() as AuthorKind | undefined,
    authorId: r.text(),
    metadata: r.json<JsonObject>(),
    timestamp: r.mustNanos(),
    receivedAt: r.mustNanos(),
    correlation,
  });
};

const FEEDBACK_VALUE = 6;
/** The same where the value stands as JSON. @see feedbackTextRow */
export const decodeTextFeedback = (row: Row): Feedback =>
  decodeFeedback(row.with(FEEDBACK_VALUE, JSON.parse(row[FEEDBACK_VALUE] as string) as string | number));

export const decodeNote = (row: Row): AspectNote => {
  const r = rowReader(row);
  const correlation = correlationOf(r);
  return present<AspectNote>({
    noteId: r.mustText(),
    traceId: r.mustText(),
    spanId: r.text(),
    aspect: r.mustText(),
    text: r.mustText(),
    model: r.text(),
    timestamp: r.mustNanos(),
    receivedAt: r.mustNanos(),
    correlation,
  });
};

const sumOrNone = (cost: number | undefined): number | undefined => (cost === undefined ? undefined : roundSum(cost));

export const decodeRollUp = (row: Row): RollUp => {
  const r = rowReader(row);
  return present<RollUp>({
    id: r.mustText(),
    project: r.mustText(),
    traceCount: r.mustNumber(),
    errorCount: r.mustNumber(),
    totalCost: sumOrNone(r.number()),
    currency: r.text(),
    firstSeen: r.mustNanos(),
    lastSeen: r.mustNanos(),
  });
};

export const decodeProject = (row: Row): ProjectSummary => {
  const r = rowReader(row);
  return present<ProjectSummary>({
    project: r.mustText(),
    traceCount: r.mustNumber(),
    firstSeen: r.nanos(),
    lastSeen: r.nanos(),
  });
};

export const encodeAudit = (e: AuditEntry): Row => [
  e.auditId,
  e.at,
  e.operation,
  e.project,
  e.subject ?? null,
  e.keyFingerprint ?? null,
  e.remoteAddress,
  e.resource,
  e.outcome,
];

export const decodeAudit = (row: Row): AuditEntry => {
  const r = rowReader(row);
  return present<AuditEntry>({
    auditId: r.mustText(),
    at: r.mustNanos(),
    operation: r.mustText(),
    project: r.mustText(),
    subject: r.text(),
    keyFingerprint: r.text(),
    remoteAddress: r.mustText(),
    resource: r.mustText(),
    outcome: r.mustText() as AuditEntry['outcome'],
  });
};
