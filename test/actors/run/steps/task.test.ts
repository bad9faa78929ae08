import { expect, it } from 'vitest';
import { onEachEngine } from '../../engines.ts';
import { ALL, aDefinition, must, task, tasks } from '../../run-harness.ts';

onEachEngine('a run of tasks', ({ createHarness }) => {
  it('goes through its steps in order and ends with the output of the last', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });
    const run = await service.start('flow', { n: 1 });
    expect(run.status).toBe('queued');
    const one = await service.take();
    expect(one).toMatchObject({ stepId: 'one', visit: 1, attempt: 1, steps: {} });
    expect(must(await service.complete(one, { a: 1 }))).toMatchObject({ nextStep: 'two' });
    const two = await service.take();
    expect(two.steps).toEqual({ one: { output: { a: 1 } } });
    expect(must(await service.complete(two, 'end'))).toEqual({ runStatus: 'succeeded' });
    const ended = await service.detail(run.runId);
    expect(ended).toMatchObject({ status: 'succeeded', output: 'end', stepCount: 2 });
    expect(ended.attempts.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
    expect(ended.attempts.map(({ output }) => output)).toEqual([{ a: 1 }, 'end']);
    expect(await service.kinds(run.runId)).toEqual([
      'run.started',
      'cursor.moved',
      'step.leased',
      'step.started',
      'step.finished',
      'cursor.moved',
      'step.leased',
      'step.started',
      'step.finished',
      'run.finished',
    ]);
    expect((await service.journal(run.runId)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(service.faults).toEqual([]);
  });

  it('ends by "end" with the output that the definition makes', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { next: 'end' })], {
          output: { paid: '${steps.one.output.ok}', by: '${run.run_id}' },
        }),
      ],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), { ok: true }));
    expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: { paid: true, by: runId } });
  });

  it('merges a state patch with top-level keys replacing', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two', 'three'))] });
    await service.start('flow');
    must(await service.complete(await service.take(), 1, { statePatch: { a: { x: 1 }, b: 1, __proto: 1 } }));
    const two = await service.take();
    expect(two.state).toEqual({ a: { x: 1 }, b: 1, __proto: 1 });
    must(await service.complete(two, 1, { statePatch: { a: { y: 2 } } }));
    expect((await service.take()).state).toEqual({ a: { y: 2 }, b: 1, __proto: 1 });
  });

  it('renders the input of a step, and keeps the type of a template that stands alone', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', { input: { t: '${input.ticket}', s: 'n=${input.n}', c: '${correlation.user_id}' } }),
        ]),
      ],
    });
    await service.start('flow', { ticket: { id: 7 }, n: 2 }, { correlation: { user_id: 'u' } });
    expect((await service.take()).input).toEqual({ t: { id: 7 }, s: 'n=2', c: 'u' });
  });

  it('fails the step with class expression, naming the path, when a required input is missing', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', {
            input: { t: '${input.ticket.id}' },
            on_error: [{ class: 'expression', to: 'sorry' }],
            next: 'end',
          }),
          task('sorry', { input: { why: '${error.message}', at: '${error.step_id}' }, next: 'end' }),
        ]),
      ],
    });
    await service.start('flow');
    const sorry = await service.take();
    expect(sorry).toMatchObject({ stepId: 'sorry', input: { at: 'one' } });
    expect(JSON.stringify(sorry.input)).toContain('input.ticket');
  });

  it('takes the first branch whose condition holds, and counts visits', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('triage', {
            next: [
              { when: 'state.confidence >= 0.8', to: 'pay' },
              { when: 'visits.triage < 3', to: 'triage' },
              { to: 'ask' },
            ],
          }),
          task('ask', { next: 'end' }),
          task('pay', { next: 'end' }),
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    const visits: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const lease = await service.take();
      visits.push(lease.visit);
      expect(lease).toMatchObject({ stepId: 'triage', attempt: 1 });
      must(await service.complete(lease, round, { statePatch: { confidence: 0.1 } }));
    }
    expect(visits).toEqual([1, 2, 3]);
    expect((await service.take()).stepId).toBe('ask');
    const keys = (await service.detail(runId)).attempts.map(({ visit, output }) => [visit, output]);
    expect(keys).toEqual([
      [1, 0],
      [2, 1],
      [3, 2],
      [1, undefined],
    ]);
  });

  it('a visit without an output hides the output of the visit before, also after a restart', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', { next: [{ when: 'visits.one < 2', to: 'one' }, { to: 'two' }] }),
          task('two'),
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 'first'));
    must(await service.complete(await service.take()));
    const again = await service.reopen();
    const [two] = must(await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }));
    expect(two?.steps).toEqual({});
    expect((await service.detail(runId)).attempts.map(({ output }) => output)).toEqual(['first', undefined, undefined]);
  });

  it('fails the run with class expression where no branch matches, whatever on_error says', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', {
            next: [{ when: 'state.x == 1', to: 'two' }],
            on_error: [{ class: 'expression', to: 'two' }],
          }),
          task('two', { next: 'end' }),
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 1, { statePatch: { x: 2 } }));
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'expression', stepId: 'one' },
    });
  });

  it('fails the step with class expression when a condition fails, so that on_error may take it', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', {
            next: [{ when: 'state.x == 1', to: 'two' }, { to: 'two' }],
            on_error: [{ class: 'expression', to: 'two' }],
          }),
          task('two', { next: 'end' }),
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 1));
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'two' });
  });
});

