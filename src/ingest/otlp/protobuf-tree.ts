import type { Json, JsonObject } from '../../model/json.ts';
import { type MutableJsonObject, newJsonObject } from '../json-object.ts';
import { MOST_KEYS } from '../keys.ts';
import { MOST_NODES, MOST_VALUE_DEPTH, overBudget } from './bounds.ts';
import { WireReader } from './wire.ts';

/**
 * Logs and metrics in protobuf, read into the tree that the JSON readers know: member names and values are those of
 * OTLP/JSON. They come in smaller numbers than spans, so one tree for both encodings is worth more than the last of speed.
 */

/** How a field is written, and what becomes of it in the tree. */
type Scalar =
  /** UTF-8. What is not becomes `false`, which is no text: its record is refused by the reader, and no other. */
  | 'text'
  /** Bytes as hex: ids. */
  | 'hex'
  | 'base64'
  | 'bool'
  /** A varint: enums, unsigned and signed 64-bit integers. */
  | 'varint'
  /** A zigzag varint. */
  | 'signed'
  /** Unsigned, as decimal text: times and counts. */
  | 'fixed64'
  /** Signed, as decimal text. */
  | 'sfixed64'
  | 'double';
type FieldOf = {
  readonly name: string;
  readonly is: Scalar | (() => Message);
  readonly repeated?: true;
};
/** Fields by number. A number that is not here is skipped, as protobuf demands. */
type Message = Readonly<Record<number, FieldOf>>;

const one = (name: string, is: FieldOf['is']): FieldOf => ({ name, is });
const many = (name: string, is: FieldOf['is']): FieldOf => ({ name, is, repeated: true });

// @see opentelemetry-proto: common/v1, resource/v1, logs/v1, metrics/v1
const anyValue: Message = {
  1: one('stringValue', 'text'),
  2: one('boolValue', 'bool'),
  3: one('intValue', 'varint'),
  4: one('doubleValue', 'double'),
  5: one('arrayValue', () => arrayValue),
  6: one('kvlistValue', () => keyValueList),
  7: one('bytesValue', 'base64'),
};
const arrayValue: Message = { 1: many('values', () => anyValue) };
const keyValue: Message = { 1: one('key', 'text'), 2: one('value', () => anyValue) };
const keyValueList: Message = { 1: many('values', () => keyValue) };
const resource: Message = { 1: many('attributes', () => keyValue) };
const scope: Message = { 1: one('name', 'text'), 2: one('version', 'text'), 3: many('attributes', () => keyValue) };

const logRecord: Message = {
  1: one('timeUnixNano', 'fixed64'),
  2: one('severityNumber', 'varint'),
  3: one('severityText', 'text'),
  5: one('body', () => anyValue),
  6: many('attributes', () => keyValue),
  9: one('traceId', 'hex'),
  10: one('spanId', 'hex'),
  11: one('observedTimeUnixNano', 'fixed64'),
  12: one('eventName', 'text'),
};

const exemplar: Message = {
  2: one('timeUnixNano', 'fixed64'),
  3: one('asDouble', 'double'),
  4: one('spanId', 'hex'),
  5: one('traceId', 'hex'),
  6: one('asInt', 'sfixed64'),
  7: many('filteredAttributes', () => keyValue),
};
const numberPoint: Message = {
  3: one('timeUnixNano', 'fixed64'),
  4: one('asDouble', 'double'),
  5: many('exemplars', () => exemplar),
  6: one('asInt', 'sfixed64'),
  7: many('attributes', () => keyValue),
  8: one('flags', 'varint'),
};
const histogramPoint: Message = {
  3: one('timeUnixNano', 'fixed64'),
  4: one('count', 'fixed64'),
  5: one('sum', 'double'),
  6: many('bucketCounts', 'fixed64'),
  7: many('explicitBounds', 'double'),
  8: many('exemplars', () => exemplar),
  9: many('attributes', () => keyValue),
  10: one('flags', 'varint'),
};
const buckets: Message = { 1: one('offset', 'signed'), 2: many('bucketCounts', 'varint') };
const exponentialPoint: Message = {
  1: many('attributes', () => keyValue),
  3: one('timeUnixNano', 'fixed64'),
  4: one('count', 'fixed64'),
  5: one('sum', 'double'),
  6: one('scale', 'signed'),
  7: one('zeroCount', 'fixed64'),
  8: one('positive', () => buckets),
  9: one('negative', () => buckets),
  10: one('flags', 'varint'),
  11: many('exemplars', () => exemplar),
};
const summaryPoint: Message = { 3: one('timeUnixNano', 'fixed64'), 7: many('attributes', () => keyValue) };
const dataOf = (point: Message): Message => ({
  1: many('dataPoints', () => point),
  2: one('aggregationTemporality', 'varint'),
});
const gauge = dataOf(numberPoint);
const histogram = dataOf(histogramPoint);
const exponentialHistogram = dataOf(exponentialPoint);
const summary = dataOf(summaryPoint);
const metric: Message = {
  1: one('name', 'text'),
  2: one('description', 'text'),
  3: one('unit', 'text'),
  5: one('gauge', () => gauge),
  7: one('sum', () => gauge),
  9: one('histogram', () => histogram),
  10: one('exponentialHistogram', () => exponentialHistogram),
  11: one('summary', () => summary),
};

