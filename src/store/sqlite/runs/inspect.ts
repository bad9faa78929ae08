import { inspectedBesideOthers, inspectFile, knock, openForReading, openForWriting } from '../connection.ts';
import { driverCode, describeFault } from '../driver-error.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import { transactionsOf } from '../transaction.ts';
import type { MoveNote } from '../../runs/moving.ts';
import type { RunQueries } from '../../runs/run-queries.ts';
import { type Queries, queriesOf } from './queries.ts';
import { movingOf } from './move.ts';
import { RUNS_FILE } from './schema.ts';

/** What `doctor` may ask of a runs file. */
export type RunReads = Pick<
  RunQueries,
  | 'counts'
  | 'stuckRuns'
  | 'stalledLimits'
  | 'listKeptActors'
  | 'listRuns'
  | 'listDefinitions'
  | 'definitionVersions'
  | 'listWorkers'
>;

export type RunsInspection = {
  readonly schemaVersion: number;
  /** What it says of a move of its runs. */
  readonly moved?: MoveNote | undefined;
  /** Absent for a file of an earlier release: its tables lack what is asked for. */
  readonly reads?: RunReads;
  readonly close: () => void;
};

const CACHE_MIB = 16;

/**
 * Looks into a runs file from another process, beside a service that may run on it; changes nothing in it.
 * @param mayWrite whether SQLite may clean up its side files; false opens the file read-only
 * @throws FileRefused when the file is foreign, damaged or newer; an error of the driver when it cannot be opened
 */
export const inspectRuns = (path: string, mayWrite: boolean): RunsInspection => {
  knock(path, RUNS_FILE);
  const { schemaVersion } = inspectFile(path, RUNS_FILE, inspectedBesideOthers);
  if (schemaVersion < RUNS_FILE.schemaVersion) return { schemaVersion, close: () => {} };
  const db = mayWrite ? openForWriting(path, CACHE_MIB, RUNS_FILE) : openForReading(path, CACHE_MIB);
  db.pragma('query_only = ON');
  const queries = queriesOf(db);
  const transactions = transactionsOf(db);
  const read = async <T>(ask: (from: Queries) => T): Promise<T> => {
    try {
      return transactions.read(() => ask(queries));
    } catch (error) {
      if (driverCode(error) === undefined) throw error;
      throw new StoreUnavailable(describeFault(path, error, RUNS_FILE.store), { cause: error });
    }
  };
  return {
    schemaVersion,
    moved: transactions.read(() => movingOf(db).readNote()),
    reads: {
      counts: () => read((from) => from.counts()),
      stuckRuns: (limit) => read((from) => from.stuckRuns(limit)),
      stalledLimits: (movedBefore, limit) => read((from) => from.stalledLimits(movedBefore, limit)),
      listKeptActors: (query) => read((from) => from.listKeptActors(query)),
      listRuns: (query) => read((from) => from.listRuns(query)),
      listDefinitions: (query) => read((from) => from.listDefinitions(query)),
      definitionVersions: (owner, id, reach) => read((from) => from.definitionVersions(owner, id, reach)),
      listWorkers: (query) => read((from) => from.listWorkers(query)),
    },
    close: () => db.close(),
  };
};
