import type { Result } from '../../model/failure.ts';
import type { AspectNote } from '../../model/signal.ts';
import type { DecodeContext } from '../decoded.ts';
import { newJsonObject } from '../json-object.ts';
import { FieldFault, Fields, resultOf } from './fields.ts';
import { readCorrelation, readRecordId } from './shared.ts';

const NOTE = ['note_id', 'trace_id', 'span_id', 'aspect', 'text', 'model', 'timestamp', 'received_at', 'correlation'];

const readNote = (record: unknown, context: DecodeContext): AspectNote => {
  const rest = newJsonObject();
  const fields = new Fields(record, NOTE, rest);
  const traceId = fields.traceId('trace_id');
  if (traceId === undefined)
    throw new FieldFault('trace_id', 'trace_id is required: 32 lowercase hex characters, not all zero', 'invalid_id');
  const spanId = fields.spanId('span_id');
  const model = fields.word('model');
  const note: AspectNote = {
    noteId: readRecordId(fields, 'note_id', context),
    traceId,
    ...(spanId !== undefined && { spanId }),
    aspect: fields.requiredWord('aspect'),
    text: fields.requiredWord('text'),
    ...(model !== undefined && { model }),
    timestamp: fields.time('timestamp') ?? context.receivedAt,
    receivedAt: context.receivedAt,
    correlation: readCorrelation(fields, context),
  };
  // A note has no map in which an unknown field could be kept, and dropping one in silence is not done.
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new FieldFault(unknown, `${unknown} is not a field of an aspect note`);
  return note;
};

/** Reads one aspect note. */
export const decodeAspectNote = (record: unknown, context: DecodeContext): Result<AspectNote> =>
  resultOf(() => readNote(record, context));
