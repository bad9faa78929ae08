import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, task, tasks } from '../run-harness.ts';

onEachEngine('limits', ({ createHarness }) => {
  it('entering one step more than max_steps ends the run with an error naming the limit', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { next: [{ when: 'visits.one > 99', to: 'end' }, { to: 'one' }] })], {
          limits: { max_steps: 3 },
        }),
      ],
    });
    const { runId } = await service.start('flow');
    for (let n = 0; n < 3; n += 1) must(await service.complete(await service.take()));
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'limit', limit: 'max_steps' },
    });
  });

  it('run_timeout_ms ends the run wherever it is', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', tasks('one'), { limits: { run_timeout_ms: 10_000 } })],
    });
    const run = await service.start('flow');
    expect(run.deadlineAt).toBe(service.time.now() + 10_000);
    const lease = await service.take();
    expect(lease.deadlineAt).toBe(run.deadlineAt);
    await service.pass(10_000);
    expect(await service.detail(run.runId)).toMatchObject({
      status: 'failed',
      timers: [],
      error: { class: 'limit', limit: 'run_timeout_ms' },
      attempts: [{ status: 'cancelled' }],
    });
    expect(codeOf(await service.complete(lease))).toBe('run_terminal');
  });

  it('max_cost_usd counts the priced usage of steps, also of failed ones', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { retry: { backoff_ms: 0 } }), task('two')], {
          limits: { max_cost_usd: 2.5 },
        }),
      ],
    });
    const { runId } = await service.start('flow');
    const usage = [{ model: 'm', inputTokens: 500, outputTokens: 500 }];
    const first = await service.take();
    must(
      await service.runs.fail({
        ...ALL,
        leaseId: first.leaseId,
        workerId: 'w1',
        error: { class: 'retryable', message: 'x' },
        usage,
      }),
    );
    must(await service.complete(await service.take(), 1, { usage }));
    expect(await service.detail(runId)).toMatchObject({
      status: 'queued',
      usage: { inputTokens: 1000, outputTokens: 1000, totalTokens: 2000, cost: 2 },
      cost: { totalCost: 2, currency: 'USD' },
    });
    must(await service.complete(await service.take(), 1, { usage: [...usage, { model: 'unknown', inputTokens: 5 }] }));
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'limit', limit: 'max_cost_usd' },
    });
  });

  it('a run whose usage cannot be priced has no cost, rather than zero', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 1, { usage: [{ model: 'unknown', inputTokens: 5 }] }));
    const run = await service.detail(runId);
    expect(run.cost).toBeUndefined();
    expect(run.usage).toEqual({ inputTokens: 5, outputTokens: 0, totalTokens: 5 });
  });
});

