import { describe, expect, it } from 'vitest';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import { onEachEngine } from './engines.ts';
import { ALL, aDefinition, codeOf, createHarness, type Harness, must, settled, tasks } from './run-harness.ts';
import { createFaultyStore } from './store-faults.ts';

const flow = aDefinition('flow', tasks('one'));
const sleeper = aDefinition('sleeper', [{ id: 'rest', kind: 'sleep', sleep_ms: 90_000 }]);

const look = async ({ runs }: Pick<Harness, 'runs'>, type: string) =>
  must(await runs.getActor({ ...ALL, type, id: 'main' }));

/** A store whose commits wait for the test. */
const holding = () => {
  const inner = createMemoryRunStore();
  let opened: Promise<void> | undefined;
  const store: RunStore = {
    ...inner,
    commit: async (changes) => {
      await opened;
      return inner.commit(changes);
    },
  };
  return {
    store,
    hold: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      opened = promise;
      return () => {
        opened = undefined;
        resolve();
      };
    },
  };
};
const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));

onEachEngine('the actors that live as long as the process', ({ createHarness: open }) => {
  it('are listed before runs and leases, one of each type, also by type and page', async () => {
    const service = await open({ definitions: [flow] });
    await service.start('flow');
    const list = async (more: object = {}) => must(await service.runs.listActors({ ...ALL, limit: 10, ...more }));
    expect((await list()).items.map(({ type, id }) => (type === 'run' ? type : `${type}/${id}`))).toEqual([
      'timer/main',
      'dispatcher/main',
      'outbox/main',
      'run',
    ]);
    expect((await list({ type: 'outbox' })).items).toEqual([
      expect.objectContaining({ type: 'outbox', id: 'main', machine: 'outbox', status: 'active' }),
    ]);
    expect((await list({ status: 'done' })).items).toEqual([]);
    const first = await list({ limit: 1 });
    const second = await list({ limit: 1, after: first.next });
    expect([...first.items, ...second.items].map(({ type }) => type)).toEqual(['timer', 'dispatcher']);
    expect(codeOf(await service.runs.getActor({ ...ALL, type: 'timer', id: 'other' }))).toBe('not_found');
    expect(codeOf(await service.runs.getActor({ ...ALL, type: 'timer', id: 'main', atSeq: 1 }))).toBe(
      'invalid_parameter',
    );
  });

  it('the timer names the next deadline, what is overdue, and what its last turn did', async () => {
    const service = await open({ definitions: [sleeper] });
    const before = await look(service, 'timer');
    expect(before).toMatchObject({ value: 'idle', mailbox: 0, context: { overdueTimers: 0, liveLeases: 0 } });
    expect(before.context).not.toHaveProperty('nextTimerAt');
    const startedAt = service.time.now();
    await service.start('sleeper');
    service.time.advance(89_999);
    expect(await look(service, 'timer')).toMatchObject({
      mailbox: 0,
      context: { overdueTimers: 0, nextTimerAt: startedAt + 90_000 },
    });
    service.time.advance(1);
    expect(await look(service, 'timer')).toMatchObject({ mailbox: 1, context: { overdueTimers: 1 } });
    await service.runs.tick();
    const after = await look(service, 'timer');
    expect(after).toMatchObject({
      value: 'idle',
      version: before.version + 2,
      mailbox: 0,
      context: { lastTurn: { at: startedAt + 90_000, durationMs: 0, timers: 1, leases: 0 } },
    });
    expect(after.context).toMatchObject({ perSecond: { timers: 0.017, leases: 0 } });
  });

  it('the timer counts leases, and those that passed their deadline', async () => {
    const service = await open({ definitions: [flow] });
    await service.start('flow');
    await service.take();
    expect((await look(service, 'timer')).context).toMatchObject({ liveLeases: 1 });
    service.time.advance(30_000);
    await service.runs.tick();
    expect((await look(service, 'timer')).context).toMatchObject({ lastTurn: { leases: 1, timers: 0 } });
  });

  it('the dispatcher counts claims and runnable runs by definition, and says what was matched last', async () => {
    const service = await open({ definitions: [flow, sleeper] });
    expect(await look(service, 'dispatcher')).toMatchObject({ value: 'idle', mailbox: 0 });
    const gone = new AbortController();
    const claimed = service.runs.claim({ ...ALL, workerId: 'w1', max: 2, waitMs: 60_000 }, gone.signal);
    await settled(service.runs);
    service.time.advance(700);
    expect(await look(service, 'dispatcher')).toMatchObject({
      value: 'waiting',
      mailbox: 1,
      context: {
        waitingClaims: 1,
        oldestClaimMs: 700,
        definitions: [
          { definitionId: 'flow', waitingClaims: 1, queuedRuns: 0 },
          { definitionId: 'sleeper', waitingClaims: 1, queuedRuns: 0 },
        ],
      },
    });
    await service.start('flow');
    expect(must(await claimed)).toHaveLength(1);
    const after = await look(service, 'dispatcher');
    expect(after).toMatchObject({
      value: 'idle',
      mailbox: 0,
      context: { waitingClaims: 0, lastTurn: { at: service.time.now(), claims: 1, offers: 1 } },
    });
    expect(after.context).not.toHaveProperty('oldestClaimMs');
    gone.abort();
    await service.start('flow');
    await service.start('flow');
    expect((await look(service, 'dispatcher')).context).toMatchObject({
      waitingClaims: 0,
      definitions: [{ definitionId: 'flow', waitingClaims: 0, queuedRuns: 2 }],
    });
  });

  it('the dispatcher goes back to idle when the last claim gives up, or the service closes', async () => {
    const service = await open({ definitions: [flow] });
    const gone = new AbortController();
    const claim = () => service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 60_000 }, gone.signal);
    const first = claim();
    await settled(service.runs);
    expect((await look(service, 'dispatcher')).value).toBe('waiting');
    gone.abort();
    expect(must(await first)).toEqual([]);
    expect((await look(service, 'dispatcher')).value).toBe('idle');
  });

  it('shows a key of one project the claims and definitions of that project, and the counts of all', async () => {
    const service = await open();
    for (const project of ['ours', 'theirs'])
      must(
        await service.runs.registerWorker({
          ...ALL,
          workerId: project,
          project,
          definitions: [aDefinition(`${project}-flow`, tasks('one'))],
        }),
      );
    const gone = new AbortController();
    const claims = ['ours', 'theirs'].map((workerId) =>
      service.runs.claim({ ...ALL, workerId, max: 1, waitMs: 60_000 }, gone.signal),
    );
    await settled(service.runs);
    const { context } = must(await service.runs.getActor({ reach: ['ours'], type: 'dispatcher', id: 'main' }));
    expect(context).toMatchObject({ waitingClaims: 2, definitions: [{ definitionId: 'ours-flow', waitingClaims: 1 }] });
    for (const type of ['timer', 'dispatcher', 'outbox'])
      expect(JSON.stringify(must(await service.runs.getActor({ reach: ['ours'], type, id: 'main' })))).not.toContain(
        'theirs',
      );
    gone.abort();
    await Promise.all(claims);
    for (const project of ['ours', 'theirs'])
      must(await service.runs.startRun({ ...ALL, project, definitionId: `${project}-flow`, input: {} }));
    expect(
      must(await service.runs.getActor({ reach: ['ours'], type: 'dispatcher', id: 'main' })).context,
    ).toMatchObject({ definitions: [{ definitionId: 'ours-flow', waitingClaims: 0, queuedRuns: 1 }] });
  });

  it('the dispatcher counts one id of two owners apart, and names the project that owns one', async () => {
    const service = await open({ definitions: [flow] });
    const storeIn = (project: string) => service.runs.storeDefinitions({ reach: [project], definitions: [flow] });
    for (const project of ['ours', 'theirs']) must(await storeIn(project));
    for (const project of ['ours', 'theirs', 'theirs', 'third'])
      must(await service.runs.startRun({ ...ALL, project, definitionId: 'flow', input: {} }));
    const counts = async (reach: 'all' | readonly string[]) =>
      must(await service.runs.getActor({ reach, type: 'dispatcher', id: 'main' })).context;
    const count = (queuedRuns: number, project?: string) => ({
      definitionId: 'flow',
      ...(project === undefined ? {} : { project }),
      queuedRuns,
      waitingClaims: 0,
    });
    expect(await counts('all')).toMatchObject({ definitions: [count(1), count(1, 'ours'), count(2, 'theirs')] });
    expect(await counts(['ours'])).toMatchObject({ definitions: [count(1, 'ours')] });
  });

  it('the outbox gathers, sends, and counts what waits', async () => {
    const service = await open({ definitions: [flow] });
    await service.runs.flushOutbox();
    const before = await look(service, 'outbox');
    expect(before).toMatchObject({ value: 'idle', mailbox: 0, context: { waitingRows: 0, failures: 0 } });
    await service.start('flow');
    service.time.advance(100);
    expect(await look(service, 'outbox')).toMatchObject({
      value: 'gathering',
      mailbox: 1,
      context: { waitingRows: 1, oldestMs: 100 },
    });
    await service.runs.flushOutbox();
    const after = await look(service, 'outbox');
    expect(after).toMatchObject({
      value: 'idle',
      mailbox: 0,
      version: before.version + 3,
      context: { waitingRows: 0, lastTurn: { at: service.time.now(), rows: 1 } },
    });
    expect(after.context).not.toHaveProperty('oldestMs');
  });

  it('the outbox backs off while the trace store is away, tries again by itself, and says since when rows wait', async () => {
    let away = true;
    const service = await open({
      definitions: [flow],
      writeSpans: async () => {
        if (away) throw new StoreUnavailable('away: a secret path');
      },
    });
    await service.runs.flushOutbox();
    await service.start('flow');
    await expect(service.runs.flushOutbox()).rejects.toThrow('away');
    const at = service.time.now();
    const failed = await look(service, 'outbox');
    expect(failed).toMatchObject({
      value: 'backing_off',
      mailbox: 1,
      context: { failures: 1, lastFault: { at, code: 'store_unavailable' }, retryAt: at + 500, oldestMs: 0 },
    });
    expect(JSON.stringify(failed)).not.toContain('secret');
    away = false;
    service.time.advance(499);
    expect((await look(service, 'outbox')).context).toMatchObject({ oldestMs: 499 });
    service.time.advance(1);
    const [again] = must(await service.runs.listActors({ ...ALL, limit: 1, type: 'outbox' })).items;
    expect(again?.value).toBe('sending');
    await service.runs.flushOutbox();
    expect(await look(service, 'outbox')).toMatchObject({ value: 'idle', mailbox: 0, context: { failures: 0 } });
  });
});

