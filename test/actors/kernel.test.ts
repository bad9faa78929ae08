import { describe, expect, it } from 'vitest';
import { type ActorKind, createKernel, type Message, Missing, type Turn } from '../../src/actors/kernel.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import { StoreUnavailable } from '../../src/store/signals/signal-store.ts';
import { createFaultyStore } from './store-faults.ts';

/** An account: its balance is an actor record, and it can pay another in the same turn. */
type Order = { readonly add: number; readonly payTo?: string; readonly thenThrow?: boolean };
type Account = { readonly balance: number; readonly version: number };

const account: ActorKind = {
  type: 'account',
  receive: (turn: Turn, id, body) => {
    const { add, payTo, thenThrow } = body as Order;
    const before = turn.read(`account/${id}`, { kind: 'worker', workerId: id }) as unknown as Account | undefined;
    const balance = (before?.balance ?? 0) + add;
    turn.write(`account/${id}`, { balance, version: (before?.version ?? 0) + 1 } satisfies Account);
    if (payTo !== undefined)
      turn.tell({ type: 'account', id: payTo }, { add: -add, thenThrow: thenThrow === true } satisfies Order);
    else if (thenThrow === true) throw new Error('a bug');
    turn.after(() => turns.push(`${id}=${balance}`));
    return () => balance;
  },
  flush: (key, _before, after, changes) => {
    const { balance, version } = after as Account;
    changes.actors.push({
      type: 'account',
      id: key,
      machine: 'account',
      snapshot: String(balance),
      version,
      updatedAt: 0,
    });
  },
};
let turns: string[] = [];

const open = (options: Partial<Parameters<typeof createKernel>[0]> = {}) => {
  turns = [];
  const faults: unknown[] = [];
  let dropped = 0;
  let recovered = 0;
  const faulty = createFaultyStore();
  let commits = 0;
  const kernel = createKernel({
    store: { ...faulty.store, commit: (changes) => ((commits += 1), faulty.store.commit(changes)) },
    now: () => 1,
    newId: () => 'id',
    random: () => 0,
    defer: (callback) => setImmediate(callback),
    kinds: [account],
    onFault: (error) => faults.push(error),
    dropped: () => (dropped += 1),
    recover: async () => {
      recovered += 1;
      await faulty.store.resume(0);
    },
    ...options,
  });
  const send = (id: string, body: Order): Promise<unknown> => kernel.send({ type: 'account', id, body });
  return { kernel, send, faulty, faults, counts: () => ({ commits, dropped, recovered }) };
};

