import type { Json, JsonObject } from './json.ts';

/**
 * One text for all spellings of a JSON value: keys in order, no spaces.
 * @param spend gets the characters of each part before it is written, never more than the part will have; it may throw to stop
 */
export const canonicalJson = (value: Json, spend?: (characters: number) => void): string => {
  if (typeof value !== 'object' || value === null) {
    spend?.(typeof value === 'string' ? value.length + 2 : 1);
    return JSON.stringify(value);
  }
  const part = (inner: Json): string => canonicalJson(inner, spend);
  if (Array.isArray(value)) {
    spend?.(value.length + 1);
    return `[${(value as readonly Json[]).map(part).join(',')}]`;
  }
  const object = value as JsonObject;
  const keys = Object.keys(object);
  spend?.(keys.reduce((sum, key) => sum + key.length + 4, 1));
  return `{${keys
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${part(object[key] as Json)}`)
    .join(',')}}`;
};
