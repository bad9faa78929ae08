import type { Json, JsonObject } from '../../../model/json.ts';
import {
  type AspectNote,
  countSignals,
  emptyBatch,
  type Feedback,
  type LogRecord,
  type MetricPoint,
  metricTypes,
  type Score,
  type SignalBatch,
} from '../../../model/signal.ts';
import { type Correlation, isCancelled, type Span, type SpanEvent, type SpanLink } from '../../../model/span.ts';
import type { WriteUnit } from '../../signals/signal-store.ts';
import { kindCode, severityCode, statusCode } from './codes.ts';
import { INPUT_IS_JSON, OUTPUT_IS_JSON, type Row, type SearchRow, type TraceEntry, type UnitRows } from './wire.ts';

/** The mark that a mapper leaves on a span whose usage repeats that of its children. @see Attributes in the wild */
const COST_SKIPPED = 'svc.cost.skipped';
/** Longest error message that a list reads, in UTF-16 units; a longer one is kept completely with the payloads. */
const LISTED_MESSAGE_LENGTH = 1_000;

const jsonOrNull = (value: object | undefined): string | null => {
  if (value === undefined) return null;
  for (const _ in value) return JSON.stringify(value);
  return null;
};

const tagsOrNull = (tags: readonly string[] | undefined): string | null =>
  tags === undefined || tags.length === 0 ? null : JSON.stringify(tags);

const contextOf = (c: Correlation): Row => [
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

const logRow = (l: LogRecord): Row => [
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

const metricRow = (m: MetricPoint): Row => [
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

const scoreRow = (s: Score): Row => [
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

const feedbackRow = (f: Feedback): Row => [
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

const noteRow = (n: AspectNote): Row => [
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

const repeatsUsage = (attributes: JsonObject): 0 | 1 => (attributes[COST_SKIPPED] === 'aggregate' ? 1 : 0);

/** A piece of a unit: rows that the writer binds, and texts that the search thread indexes. */
export type EncodedPiece = { readonly rows: UnitRows; readonly search: SearchRow[] };

/** A unit of up to so many signals is encoded and handed over at once: a few milliseconds of work. */
const WHOLE_SIGNALS = 1_024;
/** Signals of each piece of a larger one. */
const PIECE_SIGNALS = 256;

function* piecesOf(batch: SignalBatch): Generator<SignalBatch> {
  if (countSignals(batch) <= WHOLE_SIGNALS) {
    yield batch;
    return;
  }
  for (const list of ['spans', 'logs', 'metrics', 'scores', 'feedback', 'aspectNotes'] as const)
    for (let from = 0; from < batch[list].length; from += PIECE_SIGNALS)
      yield { ...emptyBatch, [list]: batch[list].slice(from, from + PIECE_SIGNALS) };
}

/**
 * Turns a unit into pieces that are written together. A small one is one piece, which may be without a signal.
 * @param firstSpan number of the unit's first span; the others follow it
 * @param nowNs the time of an ingest key whose unit carries no signal
 */
export function* encodeUnit(unit: WriteUnit, firstSpan: number, nowNs: bigint): Generator<EncodedPiece> {
  let next = firstSpan;
  let { ingestKey } = unit;
  for (const batch of piecesOf(unit.batch)) {
    yield encodePiece(batch, ingestKey, next, nowNs);
    next += batch.spans.length;
    ingestKey = undefined; // stands in the first piece
  }
}

const encodePiece = (
  batch: SignalBatch,
  ingestKey: string | undefined,
  firstSpan: number,
  nowNs: bigint,
): EncodedPiece => {
  const traces: TraceEntry[] = [];
  const placeOf = new Map<string, number>();
  const spans: Row[] = [];
  const payloads: Row[] = [];
  const search: SearchRow[] = [];
  let number = firstSpan;
  let lastCorrelation: Correlation | undefined;
  let lastPlace = -1;
  let lastContext = 0;

  for (const span of batch.spans) {
    const { correlation, usage, cost, error } = span;
    const key = span.traceId + correlation.project;
    let place = placeOf.get(key);
    if (place === undefined) {
      place = traces.length;
      placeOf.set(key, place);
      traces.push([span.traceId, correlation.project, []]);
    }
    if (place !== lastPlace || correlation !== lastCorrelation) {
      const context = contextOf(correlation);
      const contexts = (traces[place] as TraceEntry)[2];
      lastContext = contexts.findIndex((known) => sameContext(known, context));
      if (lastContext === -1) lastContext = contexts.push(context) - 1;
      lastPlace = place;
      lastCorrelation = correlation;
    }
    const message = error?.message;
    const isLong = message !== undefined && message.length > LISTED_MESSAGE_LENGTH;
    spans.push([
      number,
      place,
      lastContext,
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
      repeatsUsage(span.attributes),
      0, // the project's number, which the writer knows
      span.receivedAt,
      span.isEvent ? 1 : 0,
      cost?.inputCost ?? null,
      cost?.outputCost ?? null,
      cost === undefined ? null : cost.isEstimated ? 1 : 0,
      cost?.priceBookId ?? null,
      usageDetails(span),
      message === undefined ? null : isLong ? message.slice(0, LISTED_MESSAGE_LENGTH) : message,
      error?.type ?? null,
      span.scopeName ?? null,
    ]);
    const input = payloadOf(span.input);
    const output = payloadOf(span.output);
    const forms =
      (input !== null && typeof span.input !== 'string' ? INPUT_IS_JSON : 0) |
      (output !== null && typeof span.output !== 'string' ? OUTPUT_IS_JSON : 0);
    payloads.push([
      number,
      forms,
      input,
      span.inputAttribute ?? null,
      output,
      span.outputAttribute ?? null,
      jsonOrNull(span.attributes),
      eventsOrNull(span.events),
      linksOrNull(span.links),
      error?.stack ?? null,
      isLong ? message : null,
    ]);
    if (input !== null || output !== null) search.push([number, forms, input, output]);
    number++;
  }

  const received =
    batch.spans[0] ?? batch.logs[0] ?? batch.metrics[0] ?? batch.scores[0] ?? batch.feedback[0] ?? batch.aspectNotes[0];
  return {
    rows: [
      ingestKey ?? null,
      received?.receivedAt ?? nowNs,
      traces,
      spans,
      payloads,
      batch.logs.map(logRow),
      batch.metrics.map(metricRow),
      batch.scores.map(scoreRow),
      batch.feedback.map(feedbackRow),
      batch.aspectNotes.map(noteRow),
    ],
    search,
  };
};
