import type Database from 'better-sqlite3';
import type { Page } from '../../signals/query.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import {
  type FileFacts,
  inspectedBesideOthers,
  inspectFile,
  knock,
  openForReading,
  openForWriting,
} from '../connection.ts';
import { decodeSpan } from '../../signals/rows/decode.ts';
import { decodeProject, decodeScore } from '../../signals/rows/decode-records.ts';
import { describeFault, driverCode } from '../driver-error.ts';
import type { ProbeOutcome } from '../../signals/probe.ts';
import { probeSpan } from './probe.ts';
import { listProjects, listScores } from './read-records.ts';
import { listSpans } from './read-spans.ts';
import type { RowPage } from './read-traces.ts';
import { SIGNALS_FILE } from './schema.ts';
import { type Statements, statementsOf } from './statements.ts';
import { transactionsOf } from '../transaction.ts';
import type { Row } from '../../signals/rows/columns.ts';

/** What `doctor` may ask of a data file. */
export type SignalReads = Pick<SignalStore, 'listProjects' | 'listSpans' | 'listScores'>;

export type SignalsInspection = {
  readonly facts: FileFacts;
  readonly reads: SignalReads;
  /** Only of a visit that may write. */
  readonly probe?: () => ProbeOutcome;
  readonly close: () => void;
};

const CACHE_MIB = 16;

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
        throw new StoreUnavailable(describeFault(path, error, SIGNALS_FILE.store), { cause: error });
      }
    };
  return {
    listProjects: read(listProjects, decodeProject),
    listSpans: read(listSpans, (row, query) => decodeSpan(row, query.payloads)),
    listScores: read(listScores, decodeScore),
  };
};

/**
 * Looks into a data file from another process, beside a service that may run on it: takes no lock of the service, changes no
 * schema, makes no file. Statements run on the calling thread.
 * @param mayWrite false opens the file read-only; SQLite then may leave its empty side files (`-wal`, `-shm`) behind
 * @throws FileRefused when the file is foreign, damaged or newer; an error of the driver when it cannot be opened
 */
export const inspectSignals = (path: string, mayWrite: boolean): SignalsInspection => {
  knock(path, SIGNALS_FILE);
  const facts = inspectFile(path, SIGNALS_FILE, inspectedBesideOthers);
  const db = mayWrite ? openForWriting(path, CACHE_MIB, SIGNALS_FILE) : openForReading(path, CACHE_MIB);
  return {
    facts,
    reads: readsOf(path, db),
    ...(mayWrite ? { probe: () => probeSpan(db) } : {}),
    close: () => db.close(),
  };
};