onEachEngine('retries', ({ createHarness }) => {
  const retrying = (more: object = {}) =>
    aDefinition('flow', [
      task('one', {
        retry: { max_attempts: 3, backoff_ms: 10_000, multiplier: 2, max_backoff_ms: 60_000, jitter: 'none' },
        next: 'end',
        ...more,
      }),
    ]);

  it('retries retryable failures after a growing backoff, up to max_attempts', async () => {
    const service = await createHarness({ definitions: [retrying()] });
    const { runId } = await service.start('flow');
    const first = await service.take();
    expect(must(await service.fail(first, 'retryable'))).toEqual({
      runStatus: 'waiting',
      nextStep: 'one',
      willRetry: true,
    });
    expect((await service.detail(runId)).timers).toEqual([
      { name: 'backoff', dueAt: service.time.now() + 10_000, stepId: 'one' },
    ]);
    await service.pass(9000);
    expect(await service.claim()).toEqual([]);
    await service.pass(1000);
    const second = await service.take();
    expect(second).toMatchObject({ attempt: 2, visit: 1, stepKey: first.stepKey });
    must(await service.fail(second, 'retryable'));
    await service.pass(19_000);
    expect(await service.claim()).toEqual([]);
    await service.pass(1000);
    expect(must(await service.fail(await service.take(), 'retryable'))).toEqual({
      runStatus: 'failed',
      willRetry: false,
    });
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'retryable', stepId: 'one' },
    });
  });

  it('draws the backoff from the whole range with full jitter, from the chance it is handed', async () => {
    const service = await createHarness({
      random: () => 0.25,
      definitions: [retrying({ retry: { backoff_ms: 10_000, jitter: 'full' } })],
    });
    const { runId } = await service.start('flow');
    must(await service.fail(await service.take(), 'retryable'));
    expect((await service.detail(runId)).timers[0]?.dueAt).toBe(service.time.now() + 2500);
  });

  it('takes retry_after_ms as a minimum', async () => {
    const service = await createHarness({ definitions: [retrying()] });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    must(
      await service.runs.fail({
        ...ALL,
        leaseId: lease.leaseId,
        workerId: 'w1',
        error: { class: 'retryable', message: 'later' },
        retryAfterMs: 45_000,
      }),
    );
    expect((await service.detail(runId)).timers[0]?.dueAt).toBe(service.time.now() + 45_000);
  });

  it('retries rate_limited after retry_after_ms without spending the budget', async () => {
    const service = await createHarness({ definitions: [retrying({ retry: { max_attempts: 1 } })] });
    await service.start('flow');
    for (let round = 1; round <= 5; round += 1) {
      const lease = await service.take();
      expect(lease.attempt).toBe(round);
      const failed = await service.runs.fail({
        ...ALL,
        leaseId: lease.leaseId,
        workerId: 'w1',
        error: { class: 'rate_limited', message: 'slow down' },
        retryAfterMs: 3000,
      });
      expect(must(failed).willRetry).toBe(true);
      await service.pass(3000);
    }
    expect(must(await service.complete(await service.take())).runStatus).toBe('succeeded');
  });

  it('retries at once when the backoff is zero', async () => {
    const service = await createHarness({ definitions: [retrying({ retry: { backoff_ms: 0 } })] });
    await service.start('flow');
    expect(must(await service.fail(await service.take(), 'retryable'))).toMatchObject({
      runStatus: 'queued',
      willRetry: true,
    });
    expect((await service.take()).attempt).toBe(2);
  });

  it.each(['fatal', 'my_own_class'])('does not retry class %s: on_error decides', async (errorClass) => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', {
            on_error: [
              { class: errorClass, code: 'nope', to: 'end' },
              { class: errorClass, to: 'sorry' },
            ],
            next: 'end',
          }),
          task('sorry', { next: 'end' }),
        ]),
      ],
    });
    await service.start('flow');
    expect(must(await service.fail(await service.take(), errorClass, { code: 'other' }))).toEqual({
      runStatus: 'queued',
      nextStep: 'sorry',
      willRetry: false,
    });
  });

  it('runs an at_most_once body once, whatever the class', async () => {
    for (const errorClass of ['retryable', 'rate_limited', 'unservable', 'fatal']) {
      const service = await createHarness({ definitions: [retrying({ delivery: 'at_most_once' })] });
      const { runId } = await service.start('flow');
      expect(must(await service.fail(await service.take(), errorClass))).toMatchObject({
        runStatus: 'failed',
        willRetry: false,
      });
      expect(await service.detail(runId)).toMatchObject({ error: { class: errorClass } });
    }
  });
});
