import type { Json, JsonObject } from '../../../model/json.ts';
import {
  type AspectNote,
  type Feedback,
  type LogRecord,
  type MetricPoint,
  metricTypes,
  type Score,
} from '../../../model/signal.ts';
import {
  attributeOf,
  type Correlation,
  isCancelled,
  type Span,
  type SpanEvent,
  type SpanLink,
} from '../../../model/span.ts';
import { kindCode, severityCode, statusCode } from './codes.ts';
import { INPUT_IS_JSON, OUTPUT_IS_JSON, type Row } from './columns.ts';

/** The mark that a mapper leaves on a span whose usage repeats that of its children. @see Attributes in the wild */
const COST_SKIPPED = 'svc.cost.skipped';
/** Longest error message that a list reads, in UTF-16 units; a longer one is kept completely with the payloads. */
const LISTED_MESSAGE_LENGTH = 1_000;

const isLong = (message: string): boolean => message.length > LISTED_MESSAGE_LENGTH;

const jsonOrNull = (value: object | undefined): string | null => {
  if (value === undefined) return null;
  for (const _ in value) return JSON.stringify(value);
  return null;
};

/** Texts of attributes that spans share, as long as these are at hand. */
const sharedTexts = new WeakMap<JsonObject, string>();
const sharedText = (shared: JsonObject): string => {
  let text = sharedTexts.get(shared);
  if (text === undefined) {
    text = JSON.stringify(shared);
    sharedTexts.set(shared, text);
  }
  return text;
};
/** Both parts of the attributes of a span, as one object. */
const attributesOrNull = ({ attributes, sharedAttributes }: Span): string | null => {
  const own = jsonOrNull(attributes);
  if (sharedAttributes === undefined) return own;
  const shared = sharedText(sharedAttributes);
  return own === null || shared === '{}' ? (own ?? shared) : `${shared.slice(0, -1)},${own.slice(1)}`;
};

const tagsOrNull = (tags: readonly string[] | undefined): string | null =>
  tags === undefined || tags.length === 0 ? null : JSON.stringify(tags);

export const contextOf = (c: Correlation): Row => [
  c.environment ?? null,
  c.serviceName ?? null,
  c.serviceVersion ?? null,
  c.sessionId ?? null,
  c.threadId ?? null,
  c.userId ?? null,
  c.requestId ?? null,
  c.release ?? null,
  c.runId ?? null,
  c.resourceId ?? null,
  c.experimentId ?? null,
  tagsOrNull(c.tags),
];

/** Whether two contexts say the same. */
export const sameContext = (a: Row, b: Row): boolean => {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
};

const eventsOrNull = (events: readonly SpanEvent[]): string | null =>
  events.length === 0 ? null : JSON.stringify(events.map((e) => [e.name, e.time.toString(), e.attributes]));
const linksOrNull = (links: readonly SpanLink[]): string | null =>
  links.length === 0 ? null : JSON.stringify(links.map((l) => [l.traceId, l.spanId, l.attributes]));

const usageDetails = (span: Span): string | null => {
  const usage = span.usage;
  if (usage === undefined || (usage.inputDetails === undefined && usage.outputDetails === undefined)) return null;
  return JSON.stringify([usage.inputDetails ?? null, usage.outputDetails ?? null]);
};

const payloadOf = (payload: Json | undefined): string | null => {
  if (payload === undefined) return null;
  return typeof payload === 'string' ? payload : JSON.stringify(payload);
};

/** Everything but the project, as JSON: what rows of the other signals keep of their correlation. */
const correlationOrNull = (correlation: Correlation): string | null => {
  const { project: _, ...rest } = correlation;
  return jsonOrNull(rest);
};

export const logRow = (l: LogRecord): Row => [
  l.correlation.project,
  l.logId,
  l.timestamp,
  l.receivedAt,
  severityCode(l.severity),
  l.message,
  l.logger ?? null,
  l.traceId ?? null,
  l.spanId ?? null,
  l.correlation.environment ?? null,
  l.correlation.serviceName ?? null,
  l.correlation.sessionId ?? null,
  l.correlation.userId ?? null,
  jsonOrNull(l.attributes),
  correlationOrNull(l.correlation),
];

