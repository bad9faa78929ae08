import { existsSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { createFile, openForReading } from '../connection.ts';
import { driverCode } from '../driver-error.ts';
import { SEARCH_APPLICATION_ID, searchSchema } from './schema.ts';

/** Where the full-text index of a data file lies. */
export const searchPath = (path: string): string => `${path}.fts`;

/** How far an index has followed its data file. */
export type SearchProgress = {
  /** Every span with text up to this number is indexed, and none beyond it. */
  readonly highWater: number;
  readonly erasedSeq: number;
  /** True when words that were struck out may still lie in the file. */
  readonly isPurgeDue: boolean;
};

export const progressOf = (db: Database.Database): SearchProgress & { readonly store: number } => {
  const [store, highWater, erasedSeq, purgeDue] = db
    .prepare<[], [number, number, number, number]>('SELECT store, high_water, erased_seq, purge_due FROM progress')
    .raw()
    .get() ?? [0, 0, 0, 0];
  return { store, highWater, erasedSeq, isPurgeDue: purgeDue === 1 };
};

/** The progress of a side file; none when it cannot be read or belongs to another data file, so that it has to be made anew. */
export const readProgress = (file: string, storeNumber: number): SearchProgress | undefined => {
  if (!existsSync(file)) return undefined;
  let db: Database.Database | undefined;
  try {
    db = openForReading(file, 1);
    const progress = progressOf(db);
    db.prepare('SELECT rowid FROM span_search WHERE span_search MATCH ? LIMIT 1').get('"a"');
    return progress.store === storeNumber ? progress : undefined;
  } catch (error) {
    if (driverCode(error) === undefined) throw error;
    return undefined;
  } finally {
    db?.close();
  }
};

/** Makes an empty side file of a data file, in the place of any that was there. */
export const createSearchFile = (file: string, storeNumber: number): void =>
  createFile(file, SEARCH_APPLICATION_ID, (db) => {
    db.exec(searchSchema);
    db.prepare('INSERT INTO progress VALUES (1, ?, 0, 0, 0)').run(storeNumber);
  });

/** Lets a reading connection ask the index of its file: `search.span_search`, and its words in `temp.search_words`. */
export const attachSearch = (db: Database.Database, path: string): void => {
  db.prepare('ATTACH ? AS search').run(searchPath(path));
  db.exec('CREATE VIRTUAL TABLE temp.search_words USING fts5vocab (search, span_search, instance)');
};
