import type { Result } from '../../model/failure.ts';
import { authorKinds, type Feedback, type FeedbackKind, feedbackKinds } from '../../model/signal.ts';
import type { DecodeContext } from '../decoded.ts';
import { type MutableJsonObject, newJsonObject } from '../json-object.ts';
import { Fields, keepRest, resultOf } from './fields.ts';
import { readCorrelation, readIds, readRecordId } from './shared.ts';

const FEEDBACK = [
  'feedback_id',
  'trace_id',
  'span_id',
  'kind',
  'value',
  'comment',
  'author_kind',
  'author_id',
  'metadata',
  'timestamp',
  'received_at',
  'correlation',
];

const THUMBS = ['up', 'down'] as const;

const readRating = (fields: Fields, metadata: MutableJsonObject): number => {
  const rating = fields.requiredNumber('value');
  const { scale_min: min, scale_max: max } = metadata;
  if (typeof min === 'number' && typeof max === 'number' && !(min < max))
    throw fields.fault('metadata.scale_min', `is ${min} and metadata.scale_max is ${max}; it must be below`);
  if ((typeof min === 'number' && rating < min) || (typeof max === 'number' && rating > max))
    throw fields.fault(
      'value',
      `is ${rating}, outside of the scale from ${typeof min === 'number' ? min : '-∞'} to ${typeof max === 'number' ? max : '∞'} that metadata.scale_min and metadata.scale_max declare`,
    );
  return rating;
};

/** The kind decides the shape of the value. */
const readValue = (fields: Fields, kind: FeedbackKind, metadata: MutableJsonObject): string | number => {
  switch (kind) {
    case 'thumbs': {
      const thumb = fields.oneOf('value', THUMBS);
      if (thumb === undefined) throw fields.fault('value', 'is required: up or down');
      return thumb;
    }
    case 'rating':
      return readRating(fields, metadata);
    case 'correction':
    case 'tag':
    case 'comment':
      return fields.requiredWord('value');
    default:
      return kind satisfies never;
  }
};

const readFeedback = (record: unknown, context: DecodeContext): Feedback => {
  const rest = newJsonObject();
  const fields = new Fields(record, FEEDBACK, rest);
  const kind = fields.oneOf('kind', feedbackKinds);
  if (kind === undefined) throw fields.fault('kind', `is required: one of ${feedbackKinds.join(', ')}`);
  const ids = readIds(fields);
  if (ids.traceId === undefined && ids.spanId === undefined)
    throw fields.fault('trace_id', 'or span_id is required: feedback is about a run or a span');
  const given = fields.map('metadata');
  const value = readValue(fields, kind, given);
  const comment = fields.word('comment');
  const authorKind = fields.oneOf('author_kind', authorKinds);
  const authorId = fields.word('author_id');
  const correlation = readCorrelation(fields, context);
  const metadata = keepRest(given, rest);
  return {
    feedbackId: readRecordId(fields, 'feedback_id', context),
    ...ids,
    kind,
    value,
    ...(comment !== undefined && { comment }),
    ...(authorKind !== undefined && { authorKind }),
    ...(authorId !== undefined && { authorId }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    timestamp: fields.time('timestamp') ?? context.receivedAt,
    receivedAt: context.receivedAt,
    correlation,
  };
};

/**
 * Reads one piece of feedback, of the native ingest or of `POST /v1/api/feedback`. A field that the Feedback table does
 * not have is kept in its metadata.
 * @returns the feedback, or the one field at fault and why
 * @see Interface specification, "Feedback"
 */
export const decodeFeedback = (record: unknown, context: DecodeContext): Result<Feedback> =>
  resultOf(() => readFeedback(record, context));
