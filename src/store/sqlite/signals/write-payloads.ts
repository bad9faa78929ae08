import type Database from 'better-sqlite3';
import type { Row } from '../../signals/rows/columns.ts';
import { columnsOf, insertTogether } from '../insert-present.ts';
import {
  type BlockEntry,
  DamagedPayloads,
  packBlock,
  packIndex,
  type PayloadRecord,
  recordOf,
} from './payload-block.ts';
import type { OpenedBlock } from './opened-blocks.ts';
import { type PayloadReader, payloadReaderOf } from './read-payloads.ts';
import { statementsOf } from './statements.ts';

/**
 * What a block holds before it is compressed, in bytes, but for a single larger span. A block of a quarter keeps a seventh more; one of
 * twice as much keeps 5 % less, and a read of one span takes 0.1 ms longer.
 */
const BLOCK_BYTES = 64 * 1024;
/** Payloads of one commit that are together smaller wait in rows of their own for those of the next. */
const WORTH_A_BLOCK_BYTES = 16 * 1024;
/** Eight of them, with what SQLite adds to each, fill a page. */
const PART_BYTES = 2_020;

/** Whether the columns of `span_payloads` hold an input or an output. */
export const isWithText = (row: Row): boolean => row[2] !== null || row[4] !== null;

/** Writes payloads inside the open transaction of its connection. */
export type PayloadWriter = {
  /** Takes the payloads of a span, whose number is higher than all before. They are stored by `finish`. */
  add(row: Row): void;
  /** Whether these very columns are kept for a span, stored or on the way there. Of damaged ones nobody can tell: they are not. */
  holds(span: number, row: Row): boolean;
  /** Whether a span has an input or an output, stored or on the way there. */
  hasText(span: number): boolean;
  /** Marks the payloads of a span, which `finish` removes so that no byte of them is left. */
  drop(span: number): void;
  /** Runs `work`; when it fails, what it added and dropped is as before. */
  unit<T>(work: () => T): T;
  /** Brings the file up to what was added and dropped. Called once, before the commit. */
  finish(): void;
  /** Forgets what was added and dropped, after a rollback. */
  abandon(): void;
};

/** Where blocks stand. */
export const blockTablesOf = (db: Database.Database) => {
  const newParts = insertTogether(db, 'payload_parts', columnsOf(db, 'payload_parts'));
  const deleteParts = db.prepare('DELETE FROM payload_parts WHERE part >= ? AND part < ?');
  const insertBlock = db.prepare('INSERT INTO payload_blocks VALUES (?, ?, ?, ?)');
  const deleteBlock = db.prepare('DELETE FROM payload_blocks WHERE block = ?');
  return {
    /** @param records in the order of their spans */
    insert: (block: number, records: readonly PayloadRecord[], firstPart: number): void => {
      const { index, body } = packBlock(block, records);
      let part = firstPart;
      for (let from = 0; from < body.length; from += PART_BYTES)
        newParts.add([part++, body.subarray(from, from + PART_BYTES)]);
      newParts.flush();
      insertBlock.run(block, index, firstPart, part - firstPart);
    },
    /** A block whose bytes are gone: who asks for payloads of its spans learns that they are damaged. */
    insertUnreadable: (block: number, entries: readonly BlockEntry[]): void =>
      void insertBlock.run(block, packIndex(block, entries), 0, 0),
    remove: ({ block, firstPart, parts }: Pick<OpenedBlock, 'block' | 'firstPart' | 'parts'>): void => {
      deleteParts.run(firstPart, firstPart + parts);
      deleteBlock.run(block);
    },
  };
};

