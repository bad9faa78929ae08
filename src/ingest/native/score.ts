import type { Result } from '../../model/failure.ts';
import { type Score, scoreSources } from '../../model/signal.ts';
import type { DecodeContext } from '../decoded.ts';
import { newJsonObject } from '../json-object.ts';
import { Fields, keepRest, resultOf } from './fields.ts';
import { readCorrelation, readCost, readIds, readRecordId } from './shared.ts';

const SCORE = [
  'score_id',
  'trace_id',
  'span_id',
  'scorer_id',
  'scorer_version',
  'value',
  'min',
  'max',
  'label',
  'reason',
  'source',
  'score_trace_id',
  'cost',
  'timestamp',
  'received_at',
  'correlation',
  'experiment_id',
  'metadata',
];
const DEFAULT_MIN = 0;
const DEFAULT_MAX = 1;

const readScore = (record: unknown, context: DecodeContext): Score => {
  const rest = newJsonObject();
  const fields = new Fields(record, SCORE, rest);
  const scorerId = fields.requiredWord('scorer_id');
  const ids = readIds(fields);
  if (ids.traceId === undefined && ids.spanId === undefined)
    throw fields.fault('trace_id', 'or span_id is required: a score is about a run or a span');
  const value = fields.requiredNumber('value');
  const min = fields.number('min') ?? DEFAULT_MIN;
  const max = fields.number('max') ?? DEFAULT_MAX;
  if (!(min < max)) throw fields.fault('min', `is ${min} and max is ${max}; min must be below max`);
  // No clamping: a value off its scale is a mistake of one or the other, and only the sender can tell which.
  if (value < min || value > max)
    throw fields.fault(
      'value',
      `is ${value}, outside of the scale from ${min} to ${max}; send min and max with the score`,
    );
  const scorerVersion = fields.word('scorer_version');
  const label = fields.word('label');
  const reason = fields.word('reason');
  const scoreTraceId = fields.traceId('score_trace_id');
  const cost = readCost(fields);
  const correlation = readCorrelation(fields, context);
  const experimentId = fields.word('experiment_id') ?? correlation.experimentId;
  const metadata = keepRest(fields.map('metadata'), rest);
  return {
    scoreId: readRecordId(fields, 'score_id', context),
    ...ids,
    scorerId,
    ...(scorerVersion !== undefined && { scorerVersion }),
    value,
    min,
    max,
    ...(label !== undefined && { label }),
    ...(reason !== undefined && { reason }),
    source: fields.oneOf('source', scoreSources) ?? 'live',
    ...(scoreTraceId !== undefined && { scoreTraceId }),
    ...(cost !== undefined && { cost }),
    timestamp: fields.time('timestamp') ?? context.receivedAt,
    receivedAt: context.receivedAt,
    correlation,
    ...(experimentId !== undefined && { experimentId }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
};

/**
 * Reads one score, of the native ingest or of `POST /v1/api/scores`. A field that the Score table does not have is kept in
 * its metadata.
 * @returns the score, or the one field at fault and why
 * @see Interface specification, "Score"
 */
export const decodeScore = (record: unknown, context: DecodeContext): Result<Score> =>
  resultOf(() => readScore(record, context));
