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

/**
 * How the index gathers words: a segment of so many bytes in memory, and so many segments before they are merged. By default 1 MiB, whose
 * words do not stay in the caches of a processor while they are sorted, and 4, which merges them more often. Text with many different words takes
 * a seventh less of all threads so, and a search half a millisecond longer.
 * @see SQLite FTS5 extension, "The 'automerge' Configuration Option"
 */
const GATHERING = { hashsize: 256 * 1024, automerge: 8 };

/** Makes an empty side file of a data file, in the place of any that was there. */
export const createSearchFile = (file: string, storeNumber: number): void =>
  createFile(file, SEARCH_APPLICATION_ID, (db) => {
    db.exec(searchSchema);
    for (const [option, value] of Object.entries(GATHERING))
      db.exec(`INSERT INTO span_search (span_search, rank) VALUES ('${option}', ${value})`);
    db.prepare('INSERT INTO progress VALUES (1, ?, 0, 0, 0)').run(storeNumber);
  });

/** Lets a reading connection ask the index of its file: `search.span_search`, and its words in `temp.search_words`. */
export const attachSearch = (db: Database.Database, path: string): void => {
  db.prepare('ATTACH ? AS search').run(searchPath(path));
  db.exec('CREATE VIRTUAL TABLE temp.search_words USING fts5vocab (search, span_search, instance)');
};