describe('while a commit takes long', () => {
  it('the dispatcher is matching, and the claim is answered after it', async () => {
    const { store, hold } = holding();
    const service = await createHarness({ store, definitions: [flow] });
    await service.start('flow');
    const release = hold();
    const claimed = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 0 });
    await turnOfLoop();
    await turnOfLoop();
    expect(await look(service, 'dispatcher')).toMatchObject({ value: 'matching', context: { claimsInCommit: 1 } });
    release();
    expect(must(await claimed)).toHaveLength(1);
    expect((await look(service, 'dispatcher')).value).toBe('idle');
  });

  it('the timer is firing', async () => {
    const { store, hold } = holding();
    const service = await createHarness({ store, definitions: [sleeper] });
    await service.start('sleeper');
    service.time.advance(90_000);
    const release = hold();
    const ticked = service.runs.tick();
    await turnOfLoop();
    await turnOfLoop();
    expect((await look(service, 'timer')).value).toBe('firing');
    release();
    await ticked;
    expect((await look(service, 'timer')).value).toBe('idle');
  });

  it('the mailbox of a run counts the calls on it that are not answered, and no others', async () => {
    const { store, hold } = holding();
    const service = await createHarness({ store, definitions: [flow] });
    const { runId } = await service.start('flow');
    const other = (await service.start('flow')).runId;
    const mailbox = async (id: string) => must(await service.runs.getActor({ ...ALL, type: 'run', id })).mailbox;
    expect(await mailbox(runId)).toBe(0);
    const release = hold();
    const first = service.runs.cancelRun({ ...ALL, runId });
    expect(await mailbox(runId)).toBe(1);
    await turnOfLoop();
    const second = service.runs.cancelRun({ ...ALL, runId });
    expect([await mailbox(runId), await mailbox(other)]).toEqual([2, 0]);
    await turnOfLoop();
    expect(await mailbox(runId)).toBe(2);
    release();
    await Promise.all([first, second]);
    expect(await mailbox(runId)).toBe(0);
  });
});