export const payloadWriterOf = (db: Database.Database): PayloadWriter => {
  const statements = statementsOf(db);
  const insertRow = db.prepare(`INSERT INTO span_payloads VALUES (${Array(11).fill('?').join(', ')})`);
  const deleteRow = db.prepare('DELETE FROM span_payloads WHERE span = ?');
  const rowsBetween = db
    .prepare<[number, number], Row>('SELECT * FROM span_payloads WHERE span BETWEEN ? AND ? ORDER BY span')
    .raw();
  const deleteRowsBetween = db.prepare('DELETE FROM span_payloads WHERE span BETWEEN ? AND ?');
  // Those of a probe are below zero.
  const lastPart = db.prepare<[], number | null>('SELECT max(part) FROM payload_parts WHERE part > 0').pluck();
  const tables = blockTablesOf(db);

  let added = new Map<number, Row>();
  let dropped = new Set<number>();
  /** The rows that this writer left by themselves since its last block: all that the file has of their numbers. */
  let alone: { first: number; last: number; bytes: number } | undefined;
  /** Of the file as it was before the transaction changed payloads in it. */
  let reader: PayloadReader | undefined;
  const read = (): PayloadReader => {
    reader ??= payloadReaderOf(statements);
    return reader;
  };

  const writeBlock = (block: number, records: readonly PayloadRecord[]): void =>
    tables.insert(block, records, (lastPart.get() ?? 0) + 1);

  /** Blocks of about the same size; a large span has one to itself. */
  const writeBlocks = (records: readonly PayloadRecord[]): void => {
    const bytes = records.reduce((sum, record) => sum + Math.min(record.bytes, BLOCK_BYTES), 0);
    const each = bytes / Math.max(1, Math.round(bytes / BLOCK_BYTES));
    let next: PayloadRecord[] = [];
    let place = 0;
    let before = 0;
    const write = (): void => {
      if (next[0] !== undefined) writeBlock(next[0].span, next);
      next = [];
    };
    for (const record of records) {
      const counted = Math.min(record.bytes, BLOCK_BYTES);
      // A span stands in the block that holds its middle.
      const at = Math.floor((before + counted / 2) / each);
      if (at !== place || counted === BLOCK_BYTES || (next[0]?.bytes ?? 0) >= BLOCK_BYTES) write();
      next.push(record);
      place = at;
      before += counted;
    }
    write();
  };

  /** Makes a block anew without what was dropped. Of one that cannot be opened no byte stays: they may be of what has to go. */
  const removeFrom = (block: OpenedBlock): void => {
    const isLeft = ({ span }: { readonly span: number }): boolean => !dropped.has(span);
    let rest: PayloadRecord[] | undefined;
    try {
      rest = read().records(block).filter(isLeft);
    } catch (error) {
      if (!(error instanceof DamagedPayloads)) throw error;
    }
    tables.remove(block);
    if (rest === undefined) tables.insertUnreadable(block.block, block.entries.filter(isLeft));
    else writeBlock(block.block, rest);
  };

  const removeDropped = (): void => {
    let block: OpenedBlock | undefined;
    const spans = [...dropped].toSorted((a, b) => a - b);
    for (let i = 0; i < spans.length; i++) {
      const span = spans[i] as number;
      if (added.delete(span) || deleteRow.run(span).changes > 0) continue;
      block = read().blockOf(span);
      if (block === undefined) continue;
      const last = block.entries.at(-1)?.span ?? span;
      while ((spans[i + 1] ?? Number.POSITIVE_INFINITY) <= last) i++;
      if (block.entries.every((entry) => dropped.has(entry.span))) tables.remove(block);
      else if (block.entries.some((entry) => dropped.has(entry.span))) removeFrom(block);
    }
  };

  const storeAdded = (): void => {
    const records = [...added.values()].map(recordOf);
    const first = records[0]?.span;
    const last = records.at(-1)?.span;
    if (first === undefined || last === undefined) return;
    const bytes = records.reduce((sum, record) => sum + record.bytes, 0);
    if (bytes < WORTH_A_BLOCK_BYTES && bytes + (alone?.bytes ?? 0) < BLOCK_BYTES) {
      for (const row of added.values()) insertRow.run(row);
      alone = { first: alone?.first ?? first, last, bytes: bytes + (alone?.bytes ?? 0) };
      return;
    }
    if (alone !== undefined) {
      records.unshift(...rowsBetween.all(alone.first, alone.last).map(recordOf));
      deleteRowsBetween.run(alone.first, alone.last);
      alone = undefined;
    }
    writeBlocks(records);
  };

  const forget = (): void => {
    added = new Map();
    dropped = new Set();
    reader = undefined;
    statements.blocks.clear();
  };

  return {
    add: (row) => {
      added.set(row[0] as number, row);
    },
    holds: (span, [, ...columns]) => {
      try {
        const kept = added.get(span)?.slice(1) ?? read().find(span);
        return kept?.every((column, at) => column === columns[at]) === true;
      } catch (error) {
        if (error instanceof DamagedPayloads) return false;
        throw error;
      }
    },
    hasText: (span) => {
      const row = added.get(span);
      return row === undefined ? read().hasText(span) : isWithText(row);
    },
    drop: (span) => {
      dropped.add(span);
    },
    unit: (work) => {
      const [addedBefore, droppedBefore] = [added.size, dropped.size];
      try {
        return work();
      } catch (error) {
        for (const span of [...added.keys()].slice(addedBefore)) added.delete(span);
        for (const span of [...dropped].slice(droppedBefore)) dropped.delete(span);
        throw error;
      }
    },
    finish: () => {
      removeDropped();
      storeAdded();
      forget();
    },
    abandon: () => {
      forget();
      alone = undefined;
    },
  };
};
