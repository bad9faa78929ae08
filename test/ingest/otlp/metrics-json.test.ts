import { describe, expect, it } from 'vitest';
import { explicitOf } from '../../../src/ingest/otlp/exponential.ts';
import { decodeOtlpJson } from '../../../src/ingest/otlp/json.ts';
import { aContext, RECEIVED_AT } from '../factories.ts';
import { A_SPAN_ID, A_TRACE_ID, attributesOf } from './request-codec.ts';

const decode = (metrics: readonly unknown[], changes = {}) =>
  decodeOtlpJson(
    'metrics',
    Buffer.from(
      JSON.stringify({
        resourceMetrics: [
          {
            resource: { attributes: attributesOf({ 'service.name': 'shop' }) },
            scopeMetrics: [{ scope: { name: 'm' }, metrics }],
          },
        ],
      }),
    ),
    aContext(changes),
  );
const pointOf = (metric: object) => decode([{ name: 'm', ...metric }]).batch.metrics[0];
const refusalOf = (metric: object) => decode([{ name: 'm', ...metric }]).refusals[0];

describe('OTLP metrics', () => {
  it('"sums become counters", with unit, description, temporality, attributes and correlation', () => {
    const metric = {
      name: 'tokens',
      unit: '{token}',
      description: 'd',
      sum: {
        aggregationTemporality: 2,
        isMonotonic: true,
        dataPoints: [
          { timeUnixNano: '1700000000000000001', asInt: '42', attributes: attributesOf({ a: 'b', 'session.id': 's' }) },
        ],
      },
    };
    expect(decode([metric]).batch.metrics).toEqual([
      {
        name: 'tokens',
        type: 'counter',
        unit: '{token}',
        description: 'd',
        timestamp: 1_700_000_000_000_000_001n,
        receivedAt: RECEIVED_AT,
        value: 42,
        temporality: 'cumulative',
        attributes: { 'service.name': 'shop', a: 'b', 'session.id': 's' },
        correlation: { project: 'the-default', serviceName: 'shop', sessionId: 's' },
        exemplars: [],
      },
    ]);
  });
  it('"gauges become gauges"; values as doubles, integers, texts', () => {
    const gauge = (point: object) => pointOf({ gauge: { dataPoints: [point] } });
    expect(gauge({ asDouble: 0.5 })).toMatchObject({ type: 'gauge', value: 0.5, timestamp: RECEIVED_AT });
    expect(gauge({ asInt: 3 })?.value).toBe(3);
    expect(gauge({ asDouble: '2.5' })?.value).toBe(2.5);
    expect(gauge({ asDouble: 0 })?.value).toBe(0);
    expect(gauge({ asDouble: 0 })).not.toHaveProperty('temporality');
  });
  it('"histograms are stored by sum and count with bucket boundaries preserved"', () => {
    const histogram = {
      aggregationTemporality: 'AGGREGATION_TEMPORALITY_DELTA',
      dataPoints: [{ count: '6', sum: 12.5, explicitBounds: [1, 5], bucketCounts: ['1', 2, '3'] }],
    };
    expect(pointOf({ histogram })).toMatchObject({
      type: 'histogram',
      count: 6,
      sum: 12.5,
      bounds: [1, 5],
      bucketCounts: [1, 2, 3],
      temporality: 'delta',
    });
    expect(pointOf({ histogram: { dataPoints: [{ count: 2, sum: 3 }] } })).toMatchObject({
      bounds: [],
      bucketCounts: [],
    });
  });
  it('"exemplars are kept"', () => {
    const exemplar = {
      traceId: A_TRACE_ID,
      spanId: Buffer.from(A_SPAN_ID, 'hex').toString('base64'),
      asDouble: 0.25,
      timeUnixNano: '5',
      filteredAttributes: attributesOf({ k: 'v' }),
    };
    const point = pointOf({
      sum: { dataPoints: [{ asInt: 1, exemplars: [exemplar, { asInt: '2', traceId: 'bad' }] }] },
    });
    expect(point?.exemplars).toEqual([
      { traceId: A_TRACE_ID, spanId: A_SPAN_ID, value: 0.25, timestamp: 5n, attributes: { k: 'v' } },
      { value: 2, timestamp: RECEIVED_AT, attributes: {} },
    ]);
  });
  it('"An exponential histogram becomes a histogram with its explicit boundaries"', () => {
    const exponentialHistogram = {
      aggregationTemporality: 1,
      dataPoints: [
        {
          count: '10',
          sum: 30,
          scale: 0,
          zeroCount: 2,
          positive: { offset: 0, bucketCounts: ['3', '4'] },
          negative: { offset: 0, bucketCounts: ['1'] },
        },
      ],
    };
    expect(pointOf({ exponentialHistogram })).toMatchObject({
      type: 'histogram',
      count: 10,
      sum: 30,
      // [-2,-1) 1, around zero 2, (1,2] 3, (2,4] 4
      bounds: [-2, -1, 1, 2, 4],
      bucketCounts: [0, 1, 2, 3, 4, 0],
    });
  });
  it('"a summary point is refused and counted", the rest is kept', () => {
    const { batch, refusals } = decode([
      { name: 's', summary: { dataPoints: [{ count: 1 }, { count: 2 }] } },
      { name: 'g', gauge: { dataPoints: [{ asInt: 1 }] } },
    ]);
    expect(batch.metrics.map((point) => point.name)).toEqual(['g']);
    expect(refusals).toMatchObject([
      { signal: 'metrics', index: 0 },
      { signal: 'metrics', index: 1 },
    ]);
    expect(refusals[0]?.message).toContain('summaries');
  });
  it('a point that is none is refused alone', () => {
    const wrong = {
      'no value': { gauge: { dataPoints: [{}] } },
      'not finite': { gauge: { dataPoints: [{ asDouble: 'NaN' }] } },
      'half an integer': { gauge: { dataPoints: [{ asInt: 1.5 }] } },
      'no recorded value': { gauge: { dataPoints: [{ asInt: 1, flags: 1 }] } },
      'no name': { name: '', gauge: { dataPoints: [{ asInt: 1 }] } },
      'bucket counts': { histogram: { dataPoints: [{ count: 1, explicitBounds: [1], bucketCounts: [1] }] } },
      'descending bounds': {
        histogram: { dataPoints: [{ count: 1, explicitBounds: [2, 1], bucketCounts: [1, 0, 0] }] },
      },
      'a negative count': { histogram: { dataPoints: [{ count: 1, explicitBounds: [1], bucketCounts: [-1, 2] }] } },
      'a wild scale': { exponentialHistogram: { dataPoints: [{ count: 1, scale: 99 }] } },
      'a wrong time': { gauge: { dataPoints: [{ asInt: 1, timeUnixNano: 'now' }] } },
      'a wrong exemplar': { gauge: { dataPoints: [{ asInt: 1, exemplars: [{}] }] } },
      'no object': { gauge: { dataPoints: [5] } },
      'no list': { gauge: { dataPoints: 5 } },
    };
    for (const [why, metric] of Object.entries(wrong))
      expect(refusalOf(metric), why).toMatchObject({ signal: 'metrics', index: 0, code: 'invalid_body' });
  });
  it('10,000 data points are taken, 10,001 refused, however they are spread over metrics', () => {
    const points = (count: number) => ({
      name: 'm',
      gauge: { dataPoints: Array.from({ length: count }, () => ({ asInt: 1 })) },
    });
    expect(decode([points(9_999), points(1)]).batch.metrics).toHaveLength(10_000);
    expect(() => decode([points(9_999), points(2)])).toThrow(/10001.*10000/);
  });
  it('a protobuf body is refused as body is not valid JSON, naming the variable to set', () => {
    expect(() => decodeOtlpJson('metrics', Buffer.from([0x0a, 0x01]), aContext())).toThrow(
      /^body is not valid JSON.*OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http\/json/,
    );
  });
});

describe('boundaries of an exponential histogram', () => {
  const none = { offset: 0, counts: [] };
  it('follow base = 2^(2^-scale)', () => {
    const { bounds } = explicitOf(1, 0, { offset: 2, counts: [1, 1] }, none);
    expect(bounds[0]).toBeCloseTo(2);
    expect(bounds[1]).toBeCloseTo(2 ** 1.5);
    expect(bounds[2]).toBeCloseTo(4);
  });
  it('lose no count beyond what a double holds', () => {
    for (const offset of [1020, 1023, 5000, -1080, -5000]) {
      const { bounds, counts } = explicitOf(0, 1, { offset, counts: [1, 2, 3, 4] }, { offset, counts: [5, 6] });
      expect(counts).toHaveLength(bounds.length + 1);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(22);
      expect(bounds.every((bound, i) => Number.isFinite(bound) && (i === 0 || bound > (bounds[i - 1] as number)))).toBe(
        true,
      );
    }
  });
  it('of zeros alone, and of nothing', () => {
    expect(explicitOf(0, 3, none, none)).toEqual({ bounds: [0], counts: [3, 0] });
    expect(explicitOf(0, 0, none, none)).toEqual({ bounds: [], counts: [0] });
  });
});
