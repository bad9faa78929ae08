import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { openBody, readIndex } from '../../../src/store/sqlite/signals/payload-block.ts';

/** Reads one state of the file: the store may make blocks anew meanwhile. */
const reading = <T>(path: string, read: (db: Database.Database) => T): T => {
  const db = new Database(path, { readonly: true });
  try {
    return db.transaction(read)(db);
  } finally {
    db.close();
  }
};

/** How payloads stand in a data file: spans with a row of their own, and the spans of each block. */
export const placesIn = (path: string): { alone: number[]; blocks: number[][] } =>
  reading(path, (db) => ({
    alone: db.prepare<[], number>('SELECT span FROM span_payloads ORDER BY span').pluck().all(),
    blocks: db
      .prepare<[], [number, Buffer]>('SELECT block, spans FROM payload_blocks ORDER BY block')
      .raw()
      .all()
      .map(([block, spans]) => readIndex(block, spans).map(({ span }) => span)),
  }));

/** What the blocks of a data file hold, as bytes in Latin-1: a search of the file itself does not see it. */
export const openedBlocks = (path: string): string =>
  reading(path, (db) =>
    db
      .prepare<[], [number, Buffer, number, number]>('SELECT block, spans, first_part, parts FROM payload_blocks')
      .raw()
      .all()
      .map(([block, spans, first, parts]) => {
        const pieces = db
          .prepare<[number, number], Buffer>(
            'SELECT bytes FROM payload_parts WHERE part >= ? AND part < ? ORDER BY part',
          )
          .pluck()
          .all(first, first + parts);
        return openBody(Buffer.concat(pieces), readIndex(block, spans)).toString('latin1');
      })
      .join(''),
  );

/** The compressed bytes that a data file holds now. */
export const partsIn = (path: string): Buffer[] =>
  reading(path, (db) => db.prepare<[], Buffer>('SELECT bytes FROM payload_parts').pluck().all());

/** Of parts that were stored once, bytes that are in no part now and yet in a file of the folder. */
export const remainsOf = (folder: string, path: string, stored: readonly Buffer[]): string[] => {
  const LONG_ENOUGH = 24;
  const now = Buffer.concat(partsIn(path));
  const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
  const remains: string[] = [];
  for (const part of stored)
    for (let from = 0; from + LONG_ENOUGH <= part.length; from += 4 * LONG_ENOUGH) {
      const bytes = part.subarray(from, from + LONG_ENOUGH);
      if (now.includes(bytes)) continue;
      for (const [name, content] of files) if (content.includes(bytes)) remains.push(name);
    }
  return remains;
};
