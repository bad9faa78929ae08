import type Database from 'better-sqlite3';

/** Statements that are kept for one table: spans of one instrumentation lack the same columns. Rows beyond them name all columns. */
const MOST_STATEMENTS = 64;

/**
 * Inserts rows without the columns that are `null` in them. The driver asks of each value what it is, and of `null` last: to bind one takes
 * longer than to bind a number, and half of the columns of a span have none. A column that is not named is `NULL`, so the tables declare no other default.
 * @param columns at most 32, in the order of the rows
 * @param after what follows the values
 */
export const insertPresent = (
  db: Database.Database,
  table: string,
  columns: readonly string[],
  after = '',
): ((row: readonly unknown[]) => Database.RunResult) => {
  if (columns.length > 32) throw new RangeError(`${table} has ${columns.length} columns, and a mask has 32 bits`);
  const prepare = (named: readonly string[]): Database.Statement =>
    db.prepare(`INSERT INTO ${table} (${named.join(', ')}) VALUES (${named.map(() => '?').join(', ')}) ${after}`);
  const whole = prepare(columns);
  const kept = new Map<number, Database.Statement>();
  return (row) => {
    let mask = 0;
    const present: unknown[] = [];
    for (let place = 0; place < row.length; place++) {
      const value = row[place];
      if (value === null) continue;
      mask |= 1 << place;
      present.push(value);
    }
    let statement = kept.get(mask);
    if (statement === undefined) {
      if (kept.size >= MOST_STATEMENTS) return whole.run(row);
      statement = prepare(columns.filter((_, place) => (mask & (1 << place)) !== 0));
      kept.set(mask, statement);
    }
    return statement.run(present);
  };
};

/** The columns of a table, in their order. */
export const columnsOf = (db: Database.Database, table: string): string[] =>
  db.prepare<[string], string>('SELECT name FROM pragma_table_info(?) ORDER BY cid').pluck().all(table);
