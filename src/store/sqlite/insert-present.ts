import type Database from 'better-sqlite3';

/** Statements that are kept for one table: spans of one instrumentation lack the same columns. Rows beyond them name all columns. */
const MOST_STATEMENTS = 64;
/** Rows of one statement: a long one takes half the time of as many short ones, and of what is left over the next may take some. */
const ROWS_TOGETHER = [32, 8, 1] as const;

/**
 * Rows go in without the columns that are `null` in them. The driver asks of each value what it is, and of `null` last: to bind one takes
 * longer than to bind a number, and half of the columns of a span have none. A column that is not named is `NULL`, so the tables declare no other default.
 * @param columns at most 32, in the order of the rows
 */
const statementsFor = (db: Database.Database, into: string, columns: readonly string[], after: string) => {
  if (columns.length > 32) throw new RangeError(`${into} has ${columns.length} columns, and a mask has 32 bits`);
  const all = 2 ** columns.length - 1;
  return {
    /** @param mask which columns the rows have, a bit each; without one, all */
    prepare: (rows: number, mask = all): Database.Statement => {
      const named = columns.filter((_, place) => (mask & (1 << place)) !== 0);
      const row = `(${named.map(() => '?').join(', ')})`;
      return db.prepare(`INSERT ${into} (${named.join(', ')}) VALUES ${Array(rows).fill(row).join(', ')} ${after}`);
    },
    /** Adds what a row has to `values`. @returns its mask */
    present: (row: readonly unknown[], values: unknown[]): number => {
      let mask = 0;
      for (let place = 0; place < row.length; place++) {
        const value = row[place];
        if (value === null) continue;
        mask |= 1 << place;
        values.push(value);
      }
      return mask;
    },
  };
};

/**
 * Inserts a row at a time.
 * @param columns at most 32, in the order of the rows
 * @param after what follows the values
 */
export const insertPresent = (
  db: Database.Database,
  table: string,
  columns: readonly string[],
  after = '',
): ((row: readonly unknown[]) => Database.RunResult) => {
  const { prepare, present } = statementsFor(db, `INTO ${table}`, columns, after);
  const whole = prepare(1);
  const kept = new Map<number, Database.Statement>();
  return (row) => {
    const values: unknown[] = [];
    const mask = present(row, values);
    let statement = kept.get(mask);
    if (statement === undefined) {
      if (kept.size >= MOST_STATEMENTS) return whole.run(row);
      statement = prepare(1, mask);
      kept.set(mask, statement);
    }
    return statement.run(values);
  };
};

/**
 * Inserts a row at a time, if none with its key is there. One that is there and says the same takes over the column `taken`.
 * @param columns at most 32, in the order of the rows; the first is the primary key, which is not compared and is another in each row
 * @param key columns that are not `NULL`
 * @returns what inserts a row, given the last number that an insert into any table had before the first of these rows. It gives the number of
 * the row that was inserted, or of the one that says the same; `undefined` where one says something else
 */
export const insertOrMeet = (
  db: Database.Database,
  table: string,
  columns: readonly string[],
  key: readonly string[],
  taken: string,
): ((row: readonly unknown[], numberBefore: number) => number | undefined) => {
  const same = columns
    .slice(1)
    .filter((column) => column !== taken && !key.includes(column))
    .map((column) => `${column} IS excluded.${column}`);
  const insert = insertPresent(
    db,
    table,
    columns,
    `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${taken} = excluded.${taken} WHERE ${same.join(' AND ')}`,
  );
  const numberOf = db
    .prepare<unknown[], number>(
      `SELECT ${columns[0]} FROM ${table} WHERE ${key.map((name) => `${name} = ?`).join(' AND ')}`,
    )
    .pluck();
  const places = key.map((name) => columns.indexOf(name));
  return (row, numberBefore) => {
    // To have the number returned costs each row that goes in half as much again. The driver tells the last one of the connection.
    const { changes, lastInsertRowid } = insert(row);
    if (changes === 0) return undefined;
    const number = row[0] as number;
    return lastInsertRowid === number && number !== numberBefore
      ? number
      : numberOf.get(...places.map((place) => row[place]));
  };
};

/** Rows that go into a table together, in an order of their own. None may conflict with another, or with one that is there. */
export type RowsTogether = {
  /** Takes a row; it may be inserted now or by `flush`. */
  add(row: readonly unknown[]): void;
  /** Inserts what was added. Called before the table is read, and before the transaction ends. */
  flush(): void;
  /** Drops what was added and not inserted yet: its transaction or its savepoint was rolled back. */
  forget(): void;
};

/** @param columns at most 32, in the order of the rows */
export const insertTogether = (db: Database.Database, table: string, columns: readonly string[]): RowsTogether => {
  // Where a statement of many rows could be undone by itself, SQLite copies each page that it changes. An error undoes the whole unit anyway.
  const { prepare, present } = statementsFor(db, `OR FAIL INTO ${table}`, columns, '');
  const [most] = ROWS_TOGETHER;
  /** Rows with the same columns. */
  type Group = {
    readonly statements: Map<number, Database.Statement>;
    readonly mask: number | undefined;
    values: unknown[];
    rows: number;
  };
  const groups = new Map<number, Group>();
  const newGroup = (mask?: number): Group => ({ statements: new Map(), mask, values: [], rows: 0 });
  /** Of rows beyond `MOST_STATEMENTS`. */
  const rest = newGroup();

  const run = (group: Group, rows: number, values: unknown[]): void => {
    let statement = group.statements.get(rows);
    if (statement === undefined) {
      statement = prepare(rows, group.mask);
      group.statements.set(rows, statement);
    }
    statement.run(values);
  };
  const flushGroup = (group: Group): void => {
    const { values, rows } = group;
    group.values = [];
    group.rows = 0;
    const each = values.length / rows;
    let from = 0;
    for (const together of ROWS_TOGETHER)
      for (; rows - from >= together; from += together)
        run(
          group,
          together,
          from === 0 && together === rows ? values : values.slice(from * each, (from + together) * each),
        );
  };

  return {
    add: (row) => {
      const values: unknown[] = [];
      const mask = present(row, values);
      let group = groups.get(mask);
      if (group === undefined && groups.size < MOST_STATEMENTS) {
        group = newGroup(mask);
        groups.set(mask, group);
      }
      if (group === undefined) {
        rest.values.push(...row);
        group = rest;
      } else for (const value of values) group.values.push(value);
      group.rows += 1;
      if (group.rows === most) flushGroup(group);
    },
    flush: () => {
      for (const group of groups.values()) if (group.rows > 0) flushGroup(group);
      if (rest.rows > 0) flushGroup(rest);
    },
    forget: () => {
      for (const group of [...groups.values(), rest]) {
        group.values = [];
        group.rows = 0;
      }
    },
  };
};

/** The columns of a table, in their order. */
export const columnsOf = (db: Database.Database, table: string): string[] =>
  db.prepare<[string], string>('SELECT name FROM pragma_table_info(?) ORDER BY cid').pluck().all(table);