onEachEngine('limits of a step', ({ createHarness }) => {
  const endless = { next: [{ when: 'visits.one > 99', to: 'end' }, { to: 'one' }] };
  const rerun = { retry: { backoff_ms: 0, jitter: 'none', max_attempts: 10 } };
  const limited = (limits: object, more: object = {}) =>
    aDefinition('flow', [task('one', { limits, ...rerun, ...more })]);
  const failWith = async (service: Harness, errorClass: string, cost?: number) => {
    const { leaseId } = await service.take();
    const usage = cost === undefined ? {} : { usage: [{ cost }] };
    const error = { class: errorClass, message: 'it broke' };
    return must(await service.runs.fail({ ...ALL, leaseId, workerId: 'w1', error, ...usage }));
  };
  const pay = async (service: Harness, cost: number) =>
    must(await service.complete(await service.take(), 1, { usage: [{ cost }] }));

  it('max_attempts_total counts the attempts of all visits; one more ends the run, and names the limit and the step', async () => {
    const service = await createHarness({ definitions: [limited({ max_attempts_total: 3 }, endless)] });
    const { runId } = await service.start('flow');
    expect(await failWith(service, 'retryable')).toMatchObject({ runStatus: 'queued', willRetry: true });
    must(await service.complete(await service.take()));
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'one' });
    must(await service.complete(await service.take()));
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: {
        class: 'limit',
        limit: 'max_attempts_total',
        stepId: 'one',
        message: 'step one would begin its attempt number 4, its limit max_attempts_total is 3',
      },
    });
  });

  it('an attempt that would be tried again ends the run at once where it was the last, before its backoff', async () => {
    const slow = { retry: { backoff_ms: 5000 }, on_error: [{ to: 'end' }] };
    const service = await createHarness({ definitions: [limited({ max_attempts_total: 2 }, slow)] });
    const { runId } = await service.start('flow');
    await failWith(service, 'retryable');
    expect((await service.detail(runId)).status).toBe('waiting');
    await service.pass(5000);
    expect(await failWith(service, 'retryable')).toEqual({ runStatus: 'failed', willRetry: false });
    expect(await service.detail(runId)).toMatchObject({ timers: [], error: { limit: 'max_attempts_total' } });
  });

  it('the last attempt may end well, or fail for good: the limit is passed by one more, not by it', async () => {
    const service = await createHarness({ definitions: [limited({ max_attempts_total: 1 })] });
    const well = await service.start('flow');
    must(await service.complete(await service.take(), 1));
    expect(await service.detail(well.runId)).toMatchObject({ status: 'succeeded', output: 1 });
    const ill = await service.start('flow');
    await failWith(service, 'fatal');
    expect((await service.detail(ill.runId)).error).toMatchObject({ class: 'fatal' });
  });

  it('a rate limit and a reclaimed orphan count, though they spend no budget; a lapsed offer and unservable do not', async () => {
    const service = await createHarness({ definitions: [limited({ max_attempts_total: 3 })] });
    const { runId } = await service.start('flow');
    await service.claim();
    await service.pass(6000);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', attempts: [{ status: 'lapsed' }] });
    const refused = await service.take();
    must(await service.fail(refused, 'unservable'));
    await service.pass(300_000);
    await failWith(service, 'rate_limited');
    await service.pass(1000);
    await service.take();
    await service.pass(36_000);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued' });
    await failWith(service, 'retryable');
    expect((await service.detail(runId)).error).toMatchObject({ limit: 'max_attempts_total', stepId: 'one' });
  });

  it('max_cost_usd of a step ends the run when its attempts have reached it, to the cent', async () => {
    const service = await createHarness({ definitions: [limited({ max_cost_usd: 0.3 }, endless)] });
    const { runId } = await service.start('flow');
    await failWith(service, 'retryable', 0.1);
    await pay(service, 0.19);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cost: { totalCost: 0.29 } });
    await pay(service, 0.01);
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: {
        class: 'limit',
        limit: 'max_cost_usd',
        stepId: 'one',
        message: 'step one cost 0.3 USD, its limit max_cost_usd is 0.3',
      },
    });
  });

  it('what other steps spend is not counted, and a step that on_error leaves is named as the one that reached it', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('free'),
          task('one', { limits: { max_cost_usd: 1 }, on_error: [{ to: 'after' }] }),
          task('after'),
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    await pay(service, 5);
    expect((await service.detail(runId)).cursor).toBe('one');
    await failWith(service, 'fatal', 1);
    expect((await service.detail(runId)).error).toMatchObject({ limit: 'max_cost_usd', stepId: 'one' });
  });

  it('the counts are those of the run, over a restart of the service', async () => {
    const service = await createHarness({ definitions: [limited({ max_attempts_total: 2 }, endless)] });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take()));
    const again = await service.reopen();
    const [lease] = must(
      await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 0 }, new AbortController().signal),
    );
    must(await again.started({ ...ALL, leaseId: lease?.leaseId ?? '', workerId: 'w1' }));
    must(await again.complete({ ...ALL, leaseId: lease?.leaseId ?? '', workerId: 'w1' }));
    expect(must(await again.getRun({ ...ALL, runId })).error).toMatchObject({ limit: 'max_attempts_total' });
  });
});

onEachEngine('bounds', ({ createHarness }) => {
  it('a run that holds more than it may takes no further output, and can still be ended', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 'x'.repeat(32 * 1024 * 1024)));
    const lease = await service.take();
    expect(codeOf(await service.complete(lease, 1))).toBe('payload_too_large');
    expect(must(await service.complete(lease)).runStatus).toBe('succeeded');
    expect((await service.detail(runId)).status).toBe('succeeded');
  });
});
