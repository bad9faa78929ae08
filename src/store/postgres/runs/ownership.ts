import type { Ownership, ShardOwner } from '../../runs/ownership.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { Ask, Database } from '../connection.ts';
import { RUNS_SCHEMA } from './schema.ts';
import { readShards } from './shards.ts';

const UNTIL = (parameter: string): string => `clock_timestamp() + ${parameter} * interval '1 ms'`;

const ownersOf = async (ask: Ask): Promise<ShardOwner[]> =>
  (
    await ask<[number, string, string, number]>(
      `SELECT shard, owner, address, (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 FROM shard ORDER BY shard`,
    )
  ).map(([shard, owner, address, leftMs]) => ({ shard, owner, address, leftMs }));

/**
 * A row a shard. A commit locks it FOR KEY SHARE, which the update of a renewal passes by, so that a long commit does not cost the
 * ownership; who takes the shard over locks it FOR UPDATE first, which waits for the commit and keeps later ones waiting.
 * @param shards into how many the runs were cut when they were opened
 */
export const ownershipOver = ({ ask, transaction }: Database, shards: number): Ownership => ({
  take: (shard, owner, address, forMs) =>
    transaction(async (within) => {
      // Who changes their number waits for this, and finds the shard owned.
      if ((await readShards(within, 'FOR SHARE')) !== shards) return undefined;
      await within(
        `INSERT INTO shard (shard, epoch, owner, address, expires_at) VALUES ($1, 0, '', '', clock_timestamp()) ON CONFLICT DO NOTHING`,
        [shard],
      );
      // This opener may have taken the shard and lost the answer. Then it takes the shard again.
      const [free] = await within(
        'SELECT 1 FROM shard WHERE shard = $1 AND (expires_at <= clock_timestamp() OR owner = $2) FOR UPDATE',
        [shard, owner],
      );
      if (free === undefined) return undefined;
      const [taken] = await within<[bigint, bigint]>(
        `UPDATE shard SET epoch = epoch + 1, owner = $2, address = $3, expires_at = ${UNTIL('$4')} WHERE shard = $1
         RETURNING epoch, latest_at`,
        [shard, owner, address, forMs],
      );
      return taken && { epoch: Number(taken[0]), latestAt: Number(taken[1]) };
    }),
  renew: (shard, epoch, latestAt, forMs) =>
    transaction(async (within) => {
      const renewed = await within(
        `UPDATE shard SET expires_at = ${UNTIL('$3')}, latest_at = greatest(latest_at, $4) WHERE shard = $1 AND epoch = $2 RETURNING 1`,
        [shard, epoch, forMs, latestAt],
      );
      return renewed.length > 0;
    }),
  release: async (shard, epoch, latestAt) => {
    await transaction((within) =>
      within(
        'UPDATE shard SET expires_at = clock_timestamp(), latest_at = greatest(latest_at, $3) WHERE shard = $1 AND epoch = $2',
        [shard, epoch, latestAt],
      ),
    );
  },
  owners: () => ownersOf(ask),
  meet: (owner, address, forMs) =>
    transaction(async (within) => {
      await within(
        `INSERT INTO run_service (owner, address, expires_at) VALUES ($1, $2, ${UNTIL('$3')})
         ON CONFLICT (owner) DO UPDATE SET address = excluded.address, expires_at = excluded.expires_at`,
        [owner, address, forMs],
      );
      await within(
        `DELETE FROM run_service WHERE owner IN (
           SELECT owner FROM run_service WHERE expires_at < clock_timestamp() - interval '1 hour' FOR UPDATE SKIP LOCKED)`,
      );
      const services = await within<[string, string]>(
        'SELECT owner, address FROM run_service WHERE expires_at > clock_timestamp() ORDER BY owner',
      );
      return {
        shards: await readShards(within),
        services: services.map(([name, at]) => ({ owner: name, address: at })),
        owners: await ownersOf(within),
      };
    }),
  leave: async (owner) => {
    await transaction((within) => within('DELETE FROM run_service WHERE owner = $1', [owner]));
  },
  secret: async () => {
    const [[secret] = ['']] = await ask<[string]>('SELECT secret FROM peer_secret');
    if (secret === '') throw new StoreUnavailable(`${RUNS_SCHEMA.store}: the database has no secret of its services`);
    return secret;
  },
  now: async () => {
    const [[now] = [0]] = await ask<[number]>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8');
    return Math.trunc(now);
  },
});
