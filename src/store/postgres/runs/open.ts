import { setTimeout as sleep } from 'node:timers/promises';
import type { RunMoving } from '../../runs/moving.ts';
import type { Ownership } from '../../runs/ownership.ts';
import type { RunQueries } from '../../runs/run-queries.ts';
import type { RunStore } from '../../runs/run-store.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import { connectDatabase, type Database, type DatabaseOptions } from '../connection.ts';
import { migrate } from '../migrate.ts';
import { commitsOf, type ShardEpoch } from './commits.ts';
import { lookupsOf } from './lookups.ts';
import { movingOver } from './move.ts';
import { refuseMoved } from './move-note.ts';
import { ownershipOver } from './ownership.ts';
import { runQueries } from './queries.ts';
import { RUNS_SCHEMA } from './schema.ts';
import { findShard, growShards, readShards, refuseUngrown, type ShardedKind, shardOfProject } from './shards.ts';

export type PostgresRunsOptions = Pick<DatabaseOptions, 'url' | 'statementMs'> & {
  /** Opens runs also where they were moved away, or are being moved here: for who moves them. */
  readonly moves?: true;
  /** Into how many shards they are to be cut; as they are, where it is absent. */
  readonly shards?: number;
};

/** For what people ask. */
const CONNECTIONS = 6;
/** A kernel is answered one thing after the other. */
const KERNEL_CONNECTIONS = 1;
const MIGRATION_MS = 3_600_000;
/** How long a process that hangs between two statements of a commit or a renewal can keep the row of the shard locked, in milliseconds. */
const HANGING_MS = 3_000;
/** Longest time of a statement of a takeover, in milliseconds. One that was given up would be given up by each service in turn. */
const RESUMING_MS = 120_000;
/** For owning: what people ask is not waited for, and what hangs is tried again on another connection before the ownership has lapsed. */
const OWNERSHIP = { connections: 2, statementMs: 3_000, idleInTransactionMs: HANGING_MS } as const;

/** The runs of a database, which several services may have open. */
export type PostgresRuns = {
  /** Into how many shards the runs are cut. */
  readonly shards: number;
  readonly shardOfProject: (project: string) => number;
  /** The shard in which something is; nothing where there is no such thing. */
  readonly findShard: (kind: ShardedKind, id: string) => Promise<number | undefined>;
  /** What is asked of all runs. */
  readonly queries: RunQueries;
  /** What a kernel asks, of a shard or of all, also where another service owns them. */
  readonly load: (shard: number | undefined) => RunStore['load'];
  readonly ownership: Ownership;
  /**
   * The store of the kernel that owns a shard, on a connection of its own.
   * @param fenced called once, when another took the shard over: nothing that this store is given is written from then on
   */
  readonly own: (owned: ShardEpoch, fenced?: () => void) => RunStore;
  /** The rows of a shard that this opener owns. */
  readonly moving: (owned: ShardEpoch) => RunMoving;
  /** One trivial read. */
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** A service that died owns its shards for so long still; one that lives renews them. */
const FREE_WITHIN_MS = 15_000;
const LOOK_MS = 500;

/** Cuts the runs into so many shards; waits for what a service that died still owns. @throws StoreUnavailable where they cannot be cut so */
const growOnceFree = async (database: Database, shards: number): Promise<void> => {
  for (const until = performance.now() + FREE_WITHIN_MS; ; await sleep(LOOK_MS)) {
    const ungrown = await growShards(database, shards);
    if (ungrown === undefined) return;
    if (!ungrown.mayWait || performance.now() >= until) refuseUngrown(ungrown, shards);
  }
};

/** The same methods, refused once the store is closed. */
const openOnly = <T extends object>(methods: T, isClosed: () => boolean): T =>
  Object.fromEntries(
    Object.entries(methods).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
      name,
      (...args: unknown[]) =>
        isClosed() ? Promise.reject(new StoreUnavailable(`the ${RUNS_SCHEMA.store} is closed`)) : method(...args),
    ]),
  ) as T;

/**
 * Opens the durable runs of a PostgreSQL database, and makes or migrates their tables. Several services may have them open; a shard has
 * one owner at a time.
 * @throws StoreUnavailable with one line for an operator, when the database is away, refuses, belongs to another program, or is
 * newer than this build, or when its runs were moved away; nothing was changed then
 */
export const openPostgresRuns = async ({
  moves,
  shards: wanted,
  ...options
}: PostgresRunsOptions): Promise<PostgresRuns> => {
  const connecting: DatabaseOptions = { connections: CONNECTIONS, ...options, store: RUNS_SCHEMA.store };
  const migrating = connectDatabase({ ...connecting, connections: 1, statementMs: MIGRATION_MS });
  let shards: number;
  try {
    await migrate(migrating, RUNS_SCHEMA);
    if (moves !== true) await refuseMoved(migrating.ask);
    if (wanted !== undefined) await growOnceFree(migrating, wanted);
    shards = await readShards(migrating.ask);
  } finally {
    await migrating.close();
  }
  const database = connectDatabase(connecting);
  const owning = connectDatabase({ ...connecting, ...OWNERSHIP });
  const queries = runQueries(database.ask);
  const ping = async (): Promise<void> => {
    await database.ask('SELECT 1');
  };

  return {
    shards,
    shardOfProject: (project) => shardOfProject(project, shards),
    findShard: (kind, id) => findShard(database.ask, kind, id),
    queries,
    moving: (owned) => movingOver(database, owned),
    load: (shard) => lookupsOf(database.ask, shard),
    ping,
    ownership: ownershipOver(owning, shards),
    own: (owned, fenced = () => {}) => {
      const kernel = { ...connecting, connections: KERNEL_CONNECTIONS, idleInTransactionMs: HANGING_MS };
      const own = connectDatabase(kernel);
      const resuming = connectDatabase({ ...kernel, statementMs: RESUMING_MS });
      const { idle, ...commits } = commitsOf({ database: own, resuming, of: owned, fenced });
      let closing: Promise<void> | undefined;
      return {
        kind: 'postgres',
        ...openOnly({ ...commits, ...runQueries(database.ask, owned.shard), ping }, () => closing !== undefined),
        close: () =>
          (closing ??= (async () => {
            await idle();
            await Promise.all([own.close(), resuming.close()]);
          })()),
      };
    },
    close: async () => {
      await Promise.all([database.close(), owning.close()]);
    },
  };
};
