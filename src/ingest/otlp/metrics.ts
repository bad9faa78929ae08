import type { Json, JsonObject } from '../../model/json.ts';
import type { Exemplar, MetricPoint } from '../../model/signal.ts';
import { MAX_UNIX_NANO, type UnixNano } from '../../model/time.ts';
import type { DecodeContext, DecodedBatch, SignalRefusal } from '../decoded.ts';
import { createReadings } from '../mapping/readings.ts';
import { addShared, type Shared, SharedCount, tooManySignals } from './bounds.ts';
import { explicitOf, type ExponentialBuckets } from './exponential.ts';
import { readGroups } from './groups.ts';
import { asObject, attributesIn, eachAttribute, idsOf, listAt, member, objectAt, textAt, WrongType } from './tree.ts';
import { doubleOf, enumOf, integerOf, timeOf } from './wire-json.ts';

const TEMPORALITY: Readonly<Record<string, number>> = {
  AGGREGATION_TEMPORALITY_UNSPECIFIED: 0,
  AGGREGATION_TEMPORALITY_DELTA: 1,
  AGGREGATION_TEMPORALITY_CUMULATIVE: 2,
};
/** Bit 0 of a point's flags: the series has no value now. */
const NO_RECORDED_VALUE = 1;
const LARGEST_SCALE = 20;
const SMALLEST_SCALE = -11;
const LARGEST_OFFSET = 2_147_483_647;

/** Why one data point cannot be kept. */
class PointRefused extends Error {
  readonly field: string | undefined;
  constructor(message: string, field?: string) {
    super(message);
    this.name = 'PointRefused';
    this.field = field;
  }
}

const finiteOf = (value: Json | undefined, field: string): number | undefined => {
  if (value === undefined) return undefined;
  const number =
    typeof value === 'string' || typeof value === 'number' ? Number(doubleOf(value) ?? Number.NaN) : Number.NaN;
  if (!Number.isFinite(number)) throw new PointRefused(`${field} is not a finite number`, field);
  return number;
};

const integerAt = (object: JsonObject, name: string): number | undefined => {
  const value = member(object, name);
  if (value === undefined) return undefined;
  const integer = typeof value === 'string' || typeof value === 'number' ? integerOf(value) : undefined;
  if (integer === undefined) throw new PointRefused(`${name} is not an integer`, name);
  return Number(integer);
};

/** Lists of numbers are pushed together: V8 copies what `map` makes to another thread one property at a time. */
const countsAt = (object: JsonObject, name: string): number[] => {
  const counts: number[] = [];
  for (const item of listAt(object, name)) {
    const count =
      typeof item === 'string' || typeof item === 'number' ? Number(integerOf(item) ?? Number.NaN) : Number.NaN;
    if (!(count >= 0)) throw new PointRefused(`${name} holds something other than counts`, name);
    counts.push(count);
  }
  return counts;
};

const boundsAt = (object: JsonObject, name: string): number[] => {
  const bounds: number[] = [];
  for (const item of listAt(object, name)) {
    const bound = finiteOf(item, name) ?? Number.NaN;
    if (bounds.length > 0 && !(bound > (bounds.at(-1) as number)))
      throw new PointRefused(`${name} do not ascend`, name);
    bounds.push(bound);
  }
  return bounds;
};

const timeAt = (object: JsonObject, name: string, otherwise: UnixNano): UnixNano => {
  const value = member(object, name);
  if (value === undefined) return otherwise;
  const time = typeof value === 'string' || typeof value === 'number' ? timeOf(value) : undefined;
  if (time === undefined || time > MAX_UNIX_NANO) throw new PointRefused(`${name} is not a time in nanoseconds`, name);
  return time === 0n ? otherwise : time;
};

const numberOf = (point: JsonObject): number | undefined => {
  const integer = integerAt(point, 'asInt');
  return integer ?? finiteOf(member(point, 'asDouble'), 'asDouble');
};

