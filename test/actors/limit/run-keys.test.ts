import { expect, it } from 'vitest';
import { until } from '../../until.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, tasks } from '../run-harness.ts';

const concurrency = (more: object = {}) => ({ key: '${input.customer}', limit: 1, ...more });
const rate = (more: object = {}) => ({ key: '${input.customer}', limit: 2, per_ms: 10_000, ...more });
const ada = { customer: 'ada' };

/** What a key looks like to the store, by its text. */
const keyOf = async ({ store }: Harness, key: string) =>
  (await store.listLimits({ reach: 'all', limit: 100 })).find((record) => record.key === key);
const statuses = async (service: Harness, ...runs: readonly { readonly runId: string }[]) =>
  Promise.all(runs.map(async ({ runId }) => (await service.detail(runId)).status));
/** Those that have been let in to their first step. */
const begun = async (service: Harness, ...runs: readonly { readonly runId: string }[]) =>
  Promise.all(runs.map(async ({ runId }) => (await service.detail(runId)).cursor !== undefined));
const cancel = (service: Harness, runId: string) => service.runs.cancelRun({ ...ALL, runId });

onEachEngine('a concurrency key of a definition', ({ createHarness }) => {
  const open = (more: object = {}, over: object = {}) =>
    createHarness({
      definitions: [aDefinition('flow', tasks('one', 'two'), { concurrency: concurrency(more), ...over })],
    });

  it('lets in as many runs as its limit says, and the next when one of them has ended', async () => {
    const service = await open();
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    expect(await begun(service, first, second)).toEqual([true, false]);
    expect(await statuses(service, second)).toEqual(['queued']);
    must(await service.complete(await service.take()));
    // Between its steps it still holds the key.
    expect(await begun(service, second)).toEqual([false]);
    must(await service.complete(await service.take()));
    await service.runs.tick();
    expect(await begun(service, second)).toEqual([true]);
    expect(await service.kinds(second.runId)).toEqual(['run.started', 'run.held', 'run.admitted', 'cursor.moved']);
    expect((await service.journal(second.runId))[1]?.data).toMatchObject({ reason: 'concurrency_key', key: 'ada' });
    expect(service.faults).toEqual([]);
  });

  it('counts each key alone, each project alone, and each definition alone', async () => {
    const definitions = ['flow', 'other'].map((id) => aDefinition(id, tasks('one'), { concurrency: concurrency() }));
    const service = await createHarness({ definitions });
    const runs = [
      await service.start('flow', ada),
      await service.start('flow', { customer: 'bob' }),
      await service.start('flow', ada, { project: 'q' }),
      await service.start('other', ada),
      await service.start('flow', ada),
    ];
    expect(await begun(service, ...runs)).toEqual([true, true, true, true, false]);
  });

  it('goes when its last holder has ended, and leaves nothing behind', async () => {
    const service = await open();
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    expect(await keyOf(service, 'ada')).toMatchObject({ state: 'full', used: 1, waiting: 1, lines: 1 });
    must(await cancel(service, first.runId));
    await service.runs.tick();
    expect(await keyOf(service, 'ada')).toMatchObject({ state: 'full', used: 1, waiting: 0, lines: 0 });
    must(await cancel(service, second.runId));
    expect(await keyOf(service, 'ada')).toBeUndefined();
    expect((await service.store.resume(0)).highest.order).toBe(0);
  });

  it.each(['cancel', 'failure', 'run_timeout_ms'] as const)('is given back by the %s of its holder', async (end) => {
    const service = await open({}, { limits: { run_timeout_ms: 60_000 } });
    const first = await service.start('flow', ada);
    await service.pass(30_000);
    const second = await service.start('flow', ada);
    if (end === 'cancel') must(await cancel(service, first.runId));
    else if (end === 'failure') must(await service.fail(await service.take(), 'fatal'));
    else await service.pass(31_000);
    await service.runs.tick();
    expect(await begun(service, second)).toEqual([true]);
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 1, waiting: 0 });
  });

  it('lets in by priority, then by age', async () => {
    const service = await open();
    const holder = await service.start('flow', ada);
    const late = await service.start('flow', ada, { priority: -1 });
    const older = await service.start('flow', ada);
    const younger = await service.start('flow', ada);
    const urgent = await service.start('flow', ada, { priority: 7 });
    let last = holder;
    for (const next of [urgent, older, younger, late]) {
      must(await cancel(service, last.runId));
      await service.runs.tick();
      expect(await begun(service, next)).toEqual([true]);
      expect(await keyOf(service, 'ada')).toMatchObject({ used: 1 });
      last = next;
    }
  });

  it('a waiting run can be cancelled, and its run_timeout_ms goes on: it leaves the line in that commit', async () => {
    const service = await open({}, { limits: { run_timeout_ms: 60_000 } });
    const holder = await service.start('flow', ada);
    const cancelled = await service.start('flow', ada);
    must(await cancel(service, cancelled.runId));
    expect(await statuses(service, cancelled)).toEqual(['cancelled']);
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 1, waiting: 0, lines: 0 });
    await service.pass(30_000);
    must(await service.complete(await service.take()));
    const waits = await service.start('flow', ada);
    await service.pass(29_000);
    expect(await statuses(service, holder, waits)).toEqual(['queued', 'queued']);
    await service.pass(2000);
    expect(await statuses(service, holder)).toEqual(['failed']);
    expect(await begun(service, waits)).toEqual([true]);
  });

  it('survives a restart at every moment: who holds it goes on, and who waits is let in', async () => {
    const service = await open({ limit: 2 });
    const runs = [];
    for (let n = 0; n < 5; n += 1) runs.push(await service.start('flow', ada));
    for (const [at, { runId }] of runs.entries()) {
      const again = await service.reopen();
      await again.tick();
      const went = await Promise.all(
        runs.map(async (run) => must(await again.getRun({ ...ALL, runId: run.runId })).cursor !== undefined),
      );
      // Those before have ended.
      expect(went.slice(at).filter(Boolean)).toHaveLength(Math.min(2, 5 - at));
      must(await again.cancelRun({ ...ALL, runId }));
      // Two services on one store are none: this one comes to rest first.
      await again.tick();
    }
    expect(await keyOf(service, 'ada')).toBeUndefined();
  });

  it('`reject` refuses the start with limit_reached, which names the key, and takes it once there is room', async () => {
    const service = await open({ on_limit: 'reject' });
    const start = () => service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: ada });
    const { run } = must(await start());
    const refused = await start();
    expect(codeOf(refused)).toBe('limit_reached');
    expect(refused).toMatchObject({
      failure: { message: expect.stringContaining('"ada" is held by 1 runs') as string },
    });
    must(await cancel(service, run.runId));
    expect(codeOf(await start())).toBe('ok');
  });

  it('`reject` fails a run that begins later, as it is there already', async () => {
    const service = await open({ on_limit: 'reject' });
    await service.start('flow', ada);
    const { runId } = await service.start('flow', ada, { startAt: { afterMs: 5000 } });
    await service.pass(6000);
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'limit', limit: 'concurrency', code: 'limit_reached' },
    });
  });

  it('`cancel_oldest` cancels the run that has held it longest, in the commit that lets the new one in', async () => {
    const service = await open({ on_limit: 'cancel_oldest', limit: 2 });
    const runs = [await service.start('flow', ada), await service.start('flow', ada)];
    runs.push(await service.start('flow', ada));
    expect(await statuses(service, ...runs)).toEqual(['cancelled', 'queued', 'queued']);
    expect(await begun(service, ...runs.slice(1))).toEqual([true, true]);
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 2, waiting: 0, state: 'full' });
    // Started together, they are one group: each takes the place of the one before.
    const burst = await Promise.all([1, 2, 3, 4].map(() => service.start('flow', ada)));
    await service.runs.tick();
    expect(await statuses(service, ...burst)).toEqual(['cancelled', 'cancelled', 'queued', 'queued']);
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 2, waiting: 0 });
    expect(service.faults).toEqual([]);
  });

  it('takes the limit of the newest version in use: a higher one lets in at once, a lower one waits', async () => {
    const service = await open();
    const register = (version: number, limit: number) =>
      service.runs.registerWorker({
        ...ALL,
        workerId: 'w1',
        definitions: [
          { ...(aDefinition('flow', tasks('one'), { concurrency: concurrency({ limit }) }) as object), version },
        ],
      });
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    must(await register(2, 3));
    const third = await service.start('flow', ada);
    await service.runs.tick();
    expect(await begun(service, first, second, third)).toEqual([true, true, true]);
    must(await register(3, 1));
    const fourth = await service.start('flow', ada);
    must(await cancel(service, first.runId));
    must(await cancel(service, second.runId));
    await service.runs.tick();
    expect(await begun(service, fourth)).toEqual([false]);
    // An older version does not raise it again.
    const old = await service.start('flow', ada, { definitionVersion: 2 });
    must(await cancel(service, third.runId));
    await service.runs.tick();
    expect(await begun(service, fourth, old)).toEqual([true, false]);
  });

  it.each([
    ['a path that is missing', {}, 'concurrency.key: input.customer is missing'],
    ['a key over 1,024 characters', { customer: 'k'.repeat(1025) }, 'concurrency.key has 1025 characters'],
  ])('refuses the start for %s', async (_what, input, message) => {
    const service = await open();
    const refused = await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input });
    expect(codeOf(refused)).toBe('input_invalid');
    expect(JSON.stringify(refused)).toContain(message);
    expect(
      must(
        await service.runs.startRun({
          ...ALL,
          project: 'p',
          definitionId: 'flow',
          input: { customer: 'k'.repeat(1024) },
        }),
      ).created,
    ).toBe(true);
  });
});

