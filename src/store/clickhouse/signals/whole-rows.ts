import type { Row } from '../../signals/rows/columns.ts';
import type { Ask } from '../connection.ts';
import { askKeys, type Key, keyType } from './keyed.ts';
import type { Table } from './tables.ts';

/** How the rows of a list are read completely, when their keys are known. */
export type Whole = {
  readonly of: Pick<Table, 'table' | 'key' | 'columns'>;
  /** What is read of each row `r`. */
  readonly columns: string;
  /** What a row weighs, in bytes, where it may be large. */
  readonly weight?: string;
};

/** What texts weigh, which is known without reading them. */
export const weightOf = (texts: readonly string[]): string =>
  texts.map((column) => `coalesce(length(r.${column}), 0)`).join(' + ');

const textOf = (key: readonly unknown[]): string => JSON.stringify(key.map(String));

/**
 * Reads the rows with these keys, in the order of the keys, up to the row that brings them to about so many bytes.
 * @returns the rows that are still there, and how many of the keys were read
 */
export const readWhole = async (
  ask: Ask,
  { of, columns, weight }: Whole,
  keys: readonly Key[],
  maxBytes: number | undefined,
): Promise<{ readonly rows: Row[]; readonly taken: number }> => {
  if (keys.length === 0) return { rows: [], taken: 0 };
  const names = of.key.map((name) => `r.${name}`).join(', ');
  const read = async (selected: string, some: readonly Key[]): Promise<Map<string, Row>> => {
    const found = await askKeys<Row>(
      ask,
      some,
      keyType(of),
      (named) => `SELECT ${names}, ${selected} FROM ${of.table} AS r FINAL WHERE (${names}) IN ${named}`,
    );
    return new Map(found.map((row) => [textOf(row.slice(0, of.key.length)), row.slice(of.key.length)]));
  };
  let taken = keys.length;
  if (maxBytes !== undefined && weight !== undefined) {
    const weights = await read(weight, keys);
    let bytes = 0;
    for (const [place, key] of keys.entries()) {
      bytes += Number(weights.get(textOf(key))?.[0] ?? 0);
      // With the row that brings it over the bound.
      if (bytes >= maxBytes) {
        taken = place + 1;
        break;
      }
    }
  }
  const some = keys.slice(0, taken);
  const held = await read(columns, some);
  // One that is not there any more was removed since.
  return { rows: some.flatMap((key) => [held.get(textOf(key)) ?? []].filter((row) => row.length > 0)), taken };
};
