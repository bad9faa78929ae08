import { createHash } from 'node:crypto';
import { canonicalJson } from '../canonical-json.ts';
import type { Json } from '../json.ts';

/**
 * A fingerprint of the content of a definition document: equal for documents that differ only in white space, in the order of
 * their keys or in the spelling of a number. It decides between `unchanged` and `definition_conflict`.
 * @param document as registered, not with defaults filled in: a later release with another default must not see a conflict
 * @returns 64 hex characters, SHA-256
 * @see Interface decisions, "9. Durable runs", "Definition"
 */
export const hashDefinition = (document: Json): string =>
  createHash('sha256').update(canonicalJson(document)).digest('hex');
