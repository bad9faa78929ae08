import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../model/json.ts';
import { fieldShapes, rows } from './mapping/table.ts';
import { findMembers } from './redact-members.ts';

/** Stands where a value stood. */
export const REDACTED = '[redacted]';

/** Members of an object attribute, or of its JSON text, from which a text field is lifted. */
const liftedMembers: ReadonlySet<string> = new Set(
  rows.flatMap(({ field, members = [] }) =>
    fieldShapes[field] === 'text'
      ? members.flatMap(([name, ...deeper]) => (deeper.length === 0 ? (name ?? []) : []))
      : [],
  ),
);

/** As much JSON text in an attribute, in characters, is parsed where fields are lifted. @see parseInner */
const LONGEST_LIFTED_FROM = 65_536;
/** What stands in JSON text for a redacted value is no longer than this, each letter of it as an escape. */
const LONGEST_REDACTED_JSON = 6 * REDACTED.length + 2;

const membersOf = (text: string): ReadonlyMap<string, string> | undefined =>
  text.startsWith('{') && text.length <= LONGEST_LIFTED_FROM ? findMembers(text, liftedMembers) : undefined;

const isRedacted = (json: string): boolean => json.length <= LONGEST_REDACTED_JSON && JSON.parse(json) === REDACTED;

/** Members that were redacted inside of JSON text. */
const removedFromText = (before: string, after: string): readonly Json[] => {
  const redacted = [...(membersOf(after) ?? [])].filter(([, json]) => isRedacted(json));
  if (redacted.length === 0) return [];
  const from = membersOf(before);
  return redacted.flatMap(([name]) => {
    const json = from?.get(name);
    return json === undefined ? [] : [JSON.parse(json) as Json];
  });
};

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const removedFromObject = (before: JsonObject, after: JsonObject): readonly Json[] =>
  [...liftedMembers].flatMap((name) =>
    Object.hasOwn(before, name) && after[name] === REDACTED ? [before[name] as Json] : [],
  );

/**
 * Finds the values of an attribute map from which fields may have been lifted and which are redacted now: attributes, and members
 * of attributes.
 * @param before the map as it was sent
 * @param after the same map, redacted
 */
export const removedFrom = (before: JsonObject, after: JsonObject): readonly Json[] => {
  if (before === after) return [];
  const removed: Json[] = [];
  for (const key in after) {
    const [was, is] = [before[key], after[key]];
    if (was === undefined || was === is) continue;
    if (is === REDACTED) removed.push(was);
    else if (typeof was === 'string' && typeof is === 'string') removed.push(...removedFromText(was, is));
    else if (isObject(was) && isObject(is)) removed.push(...removedFromObject(was, is));
  }
  return removed;
};

/** Of longer texts V8 hashes the length alone: a set of many such compares each of them with each. */
const LONGEST_HASHED = 16_383;
/** A number's text is no longer. */
const LONGEST_NUMBER = 25;

const digestOf = (text: string): string => createHash('sha256').update(text, 'utf16le').digest('latin1');

/**
 * Finds which of a few texts repeat a removed value: a text or a number, or one in a list. The values may be many and long, so they
 * are held against the texts; a set of all of them would take much longer to build.
 * @returns tells of each of the texts whether it does; `undefined` where none does
 */
export const findRepeated = (
  texts: readonly string[],
  removed: readonly Json[],
): ((text: string) => boolean) | undefined => {
  const known = new Set(texts.filter(({ length }) => length <= LONGEST_HASHED));
  const numbers = new Set(
    texts.flatMap((text) => (text.length <= LONGEST_NUMBER && String(Number(text)) === text ? [Number(text)] : [])),
  );
  const longLengths = new Set(texts.flatMap(({ length }) => (length > LONGEST_HASHED ? [length] : [])));
  const repeated = new Set<string>();
  const digests = new Set<string>();
  const note = (value: Json): void => {
    if (Array.isArray(value)) for (const item of value as readonly Json[]) note(item);
    else if (typeof value === 'number') {
      if (numbers.has(value)) repeated.add(String(value));
    } else if (typeof value === 'string') {
      if (value.length > LONGEST_HASHED) {
        if (longLengths.has(value.length)) digests.add(digestOf(value));
      } else if (known.has(value) && value !== REDACTED) repeated.add(value);
    }
  };
  for (const value of removed) note(value);
  if (repeated.size === 0 && digests.size === 0) return undefined;
  return (text) =>
    text.length > LONGEST_HASHED ? digests.size > 0 && digests.has(digestOf(text)) : repeated.has(text);
};
