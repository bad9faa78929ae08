import type { components } from '../../model/generated/openapi.ts';
import type { Feedback, Score } from '../../model/signal.ts';
import { formatTimestamp } from '../../model/time.ts';
import { correlationToWire } from './correlation.ts';
import { costToWire } from './money.ts';

/** @see Interface specification, "Score" */
export const scoreToWire = (score: Score): components['schemas']['Score'] =>
  ({
    score_id: score.scoreId,
    trace_id: score.traceId,
    span_id: score.spanId,
    scorer_id: score.scorerId,
    scorer_version: score.scorerVersion,
    value: score.value,
    min: score.min,
    max: score.max,
    label: score.label,
    reason: score.reason,
    source: score.source,
    score_trace_id: score.scoreTraceId,
    cost: score.cost === undefined ? undefined : costToWire(score.cost),
    timestamp: formatTimestamp(score.timestamp),
    received_at: formatTimestamp(score.receivedAt),
    correlation: correlationToWire(score.correlation),
    experiment_id: score.experimentId,
    metadata: score.metadata,
  }) as components['schemas']['Score'];

/** @see Interface specification, "Feedback" */
export const feedbackToWire = (feedback: Feedback): components['schemas']['Feedback'] =>
  ({
    feedback_id: feedback.feedbackId,
    trace_id: feedback.traceId,
    span_id: feedback.spanId,
    kind: feedback.kind,
    value: feedback.value,
    comment: feedback.comment,
    author_kind: feedback.authorKind,
    author_id: feedback.authorId,
    metadata: feedback.metadata,
    timestamp: formatTimestamp(feedback.timestamp),
    received_at: formatTimestamp(feedback.receivedAt),
    correlation: correlationToWire(feedback.correlation),
  }) as components['schemas']['Feedback'];