onEachEngine('a paused run', ({ createHarness }) => {
  const open = () =>
    createHarness({ definitions: [aDefinition('flow', tasks('one'), { concurrency: concurrency() })] });
  const pause = (service: Harness, runId: string) => service.runs.pauseRun({ ...ALL, runId });
  const resume = (service: Harness, runId: string) => service.runs.resumeRun({ ...ALL, runId });

  it('keeps nobody waiting: when its turn comes it leaves the line, and asks anew when it is resumed', async () => {
    const service = await open();
    const holder = await service.start('flow', ada);
    const paused = await service.start('flow', ada);
    const next = await service.start('flow', ada);
    must(await pause(service, paused.runId));
    must(await cancel(service, holder.runId));
    await service.runs.tick();
    await service.runs.tick();
    expect(await begun(service, paused, next)).toEqual([false, true]);
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 1, waiting: 0, lines: 0 });
    must(await resume(service, paused.runId));
    expect(await begun(service, paused)).toEqual([false]);
    must(await cancel(service, next.runId));
    await service.runs.tick();
    expect(await begun(service, paused)).toEqual([true]);
    expect(service.faults).toEqual([]);
  });

  it('keeps its place in line while it is not its turn, and what it holds', async () => {
    const service = await open();
    const holder = await service.start('flow', ada);
    const paused = await service.start('flow', ada);
    const next = await service.start('flow', ada);
    must(await pause(service, paused.runId));
    must(await pause(service, holder.runId));
    await service.runs.tick();
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 1, waiting: 2 });
    must(await resume(service, paused.runId));
    must(await cancel(service, holder.runId));
    await service.runs.tick();
    expect(await begun(service, paused, next)).toEqual([true, false]);
  });
});