const requestOf = (resources: string, scopes: string, records: string, record: Message): Message => {
  const scoped: Message = { 1: one('scope', () => scope), 2: many(records, () => record) };
  const owned: Message = { 1: one('resource', () => resource), 2: many(scopes, () => scoped) };
  return { 1: many(resources, () => owned) };
};
const requests = {
  logs: requestOf('resourceLogs', 'scopeLogs', 'logRecords', logRecord),
  metrics: requestOf('resourceMetrics', 'scopeMetrics', 'metrics', metric),
} as const;

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;

const wireTypes: Readonly<Record<Scalar, number>> = {
  text: LENGTH,
  hex: LENGTH,
  base64: LENGTH,
  bool: VARINT,
  varint: VARINT,
  signed: VARINT,
  fixed64: FIXED64,
  sfixed64: FIXED64,
  double: FIXED64,
};

/** The words of OTLP/JSON for a double that is no number. */
const doubleText = (value: number): Json => (Number.isFinite(value) ? value : String(value));

const scalarOf = (wire: WireReader, is: Scalar, end: number): Json => {
  switch (is) {
    case 'text': {
      wire.badText = false;
      const text = wire.text(wire.length(end));
      return wire.badText ? false : text;
    }
    case 'hex':
      return wire.hex(wire.length(end));
    case 'base64':
      return wire.base64(wire.length(end));
    case 'bool':
      return wire.varint(end) !== 0;
    case 'varint':
      return wire.int64(end);
    case 'signed': {
      const zigzag = wire.varint(end);
      return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    }
    case 'fixed64':
      return wire.fixed64(end).toString();
    case 'sfixed64':
      return BigInt.asIntN(64, wire.fixed64(end)).toString();
    case 'double':
      return doubleText(wire.double(end));
    default:
      return is satisfies never;
  }
};

/** Levels of messages above the first value: request, resource, scope, record, data point, attribute. */
const LEVELS_ABOVE_VALUES = 8;
/** Each level of a nested value is up to three messages: the value, its list, a key with its value. */
const MOST_MESSAGES_DEEP = LEVELS_ABOVE_VALUES + 3 * MOST_VALUE_DEPTH;

const MESSAGES_PER_KEY = 3;

/**
 * Reads an export request of logs or metrics in protobuf into the tree of its OTLP/JSON.
 * @param nodeBudget most messages and repeated values to read; at most, and by default, the hard bound
 * @throws Refusal `invalid_body` for what is no request; `payload_too_large` above the hard bound
 * @throws BudgetExceeded above a smaller `nodeBudget`
 */
export const readProtobufTree = (
  signal: 'logs' | 'metrics',
  body: Uint8Array,
  nodeBudget: number = MOST_NODES,
  maxKeys: number = MOST_KEYS,
): JsonObject => {
  const wire = new WireReader(body);
  // An attribute is three messages: itself, its value, and what the value holds.
  const most = Math.min(MOST_NODES, maxKeys * MESSAGES_PER_KEY);
  const budget = Math.min(nodeBudget, most);
  let nodes = 0;
  const count = (): void => {
    nodes += 1;
    if (nodes > budget) throw overBudget(budget, most);
  };

  const listIn = (object: MutableJsonObject, name: string): Json[] => {
    const held = object[name];
    if (Array.isArray(held)) return held as Json[];
    const list: Json[] = [];
    object[name] = list;
    return list;
  };

  const message = (fields: Message, end: number, depth: number): MutableJsonObject => {
    count();
    const object = newJsonObject();
    while (wire.pos < end) {
      const tag = wire.tag(end);
      const field = fields[tag >>> 3];
      const wireType = tag & 7;
      if (field === undefined) {
        wire.skip(tag, end);
        continue;
      }
      const { name, is, repeated } = field;
      if (typeof is === 'function') {
        if (wireType !== LENGTH) {
          wire.skip(tag, end);
          continue;
        }
        const stop = wire.length(end);
        if (depth >= MOST_MESSAGES_DEEP) {
          // Deeper than any value may be: no message stands here, so its record is refused alone.
          wire.pos = stop;
          object[name] = false;
          continue;
        }
        const value = message(is(), stop, depth + 1);
        if (repeated === true) listIn(object, name).push(value);
        else object[name] = value;
        continue;
      }
      if (repeated === true && wireType === LENGTH && wireTypes[is] !== LENGTH) {
        const stop = wire.length(end);
        const list = listIn(object, name);
        while (wire.pos < stop) {
          count();
          list.push(scalarOf(wire, is, stop));
        }
        continue;
      }
      if (wireType !== wireTypes[is]) {
        wire.skip(tag, end);
        continue;
      }
      // Also one that is said again: each is read, and the last counts.
      if (repeated === true || object[name] !== undefined) count();
      const value = scalarOf(wire, is, end);
      if (repeated === true) listIn(object, name).push(value);
      else object[name] = value;
    }
    return object;
  };

  return message(requests[signal], wire.bytes.length, 1);
};
