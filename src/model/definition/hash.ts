import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../json.ts';

const canonical = (value: Json): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join(',')}]`;
  const object = value as JsonObject;
  const entries = Object.keys(object)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key] ?? null)}`);
  return `{${entries.join(',')}}`;
};

/**
 * A fingerprint of the content of a definition document: equal for documents that differ only in white space, in the order
 * of their keys or in the spelling of a number. What tells `unchanged` from `definition_conflict`.
 * @param document as registered, not with defaults filled in: a later release with another default must not see a conflict
 * @returns 64 hex characters, SHA-256
 * @see Interface decisions, "9. Durable runs", "Definition"
 */
export const hashDefinition = (document: Json): string =>
  createHash('sha256').update(canonical(document)).digest('hex');