onEachEngine('a key that a run above holds', ({ createHarness }) => {
  const again = (onLimit: string, more: object = {}) =>
    aDefinition(
      'flow',
      [
        { id: 'more', kind: 'child', definition: 'flow', input: { customer: 'ada', depth: 1 }, ...more },
        { id: 'done', kind: 'succeed' },
      ],
      { concurrency: concurrency({ on_limit: onLimit }) },
    );

  it.each(['queue', 'cancel_oldest', 'reject'])(
    'is not waited for (%s): the child fails at once, and says why',
    async (onLimit) => {
      const service = await createHarness({ definitions: [again(onLimit)] });
      const { runId } = await service.start('flow', ada);
      const parent = await service.detail(runId);
      expect(parent.status).toBe('failed');
      expect(parent.children).toMatchObject([{ status: 'failed', error: { class: 'limit', code: 'limit_reached' } }]);
      expect(await keyOf(service, 'ada')).toBeUndefined();
      expect(service.faults).toEqual([]);
    },
  );
});

onEachEngine('a rate of a definition', ({ createHarness }) => {
  const open = (more: object = {}, over: object = {}) =>
    createHarness({ definitions: [aDefinition('flow', tasks('one'), { rate: rate(more), ...over })] });

  it('lets in at most its limit in any window, and the next when the oldest start has left it', async () => {
    const service = await open();
    const runs = [];
    for (let n = 0; n < 4; n += 1) {
      runs.push(await service.start('flow', ada));
      await service.pass(1000);
    }
    // Begun at 0 and 1 s; it is 4 s now.
    expect(await begun(service, ...runs)).toEqual([true, true, false, false]);
    await service.pass(6000);
    expect(await begun(service, ...runs)).toEqual([true, true, false, false]);
    await service.pass(1000);
    expect(await begun(service, ...runs)).toEqual([true, true, true, false]);
    await service.pass(1000);
    expect(await begun(service, ...runs)).toEqual([true, true, true, true]);
    expect((await service.journal(runs[2]?.runId ?? ''))[1]).toMatchObject({
      kind: 'run.held',
      data: { reason: 'rate' },
    });
  });

  it('does not wait for the next second: a timer lets in to the millisecond', async () => {
    const service = await open({ limit: 1, per_ms: 100 });
    await service.start('flow', ada);
    const second = await service.start('flow', ada);
    service.time.advance(100);
    await service.runs.getRun({ ...ALL, runId: second.runId, waitMs: 0 });
    expect(await begun(service, second)).toEqual([false]);
    service.time.advance(1);
    await until(async () => (await begun(service, second))[0] === true);
  });

  it('counts starts, not runs: one that has ended counts on, and the key goes when its window is empty', async () => {
    const service = await open({ limit: 1 });
    const first = await service.start('flow', ada);
    must(await cancel(service, first.runId));
    const second = await service.start('flow', ada);
    expect(await begun(service, second)).toEqual([false]);
    must(await cancel(service, second.runId));
    await service.pass(9000);
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 1, waiting: 0 });
    await service.pass(2000);
    expect(await keyOf(service, 'ada')).toBeUndefined();
  });

  it('holds over a restart', async () => {
    const service = await open({ limit: 1 });
    await service.start('flow', ada);
    const { runId } = await service.start('flow', ada);
    service.time.advance(9000);
    const again = await service.reopen();
    await again.tick();
    expect(must(await again.getRun({ ...ALL, runId })).cursor).toBeUndefined();
    service.time.advance(1001);
    await again.tick();
    expect(must(await again.getRun({ ...ALL, runId })).cursor).toBe('one');
  });

  it.each([
    ['forth', 365 * 86_400_000],
    ['back', -365 * 86_400_000],
  ])('is not moved by a clock that jumps %s by a year: not broken, and not blocked', async (_way, ms) => {
    const service = await open({ limit: 1 });
    await service.start('flow', ada);
    const waits = await service.start('flow', ada);
    service.time.jumpWall(ms);
    await service.pass(9000);
    expect(await begun(service, waits)).toEqual([false]);
    await service.pass(2000);
    expect(await begun(service, waits)).toEqual([true]);
  });

  it('a restart after the clock was set back lasts one window at most', async () => {
    const service = await open({ limit: 1 });
    await service.start('flow', ada);
    const { runId } = await service.start('flow', ada);
    service.time.jumpWall(-86_400_000);
    const again = await service.reopen();
    for (let second = 0; second < 9; second += 1) {
      service.time.advance(1000);
      await again.tick();
    }
    expect(must(await again.getRun({ ...ALL, runId })).cursor).toBeUndefined();
    service.time.advance(2000);
    await again.tick();
    expect(must(await again.getRun({ ...ALL, runId })).cursor).toBe('one');
  });
});

