import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresRuns, type PostgresRuns } from '../../../src/store/postgres/runs/open.ts';
import { shardOfProject } from '../../../src/store/postgres/runs/shards.ts';
import { Fenced } from '../../../src/store/postgres/runs/store-errors.ts';
import { noChanges, type RunStore } from '../../../src/store/runs/run-store.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { fillEveryKind, HOSTILE } from '../runs/every-row.ts';
import { anAttempt, aRun } from '../runs/factories.ts';
import { takeOver } from './temporary-runs.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());
const opened: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});
const openOn = async (url: string, shards?: number): Promise<PostgresRuns> => {
  const runs = await openPostgresRuns({ url, ...(shards === undefined ? {} : { shards }) });
  opened.push(runs);
  return runs;
};
const ownShard = async (runs: PostgresRuns, shard: number): Promise<RunStore> => {
  const taken = await runs.ownership.take(shard, 'test', '', 0);
  const store = runs.own({ shard, epoch: taken?.epoch ?? -1 });
  opened.push(store);
  return store;
};
/** Tables with a shard in each row, but for that of the owners. */
const SHARDED = `SELECT table_name FROM information_schema.columns
  WHERE column_name = 'shard' AND table_name <> 'shard' AND table_schema = current_schema() ORDER BY 1`;

describe('runs of a database in several shards', () => {
  it('grow from one: each row of every table goes to the shard of its project, as the service computes it, whatever characters that has', async () => {
    const url = server.create();
    const store = await takeOver(await openOn(url));
    await fillEveryKind(store);
    const named = HOSTILE.map((project, n) => aRun(`named-${n}`, { project }));
    await store.commit({ ...noChanges(), runsInserted: named });
    const { shards, findShard } = await openOn(url, 8);
    expect(shards).toBe(8);
    const tables = server.run(SHARDED, url).split('\n');
    expect(tables).toHaveLength(11);
    for (const table of tables) {
      const also = table === 'run' ? `WHERE project = 'p'` : '';
      expect([table, server.run(`SELECT string_agg(DISTINCT shard::text, ',') FROM ${table} ${also}`, url)]).toEqual([
        table,
        String(shardOfProject('p', 8)),
      ]);
    }
    for (const { runId, project } of named) expect(await findShard('run', runId)).toBe(shardOfProject(project, 8));
    expect(await findShard('lease', 'l')).toBe(shardOfProject('p', 8));
    expect(await findShard('bulk', 'p:b')).toBe(shardOfProject('p', 8));
    expect(await findShard('run', 'no\0such')).toBeUndefined();
  });

  it('grow again to a multiple, and neither shrink nor take another number: such a start is refused and changes nothing', async () => {
    const url = server.create();
    expect((await openOn(url, 2)).shards).toBe(2);
    await expect(openOn(url, 3)).rejects.toThrow('--runs-shards 3: the runs are cut into 2 shards');
    await expect(openOn(url, 1)).rejects.toThrow('does not shrink');
    expect((await openOn(url)).shards).toBe(2);
    const two = await openOn(url, 2);
    for (const shard of [0, 1]) {
      const runs = Array.from({ length: 40 }, (_, n) => aRun(`${shard}-${n}`, { project: `p${n}` }));
      const own = runs.filter(({ project }) => two.shardOfProject(project) === shard);
      const places = own.map(({ runId }, n) => ({ order: n, priority: 0, runId, since: 1 }));
      await (await ownShard(two, shard)).commit({ ...noChanges(), runsInserted: own, placesSet: places });
    }
    const six = await openOn(url, 6);
    for (let n = 0; n < 40; n += 1) {
      const shard = two.shardOfProject(`p${n}`);
      expect(await six.findShard('run', `${shard}-${n}`)).toBe(six.shardOfProject(`p${n}`));
    }
  });

  it('do not grow while a service owns some or an action on many runs is under way; an owner that was thought dead writes nothing after it, and one that knew the old number takes none', async () => {
    const url = server.create();
    const before = await openOn(url);
    const taken = await before.ownership.take(0, 'a', 'http://a', 60_000);
    let fenced = 0;
    const store = before.own({ shard: 0, epoch: taken?.epoch ?? -1 }, () => (fenced += 1));
    opened.push(store);
    await store.commit({ ...noChanges(), runsInserted: [aRun('kept')] });
    server.run(`INSERT INTO kept_actor SELECT 'bulk', 'b', 0, 'p', '{}', '{}', 'active', 1, 0, 0`, url);
    server.run('UPDATE shard SET expires_at = clock_timestamp()', url);
    await expect(openOn(url, 4)).rejects.toThrow('an action on many runs is under way');
    server.run('DELETE FROM kept_actor', url);
    const after = await openOn(url, 4);
    await expect(store.commit({ ...noChanges(), runsInserted: [aRun('late')] })).rejects.toThrow(Fenced);
    expect(fenced).toBe(1);
    expect(await before.ownership.take(0, 'a', 'http://a', 60_000)).toBeUndefined();
    expect(await after.ownership.take(3, 'a', 'http://a', 60_000)).toBeDefined();
    expect(await after.ownership.meet('a', 'http://a', 60_000)).toMatchObject({
      shards: 4,
      services: [{ owner: 'a', address: 'http://a' }],
    });
    expect(server.run('SELECT run_id FROM run', url)).toBe('kept');
  });

  it('a new shard goes on from the clock of the owner from which its runs come, as each shard does under another owner', async () => {
    const url = server.create();
    const before = await openOn(url, 2);
    for (const shard of [0, 1]) {
      const taken = await before.ownership.take(shard, 'a', '', 60_000);
      await before.ownership.release(shard, taken?.epoch ?? -1, 5_000 + shard);
    }
    const after = await openOn(url, 6);
    const latest = await Promise.all(
      Array.from({ length: 6 }, async (_, shard) => (await after.ownership.take(shard, 'b', '', 60_000))?.latestAt),
    );
    expect(latest).toEqual([5_000, 5_001, 5_000, 5_001, 5_000, 5_001]);
  });

  it('a kernel finds runs and leases of its own shard alone, and erases no others', async () => {
    const url = server.create();
    const runs = await openOn(url, 2);
    const stores = [await ownShard(runs, 0), await ownShard(runs, 1)] as const;
    for (const [shard, store] of stores.entries())
      await store.commit({
        ...noChanges(),
        runsInserted: [aRun(`r${shard}`, { userId: 'u', status: 'succeeded', endedAt: 1 })],
        attemptsInserted: [anAttempt(`l${shard}`, `r${shard}`)],
      });
    for (const [shard, store] of stores.entries()) {
      const found = await store.load([
        { kind: 'run', runId: 'r0' },
        { kind: 'run', runId: 'r1' },
        { kind: 'lease', leaseId: 'l0' },
        { kind: 'lease', leaseId: 'l1' },
      ]);
      expect(found.map((one) => one !== undefined)).toEqual([shard === 0, shard === 1, shard === 0, shard === 1]);
      expect((await store.findRun(`r${1 - shard}`)) === undefined).toBe(true);
      expect((await store.subjectRuns('u', 'all', 10)).finished.map(({ runId }) => runId)).toEqual([`r${shard}`]);
      expect(await store.resume(0)).toMatchObject({ liveLeases: [{ leaseId: `l${shard}` }] });
    }
    const all = await runs.load(undefined)([
      { kind: 'run', runId: 'r0' },
      { kind: 'lease', leaseId: 'l1' },
    ]);
    expect(all.every((one) => one !== undefined)).toBe(true);
    expect((await runs.queries.subjectRuns('u', 'all', 10)).finished).toHaveLength(2);
  });
});