type Numbers = Pick<MetricPoint, 'value' | 'sum' | 'count' | 'bounds' | 'bucketCounts'>;

const valueNumbers = (point: JsonObject): Numbers => {
  const value = numberOf(point);
  if (value === undefined) throw new PointRefused('the data point has no value', 'asDouble');
  return { value };
};

const totals = (point: JsonObject): { sum?: number; count: number } => {
  const count = integerAt(point, 'count') ?? 0;
  if (count < 0) throw new PointRefused('count is negative', 'count');
  const sum = finiteOf(member(point, 'sum'), 'sum');
  return { count, ...(sum !== undefined && { sum }) };
};

const histogramNumbers = (point: JsonObject): Numbers => {
  const bounds = boundsAt(point, 'explicitBounds');
  const bucketCounts = countsAt(point, 'bucketCounts');
  // Sum and count alone are a legal histogram.
  if (bucketCounts.length !== bounds.length + 1 && (bucketCounts.length > 0 || bounds.length > 0))
    throw new PointRefused(
      `bucketCounts has ${bucketCounts.length} counts for ${bounds.length} bounds; it must have one more than bounds`,
      'bucketCounts',
    );
  return { ...totals(point), bounds, bucketCounts };
};

const bucketsAt = (point: JsonObject, name: string): ExponentialBuckets => {
  const buckets = objectAt(point, name);
  if (buckets === undefined) return { offset: 0, counts: [] };
  const offset = integerAt(buckets, 'offset') ?? 0;
  if (Math.abs(offset) > LARGEST_OFFSET) throw new PointRefused(`${name}.offset is out of range`, name);
  return { offset, counts: countsAt(buckets, 'bucketCounts') };
};

const exponentialNumbers = (point: JsonObject): Numbers => {
  const scale = integerAt(point, 'scale') ?? 0;
  if (scale > LARGEST_SCALE || scale < SMALLEST_SCALE)
    throw new PointRefused(`scale is ${scale}; it must be from ${SMALLEST_SCALE} to ${LARGEST_SCALE}`, 'scale');
  const zeroCount = integerAt(point, 'zeroCount') ?? 0;
  const { bounds, counts } = explicitOf(scale, zeroCount, bucketsAt(point, 'positive'), bucketsAt(point, 'negative'));
  return { ...totals(point), bounds, bucketCounts: counts };
};

const summaryNumbers = (): Numbers => {
  throw new PointRefused('summaries are not stored: quantiles cannot be merged; send a histogram instead');
};

/** The kinds of data a metric may hold, and what becomes of each. */
const kinds = [
  { name: 'sum', type: 'counter', numbers: valueNumbers },
  { name: 'gauge', type: 'gauge', numbers: valueNumbers },
  { name: 'histogram', type: 'histogram', numbers: histogramNumbers },
  { name: 'exponentialHistogram', type: 'histogram', numbers: exponentialNumbers },
  { name: 'summary', type: 'histogram', numbers: summaryNumbers },
] as const;

/** Texts that a metric says once, and that stand at each of its points. */
const saidOfPoints = (metric: JsonObject): Shared => {
  const lengthAt = (name: string): number => {
    const text = member(metric, name);
    return typeof text === 'string' ? text.length : 0;
  };
  return { attributes: 0, bytes: lengthAt('name') + lengthAt('unit') + lengthAt('description') };
};

type Series = {
  readonly metric: JsonObject;
  readonly kind: (typeof kinds)[number];
  readonly data: JsonObject;
  readonly points: readonly Json[];
  /** Of its points. */
  readonly said: Shared;
};

const seriesOf = (item: Json): Series | undefined => {
  const metric = asObject(item, 'metrics');
  for (const kind of kinds) {
    const data = objectAt(metric, kind.name);
    if (data !== undefined)
      return { metric, kind, data, points: listAt(data, 'dataPoints'), said: saidOfPoints(metric) };
  }
  return undefined;
};

