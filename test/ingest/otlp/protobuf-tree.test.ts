import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { BudgetExceeded } from '../../../src/ingest/otlp/bounds.ts';
import { decodePayload } from '../../../src/ingest/decode.ts';
import type { DecodedBatch } from '../../../src/ingest/decoded.ts';
import { Refusal } from '../../../src/model/failure.ts';

/** The messages of logs and metrics, as opentelemetry-proto numbers them, for an encoder that is not ours. */
const proto = protobuf.parse(
  `
  syntax = "proto3";
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7; } }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
  message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
  message LogRecord { fixed64 time_unix_nano = 1; int32 severity_number = 2; string severity_text = 3; AnyValue body = 5;
    repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7; fixed32 flags = 8; bytes trace_id = 9; bytes span_id = 10;
    fixed64 observed_time_unix_nano = 11; string event_name = 12; }
  message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
  message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
  message Logs { repeated ResourceLogs resource_logs = 1; }
  message Exemplar { fixed64 time_unix_nano = 2; double as_double = 3; bytes span_id = 4; bytes trace_id = 5; sfixed64 as_int = 6;
    repeated KeyValue filtered_attributes = 7; }
  message NumberPoint { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4; repeated Exemplar exemplars = 5;
    sfixed64 as_int = 6; repeated KeyValue attributes = 7; uint32 flags = 8; }
  message HistogramPoint { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4; double sum = 5;
    repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7; repeated Exemplar exemplars = 8;
    repeated KeyValue attributes = 9; uint32 flags = 10; double min = 11; double max = 12; }
  message Buckets { sint32 offset = 1; repeated uint64 bucket_counts = 2; }
  message ExponentialPoint { repeated KeyValue attributes = 1; fixed64 time_unix_nano = 3; fixed64 count = 4; double sum = 5;
    sint32 scale = 6; fixed64 zero_count = 7; Buckets positive = 8; Buckets negative = 9; uint32 flags = 10; }
  message SummaryPoint { fixed64 time_unix_nano = 3; repeated KeyValue attributes = 7; }
  message Gauge { repeated NumberPoint data_points = 1; }
  message Sum { repeated NumberPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
  message Histogram { repeated HistogramPoint data_points = 1; int32 aggregation_temporality = 2; }
  message ExponentialHistogram { repeated ExponentialPoint data_points = 1; int32 aggregation_temporality = 2; }
  message Summary { repeated SummaryPoint data_points = 1; }
  message Metric { string name = 1; string description = 2; string unit = 3; Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9;
    ExponentialHistogram exponential_histogram = 10; Summary summary = 11; }
  message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; string schema_url = 3; }
  message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
  message Metrics { repeated ResourceMetrics resource_metrics = 1; }
  `,
  { keepCase: false },
).root;

const context = { receivedAt: 5n, defaultProject: 'default', maxSignals: 10_000 };

const encode = (type: 'Logs' | 'Metrics', object: object): Uint8Array => {
  const message = proto.lookupType(type);
  return message.encode(message.fromObject(object)).finish();
};

/** One batch, without the ids that are drawn for it. */
const comparable = ([batch]: readonly DecodedBatch[]): unknown =>
  JSON.parse(
    JSON.stringify(batch, (key, value: unknown) => {
      if (key === 'logId') return undefined;
      return typeof value === 'bigint' ? `${value}n` : value;
    }),
  );

const both = (signal: 'logs' | 'metrics', object: object) => ({
  json: comparable(decodePayload({ kind: 'otlp_json', signal, body: Buffer.from(JSON.stringify(object)) }, context)),
  protobuf: comparable(
    decodePayload(
      {
        kind: 'otlp_protobuf',
        signal,
        body: encode(signal === 'logs' ? 'Logs' : 'Metrics', withBytes(object) as object),
      },
      context,
    ),
  ),
});

/** Ids are hex in JSON; the encoder takes bytes. */
const withBytes = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      (key === 'traceId' || key === 'spanId') && typeof inner === 'string'
        ? Buffer.from(inner, 'hex')
        : withBytes(inner),
    ]),
  );
};

