import type { Column, Row } from '../signals/rows/columns.ts';
import { byteaArray, float8Array, int4Array, int8Array, textArray, uuidArray } from './arrays.ts';
import type { Bound } from './connection.ts';

/** How a column is bound: all of its values in one array. */
const kinds = {
  text: { sql: 'text[]', bind: (values: readonly Column[]) => textArray(values as (string | null)[]) },
  int4: { sql: 'int4[]', bind: (values: readonly Column[]) => int4Array(values as (number | null)[]) },
  int8: { sql: 'int8[]', bind: (values: readonly Column[]) => int8Array(values as (bigint | number | null)[]) },
  float8: { sql: 'float8[]', bind: (values: readonly Column[]) => float8Array(values as (number | null)[]) },
  hex: { sql: 'bytea[]', bind: (values: readonly Column[]) => byteaArray(values as (string | null)[]) },
  uuid: { sql: 'uuid[]', bind: (values: readonly Column[]) => uuidArray(values as (string | null)[]) },
} as const;
export type ColumnKind = keyof typeof kinds;

/** Columns of a table, in the order of the rows that are written to it. */
export type Columns = readonly (readonly [name: string, kind: ColumnKind])[];

/** Columns of the same kind, by their names separated by spaces. */
export const columns = (kind: ColumnKind, names: string): Columns => names.split(' ').map((name) => [name, kind]);

/** A list of the names, for a statement. */
export const names = (of: Columns, prefix = ''): string => of.map(([name]) => prefix + name).join(', ');

/** The rows as a relation with these columns, and what a statement binds for it: one array a column, from the parameter `$first` on. */
export const unnest = (
  of: Columns,
  rows: readonly Row[],
  first = 1,
): { readonly sql: string; readonly values: Bound[] } => ({
  sql: `unnest(${of.map(([, kind], place) => `$${first + place}::${kinds[kind].sql}`).join(', ')})`,
  values: of.map(([, kind], place) => kinds[kind].bind(rows.map((row) => row[place] ?? null))),
});

/** An INSERT of rows, in their order. @param after what follows: a conflict, a RETURNING */
export const insertInto = (
  table: string,
  of: Columns,
  rows: readonly Row[],
  after = '',
): readonly [sql: string, values: Bound[]] => {
  const { sql, values } = unnest(of, rows);
  return [`INSERT INTO ${table} (${names(of)}) SELECT * FROM ${sql} ${after}`, values];
};

/** What an INSERT does with a row whose key is there: its other columns are replaced. */
export const replacing = (key: string, of: Columns, kept: readonly string[]): string =>
  `ON CONFLICT ${key} DO UPDATE SET ${of
    .filter(([name]) => !kept.includes(name))
    .map(([name]) => `${name} = excluded.${name}`)
    .join(', ')}`;
