import type { Order, Page, Paging, Position, Window } from '../../signals/query.ts';
import { instantOf } from '../../signals/position.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { int8Array } from '../arrays.ts';
import type { Ask, Bound } from '../connection.ts';

/** How a table of records is read by time. The names are constants of the callers. */
export type RecordTable = {
  /** The table, as `r`, with what it is joined with. */
  readonly from: string;
  /** The column that numbers its rows. */
  readonly key: string;
  /** What the caller decodes. */
  readonly columns: string;
  /** What a row weighs in bytes, where it may be large. */
  readonly weight?: string;
};

/** Conditions of a WHERE clause. Each says with `$` where its value stands. */
export const conditionsOf = (parts: string[] = [], values: Bound[] = []) => ({
  values,
  /** Adds a condition unless its value is absent. */
  add: (sql: string, value: Bound | undefined): void => {
    if (value === undefined) return;
    values.push(value);
    parts.push(sql.replaceAll('$', `$${values.length}`));
  },
  sql: (): string => (parts.length === 0 ? 'true' : parts.join(' AND ')),
});
export type Conditions = ReturnType<typeof conditionsOf>;

/**
 * Reads a page by time and then by row: first where its rows are and what they weigh, then those that fit.
 * @see Paging
 */
export const readRecords = async <T>(
  ask: Ask,
  { from, key, columns, weight = '0' }: RecordTable,
  decode: (row: Row) => T,
  { limit, after, maxBytes, ...window }: Pick<Paging, 'limit' | 'after' | 'maxBytes'> & Window,
  order: Order,
  conditions: Conditions,
): Promise<Page<T>> => {
  const direction = order === 'desc' ? 'DESC' : 'ASC';
  conditions.add('r.at_ns >= $', window.from);
  conditions.add('r.at_ns < $', window.to);
  const { values } = conditions;
  let beyond = 'true';
  if (after !== undefined) {
    beyond = `(r.at_ns, r.${key}) ${order === 'desc' ? '<' : '>'} ($${values.length + 1}, $${values.length + 2})`;
    values.push(instantOf(after[0]), instantOf(after[1]));
  }
  const found = await ask<[at: bigint, row: bigint, weight: bigint]>(
    `SELECT r.at_ns, r.${key}, (${weight})::int8 FROM ${from} WHERE ${conditions.sql()} AND ${beyond}
     ORDER BY r.at_ns ${direction}, r.${key} ${direction} LIMIT $${values.length + 1}`,
    [...values, limit + 1],
  );
  let bytes = 0;
  let taken = 0;
  for (const [, , heavy] of found.slice(0, limit)) {
    taken += 1;
    bytes += Number(heavy);
    if (maxBytes !== undefined && bytes >= maxBytes) break;
  }
  const page = found.slice(0, taken);
  const rows =
    page.length === 0
      ? []
      : await ask<[key: bigint, ...Row]>(`SELECT r.${key}, ${columns} FROM ${from} WHERE r.${key} = ANY ($1::int8[])`, [
          int8Array(page.map(([, row]) => row)),
        ]);
  const byKey = new Map(rows.map(([row, ...rest]) => [row, rest]));
  const items = page.flatMap(([, row]) => {
    const held = byKey.get(row);
    // Deleted since.
    return held === undefined ? [] : [decode(held)];
  });
  const last = page.at(-1);
  const next: Position | undefined =
    found.length > taken && last !== undefined ? [last[0].toString(), Number(last[1])] : undefined;
  return next === undefined ? { items } : { items, next };
};