describe('the timer by itself', () => {
  it('looks once a second, and at once after a look that took longer', async () => {
    const inner = createMemoryRunStore();
    let looks = 0;
    let opened: Promise<void> | undefined;
    const store: RunStore = {
      ...inner,
      dueTimers: async (...asked) => {
        looks += 1;
        await opened;
        return inner.dueTimers(...asked);
      },
    };
    const { runs, time } = await createHarness({ store, ticks: true });
    const pass = async (ms: number): Promise<number> => {
      time.advance(ms);
      for (let turn = 0; turn < 5; turn += 1) await turnOfLoop();
      return looks;
    };
    expect([await pass(999), await pass(1), await pass(999), await pass(1)]).toEqual([0, 1, 1, 2]);
    const { promise, resolve } = Promise.withResolvers<void>();
    opened = promise;
    expect([await pass(1000), await pass(1500)]).toEqual([3, 3]);
    opened = undefined;
    resolve();
    expect(await pass(0)).toBe(4);
    expect([await pass(999), await pass(1)]).toEqual([4, 5]);
    await runs.close();
    expect(await pass(10_000)).toBe(5);
  });
});

describe('a lease whose worker is not heard for its time', () => {
  it.each([
    ['is orphaned', false, 'orphaned'],
    ['is left alone once deadlines have stopped, as at a stop that takes no more heartbeats', true, 'running'],
  ])('%s', async (_what, stops, status) => {
    const { runs, time, start, take, detail } = await createHarness({ definitions: [flow], ticks: true });
    const { runId } = await start('flow');
    await take();
    if (stops) runs.stopDeadlines();
    time.advance(30_000);
    for (let turn = 0; turn < 20; turn += 1) await turnOfLoop();
    expect((await detail(runId)).attempts.map((attempt) => attempt.status)).toEqual([status]);
    await runs.close();
  });
});

