import type { Ownership } from '../../runs/ownership.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { Database } from '../connection.ts';
import { RUNS_SCHEMA } from './schema.ts';

const UNTIL = (parameter: string): string => `clock_timestamp() + ${parameter} * interval '1 ms'`;

/**
 * A row a shard. A commit locks it FOR KEY SHARE, which the update of a renewal passes by, so that a long commit does not cost the
 * ownership; who takes the shard over locks it FOR UPDATE first, which waits for the commit and keeps later ones waiting.
 */
export const ownershipOver = ({ ask, transaction }: Database): Ownership => ({
  take: (shard, owner, address, forMs) =>
    transaction(async (within) => {
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
  owners: async () =>
    (
      await ask<[number, string, string, number]>(
        `SELECT shard, owner, address, (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 FROM shard ORDER BY shard`,
      )
    ).map(([shard, owner, address, leftMs]) => ({ shard, owner, address, leftMs })),
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
