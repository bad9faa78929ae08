import type Database from 'better-sqlite3';
import type { Page } from '../../signals/query.ts';
import { type SignalStore, StoreUnavailable } from '../../signals/signal-store.ts';
import { type FileFacts, inspectFile, openForReading, openForWriting } from './connection.ts';
import { decodeSpan } from './decode.ts';
import { decodeProject, decodeScore } from './decode-records.ts';
import { describeFault, driverCode } from './driver-error.ts';
import { isLocked, type ProbeOutcome, probeSpan } from './probe.ts';
import { listProjects, listScores } from './read-records.ts';
import { listSpans } from './read-spans.ts';
import type { RowPage } from './read-traces.ts';
import { type Statements, statementsOf } from './statements.ts';
import { transactionsOf } from './transaction.ts';
import type { Row } from './wire.ts';

/** What a visitor may ask of a data file. */
export type SignalReads = Pick<SignalStore, 'listProjects' | 'listSpans' | 'listScores'>;

export type SignalVisit = {
  readonly facts: FileFacts;
  readonly reads: SignalReads;
  /** Only of a visit that may write. */
  readonly probe?: () => ProbeOutcome;
  readonly close: () => void;
};

const CACHE_MIB = 16;
/** How long a file may be closed to everybody before the visitor goes away. */
const KNOCK_MS = 1_000;

const readsOf = (path: string, db: Database.Database): SignalReads => {
  const statements = statementsOf(db);
  const transactions = transactionsOf(db);
  const read =
    <Q, T>(list: (statements: Statements, query: Q) => RowPage, decode: (row: Row, query: Q) => T) =>
    async (query: Q): Promise<Page<T>> => {
      try {
        const [rows, next] = transactions.read(() => list(statements, query));
        const items = rows.map((row) => decode(row, query));
        return next === undefined ? { items } : { items, next };
      } catch (error) {
        if (driverCode(error) === undefined) throw error;
        throw new StoreUnavailable(describeFault(path, error), { cause: error });
      }
    };
  return {
    listProjects: read(listProjects, decodeProject),
    listSpans: read(listSpans, (row, query) => decodeSpan(row, query.payloads)),
    listScores: read(listScores, decodeScore),
  };
};

/**
 * Asks a file for nothing but an answer.
 * @throws an error of the driver when another process keeps everybody out; any other fault is left for the inspection to name
 */
export const knock = (path: string): void => {
  let db: Database.Database | undefined;
  try {
    db = openForReading(path, 1);
    db.pragma(`busy_timeout = ${KNOCK_MS}`);
    db.prepare('SELECT 1 FROM schema_version').get();
  } catch (error) {
    if (isLocked(driverCode(error))) throw error;
  } finally {
    db?.close();
  }
};

/**
 * Looks into a data file from another process, beside a service that may run on it: takes no lock of the service, changes no
 * schema, makes no file. Statements run on the calling thread.
 * @param mayWrite false opens the file read-only; SQLite then may leave its empty side files (`-wal`, `-shm`) behind
 * @throws FileRefused when the file is foreign, damaged or newer; an error of the driver when it cannot be opened
 */
export const visitSignals = (path: string, mayWrite: boolean): SignalVisit => {
  knock(path);
  const facts = inspectFile(path);
  const db = mayWrite ? openForWriting(path, CACHE_MIB) : openForReading(path, CACHE_MIB);
  return {
    facts,
    reads: readsOf(path, db),
    ...(mayWrite ? { probe: () => probeSpan(db) } : {}),
    close: () => db.close(),
  };
};
