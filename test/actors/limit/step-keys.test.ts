import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, type Harness, must, task } from '../run-harness.ts';

const concurrency = (more: object = {}) => ({ key: '${input.customer}', limit: 1, ...more });
const ada = { customer: 'ada' };

const keyOf = async ({ store }: Harness, key = 'ada') =>
  (await store.listLimits({ reach: 'all', limit: 100 })).find((record) => record.key === key);
const phaseOf = async ({ store }: Harness, runId: string): Promise<unknown> => {
  const rows = await store.findRun(runId);
  const { v } = JSON.parse(rows?.stored.record.snapshot ?? '{}') as { v: { active?: object } | string };
  return typeof v === 'string' ? v : Object.values(v.active ?? {})[0];
};

onEachEngine('a concurrency key of a task', ({ createHarness }) => {
  const open = (more: object = {}, key: object = {}) =>
    createHarness({
      definitions: [
        aDefinition('flow', [
          task('pay', {
            concurrency: concurrency(key),
            retry: { max_attempts: 2, backoff_ms: 5000, jitter: 'none' },
            ...more,
          }),
          task('tell'),
        ]),
      ],
    });

  it('is held from the admission of a step to the end of its attempt, and not by its run', async () => {
    const service = await open();
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    expect([await phaseOf(service, first.runId), await phaseOf(service, second.runId)]).toEqual(['queued', 'held']);
    expect((await service.detail(second.runId)).status).toBe('queued');
    const lease = await service.take();
    expect(await service.claim()).toEqual([]);
    must(await service.complete(lease));
    await service.runs.tick();
    expect([await phaseOf(service, first.runId), await phaseOf(service, second.runId)]).toEqual(['queued', 'queued']);
    expect(await service.kinds(second.runId)).toEqual(['run.started', 'cursor.moved', 'run.held', 'run.admitted']);
    expect((await service.journal(second.runId))[2]).toMatchObject({
      stepId: 'pay',
      visit: 1,
      data: { reason: 'concurrency_key', key: 'ada' },
    });
  });

  it('is free through a backoff: the retry stands in line again', async () => {
    const service = await open();
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    must(await service.fail(await service.take(), 'retryable'));
    await service.runs.tick();
    expect([await phaseOf(service, first.runId), await phaseOf(service, second.runId)]).toEqual(['backoff', 'queued']);
    await service.pass(6000);
    expect([await phaseOf(service, first.runId), await phaseOf(service, second.runId)]).toEqual(['held', 'queued']);
    must(await service.complete(await service.take()));
    await service.runs.tick();
    expect(await phaseOf(service, first.runId)).toBe('queued');
    const { attempts } = await service.detail(first.runId);
    expect(attempts.map(({ status }) => status)).toEqual(['failed']);
  });

  it('is free after a retry at once, and one that waited goes first', async () => {
    const service = await open({ retry: { max_attempts: 3, backoff_ms: 0, jitter: 'none' } });
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    must(await service.fail(await service.take(), 'retryable'));
    await service.runs.tick();
    expect([await phaseOf(service, first.runId), await phaseOf(service, second.runId)]).toEqual(['held', 'queued']);
  });

  it('is kept by an offer that lapses, and by one that a worker cannot serve', async () => {
    const service = await open();
    await service.start('flow', ada);
    const second = await service.start('flow', ada);
    expect(await service.claim()).toHaveLength(1);
    await service.pass(6000);
    expect(await phaseOf(service, second.runId)).toBe('held');
    const [lease] = await service.claim();
    if (lease === undefined) throw new Error('nothing to claim');
    must(await service.fail(lease, 'unservable'));
    await service.runs.tick();
    expect(await phaseOf(service, second.runId)).toBe('held');
    expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 1 });
  });

  it.each([
    ['a failure that no retry follows', (service: Harness) => service.fail],
    ['a cancel of the run while the step is out', undefined],
  ])('is free after %s', async (what, fail) => {
    const service = await open();
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    const lease = await service.take();
    if (fail === undefined) must(await service.runs.cancelRun({ ...ALL, runId: first.runId }));
    else must(await fail(service)(lease, 'fatal'));
    await service.runs.tick();
    expect([what, await phaseOf(service, second.runId)]).toEqual([what, 'queued']);
    expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 0 });
  });

  it('is free when the attempt of a silent worker is reclaimed', async () => {
    const service = await open();
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    await service.take();
    await service.pass(29_000);
    expect(await phaseOf(service, second.runId)).toBe('held');
    await service.pass(8000);
    expect([await phaseOf(service, first.runId), await phaseOf(service, second.runId)]).toEqual(['held', 'queued']);
  });

  it('`reject` fails the step with class limit, which on_error may take', async () => {
    const service = await open(
      { on_error: [{ class: 'limit', code: 'limit_reached', to: 'tell' }] },
      { on_limit: 'reject' },
    );
    await service.start('flow', ada);
    const second = await service.start('flow', ada);
    expect(await service.detail(second.runId)).toMatchObject({ cursor: 'tell', status: 'queued' });
    expect((await service.journal(second.runId)).find(({ kind }) => kind === 'step.failed')?.data).toMatchObject({
      error: { class: 'limit', code: 'limit_reached' },
    });
  });

  it.each([
    ['a path that is missing', {}, 'concurrency.key of step pay: input.customer is missing'],
    ['a key over 1,024 characters', { customer: 'k'.repeat(1025) }, 'concurrency.key of step pay has 1025 characters'],
  ])('fails the step with class expression for %s', async (_what, input, message) => {
    const service = await open();
    const { runId } = await service.start('flow', input);
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'expression', stepId: 'pay', message: expect.stringContaining(message) as string },
    });
    const { runId: longest } = await service.start('flow', { customer: 'k'.repeat(1024) });
    expect((await service.detail(longest)).status).toBe('queued');
  });

  it('a cancel takes a waiting step out of the line, and nothing is left', async () => {
    const service = await open();
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    must(await service.runs.cancelRun({ ...ALL, runId: second.runId }));
    expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 0, lines: 0 });
    must(await service.runs.cancelRun({ ...ALL, runId: first.runId }));
    expect(await keyOf(service)).toBeUndefined();
    expect(service.faults).toEqual([]);
  });

  it('the state at an entry says that the step was held, and where it stood after', async () => {
    const service = await open();
    await service.start('flow', ada);
    const { runId } = await service.start('flow', ada);
    must(await service.complete(await service.take()));
    await service.runs.tick();
    const at = async (seq: number) =>
      must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq })).value;
    expect([await at(2), await at(3)]).toEqual([{ active: { pay: 'held' } }, { active: { pay: 'queued' } }]);
    // The first run goes on to its second step.
    await service.take();
    await service.take();
    const { chain } = must(await service.runs.stepCause({ ...ALL, runId, stepId: 'pay' }));
    expect(chain.map(({ kind }) => kind)).toEqual(['step.leased', 'run.admitted', 'cursor.moved', 'run.started']);
  });
});

