import { binding, tuples } from '../binding.ts';
import type { Ask, Params } from '../connection.ts';
import type { Table } from './tables.ts';

/** Key of a row: what its columns hold, in the order of `Table.key`. */
export type Key = readonly (string | bigint)[];

/** Keys that one statement names, at the most, and their bytes: each is a parameter of a request. */
const KEYS_AT_ONCE = 500;
const BYTES_AT_ONCE = 64 * 1024;
/** What a key takes beside its text. */
const ENVELOPE_BYTES = 16;

const bytesOf = (key: Key): number =>
  key.reduce((sum: number, part) => sum + ENVELOPE_BYTES + (typeof part === 'string' ? Buffer.byteLength(part) : 0), 0);

/** Keys in portions that a statement can name. */
export const portions = <K extends Key>(keys: readonly K[]): K[][] => {
  const all: K[][] = [];
  let portion: K[] = [];
  let bytes = 0;
  for (const key of keys) {
    const more = bytesOf(key);
    if (portion.length >= KEYS_AT_ONCE || (portion.length > 0 && bytes + more > BYTES_AT_ONCE)) {
      all.push(portion);
      [portion, bytes] = [[], 0];
    }
    portion.push(key);
    bytes += more;
  }
  if (portion.length > 0) all.push(portion);
  return all;
};

/** The type of a key's columns, as a parameter names it. */
export const keyType = ({ key, columns }: Pick<Table, 'key' | 'columns'>): string =>
  `Array(Tuple(${key.map((name) => columns.find(([column]) => column === name)?.[1] ?? 'String').join(', ')}))`;

/** A key as it was read, where integers are decimal text. */
export const readKey = ({ key, columns }: Pick<Table, 'key' | 'columns'>, read: readonly string[]): Key =>
  key.map((name, place) => {
    const part = read[place] ?? '';
    return columns.find(([column]) => column === name)?.[1] === 'String' ? part : BigInt(part);
  });

/** Project and id of a trace: of the key of many tables its first part. */
export type TraceKey = readonly [project: string, traceId: string];
export const TRACE_KEYS = 'Array(Tuple(String, String))';
/** A trace, or another pair of texts, as the key of a map. */
export const keyText = ([project, traceId]: TraceKey): string => `${traceId}\0${project}`;

/** Asks about keys, in portions. @param print the statement, given the parameter that holds them */
export const askKeys = async <R extends readonly unknown[]>(
  ask: Ask,
  keys: readonly Key[],
  type: string,
  print: (keys: string) => string,
  more: Params = {},
): Promise<R[]> => {
  const found: R[] = [];
  for (const portion of portions(keys)) {
    const { bind, params } = binding('key');
    const sql = print(bind(tuples(portion), type));
    found.push(...(await ask<R>(sql, { ...more, ...params })));
  }
  return found;
};
