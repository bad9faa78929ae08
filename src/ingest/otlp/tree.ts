import type { Json, JsonObject } from '../../model/json.ts';
import { isSpanId, isTraceId } from '../../model/ids.ts';
import { type MutableJsonObject, newJsonObject, setMember } from '../json-object.ts';
import { MOST_KEYS_OF_ONE, tooManyKeysOfOne } from '../keys.ts';
import { type AttributeKey, attributeKey } from '../mapping/key.ts';
import { readIdText } from './id-text.ts';
import { bytesText, doubleOf, integerOf, wrongTypeMessage } from './wire-json.ts';

/** Reading OTLP/JSON from a parsed tree: logs and metrics, which come in smaller numbers than spans. */

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const snakeNames = new Map<string, string>();
const snakeCase = (name: string): string => {
  let snake = snakeNames.get(name);
  if (snake === undefined) {
    snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, snake);
  }
  return snake;
};

/** A member by its lowerCamelCase name, or by the name of the protobuf file; null is absent. */
export const member = (object: JsonObject, name: string): Json | undefined => {
  const value = object[name] ?? object[snakeCase(name)];
  return value ?? undefined;
};

/** Something in the tree has a type that its place cannot have. Caught where a signal, or the request, is refused. */
export class WrongType extends Error {
  readonly field: string;
  constructor(field: string) {
    super(wrongTypeMessage(field));
    this.name = 'WrongType';
    this.field = field;
  }
}

export const listAt = (object: JsonObject, name: string): readonly Json[] => {
  const value = member(object, name);
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new WrongType(name);
  return value;
};

export const objectAt = (object: JsonObject, name: string): JsonObject | undefined => {
  const value = member(object, name);
  if (value === undefined) return undefined;
  if (!isObject(value)) throw new WrongType(name);
  return value;
};

export const textAt = (object: JsonObject, name: string): string | undefined => {
  const value = member(object, name);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new WrongType(name);
  return value;
};

export const asObject = (value: Json, name: string): JsonObject => {
  if (!isObject(value)) throw new WrongType(name);
  return value;
};

const scalar = (value: Json, field: string): number | string => {
  if (typeof value === 'number' || typeof value === 'string') return value;
  throw new WrongType(field);
};

const isEmpty = (object: JsonObject): boolean => {
  for (const _name in object) return false;
  return true;
};

const orWrong = <T>(value: T | undefined, field: string): T => {
  if (value === undefined) throw new WrongType(field);
  return value;
};

/** An AnyValue as plain JSON. The tree is bounded in depth, so this is. */
export const anyValueOf = (value: Json | undefined): Json => {
  if (value === undefined) return null;
  const object = asObject(value, 'value');
  if (isEmpty(object)) return null; // a body of these is all that it holds
  const text = member(object, 'stringValue');
  if (text !== undefined) {
    if (typeof text !== 'string') throw new WrongType('stringValue');
    return text;
  }
  const integer = member(object, 'intValue');
  if (integer !== undefined) return orWrong(integerOf(scalar(integer, 'intValue')), 'intValue');
  const double = member(object, 'doubleValue');
  if (double !== undefined) return orWrong(doubleOf(scalar(double, 'doubleValue')), 'doubleValue');
  const truth = member(object, 'boolValue');
  if (truth !== undefined) {
    if (typeof truth !== 'boolean') throw new WrongType('boolValue');
    return truth;
  }
  const bytes = member(object, 'bytesValue');
  if (bytes !== undefined) return orWrong(typeof bytes === 'string' ? bytesText(bytes) : undefined, 'bytesValue');
  const list = objectAt(object, 'arrayValue');
  if (list !== undefined) return listAt(list, 'values').map(anyValueOf);
  const map = objectAt(object, 'kvlistValue');
  if (map !== undefined) return attributesIn(map, 'values');
  return null;
};

/** The list of attributes under `name`, as one map; a name given twice counts the last time. */
export const attributesIn = (object: JsonObject, name: string): MutableJsonObject => {
  const map = newJsonObject();
  eachAttribute(object, name, (key, value) => {
    setMember(map, key.name, value);
  });
  return map;
};

export const eachAttribute = (
  object: JsonObject,
  name: string,
  take: (key: AttributeKey, value: Json) => void,
): void => {
  const items = listAt(object, name);
  if (items.length > MOST_KEYS_OF_ONE) throw tooManyKeysOfOne();
  for (const item of items) {
    const attribute = asObject(item, name);
    take(attributeKey(textAt(attribute, 'key') ?? ''), anyValueOf(member(attribute, 'value')));
  }
};

/** Trace and span id of a log record or exemplar: kept when valid, left out when not. */
export const idsOf = (object: JsonObject): { traceId?: string; spanId?: string } => {
  const trace = member(object, 'traceId');
  const span = member(object, 'spanId');
  const traceId = typeof trace === 'string' ? readIdText(trace, 16).hex : '';
  const spanId = typeof span === 'string' ? readIdText(span, 8).hex : '';
  return { ...(isTraceId(traceId) && { traceId }), ...(isSpanId(spanId) && { spanId }) };
};
