import protobuf from 'protobufjs/minimal.js';
import type { Json, JsonObject } from '../../model/json.ts';
import { type Span, wholeAttributes } from '../../model/span.ts';
import type { UnixNano } from '../../model/time.ts';
import { type Field, rows } from '../mapping/table.ts';

const { Writer } = protobuf;
type Writer = protobuf.Writer;

/** Tag of a protobuf field: its number and the type of its wire form. */
const varint = (field: number): number => field << 3;
const fixed64 = (field: number): number => (field << 3) | 1;
const bytes = (field: number): number => (field << 3) | 2;

const INTERNAL = 1;
const STATUS_CODES = { unset: 0, ok: 1, error: 2 } as const;

const writeTime = (writer: Writer, field: number, at: UnixNano): void => {
  const bits = BigInt.asUintN(64, at);
  writer
    .uint32(fixed64(field))
    .fixed32(Number(bits & 0xffff_ffffn))
    .fixed32(Number(bits >> 32n));
};

const writeId = (writer: Writer, field: number, hex: string): void => {
  writer.uint32(bytes(field)).bytes(Buffer.from(hex, 'hex'));
};

/** AnyValue. `null` is a value without content; a whole number is an integer, as our decoders read it. */
const writeValue = (writer: Writer, value: Json): void => {
  switch (typeof value) {
    case 'string':
      writer.uint32(bytes(1)).string(value);
      return;
    case 'boolean':
      writer.uint32(varint(2)).bool(value);
      return;
    case 'number':
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) writer.uint32(varint(3)).int64(value);
      else writer.uint32(fixed64(4)).double(value);
      return;
    default:
  }
  if (value === null) return;
  const isList = Array.isArray(value);
  writer.uint32(bytes(isList ? 5 : 6)).fork();
  if (isList)
    for (const item of value as readonly Json[]) {
      writer.uint32(bytes(1)).fork();
      writeValue(writer, item);
      writer.ldelim();
    }
  else writeAttributes(writer, 1, value as JsonObject);
  writer.ldelim();
};

const writeAttribute = (writer: Writer, field: number, key: string, value: Json): void => {
  writer.uint32(bytes(field)).fork().uint32(bytes(1)).string(key).uint32(bytes(2)).fork();
  writeValue(writer, value);
  writer.ldelim().ldelim();
};

const writeAttributes = (writer: Writer, field: number, attributes: JsonObject): void => {
  for (const key in attributes) {
    const value = attributes[key];
    if (value !== undefined) writeAttribute(writer, field, key, value);
  }
};

const KIND_ATTRIBUTES = ['svc.span.kind', 'openinference.span.kind', 'gen_ai.operation.name'];

/** The fields that each attribute is read into, and the beginnings of the names that are read together. */
const fieldsByKey = new Map<string, Field[]>();
const fieldsByPrefix: (readonly [prefix: string, field: Field])[] = [];
for (const { field, at, keys, indexed } of rows) {
  if (at === 'resource') continue;
  for (const key of keys) fieldsByKey.set(key, [...(fieldsByKey.get(key) ?? []), field]);
  if (indexed !== undefined) fieldsByPrefix.push([indexed.prefix, field]);
}

const fieldsSaidBy = (attributes: JsonObject): Set<Field> => {
  const said = new Set<Field>();
  for (const key in attributes) {
    for (const field of fieldsByKey.get(key) ?? []) said.add(field);
    for (const [prefix, field] of fieldsByPrefix) if (key.startsWith(prefix)) said.add(field);
  }
  return said;
};

/**
 * The fields of a span that its attributes lack, under the names that are read back into the same fields. A span that came
 * over OTLP had its fields lifted from attributes, so nothing is sent twice; for a span that came natively all fields are
 * added.
 */
