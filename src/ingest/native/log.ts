import type { Result } from '../../model/failure.ts';
import { type LogRecord, severities } from '../../model/signal.ts';
import type { DecodeContext } from '../decoded.ts';
import { newJsonObject } from '../json-object.ts';
import { Fields, keepRest, resultOf } from './fields.ts';
import { readCorrelation, readIds, readRecordId } from './shared.ts';

const LOG = [
  'log_id',
  'timestamp',
  'received_at',
  'severity',
  'message',
  'logger',
  'trace_id',
  'span_id',
  'attributes',
  'correlation',
];

const readLog = (record: unknown, context: DecodeContext): LogRecord => {
  const rest = newJsonObject();
  const fields = new Fields(record, LOG, rest);
  const message = fields.json('message');
  if (message === undefined) throw fields.fault('message', 'is required');
  const logger = fields.word('logger');
  return {
    logId: readRecordId(fields, 'log_id', context),
    timestamp: fields.time('timestamp') ?? context.receivedAt,
    receivedAt: context.receivedAt,
    severity: fields.oneOf('severity', severities) ?? 'info',
    // A structured message becomes its JSON text, as a structured OTLP body does.
    message: typeof message === 'string' ? message : JSON.stringify(message),
    ...(logger !== undefined && { logger }),
    ...readIds(fields),
    correlation: readCorrelation(fields, context),
    attributes: keepRest(fields.map('attributes'), rest),
  };
};

/** Reads one native log record. A field of no meaning to it is kept in its attributes. */
export const decodeNativeLog = (record: unknown, context: DecodeContext): Result<LogRecord> =>
  resultOf(() => readLog(record, context));
