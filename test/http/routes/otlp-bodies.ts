import protobuf from 'protobufjs';
import { spanId, traceId } from '../../ingest/signals.ts';

/** What the tests send of OTLP, as its own .proto files declare it. */
const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; }
  message InstrumentationScope { string name = 1; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
  message ExportTraceServiceResponse { ExportTracePartialSuccess partial_success = 1; }
  message ExportTracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message ErrorInfo { string reason = 1; }
`,
  { keepCase: false },
);

export type OtlpSpan = {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly name?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly startTimeUnixNano?: string;
  readonly endTimeUnixNano?: string;
};

const START = '1763629200123456789';
const END = '1763629201957000000';

const keyValues = (attributes: Readonly<Record<string, string>>) =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

/** Spans with ids of their own, one after another. */
export const otlpSpans = (count: number, given: OtlpSpan = {}): OtlpSpan[] =>
  Array.from({ length: count }, (_, n) => ({ traceId: traceId(n), spanId: spanId(n), ...given }));

const toRequest = (spans: readonly OtlpSpan[], idOf: (hex: string) => unknown) => ({
  resourceSpans: [
    {
      resource: { attributes: keyValues({ 'service.name': 'test' }) },
      scopeSpans: [
        {
          scope: { name: 'scope' },
          spans: spans.map((span) => ({
            traceId: idOf(span.traceId ?? traceId(0)),
            spanId: idOf(span.spanId ?? spanId(0)),
            name: span.name ?? 'a span',
            startTimeUnixNano: span.startTimeUnixNano ?? START,
            endTimeUnixNano: span.endTimeUnixNano ?? END,
            attributes: keyValues(span.attributes ?? {}),
          })),
        },
      ],
    },
  ],
});

export const otlpJson = (spans: readonly OtlpSpan[]): string => JSON.stringify(toRequest(spans, (hex) => hex));

export const otlpProtobuf = (spans: readonly OtlpSpan[]): Buffer => {
  const type = root.lookupType('ExportTraceServiceRequest');
  return Buffer.from(type.encode(type.fromObject(toRequest(spans, (hex) => Buffer.from(hex, 'hex')))).finish());
};

export const otlpLogs = (count: number, attributes: Readonly<Record<string, string>> = {}): string =>
  JSON.stringify({
    resourceLogs: [
      {
        scopeLogs: [
          {
            scope: { name: 'logger' },
            logRecords: Array.from({ length: count }, (_, n) => ({
              timeUnixNano: START,
              severityNumber: 9,
              body: { stringValue: `message ${n}` },
              attributes: keyValues(attributes),
            })),
          },
        ],
      },
    ],
  });

export const otlpMetrics = (count: number): string =>
  JSON.stringify({
    resourceMetrics: [
      {
        scopeMetrics: [
          {
            metrics: [
              {
                name: 'queue_depth',
                gauge: { dataPoints: Array.from({ length: count }, (_, n) => ({ timeUnixNano: START, asDouble: n })) },
              },
            ],
          },
        ],
      },
    ],
  });

const decode = (type: string, bytes: Uint8Array): Record<string, unknown> => {
  const message = root.lookupType(type);
  return message.toObject(message.decode(bytes), { longs: Number, defaults: false });
};

export const readTraceResponse = (bytes: Uint8Array): Record<string, unknown> =>
  decode('ExportTraceServiceResponse', bytes);

/** A `google.rpc.Status` with the reason of its one detail. */
export const readStatus = (bytes: Uint8Array): { message: string; reason: unknown } => {
  const status = decode('Status', bytes) as { message: string; details: { value: Uint8Array }[] };
  return {
    message: status.message,
    reason: decode('ErrorInfo', status.details[0]?.value ?? new Uint8Array())['reason'],
  };
};