onEachEngine('a definition with a concurrency key and a rate', ({ createHarness }) => {
  /** One provider for all, one run at a time for each customer. */
  const open = () =>
    createHarness({
      definitions: [
        aDefinition('flow', tasks('one'), {
          concurrency: concurrency(),
          rate: { key: 'provider', limit: 3, per_ms: 10_000 },
        }),
      ],
    });

  it('takes both in one commit or none: who waits for one of them keeps nobody from the other', async () => {
    const service = await open();
    const ada1 = await service.start('flow', ada);
    const ada2 = await service.start('flow', ada);
    const bob = await service.start('flow', { customer: 'bob' });
    const eve = await service.start('flow', { customer: 'eve' });
    // The second of ada waits for the first, and took no start: three have begun.
    expect(await begun(service, ada1, ada2, bob, eve)).toEqual([true, false, true, true]);
    expect(await keyOf(service, 'provider')).toMatchObject({ used: 3, waiting: 1, lines: 0 });
    const dan = await service.start('flow', { customer: 'dan' });
    expect(await begun(service, dan)).toEqual([false]);
    must(await cancel(service, ada1.runId));
    await service.runs.tick();
    // Now it waits for the provider, and holds nothing.
    expect(await begun(service, ada2)).toEqual([false]);
    expect(await keyOf(service, 'ada')).toMatchObject({ used: 0, waiting: 1, lines: 0 });
    expect((await service.kinds(ada2.runId)).filter((kind) => kind === 'run.held')).toHaveLength(2);
    await service.pass(11_000);
    expect(await begun(service, ada2, dan)).toEqual([true, true]);
    expect(await keyOf(service, 'provider')).toMatchObject({ used: 2, waiting: 0 });
  });

  it('is fair between lines: the oldest of all that can go goes first', async () => {
    const service = await open();
    const first = await service.start('flow', ada);
    for (const customer of ['b', 'c']) await service.start('flow', { customer });
    const blocked = await service.start('flow', ada);
    const waiting = [];
    for (let n = 0; n < 4; n += 1) waiting.push(await service.start('flow', { customer: `x${n}` }));
    await service.pass(11_000);
    expect(await begun(service, blocked, ...waiting)).toEqual([false, true, true, true, false]);
    must(await cancel(service, first.runId));
    await service.pass(11_000);
    expect(await begun(service, blocked, ...waiting)).toEqual([true, true, true, true, true]);
    expect(service.faults).toEqual([]);
  });
});

onEachEngine('many keys', ({ createHarness }) => {
  it('one key with a long line delays no other: each has its turn', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', tasks('one'), { concurrency: concurrency({ limit: 100 }) })],
    });
    const holders = await Promise.all(Array.from({ length: 100 }, () => service.start('flow', { customer: 'busy' })));
    await Promise.all(Array.from({ length: 300 }, () => service.start('flow', { customer: 'busy' })));
    const quiet = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const customer = `quiet-${n}`;
        await Promise.all(Array.from({ length: 100 }, () => service.start('flow', { customer })));
        return service.start('flow', { customer });
      }),
    );
    expect((await begun(service, ...quiet)).some(Boolean)).toBe(false);
    for (const { runId } of holders) must(await cancel(service, runId));
    const running = (await service.runs.listRuns({ ...ALL, status: 'queued', limit: 1000 })) as { ok: true };
    expect(running.ok).toBe(true);
    await service.runs.tick();
    expect(await keyOf(service, 'busy')).toMatchObject({ used: 100, waiting: 200 });
  });
});
