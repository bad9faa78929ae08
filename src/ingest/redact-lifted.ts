import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../model/json.ts';
import { fieldShapes, rows } from './mapping/table.ts';
import { LONGEST_HASHED } from './json-object.ts';
import { parseInner } from './mapping/read-value.ts';

/** Stands where a value stood. */
export const REDACTED = '[redacted]';

/** Members of an object attribute, or of its JSON text, from which a text field is lifted. */
export const liftedMembers: readonly string[] = [
  ...new Set(
    rows.flatMap(({ field, members = [] }) =>
      fieldShapes[field] === 'text'
        ? members.flatMap(([name, ...deeper]) => (deeper.length === 0 ? (name ?? []) : []))
        : [],
    ),
  ),
];

const objectOf = (value: Json): JsonObject | undefined => {
  const object = typeof value === 'string' && value.startsWith('{') ? parseInner(value) : value;
  return typeof object === 'object' && object !== null && !Array.isArray(object) ? (object as JsonObject) : undefined;
};

/**
 * Finds the values of an attribute map from which fields may have been lifted and which are redacted now: attributes, and members
 * of attributes.
 * @param before the map as it was sent
 * @param after the same map, redacted
 * @param members those of `liftedMembers` that are redacted. Where there are none, as by default, no text is parsed
 */
export const removedFrom = (before: JsonObject, after: JsonObject, members: readonly string[]): readonly Json[] => {
  if (before === after) return [];
  const removed: Json[] = [];
  for (const key in after) {
    const [was, is] = [before[key], after[key]];
    if (was === undefined || is === undefined || was === is) continue;
    if (is === REDACTED) {
      removed.push(was);
      continue;
    }
    if (members.length === 0) continue;
    const [from, to] = [objectOf(was), objectOf(is)];
    if (from === undefined || to === undefined) continue;
    for (const name of members)
      if (Object.hasOwn(from, name) && to[name] === REDACTED) removed.push(from[name] as Json);
  }
  return removed;
};

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