const attribute = (key: string, value: object) => ({ key, value });
const resource = { attributes: [attribute('service.name', { stringValue: 'refund-bot' })] };
const scope = { name: 'refund-bot.pay', version: '1', attributes: [attribute('a', { stringValue: 'b' })] };
const ids = { traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174' };

describe('Interface decisions, "OTLP over gRPC": logs and metrics in protobuf', () => {
  it('logs say the same as in JSON: times, severity, body, ids, nested attributes, 64-bit integers', () => {
    const { json, protobuf: binary } = both('logs', {
      resourceLogs: [
        {
          resource,
          scopeLogs: [
            {
              scope,
              logRecords: [
                {
                  timeUnixNano: '1790000000123456789',
                  observedTimeUnixNano: '1790000001000000000',
                  severityNumber: 17,
                  body: { stringValue: 'card declined' },
                  ...ids,
                  eventName: 'payment',
                  attributes: [
                    attribute('order', { kvlistValue: { values: [attribute('id', { stringValue: 'A-17' })] } }),
                    attribute('list', {
                      arrayValue: { values: [{ intValue: '1' }, { boolValue: true }, { doubleValue: 0.5 }] },
                    }),
                    attribute('large', { intValue: '9007199254740993' }),
                    attribute('negative', { intValue: '-5' }),
                    attribute('bytes', { bytesValue: 'AQID' }),
                  ],
                },
                { body: { kvlistValue: { values: [attribute('x', { intValue: '1' })] } }, severityNumber: 9 },
                { severityNumber: 1, body: { stringValue: 'naïve ☃' } },
              ],
            },
          ],
        },
      ],
    });
    expect(binary).toEqual(json);
    expect((binary as { batch: { logs: unknown[] } }).batch.logs).toHaveLength(3);
  });

  it('metrics say the same as in JSON: sums, gauges, histograms, exponential ones, exemplars; summaries are refused', () => {
    const point = { timeUnixNano: '1790000000000000000', attributes: [attribute('tier', { stringValue: 'gold' })] };
    const { json, protobuf: binary } = both('metrics', {
      resourceMetrics: [
        {
          resource,
          scopeMetrics: [
            {
              scope,
              metrics: [
                {
                  name: 'refunds',
                  unit: '1',
                  description: 'd',
                  sum: { dataPoints: [{ ...point, asInt: '-3' }], aggregationTemporality: 2, isMonotonic: true },
                },
                {
                  name: 'depth',
                  gauge: {
                    dataPoints: [{ ...point, asDouble: 1.5, exemplars: [{ ...ids, asDouble: 2, timeUnixNano: '1' }] }],
                  },
                },
                {
                  name: 'amount',
                  histogram: {
                    dataPoints: [
                      { ...point, count: '3', sum: 42.5, bucketCounts: ['1', '2', '0'], explicitBounds: [1, 10] },
                    ],
                    aggregationTemporality: 1,
                  },
                },
                {
                  name: 'latency',
                  exponentialHistogram: {
                    dataPoints: [
                      {
                        ...point,
                        count: '4',
                        sum: 10,
                        scale: -1,
                        zeroCount: '1',
                        positive: { offset: -2, bucketCounts: ['1', '2'] },
                      },
                    ],
                    aggregationTemporality: 2,
                  },
                },
                { name: 'quantiles', summary: { dataPoints: [point] } },
              ],
            },
          ],
        },
      ],
    });
    expect(binary).toEqual(json);
    const { batch, refusals } = binary as { batch: { metrics: { name: string }[] }; refusals: unknown[] };
    expect(batch.metrics.map(({ name }) => name)).toEqual(['refunds', 'depth', 'amount', 'latency']);
    expect(refusals).toHaveLength(1);
  });

  const logOf = (body: object) => ({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ body }, { body: { stringValue: 'whole' } }] }] }],
  });
  const decodeLogs = (body: Uint8Array, budget?: number) =>
    decodePayload({ kind: 'otlp_protobuf', signal: 'logs', body }, context, budget);

  it('one record whose text is not UTF-8 is refused alone', () => {
    const body = Buffer.from(encode('Logs', logOf({ stringValue: 'bad-text' })));
    body.write('\xff', body.indexOf('bad-text'), 'latin1');
    const [decoded] = decodeLogs(body);
    expect(decoded?.batch.logs.map(({ message }) => message)).toEqual(['whole']);
    expect(decoded?.refusals).toEqual([expect.objectContaining({ signal: 'logs', index: 0, code: 'invalid_body' })]);
  });

  /** A field of bytes around others. */
  const wrap = (field: number, inner: Uint8Array): Uint8Array =>
    protobuf.Writer.create()
      .uint32((field << 3) | 2)
      .bytes(inner)
      .finish();
  const ANY_ARRAY = 5;
  const nested = (depth: number): Uint8Array => {
    let value = wrap(1, Buffer.from('leaf'));
    for (let level = 0; level < depth; level += 1) value = wrap(ANY_ARRAY, wrap(1, value));
    return value;
  };
  const requestOf = (body: Uint8Array): Uint8Array => {
    const LOG_BODY = 5;
    const record = wrap(2, wrap(LOG_BODY, body));
    return wrap(1, wrap(2, Buffer.concat([record, wrap(2, wrap(LOG_BODY, wrap(1, Buffer.from('whole'))))])));
  };

  it('one record whose value is nested too deeply is refused alone', () => {
    expect(decodeLogs(requestOf(nested(60)))[0]?.batch.logs).toHaveLength(2);
    const [deep] = decodeLogs(requestOf(nested(200)));
    expect(deep?.batch.logs.map(({ message }) => message)).toEqual(['whole']);
    expect(deep?.refusals).toHaveLength(1);
  });

  it('work is bounded: a budget of nodes is kept, and signals over the bound are refused by their number', () => {
    const body = encode('Logs', logOf({ stringValue: 'x' }));
    expect(() => decodeLogs(body, 5)).toThrow(BudgetExceeded);
    expect(() => decodePayload({ kind: 'otlp_protobuf', signal: 'logs', body }, { ...context, maxSignals: 1 })).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ code: 'payload_too_large' }) as unknown }) as Error,
    );
  });

  it('bytes that are no request are refused whole, cut anywhere', () => {
    const body = encode('Logs', logOf({ stringValue: 'some text that is long enough' }));
    let refused = 0;
    for (let length = 1; length < body.length; length += 1)
      try {
        decodeLogs(body.subarray(0, length));
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal);
        refused += 1;
      }
    expect(refused).toBeGreaterThan(body.length / 2);
  });
});
