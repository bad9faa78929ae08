import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresRuns } from '../../store/postgres/runs/open.ts';
import type { RunMoving } from '../../store/runs/moving.ts';
import { openSqliteRunStore } from '../../store/sqlite/runs/open.ts';
import { CERTAIN_MS, OWNED_MS } from '../owned-shard.ts';
import { RENEW_MS } from '../shared-runs.ts';
import { type HeldStore, isServed, LOOK_MS, STATEMENT_MS, type StoreAddress } from './stores.ts';

/** Runs are moved where they are in one shard. */
const SHARD = 0;
/** A service that died owns the runs so long, and another that runs takes them within that time. */
const WAIT_MS = OWNED_MS + RENEW_MS;

/** Renews the ownership of the runs until they are closed. @param takenAt by the clock that never goes back */
const keptBy = (runs: PostgresRuns, epoch: number, takenAt: number): HeldStore<RunMoving> => {
  let certainUntil = takenAt + CERTAIN_MS;
  const renew = async (): Promise<void> => {
    const askedAt = performance.now();
    if (await runs.ownership.renew(SHARD, epoch, Date.now(), OWNED_MS)) certainUntil = askedAt + CERTAIN_MS;
  };
  // One that fails is tried again; what is written meanwhile is fenced.
  const renewing = setInterval(() => void renew().catch(() => {}), RENEW_MS);
  return {
    store: runs.moving({ shard: SHARD, epoch }),
    isHeld: () => performance.now() < certainUntil,
    close: async () => {
      clearInterval(renewing);
      await runs.ownership.release(SHARD, epoch, Date.now()).catch(() => {}); // it lapses by itself
      await runs.close();
    },
  };
};

/**
 * Opens runs for itself alone: a file by its lock, a database by owning its runs, as one of its services would.
 * @param holder names the move, so that one which was killed owns them when it runs again
 * @throws StoreUnavailable, which names the store, when it cannot be opened; of a file also when a service has it
 * @returns what keeps it from being opened, in words
 */
export const openHeldRuns = async (address: StoreAddress, holder: string): Promise<HeldStore<RunMoving> | string> => {
  if (address.kind === 'clickhouse') throw new Error('ClickHouse keeps no runs');
  if (address.kind === 'file') {
    const { moving, close } = await openSqliteRunStore({ path: address.path, moves: true });
    return { store: moving, isHeld: () => true, close };
  }
  // Its driver is loaded where it is used.
  const { openPostgresRuns } = await import('../../store/postgres/runs/open.ts');
  const runs = await openPostgresRuns({ url: address.url, statementMs: STATEMENT_MS, moves: true });
  if (runs.shards > 1) {
    await runs.close();
    return `its runs are cut into ${runs.shards} shards: svc migrate moves runs of one shard alone`;
  }
  try {
    let leftBefore = Number.POSITIVE_INFINITY;
    for (const until = performance.now() + WAIT_MS; ; await sleep(LOOK_MS)) {
      const askedAt = performance.now();
      const taken = await runs.ownership.take(SHARD, holder, '', OWNED_MS);
      if (taken !== undefined) return keptBy(runs, taken.epoch, askedAt);
      const leftMs = (await runs.ownership.owners()).find(({ shard }) => shard === SHARD)?.leftMs ?? 0;
      // One that is renewed belongs to a service that lives.
      if (leftMs > leftBefore || performance.now() >= until) break;
      leftBefore = leftMs;
    }
  } catch (error) {
    await runs.close();
    throw error;
  }
  await runs.close();
  return isServed(address);
};
