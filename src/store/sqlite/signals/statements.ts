import type Database from 'better-sqlite3';
import { MEAN_SCALE } from '../../signals/judgements.ts';
import { type OpenedBlocks, openedBlocksOf } from './opened-blocks.ts';

/** Prepared statements that a connection keeps; the one used longest ago leaves first. */
const KEPT_STATEMENTS = 200;

/** What a connection keeps from one read to the next: prepared statements by their text, and opened blocks. Rows come as arrays. */
export type Statements = {
  /** Integers as numbers: only where none of them is a time in nanoseconds. */
  raw<R>(sql: string): Database.Statement<unknown[], R>;
  /** Integers as bigints. */
  exact<R>(sql: string): Database.Statement<unknown[], R>;
  /** The first column alone; integers as numbers. */
  pluck<R>(sql: string): Database.Statement<unknown[], R>;
  readonly blocks: OpenedBlocks;
};

/** The mean of a column, also where the sum of its values has no number. It is `NULL` of no values alone. */
export const meanOf = (column: string): string =>
  `CASE WHEN abs(avg(${column})) <= ${Number.MAX_VALUE} OR count(${column}) = 0 THEN avg(${column}) ELSE avg(${column} / ${MEAN_SCALE}.0) * ${MEAN_SCALE}.0 END`;

/**
 * Hides parameters from the planner. SQLite looks into those of a LIMIT, and of what is compared in a join, and plans the statement
 * anew at each binding: 8 to 25 us, which is several times what finding one row takes. It looks into no expression.
 */
const plannedOnce = (sql: string): string => sql.replaceAll('?', '+?');

export const statementsOf = (db: Database.Database): Statements => {
  const kept = new Map<string, Database.Statement>();
  const keep = (mode: string, sql: string, make: (statement: Database.Statement) => Database.Statement) => {
    const key = mode + sql;
    const known = kept.get(key);
    if (known !== undefined) {
      kept.delete(key);
      kept.set(key, known);
      return known;
    }
    const statement = make(db.prepare(plannedOnce(sql)));
    kept.set(key, statement);
    if (kept.size > KEPT_STATEMENTS)
      for (const oldest of kept.keys()) {
        kept.delete(oldest);
        break;
      }
    return statement;
  };
  return {
    raw: <R>(sql: string) => keep('r', sql, (s) => s.raw()) as Database.Statement<unknown[], R>,
    exact: <R>(sql: string) => keep('x', sql, (s) => s.raw().safeIntegers()) as Database.Statement<unknown[], R>,
    pluck: <R>(sql: string) => keep('p', sql, (s) => s.pluck()) as Database.Statement<unknown[], R>,
    blocks: openedBlocksOf(),
  };
};

/** Numbers of the projects that a query reaches; a project without any signal has none. */
export const projectNumbers = (statements: Statements, projects: 'all' | readonly string[]): number[] =>
  projects === 'all'
    ? statements.pluck<number>('SELECT project FROM projects').all()
    : statements
        .pluck<number>('SELECT project FROM projects WHERE name IN (SELECT value FROM json_each(?))')
        .all(JSON.stringify(projects));
