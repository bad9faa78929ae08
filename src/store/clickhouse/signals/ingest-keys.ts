import { binding } from '../binding.ts';
import type { Ask } from '../connection.ts';
import { portions } from './keyed.ts';
import { INGEST_KEYS } from './tables.ts';

/** Those of the keys under which a unit was written. */
export const knownKeys = async (ask: Ask, keys: readonly string[]): Promise<ReadonlySet<string>> => {
  const known = new Set<string>();
  for (const portion of portions(keys.map((key): [string] => [key]))) {
    const { bind, params } = binding();
    const named = bind(portion.flat(), 'Array(String)');
    const sql = `SELECT ingest_key FROM ${INGEST_KEYS.table} WHERE ingest_key IN ${named}`;
    for (const [key] of await ask<[string]>(sql, params)) known.add(key);
  }
  return known;
};
