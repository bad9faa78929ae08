import { hash } from 'node:crypto';
import type { Json, JsonObject } from '../../model/json.ts';
import type { Feedback, Score } from '../../model/signal.ts';
import type { Correlation } from '../../model/span.ts';
import type { UnixNano } from '../../model/time.ts';
import { type MutableJsonObject, newJsonObject, setMember } from '../json-object.ts';
import type { EvaluationPart } from './key.ts';
import { parseInner, readText } from './read-value.ts';

/** The event (on a span, or as a log record) by which the OpenTelemetry GenAI conventions report an evaluation. */
export const EVALUATION_EVENT = 'gen_ai.evaluation.result';

/** What an evaluation is about, and when and where it arrived. */
export type EvaluationTarget = {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly timestamp: UnixNano;
  readonly receivedAt: UnixNano;
  readonly correlation: Correlation;
};

/** Takes in judgements as they are read. */
export type Judgements = { readonly score: (score: Score) => void; readonly feedback: (feedback: Feedback) => void };

/** The same evaluation sent again gets the same id, so that it replaces itself. In the form of a UUID (RFC 9562, version 8). */
const stableId = (...parts: readonly string[]): string => {
  const hex = hash('sha256', parts.join('\u0000'), 'hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

const finite = (value: Json | undefined): number | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
};

const textAt = (attributes: JsonObject, name: string): string | undefined => {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  return value === undefined ? undefined : readText(value);
};

/**
 * The emitters send no scale. Zero to one is the specification's default; a value outside of it stretches the scale just
 * so far, and `metadata.scale` says that nobody declared it.
 */
const scaleOf = (value: number): { min: number; max: number; metadata?: JsonObject } =>
  value >= 0 && value <= 1
    ? { min: 0, max: 1 }
    : { min: Math.min(0, value), max: Math.max(1, value), metadata: { scale: 'undeclared' } };

const ofTarget = (target: EvaluationTarget) => ({
  ...(target.traceId !== undefined && { traceId: target.traceId }),
  ...(target.spanId !== undefined && { spanId: target.spanId }),
  timestamp: target.timestamp,
  receivedAt: target.receivedAt,
  correlation: target.correlation,
});

/**
 * The score in the attributes of a `gen_ai.evaluation.result` event.
 * @returns `undefined` without a name or a number (a label alone is no score), or with nothing that it is about: the event
 * itself is kept in any case
 */
export const scoreOfEvent = (attributes: JsonObject, target: EvaluationTarget): Score | undefined => {
  const scorerId = textAt(attributes, 'gen_ai.evaluation.name');
  const value = finite(
    Object.hasOwn(attributes, 'gen_ai.evaluation.score.value')
      ? attributes['gen_ai.evaluation.score.value']
      : undefined,
  );
  if (scorerId === undefined || value === undefined) return undefined;
  if (target.traceId === undefined && target.spanId === undefined) return undefined;
  const label = textAt(attributes, 'gen_ai.evaluation.score.label');
  const reason = textAt(attributes, 'gen_ai.evaluation.explanation');
  return {
    scoreId: stableId('event', target.traceId ?? '', target.spanId ?? '', scorerId, target.timestamp.toString()),
    scorerId,
    value,
    ...scaleOf(value),
    ...(label !== undefined && { label }),
    ...(reason !== undefined && { reason }),
    source: 'live',
    ...ofTarget(target),
  };
};

const metadataOf = (value: Json | undefined): MutableJsonObject => {
  const parsed = typeof value === 'string' ? parseInner(value) : value;
  const metadata = newJsonObject();
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return metadata;
  for (const [name, member] of Object.entries(parsed)) setMember(metadata, name, member);
  return metadata;
};

/**
 * The judgements that OpenInference writes into a span's attributes (`annotations.N.annotation.*`, `evaluations.N.evaluation.*`,
 * both also under `trace.`). A judge of kind `HUMAN` gives feedback, any other a score: the two never meet.
 * A score needs a number; feedback takes the number as a rating, else the label as a tag, else the explanation as a comment.
 */
export const judgementsOfParts = (
  parts: readonly { readonly part: EvaluationPart; readonly value: Json }[],
  target: EvaluationTarget,
  judgements: Judgements,
): void => {
  const groups = new Map<string, { of: EvaluationPart['target']; members: MutableJsonObject }>();
  for (const { part, value } of parts) {
    const group = groups.get(part.id) ?? { of: part.target, members: newJsonObject() };
    group.members[part.name] = value;
    groups.set(part.id, group);
  }
  for (const [id, { of, members }] of groups) {
    const name = textAt(members, 'name');
    if (name === undefined) continue;
    const { spanId, ...rest } = ofTarget(target);
    const about = of === 'trace' || spanId === undefined ? rest : { ...rest, spanId };
    const value = finite(members['score']);
    const label = textAt(members, 'label');
    const reason = textAt(members, 'explanation');
    const metadata = metadataOf(members['metadata']);
    const recordId = stableId(
      'annotation',
      target.traceId ?? '',
      target.spanId ?? '',
      textAt(members, 'identifier') ?? id,
      name,
    );
    if (members['annotator_kind'] === 'HUMAN') {
      const judged = value ?? label ?? reason;
      if (judged === undefined) continue;
      metadata['name'] = name;
      judgements.feedback({
        feedbackId: recordId,
        kind: value !== undefined ? 'rating' : label !== undefined ? 'tag' : 'comment',
        value: judged,
        ...(reason !== undefined && judged !== reason && { comment: reason }),
        metadata,
        ...about,
      });
      continue;
    }
    if (value === undefined) continue;
    const scale = scaleOf(value);
    judgements.score({
      scoreId: recordId,
      scorerId: name,
      value,
      min: scale.min,
      max: scale.max,
      ...(label !== undefined && { label }),
      ...(reason !== undefined && { reason }),
      source: 'live',
      metadata: Object.assign(metadata, scale.metadata),
      ...about,
    });
  }
};
