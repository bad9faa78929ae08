import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, task, tasks } from '../run-harness.ts';

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