const exemplarOf = (item: Json, pointTime: UnixNano): Exemplar => {
  const exemplar = asObject(item, 'exemplars');
  const value = numberOf(exemplar);
  if (value === undefined) throw new PointRefused('an exemplar has no value', 'exemplars');
  return {
    ...idsOf(exemplar),
    value,
    timestamp: timeAt(exemplar, 'timeUnixNano', pointTime),
    attributes: attributesIn(exemplar, 'filteredAttributes'),
  };
};

/**
 * Decodes an OTLP metrics request; the signals are its data points.
 * @see Interface specification, "OTLP attribute mapping", Metrics; Interface decisions, "5. Ingest policy"
 */
export const decodeMetrics = (request: JsonObject, context: DecodeContext): DecodedBatch => {
  const groups = readGroups(
    request,
    { signal: 'metrics', resources: 'resourceMetrics', scopes: 'scopeMetrics', records: 'metrics' },
    context.maxSignals,
  );
  const readings = createReadings();
  const metrics: MetricPoint[] = [];
  const refusals: SignalRefusal[] = [];
  let index = 0;

  const refuse = (message: string, field?: string): void => {
    refusals.push({
      batch: 0,
      signal: 'metrics',
      index: index++,
      code: 'invalid_body',
      message,
      ...(field !== undefined && { field }),
    });
  };

  const pointOf = ({ metric, kind, data }: Series, item: Json): MetricPoint => {
    const point = asObject(item, 'dataPoints');
    const name = textAt(metric, 'name') ?? '';
    if (name === '') throw new PointRefused('the metric has no name', 'name');
    if (((integerAt(point, 'flags') ?? 0) & NO_RECORDED_VALUE) !== 0)
      throw new PointRefused('the data point says that it has no recorded value', 'flags');
    readings.begin();
    eachAttribute(point, 'attributes', readings.attribute);
    const timestamp = timeAt(point, 'timeUnixNano', context.receivedAt);
    const temporality = enumOf(member(data, 'aggregationTemporality'), TEMPORALITY);
    const unit = textAt(metric, 'unit') ?? '';
    const description = textAt(metric, 'description') ?? '';
    return {
      name,
      type: kind.type,
      ...(unit !== '' && { unit }),
      ...(description !== '' && { description }),
      timestamp,
      receivedAt: context.receivedAt,
      ...kind.numbers(point),
      ...(temporality === 1 && { temporality: 'delta' }),
      ...(temporality === 2 && { temporality: 'cumulative' }),
      attributes: readings.wholeAttributes(),
      correlation: readings.correlation(context.defaultProject),
      exemplars: listAt(point, 'exemplars').map((exemplar) => exemplarOf(exemplar, timestamp)),
    };
  };

  // All points are counted before the first is read: a request over the bound is refused completely.
  const series = groups.flatMap((group) =>
    group.records.map((item) => {
      try {
        return { group, series: seriesOf(item) };
      } catch (error) {
        if (!(error instanceof WrongType)) throw error;
        return { group, series: undefined, fault: error };
      }
    }),
  );
  // A metric without points counts as one, as any part without a signal does.
  const found = series.reduce((sum, { series }) => sum + Math.max(1, series?.points.length ?? 0), 0);
  if (found > context.maxSignals) throw tooManySignals(found, context.maxSignals);
  const sharedCount = new SharedCount();
  for (const { group, series: known } of series)
    if (known !== undefined) sharedCount.add(known.points.length, addShared(group.shared, known.said));

  for (const { group, series: known, fault } of series) {
    if (fault !== undefined) refuse(fault.message, fault.field);
    if (known === undefined) continue;
    group.use(readings);
    for (const item of known.points) {
      try {
        metrics.push(pointOf(known, item));
        index++;
      } catch (error) {
        if (!(error instanceof WrongType || error instanceof PointRefused)) throw error;
        refuse(error.message, error.field);
      }
    }
  }
  return {
    batch: { spans: [], logs: [], metrics, scores: [], feedback: [], aspectNotes: [] },
    refusals,
    sharedBytes: sharedCount.bytes,
  };
};
