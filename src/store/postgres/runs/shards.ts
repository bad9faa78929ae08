import { createHash } from 'node:crypto';
import { MOST_SHARDS } from '../../../model/ids.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import type { Ask, Database } from '../connection.ts';
import { RUNS_SCHEMA } from './schema.ts';
import { storedText } from './stored-text.ts';

/** Hex digits of the digest of a project that decide about its shard: a number that PostgreSQL holds in an integer. */
const DIGITS = 7;

/** The shard of a project, of so many. All that one turn of a kernel touches is of one project. */
export const shardOfProject = (project: string, shards: number): number =>
  shards === 1
    ? 0
    : Number.parseInt(createHash('sha256').update(storedText(project)).digest('hex').slice(0, DIGITS), 16) % shards;

/** The same in SQL. */
const shardIn = (project: string, shards: number): string =>
  `('x' || left(encode(sha256(convert_to(${project}, 'UTF8')), 'hex'), ${DIGITS}))::bit(${4 * DIGITS})::int % ${Math.trunc(shards)}`;

/** How many shards the runs of a database are cut into. */
export const readShards = async (ask: Ask, lock: '' | 'FOR SHARE' | 'FOR UPDATE' = ''): Promise<number> => {
  const [[shards] = [1]] = await ask<[number]>(`SELECT shards FROM shard_number ${lock}`);
  return shards;
};

/** By what the rows of a table are given to the shard of their project, once runs and actors are. */
const following: readonly string[] = [
  'UPDATE attempt AS r SET shard = o.shard FROM run AS o WHERE o.run_id = r.run_id AND r.shard <> o.shard',
  'UPDATE timer AS r SET shard = o.shard FROM run AS o WHERE o.run_id = r.run_id AND r.shard <> o.shard',
  'UPDATE timer AS r SET shard = o.shard FROM kept_actor AS o WHERE o.id = r.run_id AND o.type = r.name AND r.shard <> o.shard',
  'UPDATE limit_line AS r SET shard = o.shard FROM limit_key AS o WHERE o.limit_id = r.waits_on AND r.shard <> o.shard',
  'UPDATE limit_place AS r SET shard = o.shard FROM run AS o WHERE o.run_id = r.run_id AND r.shard <> o.shard',
  'UPDATE outbox AS r SET shard = o.shard FROM run AS o WHERE o.run_id = r.run_id AND r.shard <> o.shard',
];
const OF_A_PROJECT = ['run', 'wait', 'parked', 'event_seen', 'kept_actor', 'limit_key'] as const;

/** Why the runs cannot be cut into so many shards now. */
export type Ungrown = { readonly why: string; readonly mayWait: boolean };

/**
 * Cuts the runs into more shards, in one transaction, where nobody owns any: each row goes to the shard of its project. The epoch of every
 * shard is raised, so that an owner that was thought dead writes nothing any more. Orders and numbers of the outbox are unique in a shard, so
 * each new shard takes rows of one old one alone: the number grows to a multiple, and does not shrink.
 * @returns nothing where they are cut so
 */
export const growShards = ({ transaction }: Database, shards: number): Promise<Ungrown | undefined> =>
  transaction(async (ask): Promise<Ungrown | undefined> => {
    await ask('SET LOCAL lock_timeout = 0');
    await ask('SET LOCAL statement_timeout = 0');
    const found = await readShards(ask, 'FOR UPDATE');
    if (found === shards) return undefined;
    const no = (why: string, mayWait = false): Ungrown => ({ why, mayWait });
    if (shards > MOST_SHARDS) return no(`there are at most ${MOST_SHARDS} shards`);
    if (shards < found) return no(`the runs are cut into ${found} shards, and their number does not shrink`);
    if (shards % found !== 0)
      return no(`the runs are cut into ${found} shards, and their number grows to a multiple of that`);
    const [owner] = await ask<[string]>(
      'SELECT owner FROM shard WHERE expires_at > clock_timestamp() ORDER BY shard LIMIT 1',
    );
    if (owner !== undefined)
      return no(
        'a service owns runs: their number of shards grows at a start beside which no other service runs',
        true,
      );
    const [several] = await ask(`SELECT 1 FROM kept_actor WHERE type = 'bulk' AND status = 'active' LIMIT 1`);
    if (several !== undefined)
      return no('an action on many runs is under way, and its runs would be in several shards: let it end, or stop it');
    // Waits for a commit under way, and keeps later ones of an owner from before out.
    await ask('SELECT 1 FROM shard ORDER BY shard FOR UPDATE');
    await ask('UPDATE shard SET epoch = epoch + 1');
    // The rows of a new shard come from one old one, and its kernel goes on from the clock of that one's owner.
    await ask(
      `INSERT INTO shard (shard, epoch, owner, address, expires_at, latest_at)
       SELECT n, 0, owner, address, expires_at, latest_at FROM generate_series($1::int, $2::int - 1) AS n JOIN shard ON shard = n % $1::int`,
      [found, shards],
    );
    for (const table of OF_A_PROJECT) {
      const shard = shardIn('project', shards);
      await ask(`UPDATE ${table} SET shard = ${shard} WHERE shard <> ${shard}`);
    }
    for (const statement of following) await ask(statement);
    await ask('UPDATE shard_number SET shards = $1', [shards]);
    return undefined;
  });

/** What has an id and a shard. */
export type ShardedKind = 'run' | 'lease' | 'bulk';
const found: Readonly<Record<ShardedKind, string>> = {
  run: 'SELECT shard FROM run WHERE run_id = $1',
  lease: 'SELECT shard FROM attempt WHERE lease_id = $1',
  bulk: `SELECT shard FROM kept_actor WHERE type = 'bulk' AND id = $1`,
};

/** The shard in which something is; nothing where there is no such thing. */
export const findShard = async (ask: Ask, kind: ShardedKind, id: string): Promise<number | undefined> => {
  const [row] = await ask<[number]>(found[kind], [storedText(id)]);
  return row?.[0];
};

/** @throws StoreUnavailable that says why */
export const refuseUngrown = ({ why }: Ungrown, shards: number): never => {
  throw new StoreUnavailable(`${RUNS_SCHEMA.store}: --runs-shards ${shards}: ${why}`);
};
