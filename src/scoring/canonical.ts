import type { Json, JsonObject } from '../model/json.ts';

/** One text for all spellings of a JSON value: keys in order, no spaces. */
export const canonicalJson = (value: Json): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(',')}]`;
  const object = value as JsonObject;
  return `{${Object.keys(object)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] as Json)}`)
    .join(',')}}`;
};
