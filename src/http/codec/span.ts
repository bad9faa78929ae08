import type { components } from '../../model/generated/openapi.ts';
import type { Redaction } from '../../ingest/find-redactions.ts';
import type { Explanation } from '../../ingest/mapping/explain.ts';
import { isRoot, type Usage } from '../../model/span.ts';
import { formatTimestamp } from '../../model/time.ts';
import type { StoredSpan } from '../../store/signals/query.ts';
import { correlationToWire } from './correlation.ts';
import { costToWire } from './money.ts';

type Wire = components['schemas']['Span'];

const usageToWire = (usage: Usage): components['schemas']['Usage'] =>
  ({
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    input_details:
      usage.inputDetails === undefined
        ? undefined
        : {
            cache_read: usage.inputDetails.cacheRead,
            cache_write: usage.inputDetails.cacheWrite,
            cache_write_5m: usage.inputDetails.cacheWrite5m,
            cache_write_1h: usage.inputDetails.cacheWrite1h,
            audio: usage.inputDetails.audio,
            text: usage.inputDetails.text,
          },
    output_details:
      usage.outputDetails === undefined
        ? undefined
        : {
            reasoning: usage.outputDetails.reasoning,
            audio: usage.outputDetails.audio,
            text: usage.outputDetails.text,
          },
  }) as components['schemas']['Usage'];

/**
 * A span as clients see it. Fields that hold `undefined` are left out when the answer is written.
 * @param payloads false leaves `input`, `output`, `attributes`, `events` and `links` out
 * @see Interface specification, "Span"; Interface decisions, "4. Signals, native names"
 */
export const spanToWire = (span: StoredSpan, payloads: boolean): Wire =>
  ({
    trace_id: span.traceId,
    span_id: span.spanId,
    parent_span_id: span.parentSpanId,
    name: span.name,
    kind: span.kind,
    status: span.status,
    start_time: formatTimestamp(span.startTime),
    end_time: span.endTime === undefined ? undefined : formatTimestamp(span.endTime),
    is_root: isRoot(span),
    is_event: span.isEvent,
    received_at: formatTimestamp(span.receivedAt),
    input: payloads ? span.input : undefined,
    output: payloads ? span.output : undefined,
    model: span.model,
    provider: span.provider,
    entity_name: span.entityName,
    usage: span.usage === undefined ? undefined : usageToWire(span.usage),
    cost: span.cost === undefined ? undefined : costToWire(span.cost),
    error: span.error,
    correlation: correlationToWire(span.correlation),
    attributes: payloads ? span.attributes : undefined,
    events: payloads
      ? span.events.map(({ name, time, attributes }) => ({ name, time: formatTimestamp(time), attributes }))
      : undefined,
    links: payloads
      ? span.links.map(({ traceId, spanId, attributes }) => ({ trace_id: traceId, span_id: spanId, attributes }))
      : undefined,
    scope_name: span.scopeName,
  }) as Wire;

/** Names of one list that an explanation holds, at the most: a span may have thousands of attributes. */
const MOST_NAMES = 1000;

export const explanationToWire = (
  { fields, unexplained, unmapped }: Explanation,
  { redactions, isComplete }: { readonly redactions: readonly Redaction[]; readonly isComplete: boolean },
): components['schemas']['SpanExplanation'] => ({
  fields: fields.map(({ field, attribute, emitter, insteadOf }) => ({
    field,
    attribute,
    emitter,
    instead_of: insteadOf.slice(0, MOST_NAMES),
  })),
  unexplained: [...unexplained],
  unmapped: unmapped.slice(0, MOST_NAMES),
  redactions: redactions.map(({ path, rule }) => ({ path, rule })),
  complete:
    isComplete && unmapped.length <= MOST_NAMES && fields.every(({ insteadOf }) => insteadOf.length <= MOST_NAMES),
});
