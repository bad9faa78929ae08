import { afterEach, describe, expect, it } from 'vitest';
import { type RunningRuns, startRuns } from '../../src/actors/start.ts';
import { CERTAIN_MS, OWNED_MS } from '../../src/cli/owned-shard.ts';
import { RENEW_MS, shareRuns } from '../../src/cli/shared-runs.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createSharedScene, simulateSharedRuns } from './shared-runs-simulation.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});
/** Each a second or less. */
const SIMULATIONS = 10;
const ALL = { reach: 'all' } as const;
const flow = { id: 'flow', version: 1, steps: [{ id: 'one', kind: 'task' }] };
const must = <T>(result: { ok: true; value: T } | { ok: false; failure: { message: string } }): T => {
  if (!result.ok) throw new Error(result.failure.message);
  return result.value;
};
const scene = () => {
  const shared = createSharedScene();
  cleanups.push(shared.close);
  return shared;
};
const startedRun = async (runs: RunningRuns): Promise<string> => {
  must(await runs.registerWorker({ ...ALL, workerId: 'w', definitions: [flow] }));
  return must(await runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: {} })).run.runId;
};

describe('runs that several services share', () => {
  it('have one owner; the others know where it is, and read', async () => {
    const { start, pass } = scene();
    const one = await start('one');
    const other = await start('other');
    expect([one.peers.isOwner(), other.peers.isOwner()]).toEqual([true, false]);
    expect([one.peers.ownerAddress(), other.peers.ownerAddress()]).toEqual([undefined, 'http://one']);
    const runId = await startedRun(one.runs);
    expect(must(await other.runs.getRun({ ...ALL, runId }))).toMatchObject({ runId, status: 'queued' });
    await pass(60_000);
    expect([one.peers.isOwner(), other.peers.isOwner()]).toEqual([true, false]);
    await Promise.all([one.runs.ping(), other.runs.ping()]);
  });

  it('are given back by a stop: another takes them at its next look', async () => {
    const { start, pass } = scene();
    const one = await start('one');
    const other = await start('other');
    await one.runs.stop();
    await pass(RENEW_MS);
    expect(other.peers.isOwner()).toBe(true);
    expect(other.owned).toEqual([true]);
  });

  it('a service that is about to stop hands them over, knows their owner, and takes them no more', async () => {
    const { start, pass } = scene();
    const one = await start('one');
    const other = await start('other');
    const runId = await startedRun(one.runs);
    const handing = one.handOver();
    await pass(RENEW_MS + 500);
    await handing;
    expect([one.peers.isOwner(), other.peers.isOwner()]).toEqual([false, true]);
    expect(one.peers.ownerAddress()).toBe('http://other');
    await one.runs.ping();
    must(await other.runs.cancelRun({ ...ALL, runId }));
    expect(must(await one.runs.getRun({ ...ALL, runId })).status).toBe('cancelled');
    await other.runs.stop();
    await pass(OWNED_MS + RENEW_MS);
    expect(one.peers.isOwner()).toBe(false);
    await expect(one.runs.ping()).rejects.toThrow('no service owns the runs');
  });

  it('a take whose answer was lost is made again at once, and an owner that is not reached makes no service ready', async () => {
    const { start, pass, database, time } = scene();
    const { store } = database.openFor();
    let isLost = true;
    const shared = await shareRuns({
      store: {
        ...store,
        ownership: {
          ...store.ownership,
          take: async (...asked) => {
            const taken = await store.ownership.take(...asked);
            if (!isLost) return taken;
            isLost = false;
            throw new StoreUnavailable('the connection was lost');
          },
        },
      },
      clock: time.clock,
      startRuns: (runStore, how) =>
        startRuns({ store: runStore, writeSpans: async () => {}, price: () => undefined, ...how }),
    });
    cleanups.push(() => shared.runs.close());
    await shared.begin('');
    await pass(RENEW_MS);
    expect(shared.peers.isOwner()).toBe(true);
    const other = await start('other');
    await expect(other.runs.ping()).rejects.toThrow('--peer-url');
  });

  /** A service that tells what it has passed on that the runs have another owner, and whose own takeovers may fail. */
  const passingOn = async ({ database, time }: ReturnType<typeof scene>) => {
    const { store } = database.openFor();
    const seen = { changes: 0, takeovers: 0, mayBegin: true };
    const shared = await shareRuns({
      store,
      clock: time.clock,
      startRuns: (runStore, how) => {
        if (how.ticks) seen.takeovers += 1;
        if (how.ticks && !seen.mayBegin) return Promise.reject(new StoreUnavailable('it took too long'));
        return startRuns({ store: runStore, writeSpans: async () => {}, price: () => undefined, ...how });
      },
    });
    cleanups.push(() => shared.runs.close());
    shared.peers.onOwnerChange(() => (seen.changes += 1));
    await shared.begin('http://third');
    return { ...shared, seen };
  };

  it('what was passed on to an owner before ends, also where a takeover of this service failed in between', async () => {
    const shared = scene();
    const one = await shared.start('one');
    const { peers, seen } = await passingOn(shared);
    expect(peers.ownerAddress()).toBe('http://one');
    const { changes } = seen;
    seen.mayBegin = false;
    one.goAway(true);
    await shared.pass(OWNED_MS + RENEW_MS);
    expect(seen.takeovers).toBeGreaterThan(0);
    const other = await shared.start('other');
    await shared.pass(2 * RENEW_MS);
    expect([other.peers.isOwner(), peers.ownerAddress()]).toEqual([true, 'http://other']);
    expect(seen.changes).toBeGreaterThan(changes);
  });

  it('what was passed on to an owner before ends, also where the next one has the same address', async () => {
    const shared = scene();
    const one = await shared.start('one');
    const { peers, seen } = await passingOn(shared);
    await shared.pass(RENEW_MS);
    const { changes } = seen;
    await one.runs.stop();
    const again = await shared.start('one');
    await shared.pass(RENEW_MS);
    expect([again.peers.isOwner(), peers.ownerAddress()]).toEqual([true, 'http://one']);
    expect(seen.changes).toBe(changes + 1);
    await shared.pass(3 * RENEW_MS);
    expect(seen.changes).toBe(changes + 1);
  });

  it('a service whose takeover failed lets another try before it tries again', async () => {
    const shared = scene();
    const one = await shared.start('one');
    const { seen } = await passingOn(shared);
    await shared.pass(500);
    const other = await shared.start('other');
    seen.mayBegin = false;
    one.goAway(true);
    await shared.pass(OWNED_MS + 2 * RENEW_MS);
    expect([seen.takeovers, other.peers.isOwner()]).toEqual([1, true]);
  });

  it(`an owner that could not renew for ${CERTAIN_MS} ms answers no more, and goes on when it can and nobody took over`, async () => {
    const { start, pass } = scene();
    const one = await start('one');
    one.goAway(true);
    await pass(CERTAIN_MS - 500);
    expect(one.peers.isOwner()).toBe(true);
    await pass(500);
    expect(one.peers.isOwner()).toBe(false);
    await expect(one.runs.ping()).rejects.toThrow('does not answer');
    one.goAway(false);
    await pass(RENEW_MS);
    expect(one.peers.isOwner()).toBe(true);
    expect(one.kernels).toHaveLength(1);
  });

  it(`an owner that could not renew for ${CERTAIN_MS} ms sends no spans, which the next owner may have sent with their ends by then`, async () => {
    const { pass, database, time } = scene();
    const { store } = database.openFor();
    let isAway = false;
    const held: (() => boolean)[] = [];
    const shared = await shareRuns({
      store: {
        ...store,
        ownership: {
          ...store.ownership,
          renew: (...asked) =>
            isAway ? Promise.reject(new StoreUnavailable('away')) : store.ownership.renew(...asked),
        },
      },
      clock: time.clock,
      startRuns: (runStore, how) => {
        if (how.isHeld !== undefined) held.push(how.isHeld);
        return startRuns({ store: runStore, writeSpans: async () => {}, price: () => undefined, ...how });
      },
    });
    cleanups.push(() => shared.runs.close());
    await shared.begin('');
    const holds = (): boolean[] => held.map((isHeld) => isHeld());
    expect(holds()).toEqual([true]);
    isAway = true;
    await pass(CERTAIN_MS - 500);
    expect(holds()).toEqual([true]);
    await pass(500);
    expect(holds()).toEqual([false]);
    isAway = false;
    await pass(RENEW_MS);
    expect(holds()).toEqual([true]);
    isAway = true;
    await pass(OWNED_MS + RENEW_MS);
    isAway = false;
    await pass(RENEW_MS);
    // The half that lost them sends nothing again, though the service has them anew.
    expect(holds()).toEqual([false, true]);
  });

  it(`an owner that is cut off for ${OWNED_MS} ms ends what waits at it, and takes the runs again when it can`, async () => {
    const { start, pass } = scene();
    const one = await start('one');
    const runId = await startedRun(one.runs);
    const followed = (async () => {
      const { pages } = must(await one.runs.followJournal({ ...ALL, runId, after: -1 }, new AbortController().signal));
      let entries = 0;
      for await (const page of pages) entries += page.length;
      return entries;
    })();
    await pass(RENEW_MS);
    one.goAway(true);
    await pass(OWNED_MS + RENEW_MS);
    expect(await followed).toBeGreaterThan(0);
    one.goAway(false);
    await pass(RENEW_MS);
    expect([one.peers.isOwner(), one.kernels.length]).toEqual([true, 2]);
    expect(must(await one.runs.getRun({ ...ALL, runId })).status).toBe('queued');
  });

  it(`another takes over once the owner did not renew for ${OWNED_MS} ms, and not before; what the first still commits changes nothing`, async () => {
    const { start, pass, database } = scene();
    const one = await start('one');
    const other = await start('other');
    const runId = await startedRun(one.runs);
    const goOn = one.hang();
    await pass(OWNED_MS - RENEW_MS - 500);
    expect(other.peers.isOwner()).toBe(false);
    const late = one.kernels[0]?.cancelRun({ ...ALL, runId });
    const before = database.commits();
    await pass(RENEW_MS + 500);
    expect([one.peers.isOwner(), other.peers.isOwner()]).toEqual([false, true]);
    goOn();
    expect(await late).toMatchObject({ ok: false, failure: { code: 'store_unavailable' } });
    expect(database.commits()).toBe(before);
    expect(must(await other.runs.getRun({ ...ALL, runId })).status).toBe('queued');
    expect(one.owned).toEqual([true, false]);
    await pass(RENEW_MS);
    expect(one.peers.ownerAddress()).toBe('http://other');
  });

  it('no live lease is lost to a takeover: it lasts a whole time from then on', async () => {
    const { start, pass } = scene();
    const one = await start('one');
    const other = await start('other');
    await startedRun(one.runs);
    const claiming = one.runs.claim({ ...ALL, workerId: 'w', max: 1, waitMs: 1000 });
    await pass(1_000);
    const [lease] = must(await claiming);
    const leaseId = lease?.leaseId ?? '';
    must(await one.runs.started({ ...ALL, workerId: 'w', leaseId }));
    await pass(25_000);
    one.goAway(true);
    await pass(OWNED_MS + RENEW_MS);
    expect(other.peers.isOwner()).toBe(true);
    await pass(15_000);
    must(await other.runs.heartbeat({ ...ALL, workerId: 'w', leaseId }));
    must(await other.runs.complete({ ...ALL, workerId: 'w', leaseId, output: {} }));
    expect(must(await other.runs.listRuns({ ...ALL, limit: 9 })).items).toMatchObject([{ status: 'succeeded' }]);
  });

  it('stamps after a takeover are not before those of the owner before, where its clock was seconds ahead', async () => {
    const { start, pass, time } = scene();
    const one = await start('one');
    const runId = await startedRun(one.runs);
    await pass(RENEW_MS);
    const stamped = must(await one.runs.getRun({ ...ALL, runId })).updatedAt;
    one.goAway(true);
    time.jumpWall(-15_000);
    const other = await start('other');
    await pass(OWNED_MS + RENEW_MS);
    expect(other.peers.isOwner()).toBe(true);
    must(await other.runs.cancelRun({ ...ALL, runId }));
    expect(must(await other.runs.getRun({ ...ALL, runId })).updatedAt).toBeGreaterThanOrEqual(stamped);
  });

  it('over random acts, pauses and takeovers: no acknowledged step is lost, one attempt wins, journals have no gap, a sleep ends once, nothing is stuck', async () => {
    let owners = 0;
    const seed = Date.now() % 1_000_000;
    for (let n = 0; n < SIMULATIONS; n += 1)
      owners += await simulateSharedRuns(seed + n).catch((error: unknown) => {
        throw new Error(`seed ${seed + n}`, { cause: error });
      });
    expect(owners).toBeGreaterThan(SIMULATIONS);
  });

  it('the same of two shards, of which each service moves one, and either answers for both: calls and claims are passed on, and answers get lost', async () => {
    let owners = 0;
    const seed = Date.now() % 1_000_000;
    for (let n = 0; n < SIMULATIONS; n += 1)
      owners += await simulateSharedRuns(seed + n, 2).catch((error: unknown) => {
        throw new Error(`seed ${seed + n}`, { cause: error });
      });
    expect(owners).toBeGreaterThan(2 * SIMULATIONS);
  });

  it('of several shards each service takes its part: one that comes gets some, and what one had that stopped goes to the others', async () => {
    const shared = createSharedScene(8);
    cleanups.push(shared.close);
    const partsNow = (): number[] => {
      const live = shared.database.owners().filter(({ leftMs }) => leftMs > 0);
      return [...Map.groupBy(live, ({ owner }) => owner).values()]
        .map(({ length }) => length)
        .toSorted((a, b) => a - b);
    };
    const one = await shared.start('one');
    expect(partsNow()).toEqual([8]);
    const other = await shared.start('other');
    await shared.pass(20_000);
    expect(partsNow()).toEqual([4, 4]);
    await shared.start('third');
    await shared.pass(20_000);
    expect(partsNow()).toEqual([2, 3, 3]);
    one.goAway(true);
    await shared.pass(15_000);
    expect(partsNow()).toEqual([4, 4]);
    await other.runs.stop();
    await shared.pass(RENEW_MS);
    expect(partsNow()).toEqual([8]);
  });
});