onEachEngine('a rate of a task', ({ createHarness }) => {
  const open = (more: object = {}) =>
    createHarness({
      definitions: [
        aDefinition('flow', [task('call', { rate: { key: 'provider', limit: 2, per_ms: 10_000, ...more } })]),
      ],
    });
  const times = async (service: Harness, runs: readonly { readonly runId: string }[]) => {
    const leased: number[] = [];
    for (const { runId } of runs)
      for (const { kind, at } of await service.journal(runId)) if (kind === 'step.leased') leased.push(at);
    return leased.toSorted((a, b) => a - b);
  };

  it('counts the attempts that workers are given, however long the steps had waited for one', async () => {
    const service = await open();
    const runs = [];
    for (let n = 0; n < 6; n += 1) runs.push(await service.start('flow'));
    // Nobody comes for a minute: all of them were admitted by then.
    await service.pass(60_000);
    expect(await Promise.all(runs.map(({ runId }) => phaseOf(service, runId)))).toEqual(runs.map(() => 'queued'));
    for (let n = 0; n < 40; n += 1) {
      for (const lease of await service.claim('w1', 10)) {
        must(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
        must(await service.complete(lease));
      }
      await service.pass(1000);
    }
    const leased = await times(service, runs);
    expect(leased).toHaveLength(6);
    for (const from of leased)
      expect(leased.filter((at) => at >= from && at <= from + 10_000).length).toBeLessThanOrEqual(2);
    // As fast as it may: two at once each window.
    expect((leased[5] ?? 0) - (leased[0] ?? 0)).toBeLessThan(25_000);
    expect(service.faults).toEqual([]);
  });

  it('a retry is another start', async () => {
    const service = await open({ limit: 1 });
    const { runId } = await service.start('flow');
    must(await service.fail(await service.take(), 'retryable'));
    await service.pass(3000);
    expect(await phaseOf(service, runId)).toBe('held');
    await service.pass(9000);
    expect(await phaseOf(service, runId)).toBe('queued');
  });
});
