import type { Json } from '../../model/json.ts';

/** Scalars of OTLP/JSON, where a 64-bit integer is a text or a number, and an enum its number or its name. */

const DIGITS = /^\d{1,20}$/;
const INT64 = /^-?\d{1,19}$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const LARGEST_INT64 = 9_223_372_036_854_775_807n;
const SMALLEST_INT64 = -9_223_372_036_854_775_808n;

/**
 * Nanoseconds since the epoch, never through floating point.
 * @returns `undefined` for anything but a non-negative integer; a time beyond the year 2262 is given as it is
 */
export const timeOf = (value: number | string): bigint | undefined => {
  if (typeof value === 'string') {
    if (value === '') return 0n;
    return DIGITS.test(value) ? BigInt(value) : undefined;
  }
  return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
};

/**
 * The message about a member of the wrong type. It leaves the value out, which may be a payload.
 * @param field its name, dotted where it stands inside of another
 */
export const wrongTypeMessage = (field: string): string => {
  if (/(?:^|\.)(?:start_time|end_time|time)$|UnixNano$/.test(field))
    return `${field} must be nanoseconds since the epoch, as a string of decimal digits, at most ${LARGEST_INT64}`;
  return field.endsWith('intValue')
    ? `${field} must be an integer of 64 bits, as a string of decimal digits or a number`
    : `${field} is not of the type that OTLP gives it`;
};

/** An int64: a number where a double holds it, else its decimal text; `undefined` for anything else. */
export const integerOf = (value: number | string): number | string | undefined => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  if (!INT64.test(value)) return undefined;
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number + 0;
  const exact = BigInt(value);
  return exact >= SMALLEST_INT64 && exact <= LARGEST_INT64 ? exact.toString() : undefined;
};

/** A double: a number, its text, or one of the three words of proto3 JSON, which stay words. */
export const doubleOf = (value: number | string): number | string | undefined => {
  if (typeof value === 'number') return value;
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return value;
  if (value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number + 0 : undefined;
};

/** Bytes, kept as standard base64 text. */
export const bytesText = (value: string): string | undefined =>
  BASE64.test(value) ? Buffer.from(value, 'base64').toString('base64') : undefined;

const STATUS_CODES: Readonly<Record<string, number>> = {
  STATUS_CODE_UNSET: 0,
  STATUS_CODE_OK: 1,
  STATUS_CODE_ERROR: 2,
};

/** A status code by number or name; anything unknown is unset. */
export const statusCodeOf = (value: number | string): number => enumOf(value, STATUS_CODES);

/** An enum by number or name; zero, which is unspecified in every enum of OTLP, for anything unknown. */
export const enumOf = (value: Json | undefined, names: Readonly<Record<string, number>>): number => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : 0;
  if (typeof value !== 'string') return 0;
  if (Object.hasOwn(names, value)) return names[value] ?? 0;
  return /^\d{1,9}$/.test(value) ? Number(value) : 0;
};