const unsaid = (span: Span, attributes: JsonObject): [key: string, value: Json][] => {
  const said = fieldsSaidBy(attributes);
  const found: [string, Json][] = [];
  const add = (field: Field, key: string, value: Json | undefined): void => {
    if (value !== undefined && !said.has(field)) found.push([key, value]);
  };
  if (span.kind !== 'generic' && !KIND_ATTRIBUTES.some((key) => key in attributes))
    found.push(['svc.span.kind', span.kind]);
  add('model', 'svc.model', span.model);
  add('provider', 'svc.provider', span.provider);
  add('entityName', 'svc.entity.name', span.entityName);
  add('input', 'svc.input', span.input);
  add('output', 'svc.output', span.output);

  const { inputTokens, outputTokens, totalTokens, inputDetails, outputDetails } = span.usage ?? {};
  add('inputTokens', 'svc.usage.input_tokens', inputTokens);
  add('outputTokens', 'svc.usage.output_tokens', outputTokens);
  add('totalTokens', 'gen_ai.usage.total_tokens', totalTokens);
  add('cacheRead', 'svc.usage.cache_read_tokens', inputDetails?.cacheRead);
  add('cacheWrite', 'svc.usage.cache_write_tokens', inputDetails?.cacheWrite);
  add('cacheWrite5m', 'gen_ai.usage.cache_creation.ephemeral_5m_input_tokens', inputDetails?.cacheWrite5m);
  add('cacheWrite1h', 'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens', inputDetails?.cacheWrite1h);
  add('inputAudio', 'gen_ai.usage.audio.input_tokens', inputDetails?.audio);
  add('inputText', 'gen_ai.usage.text.input_tokens', inputDetails?.text);
  add('reasoning', 'gen_ai.usage.reasoning_tokens', outputDetails?.reasoning);
  add('outputAudio', 'gen_ai.usage.audio.output_tokens', outputDetails?.audio);
  add('outputText', 'gen_ai.usage.text.output_tokens', outputDetails?.text);

  // A cost of ours is an estimate that the receiver makes for itself; one that came with the span goes on with it. The
  // attributes have no place for a currency: readers take US dollars.
  if (span.cost?.isEstimated === false && span.cost.currency === 'USD') {
    add('totalCost', 'gen_ai.usage.cost', span.cost.totalCost);
    add('inputCost', 'gen_ai.usage.input_cost', span.cost.inputCost);
    add('outputCost', 'gen_ai.usage.output_cost', span.cost.outputCost);
  }

  const { correlation } = span;
  add('sessionId', 'svc.session_id', correlation.sessionId);
  add('threadId', 'svc.thread_id', correlation.threadId);
  add('userId', 'svc.user_id', correlation.userId);
  add('requestId', 'svc.request_id', correlation.requestId);
  // Without a release of its own a span has its service's version as one, on both sides.
  if (correlation.release !== correlation.serviceVersion) add('release', 'svc.release', correlation.release);
  add('runId', 'svc.run_id', correlation.runId);
  add('resourceId', 'svc.resource_id', correlation.resourceId);
  add('experimentId', 'svc.experiment_id', correlation.experimentId);
  add('tags', 'svc.tags', correlation.tags);

  const isRecorded = (key: string): boolean => span.events.some((event) => key in event.attributes);
  if (!isRecorded('exception.type')) add('errorType', 'exception.type', span.error?.type);
  if (!isRecorded('exception.stacktrace')) add('errorStack', 'exception.stacktrace', span.error?.stack);
  return found;
};

const writeSpan = (writer: Writer, span: Span): void => {
  writeId(writer, 1, span.traceId);
  writeId(writer, 2, span.spanId);
  if (span.parentSpanId !== undefined) writeId(writer, 4, span.parentSpanId);
  writer.uint32(bytes(5)).string(span.name).uint32(varint(6)).int32(INTERNAL);
  writeTime(writer, 7, span.startTime);
  if (span.endTime !== undefined) writeTime(writer, 8, span.endTime);
  const attributes = wholeAttributes(span);
  writeAttributes(writer, 9, attributes);
  for (const [key, value] of unsaid(span, attributes)) writeAttribute(writer, 9, key, value);
  for (const event of span.events) {
    writer.uint32(bytes(11)).fork();
    writeTime(writer, 1, event.time);
    writer.uint32(bytes(2)).string(event.name);
    writeAttributes(writer, 3, event.attributes);
    writer.ldelim();
  }
  for (const link of span.links) {
    writer.uint32(bytes(13)).fork();
    writeId(writer, 1, link.traceId);
    writeId(writer, 2, link.spanId);
    writeAttributes(writer, 4, link.attributes);
    writer.ldelim();
  }
  writer.uint32(bytes(15)).fork();
  if (span.error !== undefined) writer.uint32(bytes(2)).string(span.error.message);
  writer.uint32(varint(3)).int32(STATUS_CODES[span.status]).ldelim();
};

/** What spans of one resource have in common. */
const resourceOf = ({ correlation }: Span): JsonObject => ({
  'svc.project': correlation.project,
  ...(correlation.serviceName !== undefined && { 'service.name': correlation.serviceName }),
  ...(correlation.serviceVersion !== undefined && { 'service.version': correlation.serviceVersion }),
  ...(correlation.environment !== undefined && { 'deployment.environment.name': correlation.environment }),
});

type Resource = { readonly attributes: JsonObject; readonly scopes: Map<string, Span[]> };

/**
 * Writes spans as an OTLP trace export request, in protobuf, grouped by resource and scope. No spans make an empty
 * request, which is valid.
 *
 * A span keeps all its attributes under their own keys, those that came from its resource included; objects and lists
 * stay objects and lists. Read by this service again, it is the same span.
 * @see opentelemetry-proto, trace/v1 and common/v1
 */
export const encodeSpans = (spans: readonly Span[]): Uint8Array => {
  const resources = new Map<string, Resource>();
  for (const span of spans) {
    const attributes = resourceOf(span);
    const key = JSON.stringify(attributes);
    const resource = resources.get(key) ?? { attributes, scopes: new Map<string, Span[]>() };
    resources.set(key, resource);
    const scope = span.scopeName ?? '';
    const together = resource.scopes.get(scope);
    if (together === undefined) resource.scopes.set(scope, [span]);
    else together.push(span);
  }
  const writer = Writer.create();
  for (const { attributes, scopes } of resources.values()) {
    writer.uint32(bytes(1)).fork().uint32(bytes(1)).fork();
    writeAttributes(writer, 1, attributes);
    writer.ldelim();
    for (const [scope, together] of scopes) {
      writer.uint32(bytes(2)).fork();
      if (scope !== '') writer.uint32(bytes(1)).fork().uint32(bytes(1)).string(scope).ldelim();
      for (const span of together) {
        writer.uint32(bytes(2)).fork();
        writeSpan(writer, span);
        writer.ldelim();
      }
      writer.ldelim();
    }
    writer.ldelim();
  }
  return writer.finish();
};
