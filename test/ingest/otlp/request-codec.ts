import protobuf from 'protobufjs';

/**
 * An encoder of OTLP trace requests made by a library that knows nothing of our reader. It takes requests in the shape of
 * OTLP/JSON with hex ids, so that one request can be written in both encodings.
 * @see opentelemetry-proto, collector/trace/v1
 */
const PROTO = `
syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
  ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7; } }
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; uint32 flags = 6; }
message Status { string message = 2; int32 code = 3; }
message Span { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  uint32 dropped_attributes_count = 10; repeated Event events = 11; uint32 dropped_events_count = 12; repeated Link links = 13;
  uint32 dropped_links_count = 14; Status status = 15; fixed32 flags = 16; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
`;

export const TraceRequest = protobuf.parse(PROTO).root.lookupType('ExportTraceServiceRequest');

export type WireValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string | number }
  | { doubleValue: number }
  | { bytesValue: string }
  | { arrayValue: { values: WireValue[] } }
  | { kvlistValue: { values: WireAttribute[] } }
  | Record<string, never>;
export type WireAttribute = { key: string; value: WireValue };
export type WireSpan = {
  traceId?: string;
  spanId?: string;
  parentSpanId?: string;
  name?: string;
  kind?: number;
  startTimeUnixNano?: string;
  endTimeUnixNano?: string;
  attributes?: WireAttribute[];
  events?: { timeUnixNano?: string; name?: string; attributes?: WireAttribute[] }[];
  links?: { traceId: string; spanId: string; attributes?: WireAttribute[] }[];
  status?: { code?: number; message?: string };
};
export type WireRequest = {
  resourceSpans: {
    resource?: { attributes: WireAttribute[] };
    scopeSpans: { scope?: { name?: string; version?: string; attributes?: WireAttribute[] }; spans: WireSpan[] }[];
  }[];
};

const bytesOfHex = (hex: string): Buffer => Buffer.from(hex, 'hex');

const spanToWire = (span: WireSpan): object => ({
  ...span,
  ...(span.traceId !== undefined && { traceId: bytesOfHex(span.traceId) }),
  ...(span.spanId !== undefined && { spanId: bytesOfHex(span.spanId) }),
  ...(span.parentSpanId !== undefined && { parentSpanId: bytesOfHex(span.parentSpanId) }),
  ...(span.links !== undefined && {
    links: span.links.map((link) => ({ ...link, traceId: bytesOfHex(link.traceId), spanId: bytesOfHex(link.spanId) })),
  }),
});

/** The request in protobuf. 64-bit integers go in as text, and `bytesValue` as base64, as in OTLP/JSON. */
export const encodeTraces = (request: WireRequest): Buffer => {
  const message = TraceRequest.fromObject({
    resourceSpans: request.resourceSpans.map((group) => ({
      ...group,
      scopeSpans: group.scopeSpans.map((scope) => ({ ...scope, spans: scope.spans.map(spanToWire) })),
    })),
  });
  return Buffer.from(TraceRequest.encode(message).finish());
};

/** The same request in OTLP/JSON. */
export const encodeTracesJson = (request: WireRequest): Buffer => Buffer.from(JSON.stringify(request));

/** Attributes from plain values; an integer becomes `intValue`, any other number `doubleValue`. */
export const attributesOf = (values: Record<string, unknown>): WireAttribute[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: wireValue(value) }));

const wireValue = (value: unknown): WireValue => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(wireValue) } };
  if (typeof value === 'object' && value !== null) return { kvlistValue: { values: attributesOf({ ...value }) } };
  return {};
};

export const A_TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
export const A_SPAN_ID = 'b7ad6b7169203331';

/** A finished span with valid ids and the given attributes. */
export const aWireSpan = (attributes: Record<string, unknown> = {}, rest: WireSpan = {}): WireSpan => ({
  traceId: A_TRACE_ID,
  spanId: A_SPAN_ID,
  name: 'a span',
  startTimeUnixNano: '1700000000000000001',
  endTimeUnixNano: '1700000001000000002',
  attributes: attributesOf(attributes),
  ...rest,
});

export const aRequest = (
  spans: readonly WireSpan[],
  resource: Record<string, unknown> = {},
  scopeName = 'a-scope',
): WireRequest => ({
  resourceSpans: [
    {
      resource: { attributes: attributesOf(resource) },
      scopeSpans: [{ scope: { name: scopeName }, spans: [...spans] }],
    },
  ],
});
