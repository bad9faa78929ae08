import type { Row } from '../../signals/rows/columns.ts';
import type { Ask } from '../connection.ts';
import { type Columns, names, unnest } from '../insert.ts';
import { binding } from './statement.ts';

/** How the rows of a list are read completely, when their keys are known. */
export type Whole = {
  /** The table and its joins; the row is `r`. */
  readonly from: string;
  readonly key: Columns;
  /** What is read of each. */
  readonly columns: string;
  /** Columns of text that a row weighs by. */
  readonly texts: readonly string[];
};

/**
 * Reads the rows with these keys, in the order of the keys, up to the row that brings them to about so many bytes. What texts weigh is
 * known without reading them.
 * @returns the rows that are still there, and how many of the keys were read
 */
export const readWhole = async (
  ask: Ask,
  { from, key, columns, texts }: Whole,
  keys: readonly Row[],
  maxBytes: number | undefined,
): Promise<{ readonly rows: Row[]; readonly taken: number }> => {
  if (keys.length === 0) return { rows: [], taken: 0 };
  const { sql, values } = unnest(key, keys);
  const { bind, values: all } = binding(...values);
  const asked = `${sql} WITH ORDINALITY AS k (${names(key)}, place)`;
  const isSame = (of: string): string => key.map(([name]) => `r.${name} = ${of}.${name}`).join(' AND ');
  const weight = texts.map((column) => `coalesce(octet_length(r.${column}), 0)`).join(' + ');
  const found = await ask<[bigint, ...Row]>(
    maxBytes === undefined
      ? `SELECT k.place, ${columns} FROM ${asked} JOIN ${from} ON ${isSame('k')} ORDER BY k.place`
      : `WITH weighed AS MATERIALIZED (
           SELECT ${names(key, 'k.')}, k.place, sum(${weight}) OVER (ORDER BY k.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
           FROM ${asked} JOIN ${from} ON ${isSame('k')}
         ) SELECT w.place, ${columns} FROM weighed AS w JOIN ${from} ON ${isSame('w')}
         WHERE coalesce(w.before, 0) < ${bind(maxBytes, 'float8')} ORDER BY w.place`,
    all,
  );
  const last = found.at(-1);
  const isCut = maxBytes !== undefined && last !== undefined;
  return { rows: found.map(([, ...row]) => row), taken: isCut ? Number(last[0]) : keys.length };
};
