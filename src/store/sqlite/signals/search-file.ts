import type Database from 'better-sqlite3';
import { createFile } from '../connection.ts';
import { SEARCH_APPLICATION_ID } from './schema.ts';

/** Where the full-text index of a data file lies. */
export const searchPath = (path: string): string => `${path}.fts`;

/** Makes an empty side file, in the place of any that was there. */
export const createSearchFile = (path: string, prepare: (db: Database.Database) => void): void =>
  createFile(path, SEARCH_APPLICATION_ID, prepare);