describe('while the store is away', () => {
  it('timer and outbox still show themselves, without what they would have to ask it', async () => {
    const faulty = createFaultyStore();
    const away = () => Promise.reject(new StoreUnavailable('away: a secret path'));
    let isAway = false;
    const store: RunStore = {
      ...faulty.store,
      backlog: (...asked) => (isAway ? away() : faulty.store.backlog(...asked)),
      queuedRuns: (reach, limit) => (isAway ? away() : faulty.store.queuedRuns(reach, limit)),
      dueTimers: (...asked) => (isAway ? away() : faulty.store.dueTimers(...asked)),
    };
    const service = await createHarness({ store, definitions: [flow] });
    isAway = true;
    await expect(service.runs.tick()).rejects.toThrow('away');
    const timer = await look(service, 'timer');
    expect(timer).toMatchObject({
      value: 'idle',
      context: { failures: 1, lastFault: { at: service.time.now(), code: 'store_unavailable' } },
    });
    expect(timer.context).not.toHaveProperty('overdueTimers');
    expect(JSON.stringify(timer)).not.toContain('secret');
    expect((await look(service, 'outbox')).context).not.toHaveProperty('waitingRows');
    expect((await look(service, 'dispatcher')).context).not.toHaveProperty('definitions');
  });
});