describe('kernel', () => {
  it('commits messages that are ready together as one group, and answers after the commit', async () => {
    const { send, counts } = open();
    expect(await Promise.all([send('a', { add: 1 }), send('a', { add: 2 }), send('b', { add: 5 })])).toEqual([1, 3, 5]);
    expect(counts().commits).toBe(1);
    expect(turns).toEqual(['a=1', 'a=3', 'b=5']);
  });

  it('takes messages to other actors in the same turn', async () => {
    const { send } = open();
    expect(await send('a', { add: 3, payTo: 'b' })).toBe(3);
    expect(await send('b', { add: 0 })).toBe(-3);
  });

  it('a turn that throws changes nothing, in any actor, and the rest of its group goes on', async () => {
    const { send, faults } = open();
    await send('a', { add: 1 });
    const group = await Promise.allSettled([
      send('a', { add: 10, payTo: 'b', thenThrow: true }),
      send('a', { add: 100 }),
      send('b', { add: 0 }),
    ]);
    expect(group.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(group.slice(1)).toMatchObject([{ value: 101 }, { value: 0 }]);
    expect(faults).toMatchObject([{ message: 'a bug' }]);
  });

  it('a commit that fails answers every sender as unavailable, releases no effect and leaves nothing in memory', async () => {
    const { send, faulty, counts } = open();
    await send('a', { add: 1 });
    turns = [];
    faulty.failNext('before');
    const group = await Promise.allSettled([send('a', { add: 1 }), send('b', { add: 1 })]);
    for (const one of group)
      expect(one).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) as unknown });
    expect(turns).toEqual([]);
    const loads = faulty.loads();
    await send('a', { add: 1 });
    expect(faulty.loads()).toBeGreaterThan(loads);
    expect(counts()).toMatchObject({ dropped: 1, recovered: 1 });
  });

  it('answers as unavailable while the store is away, and goes on when it is back', async () => {
    const { send, faulty } = open();
    faulty.setAway(true);
    await expect(send('a', { add: 1 })).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(send('a', { add: 1 })).rejects.toBeInstanceOf(StoreUnavailable);
    faulty.setAway(false);
    expect(await send('a', { add: 1 })).toBe(1);
  });

  it('tries a turn again when what it lacked is there, one load for all that a group lacks', async () => {
    const lookups: number[] = [];
    const store = createMemoryRunStore();
    const { send } = open({ store: { ...store, load: (wanted) => (lookups.push(wanted.length), store.load(wanted)) } });
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => send(id, { add: 1, payTo: `${id}2` })));
    expect(lookups).toEqual([4, 4]);
  });

  it('a turn that is tried again draws the same ids and the same chance', async () => {
    const drawn: unknown[] = [];
    let n = 0;
    const gambler: ActorKind = {
      type: 'gambler',
      receive: (turn) => {
        drawn.push([turn.newId(), turn.random()]);
        turn.read(`account/${turn.newId()}`, { kind: 'worker', workerId: 'x' });
      },
    };
    const { kernel } = open({ kinds: [gambler], newId: () => `id${(n += 1)}`, random: () => (n += 1) });
    await kernel.send({ type: 'gambler', id: 'x', body: {} });
    expect(drawn).toEqual([
      ['id1', 2],
      ['id1', 2],
    ]);
  });

  it('refuses a type of actor that nobody hosts', async () => {
    const { kernel } = open();
    await expect(kernel.send({ type: 'nobody', id: 'x', body: {} })).rejects.toThrow('no actors of type "nobody"');
  });

  it('a message that sets off others without end is an error, not a hang', async () => {
    const loop: ActorKind = {
      type: 'loop',
      receive: (turn, id) => {
        turn.tell({ type: 'loop', id }, {});
      },
    };
    const { kernel } = open({ kinds: [loop] });
    await expect(kernel.send({ type: 'loop', id: 'x', body: {} })).rejects.toThrow('set off more than');
  });

  it('takes no more messages into a group than its limit, and keeps nothing beyond the limit of its memory', async () => {
    const { send, counts, faulty } = open({ groupLimit: 10, cacheLimit: 5 });
    await Promise.all(Array.from({ length: 35 }, (_, n) => send(`a${n}`, { add: 1 })));
    expect(counts().commits).toBe(4);
    const loads = faulty.loads();
    await send('a34', { add: 1 });
    expect(faulty.loads()).toBe(loads);
    await send('a0', { add: 1 });
    expect(faulty.loads()).toBe(loads + 1);
  });

  it('keeps no more bytes in memory than it may, the longest unchanged going first', async () => {
    const { send, faulty } = open({ weigh: () => 100, cacheBytes: 250 });
    for (const id of ['a', 'b', 'c']) await send(id, { add: 1 });
    const loads = faulty.loads();
    await send('c', { add: 1 });
    await send('b', { add: 1 });
    expect(faulty.loads()).toBe(loads);
    await send('a', { add: 1 });
    expect(faulty.loads()).toBe(loads + 1);
  });

  it('does follow-up turns in the commit of the group that made them possible', async () => {
    let wanted: Message | undefined;
    const { send, counts } = open({
      follow: () => {
        const offer = wanted;
        wanted = undefined;
        return offer === undefined ? undefined : { offer };
      },
    });
    wanted = { type: 'account', id: 'z', body: { add: 7 } satisfies Order };
    await send('a', { add: 1 });
    expect(counts().commits).toBe(1);
    expect(await send('z', { add: 0 })).toBe(7);
  });

  it('asks for several things at once', () => {
    expect(new Missing(new Map([['a', { kind: 'run', runId: 'a' }]])).lookups.size).toBe(1);
  });
});
