import { type Binding, binding, tuples } from '../binding.ts';
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

/** Whether a statement can name one more key, beside as many of so many bytes. */
const hasRoom = (keys: number, bytes: number, more: number): boolean =>
  keys === 0 || (keys < KEYS_AT_ONCE && bytes + more <= BYTES_AT_ONCE);

/** Keys in portions that a statement can name. */
export const portions = <K extends Key>(keys: readonly K[]): K[][] => {
  const all: K[][] = [];
  let portion: K[] = [];
  let bytes = 0;
  for (const key of keys) {
    const more = bytesOf(key);
    if (!hasRoom(portion.length, bytes, more)) {
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
/** A trace, or another pair of texts, as the key of a map. */
export const keyText = ([project, traceId]: TraceKey): string => `${traceId}\0${project}`;

/**
 * The traces that come next in a list, each once, as many as a statement can name.
 * @param from place in the list
 * @param most of them
 * @returns the traces, and the place after theirs
 */
export const nextTraces = (
  list: readonly { readonly trace: TraceKey }[],
  from: number,
  most: number,
): { readonly traces: Map<string, TraceKey>; readonly to: number } => {
  const traces = new Map<string, TraceKey>();
  let bytes = 0;
  for (const [place, { trace }] of list.slice(from).entries()) {
    const name = keyText(trace);
    if (traces.has(name)) continue;
    const more = bytesOf(trace);
    if (traces.size >= most || !hasRoom(traces.size, bytes, more)) return { traces, to: from + place };
    traces.set(name, trace);
    bytes += more;
  }
  return { traces, to: list.length };
};

/** Asks about keys, as many at a time as a statement can name. */
const askPortions = async <K extends Key, R extends readonly unknown[]>(
  ask: Ask,
  keys: readonly K[],
  print: (portion: readonly K[], to: Binding) => string,
  more: Params,
): Promise<R[]> => {
  const found: R[] = [];
  for (const portion of portions(keys)) {
    const to = binding('key');
    const sql = print(portion, to);
    found.push(...(await ask<R>(sql, { ...more, ...to.params })));
  }
  return found;
};

/** Asks about keys. @param print the statement, given the parameter that holds them */
export const askKeys = <R extends readonly unknown[]>(
  ask: Ask,
  keys: readonly Key[],
  type: string,
  print: (keys: string) => string,
  more: Params = {},
): Promise<R[]> => askPortions(ask, keys, (portion, { bind }) => print(bind(tuples(portion), type)), more);

/**
 * The condition that a row is of one of these traces. Ids by themselves are found in half of the time that pairs of project and id take.
 * @param row how the statement names the row, as in `t.`; empty where it has no name
 */
export const ofTraces = (traces: readonly TraceKey[], { bind }: Binding, row = ''): string => {
  const idsOf = new Map<string, string[]>();
  for (const [project, traceId] of traces) {
    const ids = idsOf.get(project);
    if (ids === undefined) idsOf.set(project, [traceId]);
    else ids.push(traceId);
  }
  const parts = Array.from(
    idsOf,
    ([project, ids]) =>
      `(${row}project = ${bind(project, 'String')} AND ${row}trace_id IN ${bind(ids, 'Array(String)')})`,
  );
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join(' OR ')})`;
};

/** Hashes of their ids, as `spans.trace_hash` has them. */
const hashesOf = (traces: readonly TraceKey[], { bind }: Binding): string =>
  `(SELECT cityHash64(arrayJoin(${bind(
    traces.map(([, traceId]) => traceId),
    'Array(String)',
  )})))`;

/** Asks about traces. @param print the statement, given the condition that a row is of one of them, and hashes of their ids */
export const askTraces = <R extends readonly unknown[]>(
  ask: Ask,
  traces: readonly TraceKey[],
  row: string,
  print: (isOfTraces: string, hashes: () => string) => string,
  more: Params = {},
): Promise<R[]> =>
  askPortions(ask, traces, (portion, to) => print(ofTraces(portion, to, row), () => hashesOf(portion, to)), more);
