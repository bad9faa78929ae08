import { describe, expect, it } from 'vitest';
import {
  type ActorKind,
  createKernel,
  GONE,
  type Message,
  Missing,
  type Turn,
} from '../../../src/actors/kernel/kernel.ts';
import { createMemoryRunStore } from '../../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { createFaultyStore } from '../store-faults.ts';

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

describe('a group decided while the one before it is in commit', () => {
  /** A store whose commits and reads wait until they are let go, each by its number. */
  const gated = () => {
    const memory = createMemoryRunStore();
    const commits: { readonly snapshots: string[]; readonly end: (error?: Error) => void }[] = [];
    const reads: { readonly end: () => void }[] = [];
    let holdsReads = false;
    const store: RunStore = {
      ...memory,
      commit: async (changes) => {
        const { promise, resolve, reject } = Promise.withResolvers<undefined>();
        commits.push({
          snapshots: changes.actors.map(({ id, snapshot }) => `${id}=${snapshot}`),
          end: (error) => {
            if (error === undefined) resolve(undefined);
            else reject(error);
          },
        });
        await promise;
        await memory.commit(changes);
      },
      load: async (wanted) => {
        if (holdsReads) {
          const { promise, resolve } = Promise.withResolvers<undefined>();
          reads.push({
            end: () => {
              resolve(undefined);
            },
          });
          await promise;
        }
        return memory.load(wanted);
      },
    };
    return { store, commits, reads, holdReads: (holds: boolean) => (holdsReads = holds) };
  };
  const soon = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn += 1)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  };
  const away = new StoreUnavailable('the disk said no');
  const isAway = { status: 'rejected', reason: expect.any(StoreUnavailable) as unknown };
  const watched = (promise: Promise<unknown>) => {
    const seen: { outcome?: PromiseSettledResult<unknown> } = {};
    void Promise.allSettled([promise]).then(([outcome]) => {
      seen.outcome = outcome;
      return seen;
    });
    return seen;
  };

  it('starts from what that one leaves, takes what comes until its end, and is written after it', async () => {
    const { store, commits } = gated();
    const { send } = open({ store });
    const one = watched(send('a', { add: 1 }));
    await soon();
    const two = watched(send('a', { add: 10 }));
    await soon();
    const three = watched(send('a', { add: 100 }));
    await soon();
    expect(commits.length).toBe(1);
    expect([one.outcome, two.outcome, three.outcome, turns]).toEqual([undefined, undefined, undefined, []]);
    commits[0]?.end();
    await soon();
    expect(one.outcome).toMatchObject({ value: 1 });
    expect([two.outcome, three.outcome, turns]).toEqual([undefined, undefined, ['a=1']]);
    expect(commits.map(({ snapshots }) => snapshots)).toEqual([['account/a=1'], ['account/a=111']]);
    commits[1]?.end();
    await soon();
    expect([two.outcome, three.outcome]).toMatchObject([{ value: 11 }, { value: 111 }]);
    expect(turns).toEqual(['a=1', 'a=11', 'a=111']);
  });

  it('falls with it: nothing of it is written, answered or released', async () => {
    const { store, commits } = gated();
    const { send, counts, faults } = open({ store });
    const one = watched(send('a', { add: 1 }));
    await soon();
    const two = watched(send('a', { add: 10 }));
    const fault = watched(send('a', { add: 0, thenThrow: true }));
    await soon();
    // A fault is an answer as well: what it was met upon is not there yet.
    expect([fault.outcome, faults]).toEqual([undefined, []]);
    commits[0]?.end(away);
    await soon();
    expect([one.outcome, two.outcome, fault.outcome]).toMatchObject([isAway, isAway, isAway]);
    expect([commits.length, turns, counts().dropped]).toEqual([1, [], 1]);
    expect(faults).toEqual([away]);
    const three = watched(send('a', { add: 5 }));
    await soon();
    expect(commits[1]?.snapshots).toEqual(['account/a=5']);
    commits[1]?.end();
    await soon();
    expect(three.outcome).toMatchObject({ value: 5 });
  });

  it('falls with it also when it waits for the store at that moment, and so does a turn that would have changed nothing', async () => {
    const { store, commits, reads, holdReads } = gated();
    const { send, kernel } = open({
      store,
      kinds: [account, { type: 'asker', receive: (turn) => turn.peek<Account>('account/a')?.balance }],
    });
    const one = watched(send('a', { add: 1 }));
    await soon();
    holdReads(true);
    const asked = watched(kernel.send({ type: 'asker', id: 'x', body: {} }));
    const two = watched(send('b', { add: 10, payTo: 'a' }));
    await soon();
    expect(reads.length).toBe(1);
    commits[0]?.end(away);
    await soon();
    expect(one.outcome).toMatchObject(isAway);
    holdReads(false);
    reads[0]?.end();
    await soon();
    expect([asked.outcome, two.outcome]).toMatchObject([isAway, isAway]);
    expect(commits.length).toBe(1);
    expect(turns).toEqual([]);
  });

  it('that cannot be read falls alone: the one in commit is answered, then memory is dropped', async () => {
    const { store, commits } = gated();
    let fails = false;
    const { send, counts } = open({
      store: { ...store, load: (wanted) => (fails ? Promise.reject(away) : store.load(wanted)) },
    });
    const one = watched(send('a', { add: 1 }));
    await soon();
    fails = true;
    const two = watched(send('b', { add: 1 }));
    await soon();
    expect(two.outcome).toMatchObject(isAway);
    expect([one.outcome, counts().dropped]).toEqual([undefined, 0]);
    commits[0]?.end();
    await soon();
    expect(one.outcome).toMatchObject({ value: 1 });
    expect(counts().dropped).toBe(1);
    fails = false;
    const three = watched(send('a', { add: 1 }));
    await soon();
    commits[1]?.end();
    await soon();
    // Memory alone knew this balance: the store of the test keeps none of it.
    expect(three.outcome).toMatchObject({ value: 1 });
  });

  it('asks the store again for excerpts, and for what the one in commit takes away', async () => {
    const wanted: string[] = [];
    const reader: ActorKind = {
      type: 'reader',
      receive: (turn, id, body) => {
        const found = turn.read(id, { kind: 'idempotency', project: 'p', key: id });
        const peeked = turn.peek(id);
        if (body !== undefined) turn.write(id, body);
        turn.rows.unparked.push(1);
        return [found, peeked];
      },
    };
    const { store, commits } = gated();
    const { kernel } = open({
      store: {
        ...store,
        load: (lookups) => (wanted.push(...lookups.map((one) => JSON.stringify(one))), store.load(lookups)),
      },
      kinds: [reader],
    });
    const send = (id: string, body?: unknown) => watched(kernel.send({ type: 'reader', id, body }));
    for (const [id, body] of [
      ['once/excerpt', 'old'],
      ['gone/thing', GONE],
      ['kept/thing', 'new'],
    ] as const)
      send(id, body);
    await soon();
    expect(wanted.length).toBe(3);
    const excerpt = send('once/excerpt');
    const gone = send('gone/thing');
    const kept = send('kept/thing');
    await soon();
    expect(wanted.slice(3).map((text) => (JSON.parse(text) as { key: string }).key)).toEqual([
      'once/excerpt',
      'gone/thing',
    ]);
    commits[0]?.end();
    await soon();
    commits[1]?.end();
    await soon();
    expect([excerpt.outcome, gone.outcome, kept.outcome]).toMatchObject([
      { value: [undefined, undefined] },
      { value: [undefined, undefined] },
      { value: ['new', 'new'] },
    ]);
  });

  it('keeps for the next groups what lasts, by its key and value, and asks again for the rest', async () => {
    const wanted: string[] = [];
    const keeper: ActorKind = {
      type: 'keeper',
      receive: (turn, id, body) => {
        const found = turn.read(id, { kind: 'idempotency', project: 'p', key: id });
        if (body !== undefined) turn.write(id, body);
        turn.rows.unparked.push(1);
        return found;
      },
    };
    const { store, commits } = gated();
    const { kernel } = open({
      store: {
        ...store,
        load: (lookups) => (wanted.push(...lookups.map((one) => (one as { key: string }).key)), store.load(lookups)),
      },
      kinds: [keeper],
      lasts: (_key, value) => value !== 'cut off',
    });
    const send = (id: string, body?: unknown) => watched(kernel.send({ type: 'keeper', id, body }));
    const landed = async (commit: number): Promise<void> => {
      await soon();
      commits[commit]?.end();
      await soon();
    };
    send('a', 'whole');
    send('b', 'cut off');
    await soon();
    expect(wanted.splice(0)).toEqual(['a', 'b']);
    // While that is in commit, and after.
    const beside = [send('a'), send('b')];
    await landed(0);
    await landed(1);
    expect(wanted.splice(0)).toEqual(['b']);
    const after = [send('a', 'cut off'), send('b')];
    await landed(2);
    expect(wanted.splice(0)).toEqual(['b']);
    // What was whole and is cut off since is known no more.
    const last = send('a');
    await landed(3);
    expect(wanted.splice(0)).toEqual(['a']);
    expect([...beside, ...after, last].map(({ outcome }) => outcome)).toMatchObject([
      { value: 'whole' },
      { value: undefined },
      { value: 'whole' },
      { value: undefined },
      { value: undefined },
    ]);
  });

  it('knows what stood under a key before, though memory let go of it in between', async () => {
    const befores: unknown[] = [];
    const forgetful: ActorKind = {
      ...account,
      receive: (turn, id, body) => {
        turn.forget(`account/${id}`);
        return account.receive(turn, id, body);
      },
      flush: (key, before, after, changes) => {
        befores.push(before);
        account.flush?.(key, before, after, changes);
      },
    };
    const { store, commits } = gated();
    const { send } = open({ store, kinds: [forgetful] });
    void send('a', { add: 1 });
    await soon();
    void send('a', { add: 10 });
    await soon();
    commits[0]?.end();
    await soon();
    commits[1]?.end();
    await soon();
    expect(befores).toEqual([undefined, { balance: 1, version: 1 }]);
  });

  it('is sealed after the one before it has landed, the host was told so, and it was answered', async () => {
    const { store, commits } = gated();
    const told: string[] = [];
    const { send } = open({
      store: { ...store, commit: (changes) => (told.push('commit'), store.commit(changes)) },
      sealed: () => told.push('sealed'),
      committed: () => told.push('committed'),
    });
    void send('a', { add: 1 }).then((balance) => told.push(`answer ${balance as number}`));
    await soon();
    void send('a', { add: 10 }).then((balance) => told.push(`answer ${balance as number}`));
    await soon();
    commits[0]?.end();
    await soon();
    commits[1]?.end();
    await soon();
    expect(told).toEqual(['sealed', 'commit', 'committed', 'answer 1', 'sealed', 'commit', 'committed', 'answer 11']);
  });

  it('without changes is answered after the one before it', async () => {
    const { store, commits } = gated();
    const answered: string[] = [];
    const { send, kernel } = open({ store, kinds: [account, { type: 'asker', receive: () => undefined }] });
    void send('a', { add: 1 }).then(() => answered.push('changed'));
    await soon();
    void kernel.send({ type: 'asker', id: 'x', body: {} }).then(() => answered.push('asked'));
    await soon();
    expect(answered).toEqual([]);
    commits[0]?.end();
    await soon();
    expect(answered).toEqual(['changed', 'asked']);
    await kernel.idle();
  });

  it('takes no more messages than its limit; the rest waits for the group after it', async () => {
    const { store, commits } = gated();
    const { send, kernel } = open({ store, groupLimit: 2 });
    const all = [1, 2, 3, 4, 5].map((add) => watched(send('a', { add })));
    await soon();
    expect([commits.length, kernel.backlog()]).toEqual([1, 1]);
    for (let at = 0; at < 3; at += 1) {
      commits[at]?.end();
      await soon();
    }
    expect(commits.map(({ snapshots }) => snapshots)).toEqual([['account/a=3'], ['account/a=10'], ['account/a=15']]);
    expect(all.map(({ outcome }) => outcome)).toMatchObject([1, 3, 6, 10, 15].map((value) => ({ value })));
    await kernel.idle();
  });
});
