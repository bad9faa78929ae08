import type { Json } from '../model/json.ts';
import { type JsonBounds, JsonReader, jsonBounds } from './json-reader.ts';
import type { KeyCount } from './keys.ts';

export { type JsonBounds, jsonBounds } from './json-reader.ts';

/**
 * Parses a JSON text strictly and within bounds. Objects take any key as a plain key (`__proto__` too); NUL and lone
 * surrogates become U+FFFD; an integer that a double cannot hold becomes its decimal text.
 * @throws Refusal `invalid_body` for what is not JSON (not UTF-8 and numbers out of range included) or nested too deep;
 * `payload_too_large` above the bounds on objects, arrays and values
 * @see Interface decisions, "5. Ingest policy"
 */
export const parseJsonText = (body: Uint8Array, bounds: JsonBounds = jsonBounds): Json =>
  parseAll(new JsonReader(body, bounds));

/**
 * The same, and the members are counted.
 * @param freeDepth members of objects down to this depth are those that the protocol names, and count for nothing
 * @throws Refusal also above the bounds on keys
 */
export const parseCounted = (body: Uint8Array, bounds: JsonBounds, keys: KeyCount, freeDepth: number): Json =>
  parseAll(new JsonReader(body, bounds, keys, freeDepth));

const parseAll = (reader: JsonReader): Json => {
  const value = reader.value();
  reader.expectEnd();
  return value;
};

const STRIDE = 16;
const SMALL = 65_536;
const DENSE_SHARE = 1 / 6;

/**
 * Whether a text looks as if it held far more objects and arrays than telemetry does (one in twenty bytes opens one at
 * most): such a body costs more to decode than its size tells. Small texts are counted whole, larger ones by a sample.
 */
export const looksDense = (body: Uint8Array): boolean => {
  const stride = body.length <= SMALL ? 1 : STRIDE;
  let openings = 0;
  for (let at = 0; at < body.length; at += stride) {
    const byte = body[at];
    if (byte === 0x7b || byte === 0x5b) openings++;
  }
  return openings * stride > body.length * DENSE_SHARE;
};
