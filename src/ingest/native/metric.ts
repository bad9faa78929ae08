import type { Result } from '../../model/failure.ts';
import { type MetricPoint, metricTypes } from '../../model/signal.ts';
import type { DecodeContext } from '../decoded.ts';
import { newJsonObject } from '../json-object.ts';
import { Fields, keepRest, resultOf } from './fields.ts';
import { readCorrelation, readIds } from './shared.ts';

const METRIC = [
  'name',
  'type',
  'unit',
  'description',
  'timestamp',
  'received_at',
  'value',
  'sum',
  'count',
  'bounds',
  'bucket_counts',
  'temporality',
  'attributes',
  'correlation',
  'exemplars',
];
const EXEMPLAR = ['trace_id', 'span_id', 'value', 'timestamp', 'attributes'];

const readHistogram = (fields: Fields): Pick<MetricPoint, 'sum' | 'count' | 'bounds' | 'bucketCounts'> => {
  const count = fields.count('count');
  if (count === undefined) throw fields.fault('count', 'is required for a histogram');
  const sum = fields.number('sum');
  const bounds = fields.numbers('bounds') ?? [];
  const bucketCounts = fields.numbers('bucket_counts') ?? [];
  if (bounds.some((bound, i) => i > 0 && bound <= (bounds[i - 1] as number)))
    throw fields.fault('bounds', 'must ascend');
  if (bucketCounts.some((bucket) => !Number.isSafeInteger(bucket) || bucket < 0))
    throw fields.fault('bucket_counts', 'must be non-negative integers');
  if (bucketCounts.length !== bounds.length + 1 && (bucketCounts.length > 0 || bounds.length > 0))
    throw fields.fault(
      'bucket_counts',
      `has ${bucketCounts.length} counts for ${bounds.length} bounds; it must have one more than bounds`,
    );
  return { count, ...(sum !== undefined && { sum }), bounds, bucketCounts };
};

const readMetric = (record: unknown, context: DecodeContext): MetricPoint => {
  const rest = newJsonObject();
  const fields = new Fields(record, METRIC, rest);
  const type = fields.oneOf('type', metricTypes);
  if (type === undefined) throw fields.fault('type', `is required: one of ${metricTypes.join(', ')}`);
  const name = fields.requiredWord('name');
  const unit = fields.word('unit');
  const description = fields.word('description');
  const timestamp = fields.time('timestamp') ?? context.receivedAt;
  const temporality = fields.oneOf('temporality', ['delta', 'cumulative']);
  return {
    name,
    type,
    ...(unit !== undefined && { unit }),
    ...(description !== undefined && { description }),
    timestamp,
    receivedAt: context.receivedAt,
    ...(type === 'histogram' ? readHistogram(fields) : { value: fields.requiredNumber('value') }),
    ...(temporality !== undefined && { temporality }),
    correlation: readCorrelation(fields, context),
    exemplars: fields.objects('exemplars', EXEMPLAR).map((exemplar) => ({
      ...readIds(exemplar),
      value: exemplar.requiredNumber('value'),
      timestamp: exemplar.time('timestamp') ?? timestamp,
      attributes: exemplar.map('attributes'),
    })),
    attributes: keepRest(fields.map('attributes'), rest),
  };
};

/** Reads one native metric point. A field of no meaning to it is kept in its attributes. */
export const decodeNativeMetric = (record: unknown, context: DecodeContext): Result<MetricPoint> =>
  resultOf(() => readMetric(record, context));
