import type { Order, Page, Paging, Position, Window } from '../../signals/query.ts';
import { instantOf } from '../../signals/position.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { isStorable, storable } from '../../signals/storable.ts';
import { type Binding, binding } from '../binding.ts';
import type { Ask } from '../connection.ts';
import { readKey } from './keyed.ts';
import { inReach } from './reach.ts';
import { readWhole, type Whole } from './whole-rows.ts';

/** A table of records that is read by time. */
export type RecordTable = Whole & {
  /** Columns of the key that tell records of one time apart, in the order in which they do. */
  readonly ties: readonly string[];
};

/** Conditions on the rows `r` of a table, while they are put together. */
export type Narrowing = {
  readonly to: Binding;
  /** Adds a condition unless its value is absent. A text that no record can have leaves nothing to be found. */
  readonly add: (sql: string, value: string | number | bigint | undefined, type: string) => void;
  /** Adds a condition that binds its values itself. */
  readonly also: (sql: string) => void;
};

/** The number of a row that a page ended at; zero for what is none. */
const rowAt = (part: Position[number] | undefined): bigint => {
  const text = String(part);
  return /^\d{1,20}$/.test(text) ? BigInt.asUintN(64, BigInt(text)) : 0n;
};

/** Binds the part of a position that stands for a column. It comes back from a client, who may have made it up. */
export const bindPlace = (
  { bind }: Binding,
  { columns }: Whole['of'],
  column: string,
  part: Position[number] | undefined,
): string => {
  const type = columns.find(([name]) => name === column)?.[1] ?? 'String';
  if (type === 'String') return bind(storable(String(part ?? '')), type);
  return bind(type === 'UInt64' ? rowAt(part) : instantOf(part), type);
};

/** Reads a page by time, first where its rows are and then those that fit. @see Paging */
export const listByTime = async <T>(
  ask: Ask,
  table: RecordTable,
  query: Pick<Paging, 'limit' | 'after' | 'maxBytes'> & Partial<Pick<Paging, 'projects'>> & Window,
  order: Order,
  decode: (row: Row) => T,
  narrow: (narrowing: Narrowing) => void = () => {},
): Promise<Page<T>> => {
  const { of, ties } = table;
  const direction = order === 'desc' ? 'DESC' : 'ASC';
  const to = binding();
  const parts = query.projects === undefined ? [] : [inReach(query.projects, to, 'r.')];
  let isPossible = true;
  const add: Narrowing['add'] = (sql, value, type) => {
    if (value === undefined) return;
    if (typeof value === 'string' && !isStorable(value)) isPossible = false;
    else parts.push(`${sql} ${to.bind(value, type)}`);
  };
  add('r.at_ns >=', query.from, 'Int64');
  add('r.at_ns <', query.to, 'Int64');
  narrow({ to, add, also: (sql) => void parts.push(sql) });
  if (!isPossible) return { items: [] };
  if (query.after !== undefined) {
    const place = ['at_ns', ...ties].map((column, at) => bindPlace(to, of, column, query.after?.[at]));
    const named = ['at_ns', ...ties].map((column) => `r.${column}`).join(', ');
    parts.push(`(${named}) ${order === 'desc' ? '<' : '>'} (${place.join(', ')})`);
  }
  const columns = [...of.key.map((name) => `r.${name}`), 'r.at_ns', ...ties.map((name) => `r.${name}`)];
  const found = await ask<string[]>(
    `SELECT ${columns.join(', ')} FROM ${of.table} AS r FINAL WHERE ${parts.length === 0 ? 'true' : parts.join(' AND ')}
     ORDER BY ${['at_ns', ...ties].map((column) => `r.${column} ${direction}`).join(', ')} LIMIT ${query.limit + 1}`,
    to.params,
  );
  const wanted = found.slice(0, query.limit);
  const { rows, taken } = await readWhole(
    ask,
    table,
    wanted.map((row) => readKey(of, row)),
    query.maxBytes,
  );
  const items = await decodeInTurns(rows, decode);
  const last = wanted[taken - 1];
  return found.length > taken && last !== undefined ? { items, next: last.slice(of.key.length) } : { items };
};
