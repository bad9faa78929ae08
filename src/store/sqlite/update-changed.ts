import type Database from 'better-sqlite3';

/** Statements that are kept for one table. Rows beyond them set all columns. */
const MOST_STATEMENTS = 64;

/** Whether a column says what a stored one does. Integers that were read are bigints, and those that are written may be numbers. */
export const isSameColumn = (stored: unknown, value: unknown): boolean =>
  value === stored || (typeof stored === 'bigint' && typeof value === 'number' && Number(stored) === value);

/**
 * Updates rows, of each no more than the columns that changed: SQLite writes every index of a column that is set, changed or not.
 * @param key the primary key
 * @param columns at most 32, in the order of the rows
 */
export const updateChanged = (
  db: Database.Database,
  table: string,
  key: string,
  columns: readonly string[],
): ((key: number, stored: readonly unknown[], row: readonly unknown[]) => void) => {
  if (columns.length > 32) throw new RangeError(`${table} has ${columns.length} columns, and a mask has 32 bits`);
  const prepare = (mask: number): Database.Statement => {
    const set = columns.filter((_, place) => (mask & (1 << place)) !== 0).map((column) => `${column} = ?`);
    return db.prepare(`UPDATE ${table} SET ${set.join(', ')} WHERE ${key} = ?`);
  };
  const whole = prepare(-1);
  const kept = new Map<number, Database.Statement>();
  return (number, stored, row) => {
    const values: unknown[] = [];
    let mask = 0;
    for (let place = 0; place < columns.length; place++) {
      if (isSameColumn(stored[place], row[place])) continue;
      mask |= 1 << place;
      values.push(row[place]);
    }
    if (mask === 0) return;
    let statement = kept.get(mask);
    if (statement === undefined) {
      if (kept.size >= MOST_STATEMENTS) {
        whole.run(...row, number);
        return;
      }
      statement = prepare(mask);
      kept.set(mask, statement);
    }
    values.push(number);
    statement.run(values);
  };
};
