import { isSpanId, isTraceId } from '../../model/ids.ts';
import type { Failure, Result } from '../../model/failure.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { MAX_UNIX_NANO, parseTimestamp, type UnixNano } from '../../model/time.ts';
import { isOurs, type MutableJsonObject, newJsonObject, setMember } from '../json-object.ts';
import { jsonBounds, storableText } from '../json-reader.ts';

/** One field of one record is unusable. Thrown while a record is read, and a value outside of this folder. */
export class FieldFault extends Error {
  readonly failure: Failure;
  constructor(field: string, message: string, code: Failure['code'] = 'invalid_parameter') {
    super(message);
    this.name = 'FieldFault';
    this.failure = { code, message, field };
  }
}

/** Runs a reader of one record; its fault becomes the failure of the result. */
export const resultOf = <T>(read: () => T): Result<T> => {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof FieldFault) return { ok: false, failure: error.failure };
    throw error;
  }
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The value as all stores can hold it: texts without NUL and lone surrogates, objects without a prototype, finite numbers.
 * What came through another parser than ours is copied; what ours read is so already, and is given back itself.
 */
const storable = (value: unknown, field: string, depth = 0): Json => {
  if (depth > jsonBounds.depth)
    throw new FieldFault(field, `${field} is nested deeper than ${jsonBounds.depth} levels, which is the limit`);
  if (typeof value === 'string') return storableText(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new FieldFault(field, `${field} holds a number that is not finite`);
    return value;
  }
  if (typeof value === 'boolean' || value === null) return value;
  if (Array.isArray(value)) return storableItems(value, field, depth + 1);
  if (!isRecord(value)) throw new FieldFault(field, `${field} holds something other than JSON`);
  if (isOurs(value)) return value;
  const copy = newJsonObject();
  for (const [name, member] of Object.entries(value))
    setMember(copy, storableText(name), storable(member, field, depth + 1));
  return copy;
};

const storableItems = (items: readonly unknown[], field: string, depth: number): Json => {
  let copy: Json[] | undefined;
  for (const [at, item] of items.entries()) {
    const kept = storable(item, field, depth);
    if (copy === undefined && kept !== item) copy = items.slice(0, at) as Json[];
    copy?.push(kept);
  }
  return copy ?? (items as readonly Json[]);
};

/**
 * The fields of one record or of an object inside of it. Null is absent. Names that are not declared are kept aside
 * under their whole path, in `rest`, so that what a newer client sends is stored, not lost.
 */
export class Fields {
  private readonly record: Readonly<Record<string, unknown>>;
  private readonly path: string;
  private readonly rest: MutableJsonObject;

  constructor(record: unknown, known: readonly string[], rest: MutableJsonObject, path = '') {
    if (!isRecord(record))
      throw path === ''
        ? new FieldFault('', 'the signal must be a JSON object', 'invalid_body')
        : new FieldFault(path.slice(0, -1), `${path.slice(0, -1)} must be an object`);
    this.record = record;
    this.path = path;
    this.rest = rest;
    for (const name of Object.keys(record)) {
      const value = record[name];
      if (!known.includes(name) && value !== undefined) rest[`${path}${name}`] = storable(value, `${path}${name}`);
    }
  }

  field(name: string): string {
    return `${this.path}${name}`;
  }

  private raw(name: string): unknown {
    return this.record[name] ?? undefined;
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined;
  }

  fault(name: string, rule: string): FieldFault {
    return new FieldFault(this.field(name), `${this.field(name)} ${rule}`);
  }

  text(name: string): string | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw this.fault(name, 'must be a string');
    return storableText(value);
  }

  /** A text that says something; an empty one is absent. */
  word(name: string): string | undefined {
    const text = this.text(name);
    return text === '' ? undefined : text;
  }

  requiredWord(name: string): string {
    const text = this.word(name);
    if (text === undefined) throw this.fault(name, 'is required, as a non-empty string');
    return text;
  }

  number(name: string): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.fault(name, 'must be a finite number');
    return value;
  }

  requiredNumber(name: string): number {
    const value = this.number(name);
    if (value === undefined) throw this.fault(name, 'is required, as a number');
    return value;
  }

  count(name: string): number | undefined {
    const value = this.number(name);
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0))
      throw this.fault(name, `is ${value}; it must be a non-negative integer`);
    return value;
  }

  money(name: string): number | undefined {
    const value = this.number(name);
    if (value !== undefined && value < 0) throw this.fault(name, `is ${value}; it must not be negative`);
    return value;
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'boolean') throw this.fault(name, 'must be true or false');
    return value;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = allowed.find((word) => word === value);
    if (found === undefined) throw this.fault(name, `must be one of ${allowed.join(', ')}`);
    return found;
  }

  time(name: string): UnixNano | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const time = parseTimestamp(value);
    if (time === undefined) throw this.fault(name, 'must be an RFC 3339 timestamp such as 2026-01-31T12:00:00.000Z');
    if (time < 0n || time > MAX_UNIX_NANO) throw this.fault(name, 'must be between the years 1970 and 2262');
    return time;
  }

  traceId(name: string): string | undefined {
    return this.id(name, isTraceId, 32);
  }

  spanId(name: string): string | undefined {
    return this.id(name, isSpanId, 16);
  }

  private id(name: string, isValid: (text: string) => boolean, length: number): string | undefined {
    const text = this.word(name);
    if (text === undefined) return undefined;
    if (!isValid(text))
      throw new FieldFault(
        this.field(name),
        `${this.field(name)} must be ${length} lowercase hex characters, not all zero`,
        'invalid_id',
      );
    return text;
  }

  json(name: string): Json | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : storable(value, this.field(name));
  }

  map(name: string): MutableJsonObject {
    const value = this.json(name);
    if (value === undefined) return newJsonObject();
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw this.fault(name, 'must be an object');
    return value as MutableJsonObject;
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.fault(name, 'must be an array');
    return value;
  }

  words(name: string): readonly string[] | undefined {
    const list = this.list(name);
    if (list === undefined || list.length === 0) return undefined;
    return list.map((item) => {
      if (typeof item !== 'string') throw this.fault(name, 'must be an array of strings');
      return storableText(item);
    });
  }

  numbers(name: string): readonly number[] | undefined {
    return this.list(name)?.map((item) => {
      if (typeof item !== 'number' || !Number.isFinite(item))
        throw this.fault(name, 'must be an array of finite numbers');
      return item;
    });
  }

  object(name: string, known: readonly string[]): Fields | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : new Fields(value, known, this.rest, `${this.field(name)}.`);
  }

  objects(name: string, known: readonly string[]): readonly Fields[] {
    return (this.list(name) ?? []).map(
      (item, index) => new Fields(item, known, this.rest, `${this.field(name)}[${index}].`),
    );
  }
}

/** The map that a record keeps, and what no field claimed, where the map has nothing by that name. The record itself stays as it was sent. */
export const keepRest = (map: JsonObject, rest: JsonObject): JsonObject => {
  let whole: MutableJsonObject | undefined;
  for (const name in rest) {
    if (Object.hasOwn(map, name)) continue;
    whole ??= Object.assign(newJsonObject(), map);
    setMember(whole, name, rest[name] as Json);
  }
  return whole ?? map;
};
