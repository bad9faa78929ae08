import { openPostgresRuns, type PostgresRuns } from '../../../src/store/postgres/runs/open.ts';
import type { RunStore } from '../../../src/store/runs/run-store.ts';
import type { PostgresServer } from '../../postgres.ts';

export const EMPTY_ALL = `DO $$ BEGIN EXECUTE (
  SELECT 'TRUNCATE ' || string_agg(quote_ident(relname), ', ') || ' RESTART IDENTITY'
  FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname NOT IN ('schema_version', 'peer_secret', 'shard_number')
); END $$`;

/** Takes over the only shard, even from an owner that still has it, and opens its store. */
export const takeOver = async (runs: PostgresRuns, fenced?: () => void): Promise<RunStore> => {
  const taken = await runs.ownership.take(0, crypto.randomUUID(), 'http://127.0.0.1:1', 0);
  if (taken === undefined) throw new Error('the shard was not given');
  return runs.own({ shard: 0, epoch: taken.epoch }, fenced);
};

/** Opens the runs of a database and owns them. A close closes both. */
export const openOwned = async (url: string): Promise<RunStore> => {
  const runs = await openPostgresRuns({ url });
  const store = await takeOver(runs);
  return {
    ...store,
    close: async () => {
      await store.close();
      await runs.close();
    },
  };
};

/** Empty stores on a server. A database that a test is done with is emptied for the next: that is faster than a new one. */
export const emptyRunsOn = (server: () => PostgresServer): (() => Promise<RunStore>) => {
  const free: string[] = [];
  return async () => {
    const url = free.pop() ?? server().create();
    const store = await openOwned(url);
    let closing: Promise<void> | undefined;
    return {
      ...store,
      close: () =>
        (closing ??= (async () => {
          await store.close();
          server().run(EMPTY_ALL, url);
          free.push(url);
        })()),
    };
  };
};
