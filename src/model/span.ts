import type { Json, JsonObject } from './json.ts';
import type { UnixNano } from './time.ts';

export const spanKinds = [
  'model_generation',
  'workflow_run',
  'tool_call',
  'agent_run',
  'retrieval',
  'rag_embedding',
  'rag_action',
  'guardrail',
  'scorer_run',
  'mcp_tool_call',
  'http_request',
  'generic',
  'client_tool_call',
  'provider_tool_call',
] as const;
export type SpanKind = (typeof spanKinds)[number];

/** Kinds of spans that are calls of a tool. @see Interface decisions, "Names of tools" */
export const toolKinds: ReadonlySet<SpanKind> = new Set([
  'tool_call',
  'client_tool_call',
  'provider_tool_call',
  'mcp_tool_call',
]);

export const spanStatuses = ['ok', 'error', 'unset'] as const;
/** `unset` is a span that still runs, or that of a cancelled run; any other that ended without a status is `ok`. */
export type SpanStatus = (typeof spanStatuses)[number];

/** The attribute in which the span of a durable run says how the run stands. */
const RUN_STATUS = 'svc.run.status';

/**
 * Whether a span is that of a durable run that was cancelled: it ended, and neither succeeded nor failed. The service sends it
 * `unset` with an end; a receiver of OTLP records that as `ok`, as the service itself did once.
 * @see Interface decisions, "12. Decided since", "Runs as traces"
 */
export const isCancelled = (span: Pick<Span, 'status' | 'endTime' | 'attributes' | 'sharedAttributes'>): boolean =>
  span.status !== 'error' && span.endTime !== undefined && attributeOf(span, RUN_STATUS) === 'cancelled';

/** What a signal belongs to. Absent means that the sender did not say; only `project` is always known. */
export type Correlation = {
  readonly project: string;
  readonly environment?: string;
  readonly serviceName?: string;
  readonly serviceVersion?: string;
  readonly sessionId?: string;
  readonly threadId?: string;
  readonly userId?: string;
  readonly requestId?: string;
  readonly release?: string;
  readonly runId?: string;
  readonly resourceId?: string;
  readonly experimentId?: string;
  readonly tags?: readonly string[];
};

/**
 * Tokens of a model call, as non-negative integers. A count that the sender did not give is absent, never zero; a usage
 * with none of the three main counts does not exist.
 * @see Interface specification, "Span"
 */
export type Usage = {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly inputDetails?: {
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
    readonly cacheWrite5m?: number;
    readonly cacheWrite1h?: number;
    readonly audio?: number;
    readonly text?: number;
  };
  readonly outputDetails?: { readonly reasoning?: number; readonly audio?: number; readonly text?: number };
};

/** Money, in units of `currency` (not cents), unrounded. Never recomputed on read. @see Interface specification, "Cost" */
export type Cost = {
  readonly totalCost: number;
  readonly inputCost?: number;
  readonly outputCost?: number;
  /** ISO 4217. */
  readonly currency: string;
  /** True for anything derived from a price book; false for a cost that arrived with the span. */
  readonly isEstimated: boolean;
  readonly priceBookId?: string;
};

export type SpanError = { readonly message: string; readonly type?: string; readonly stack?: string };
export type SpanEvent = { readonly name: string; readonly time: UnixNano; readonly attributes: JsonObject };
export type SpanLink = { readonly traceId: string; readonly spanId: string; readonly attributes: JsonObject };

/**
 * One operation of a trace, as decoded, mapped and kept.
 *
 * The attribute map is flat: what its resource and scope say stands beside what the span says, under their own keys and only where the
 * span has none by that name. While a span is taken in, it may be held in two parts that have no key in common: `sharedAttributes`, one
 * object for all spans of a resource and scope, and `attributes`, the rest. A payload that was lifted from one attribute unchanged is held
 * once: its key is named by `inputAttribute` or `outputAttribute`, and is not in `attributes`. Readers put everything together
 * (`wholeAttributes`), so that the map a client sees is complete.
 */
export type Span = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly status: SpanStatus;
  readonly startTime: UnixNano;
  /** Absent while the span runs. */
  readonly endTime?: UnixNano;
  /** A point in time, not a duration. */
  readonly isEvent: boolean;
  readonly receivedAt: UnixNano;
  readonly input?: Json;
  readonly inputAttribute?: string;
  readonly output?: Json;
  readonly outputAttribute?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly entityName?: string;
  readonly usage?: Usage;
  readonly cost?: Cost;
  /** Always present, with a message, when `status` is `error`. */
  readonly error?: SpanError;
  readonly correlation: Correlation;
  readonly attributes: JsonObject;
  readonly sharedAttributes?: JsonObject;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  readonly scopeName?: string;
};

/** A root has no parent. @see Interface specification, "Span" */
export const isRoot = (span: Pick<Span, 'parentSpanId'>): boolean => span.parentSpanId === undefined;

/** One attribute, in whichever part it is held; payloads held apart are in neither. */
export const attributeOf = (
  { attributes, sharedAttributes }: Pick<Span, 'attributes' | 'sharedAttributes'>,
  name: string,
): Json | undefined => (Object.hasOwn(attributes, name) ? attributes[name] : sharedAttributes?.[name]);

/** The attribute map as it was sent, in one part: the payloads held apart are put back under the keys they came from. */
export const wholeAttributes = (
  span: Pick<Span, 'attributes' | 'sharedAttributes' | 'input' | 'inputAttribute' | 'output' | 'outputAttribute'>,
): JsonObject => {
  const { attributes, sharedAttributes } = span;
  if (sharedAttributes === undefined && span.inputAttribute === undefined && span.outputAttribute === undefined)
    return attributes;
  const whole: Record<string, Json> = Object.assign(Object.create(null), sharedAttributes, attributes);
  if (span.inputAttribute !== undefined && span.input !== undefined) whole[span.inputAttribute] = span.input;
  if (span.outputAttribute !== undefined && span.output !== undefined) whole[span.outputAttribute] = span.output;
  return whole;
};