export const metricRow = (m: MetricPoint): Row => [
  m.correlation.project,
  m.name,
  metricTypes.indexOf(m.type),
  m.unit ?? null,
  m.description ?? null,
  m.timestamp,
  m.receivedAt,
  m.value ?? null,
  m.sum ?? null,
  m.count ?? null,
  m.bounds === undefined ? null : JSON.stringify(m.bounds),
  m.bucketCounts === undefined ? null : JSON.stringify(m.bucketCounts),
  m.temporality ?? null,
  m.correlation.serviceName ?? null,
  jsonOrNull(m.attributes),
  correlationOrNull(m.correlation),
  m.exemplars.length === 0
    ? null
    : JSON.stringify(
        m.exemplars.map((e) => [e.value, e.timestamp.toString(), e.attributes, e.traceId ?? null, e.spanId ?? null]),
      ),
];

export const scoreRow = (s: Score): Row => [
  s.correlation.project,
  s.scoreId,
  s.traceId ?? null,
  s.spanId ?? null,
  s.scorerId,
  s.scorerVersion ?? null,
  s.value,
  s.min,
  s.max,
  s.label ?? null,
  s.reason ?? null,
  s.source,
  s.scoreTraceId ?? null,
  s.timestamp,
  s.receivedAt,
  s.experimentId ?? null,
  s.cost === undefined ? null : JSON.stringify(s.cost),
  correlationOrNull(s.correlation),
  s.metadata === undefined ? null : JSON.stringify(s.metadata),
];

export const feedbackRow = (f: Feedback): Row => [
  f.correlation.project,
  f.feedbackId,
  f.traceId ?? null,
  f.spanId ?? null,
  f.kind,
  f.value,
  f.comment ?? null,
  f.authorKind ?? null,
  f.authorId ?? null,
  f.timestamp,
  f.receivedAt,
  f.metadata === undefined ? null : JSON.stringify(f.metadata),
  correlationOrNull(f.correlation),
];

/** The same with the value as JSON, for a column of text: a number and a text that reads like it stay apart. */
export const feedbackTextRow = (f: Feedback): Row => feedbackRow({ ...f, value: JSON.stringify(f.value) });

export const noteRow = (n: AspectNote): Row => [
  n.correlation.project,
  n.noteId,
  n.traceId,
  n.spanId ?? null,
  n.aspect,
  n.text,
  n.model ?? null,
  n.timestamp,
  n.receivedAt,
  correlationOrNull(n.correlation),
];

/** The first columns of a payload's row: its span's number, the forms of the payloads, and where they stand. */
type PayloadRow = [
  number: number,
  forms: number,
  input: string | null,
  inputAttribute: string | null,
  output: string | null,
  ...rest: Row,
];

const repeatsUsage = (span: Span): 0 | 1 => (attributeOf(span, COST_SKIPPED) === 'aggregate' ? 1 : 0);

/** Where a span's row stands: its number, and the places of its trace and its context in the unit. */
export type SpanPlace = { readonly number: number; readonly trace: number; readonly context: number };

/** The columns of `spans`. The number of the project is zero: the writer knows it. */
export const spanRow = (span: Span, { number, trace, context }: SpanPlace): Row => {
  const { usage, cost, error } = span;
  return [
    number,
    trace,
    context,
    span.spanId,
    span.parentSpanId ?? null,
    span.name,
    kindCode(span.kind),
    statusCode(span.status, isCancelled(span)),
    span.startTime,
    span.endTime ?? null,
    span.model ?? null,
    span.provider ?? null,
    span.entityName ?? null,
    usage?.inputTokens ?? null,
    usage?.outputTokens ?? null,
    usage?.totalTokens ?? null,
    cost?.totalCost ?? null,
    cost?.currency ?? null,
    repeatsUsage(span),
    0,
    span.receivedAt,
    span.isEvent ? 1 : 0,
    cost?.inputCost ?? null,
    cost?.outputCost ?? null,
    cost === undefined ? null : cost.isEstimated ? 1 : 0,
    cost?.priceBookId ?? null,
    usageDetails(span),
    error === undefined ? null : isLong(error.message) ? error.message.slice(0, LISTED_MESSAGE_LENGTH) : error.message,
    error?.type ?? null,
    span.scopeName ?? null,
  ];
};

/** The columns of `span_payloads`. */
export const payloadRow = (span: Span, number: number): PayloadRow => {
  const { error } = span;
  const input = payloadOf(span.input);
  const output = payloadOf(span.output);
  const forms =
    (input !== null && typeof span.input !== 'string' ? INPUT_IS_JSON : 0) |
    (output !== null && typeof span.output !== 'string' ? OUTPUT_IS_JSON : 0);
  return [
    number,
    forms,
    input,
    span.inputAttribute ?? null,
    output,
    span.outputAttribute ?? null,
    attributesOrNull(span),
    eventsOrNull(span.events),
    linksOrNull(span.links),
    error?.stack ?? null,
    error !== undefined && isLong(error.message) ? error.message : null,
  ];
};
