import type Database from 'better-sqlite3';
import { UPDATE_LIMIT } from './limits.ts';
import { DOCUMENTS_BEFORE } from './lookups.ts';
import {
  type Column,
  type Columns,
  type EncodedChanges,
  type Operation,
  operations,
} from '../../runs/rows/encode-changes.ts';

/** A row of the store is not as this process left it: another process writes to the file, or memory was wrong. */
export class RowMoved extends Error {}

/** Tables whose rows go with their run, the run itself last. */
const TABLES_OF_A_RUN = [
  'attempt',
  'journal',
  'checkpoint',
  'document',
  'replaced_document',
  'output',
  'timer',
  'wait',
  'outbox',
  'event_seen',
  'run',
];

const insertInto = (table: string, columns: number, how = 'INSERT'): string =>
  `${how} INTO ${table} VALUES (${Array.from({ length: columns }, () => '?').join(', ')})`;

/**
 * Writes what a group of turns decided. The caller holds the transaction: all of it is committed, or nothing.
 * @returns a function that throws `RowMoved` when a run is not at the version that its change starts from
 */
export const changesWriterOf = (db: Database.Database): ((changes: EncodedChanges) => void) => {
  const plain = (sql: string): ((row: Columns) => void) => {
    const statement = db.prepare<Column[]>(sql);
    return (row) => {
      statement.run(...row);
    };
  };
  /** An update that names the version it starts from: it changes one row, or the commit is off. */
  const versioned = (what: string, sql: string): ((row: Columns) => void) => {
    const statement = db.prepare<Column[]>(sql);
    return (row) => {
      if (statement.run(...row).changes !== 1)
        throw new RowMoved(`${what} ${row.at(-2)} is not at version ${row.at(-1)} in the file`);
    };
  };
  const several = (...sqls: string[]): ((row: Columns) => void) => {
    const writes = sqls.map(plain);
    return (row) => {
      for (const write of writes) write(row);
    };
  };
  const upsert = (table: string, columns: number): ((row: Columns) => void) =>
    plain(insertInto(table, columns, 'INSERT OR REPLACE'));

  const setDocument = upsert('document', 4);
  /** A place is its run's: another that came by the same number would wait indefinitely. */
  const placeOfRun = db.prepare<Column[]>(
    `${insertInto('limit_place', 8)} ON CONFLICT (ord) DO UPDATE SET low = excluded.low, step_id = excluded.step_id,
       concurrency_id = excluded.concurrency_id, rate_id = excluded.rate_id, line_id = excluded.line_id, since = excluded.since
       WHERE run_id = excluded.run_id`,
  );
  const setPlace = (row: Columns): void => {
    if (placeOfRun.run(...row).changes !== 1) throw new RowMoved(`place ${row[0]} is that of another run in the file`);
  };
  const keepReplaced = plain(
    `INSERT OR IGNORE INTO replaced_document SELECT run_id, name, coalesce(entry, -1), body FROM document
       WHERE run_id = ? AND name = ? AND coalesce(entry, -1) < ?`,
  );

  const writers: Record<Operation, (row: Columns) => void> = {
    insertDefinition: plain(insertInto('definition', 6)),
    setWorker: upsert('worker', 9),
    seeWorker: plain('UPDATE worker SET last_seen_at = ? WHERE worker_id = ?'),
    forgetWorker: plain('DELETE FROM worker WHERE worker_id = ? AND last_seen_at < ?'),
    insertRun: plain(insertInto('run', 30)),
    moveRun: versioned(
      'run',
      `UPDATE run SET status = ?, cursor = ?, snapshot = ?, version = ?, updated_at = ?, descendants = ?
         WHERE run_id = ? AND version = ?`,
    ),
    turnRun: versioned(
      'run',
      `UPDATE run SET status = ?, cursor = ?, snapshot = ?, version = ?, updated_at = ?, ended_at = ?, queue_order = ?,
         fault = ?, descendants = ?, held = ?, places = ? WHERE run_id = ? AND version = ?`,
    ),
    setTreeSize: upsert('tree', 2),
    insertAttempt: plain(insertInto('attempt', 21)),
    updateAttempt: plain(
      `UPDATE attempt SET state = ?, body_ran = ?, expires_at = ?, started_at = ?, ended_at = ?, timeout_at = ?, error = ?,
         usage = ?, cost = ?, details = ?, machine_version = ?, version = ?, heartbeat_at = ? WHERE lease_id = ?`,
    ),
    insertJournal: plain(insertInto('journal', 5)),
    insertCheckpoint: upsert('checkpoint', 3),
    takeInput: plain(
      `INSERT INTO document SELECT ?, name, body, NULL FROM document WHERE run_id = ? AND name = 'input'`,
    ),
    takeDocuments: plain(`INSERT INTO document SELECT ?, name, body, 0 FROM (${DOCUMENTS_BEFORE})`),
    takeOutput: plain(
      `INSERT INTO output SELECT ?, step_id, visit, body FROM output WHERE run_id = ? AND step_id = ? AND visit <= ?
         ORDER BY visit DESC LIMIT 1`,
    ),
    setDocument: (row) => {
      const [runId = null, name = null, , entry = null] = row;
      if (entry !== null) keepReplaced([runId, name, entry]);
      setDocument(row);
    },
    setOutput: upsert('output', 4),
    clearTimer: plain('DELETE FROM timer WHERE run_id = ? AND name = ?'),
    removeActor: several(
      'DELETE FROM timer WHERE run_id = ? AND name = ?',
      'DELETE FROM kept_actor WHERE id = ? AND type = ?',
    ),
    insertActor: plain(insertInto('kept_actor', 10)),
    moveActor: versioned(
      'actor',
      `UPDATE kept_actor SET snapshot = ?, status = ?, version = ?, updated_at = ?, fault = ?
         WHERE type = ? AND id = ? AND version = ?`,
    ),
    changeActor: versioned(
      'actor',
      `UPDATE kept_actor SET document = ?, snapshot = ?, status = ?, version = ?, updated_at = ?, fault = ?
         WHERE type = ? AND id = ? AND version = ?`,
    ),
    setTimer: upsert('timer', 7),
    closeWait: plain('DELETE FROM wait WHERE run_id = ?'),
    openWait: upsert('wait', 8),
    goLimit: plain('DELETE FROM limit_key WHERE limit_id = ?'),
    insertLimit: plain(insertInto('limit_key', 21)),
    updateLimit: plain(UPDATE_LIMIT),
    goLine: plain('DELETE FROM limit_line WHERE line_id = ?'),
    setLine: upsert('limit_line', 5),
    goPlace: plain('DELETE FROM limit_place WHERE ord = ?'),
    setPlace,
    park: plain(insertInto('parked', 7)),
    unpark: plain('DELETE FROM parked WHERE ord = ?'),
    seeEvent: upsert('event_seen', 4),
    insertOutbox: plain(insertInto('outbox', 3)),
    deliverOutbox: plain('DELETE FROM outbox WHERE no <= ?'),
    erase: several(
      'DELETE FROM tree WHERE trace_id = (SELECT trace_id FROM run WHERE run_id = ? AND parent_run_id IS NULL)',
      ...TABLES_OF_A_RUN.map((table) => `DELETE FROM ${table} WHERE run_id = ?`),
    ),
    restampParked: several(
      'UPDATE parked SET at = ? WHERE at > ?',
      'UPDATE event_seen SET at = ? WHERE run_id IS NULL AND at > ?',
    ),
    unparkBefore: several('DELETE FROM parked WHERE at < ?', 'DELETE FROM event_seen WHERE run_id IS NULL AND at < ?'),
  };

  return (changes) => {
    for (const [operation, rows] of changes) {
      const write = writers[operations[operation] as Operation];
      for (const row of rows) write(row);
    }
  };
};
