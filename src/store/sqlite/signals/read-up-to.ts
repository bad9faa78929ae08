import type { Row } from '../../signals/rows/columns.ts';

/** What a row weighs: its texts, of which alone it can have many. */
const weightOf = (row: Row): number => {
  let characters = 0;
  for (const column of row) if (typeof column === 'string') characters += column.length;
  return characters;
};

/**
 * Reads the rows of a page one by one, until they weigh enough.
 * @returns the rows, and how many places of the page were read
 */
export const readUpTo = <P>(
  page: readonly P[],
  find: (place: P) => Row | undefined,
  maxBytes: number | undefined,
): [rows: Row[], read: number] => {
  const rows: Row[] = [];
  let weight = 0;
  let read = 0;
  for (const place of page) {
    read += 1;
    const row = find(place);
    if (row === undefined) continue;
    rows.push(row);
    weight += weightOf(row);
    if (maxBytes !== undefined && weight >= maxBytes) break;
  }
  return [rows, read];
};
