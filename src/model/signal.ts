import type { Json, JsonObject } from './json.ts';
import type { Correlation, Cost, Span } from './span.ts';
import type { UnixNano } from './time.ts';

export const severities = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type Severity = (typeof severities)[number];

export type LogRecord = {
  readonly logId: string;
  readonly timestamp: UnixNano;
  readonly receivedAt: UnixNano;
  readonly severity: Severity;
  readonly message: string;
  readonly logger?: string;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly attributes: JsonObject;
  readonly correlation: Correlation;
};

export const metricTypes = ['counter', 'gauge', 'histogram'] as const;
export type MetricType = (typeof metricTypes)[number];

/** One measured example behind a metric point; it links the point to a run. */
export type Exemplar = {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly value: number;
  readonly timestamp: UnixNano;
  readonly attributes: JsonObject;
};

/** A histogram has `sum`, `count`, `bounds` and one more `bucketCounts` than bounds; the other two types have `value`. */
export type MetricPoint = {
  readonly name: string;
  readonly type: MetricType;
  readonly unit?: string;
  readonly description?: string;
  readonly timestamp: UnixNano;
  readonly receivedAt: UnixNano;
  readonly value?: number;
  readonly sum?: number;
  readonly count?: number;
  readonly bounds?: readonly number[];
  readonly bucketCounts?: readonly number[];
  readonly temporality?: 'delta' | 'cumulative';
  readonly attributes: JsonObject;
  readonly correlation: Correlation;
  readonly exemplars: readonly Exemplar[];
};

export const scoreSources = ['live', 'offline', 'experiment', 'manual'] as const;
export type ScoreSource = (typeof scoreSources)[number];

/** A machine's evaluation of a run or a span. Never meets feedback in one number. */
export type Score = {
  readonly scoreId: string;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly scorerId: string;
  readonly scorerVersion?: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly label?: string;
  readonly reason?: string;
  readonly source: ScoreSource;
  readonly scoreTraceId?: string;
  readonly cost?: Cost;
  readonly timestamp: UnixNano;
  readonly receivedAt: UnixNano;
  readonly correlation: Correlation;
  readonly experimentId?: string;
  readonly metadata?: JsonObject;
};

export const feedbackKinds = ['thumbs', 'rating', 'correction', 'tag', 'comment'] as const;
export type FeedbackKind = (typeof feedbackKinds)[number];
export const authorKinds = ['end_user', 'expert', 'developer', 'system'] as const;
export type AuthorKind = (typeof authorKinds)[number];

/** A person's judgement. Counted per kind, never averaged, never combined with scores. */
export type Feedback = {
  readonly feedbackId: string;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly kind: FeedbackKind;
  readonly value: string | number;
  readonly comment?: string;
  readonly authorKind?: AuthorKind;
  readonly authorId?: string;
  readonly metadata?: JsonObject;
  readonly timestamp: UnixNano;
  readonly receivedAt: UnixNano;
  readonly correlation: Correlation;
};

/** One sentence that a model wrote about one aspect of a run. */
export type AspectNote = {
  readonly noteId: string;
  readonly traceId: string;
  readonly spanId?: string;
  readonly aspect: string;
  readonly text: string;
  readonly model?: string;
  readonly timestamp: UnixNano;
  readonly receivedAt: UnixNano;
  readonly correlation: Correlation;
};

/** The wire names of the six signals, in the order in which a batch is read. */
export const signalNames = ['spans', 'logs', 'metrics', 'scores', 'feedback', 'aspect_notes'] as const;
export type SignalName = (typeof signalNames)[number];

/** Any mix of the six signals, decoded. What is stored together. */
export type SignalBatch = {
  readonly spans: readonly Span[];
  readonly logs: readonly LogRecord[];
  readonly metrics: readonly MetricPoint[];
  readonly scores: readonly Score[];
  readonly feedback: readonly Feedback[];
  readonly aspectNotes: readonly AspectNote[];
};

export const emptyBatch: SignalBatch = { spans: [], logs: [], metrics: [], scores: [], feedback: [], aspectNotes: [] };

export const countSignals = (batch: SignalBatch): number =>
  batch.spans.length +
  batch.logs.length +
  batch.metrics.length +
  batch.scores.length +
  batch.feedback.length +
  batch.aspectNotes.length;

/** The text form under which a payload is searched and shown on one line: a string as it is, anything else as JSON. */
export const payloadText = (payload: Json): string => (typeof payload === 'string' ? payload : JSON.stringify(payload));
