import type { UnixMs } from '../../../model/run.ts';
import type { MoveNote } from '../../runs/moving.ts';
import type { ShardOwner } from '../../runs/ownership.ts';
import type { RunQueries } from '../../runs/run-queries.ts';
import { connectDatabase } from '../connection.ts';
import { readVersion } from '../migrate.ts';
import { VISITOR } from '../application.ts';
import { countServices } from '../services.ts';
import { ownershipOver } from './ownership.ts';
import { runQueries } from './queries.ts';
import { readNote } from './move-note.ts';
import { RUNS_SCHEMA } from './schema.ts';
import { readShards } from './shards.ts';

export type RunsDatabaseInspection = {
  /** 0 where the tables are not made yet. */
  readonly schemaVersion: number;
  /** Services that have it open. */
  readonly services: number;
  /** Absent where the tables are not those of this release. */
  readonly found?: {
    readonly reads: RunQueries;
    /** Into how many shards they are cut. */
    readonly shards: number;
    readonly owners: readonly ShardOwner[];
    /** What it says of a move of its runs. */
    readonly moved: MoveNote | undefined;
    /** What the clock of the database showed, and that of this machine half of the way there and back before. */
    readonly databaseAt: UnixMs;
    readonly hereAt: UnixMs;
  };
  readonly close: () => Promise<void>;
};

const CONNECTIONS = 2;

/**
 * Looks into the durable runs of a database, beside services that may use it. Makes and changes no table.
 * @throws StoreUnavailable when the database is away, refuses, or belongs to another program
 */
export const inspectRunsDatabase = async (url: string): Promise<RunsDatabaseInspection> => {
  const database = connectDatabase({ url, store: RUNS_SCHEMA.store, connections: CONNECTIONS, application: VISITOR });
  const { close } = database;
  try {
    const schemaVersion = await readVersion(database.ask, RUNS_SCHEMA);
    const services = await countServices(database.ask);
    if (schemaVersion !== RUNS_SCHEMA.steps.at(-1)?.version) return { schemaVersion, services, close };
    const shards = await readShards(database.ask);
    const ownership = ownershipOver(database, shards);
    const owners = await ownership.owners();
    const moved = await readNote(database.ask);
    const askedAt = Date.now();
    const databaseAt = await ownership.now();
    const hereAt = (askedAt + Date.now()) / 2;
    return {
      schemaVersion,
      services,
      found: { reads: runQueries(database.ask), shards, owners, moved, databaseAt, hereAt },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
