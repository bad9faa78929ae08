import { afterEach, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, type RunsServiceOptions, startRunsService } from './service.ts';

// Interface specification, "States and transitions", "Lease / attempt": each row, over HTTP.

let service: RunsHttp;
const open = async (options: RunsServiceOptions = {}): Promise<RunsHttp> => {
  service = await startRunsService({
    definitions: [
      aFlow('flow', [aTask('one', { retry: { max_attempts: 2, backoff_ms: 0 } }), aTask('two')]),
      aFlow('once', [aTask('one', { delivery: 'at_most_once' })]),
    ],
    ...options,
  });
  return service;
};
afterEach(() => service.close());

describe('runnable step | claim | a runnable step exists | offered (lease issued)', () => {
  it('the attempt records the worker id', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const lease = await service.offered('w1');
    const { status, attempts } = await service.run(run_id);
    expect(status).toBe('running');
    expect(attempts).toEqual([
      expect.objectContaining({ lease_id: lease.lease_id, status: 'offered', worker_id: 'w1', visit: 1, attempt: 1 }),
    ]);
    expect(attempts[0]).not.toHaveProperty('started_at');
  });

  it('the lease carries rendered input, prior steps, state, correlation, a stable key, and the ids of its span', async () => {
    await open({
      definitions: [aFlow('flow', [aTask('one'), aTask('two', { input: { n: '${input.n}', all: 'n=${input.n}' } })])],
    });
    const run = await service.start('flow', { n: 7 }, { correlation: { user_id: 'u', tags: ['vip'] } });
    await service.must(service.complete(await service.take(), { output: { a: 1 }, state_patch: { s: true } }));
    const lease = await service.offered();
    expect(lease).toEqual({
      lease_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      run_id: run.run_id,
      project: 'default',
      definition_id: 'flow',
      definition_version: 1,
      step_id: 'two',
      visit: 1,
      attempt: 1,
      delivery: 'at_least_once',
      input: { n: 7, all: 'n=7' },
      steps: { one: { output: { a: 1 } } },
      state: { s: true },
      correlation: { user_id: 'u', tags: ['vip'] },
      step_key: expect.any(String),
      trace_id: run.trace_id,
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      lease_expires_at: expect.stringMatching(/Z$/),
    });
  });

  it('answers empty when no step can run', async () => {
    await open();
    expect(await service.claim()).toEqual([]);
  });
});

describe('offered | started | sent before the body runs, always | running', () => {
  it('distinguishes offered from running, and extends the lease to its ttl', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const lease = await service.offered();
    const answer = await service.started(lease);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ run_status: 'running', lease_expires_at: expect.any(String) });
    expect(Date.parse(answer.body.lease_expires_at)).toBeGreaterThan(Date.parse(lease.lease_expires_at) + 20_000);
    const [attempt] = (await service.run(run_id)).attempts;
    expect(attempt).toMatchObject({ status: 'running', started_at: expect.any(String) });
  });

  it('a repeated started is 200', async () => {
    await open();
    await service.start('once');
    const lease = await service.take();
    expect((await service.started(lease)).status).toBe(200);
  });
});

describe('running | heartbeat | lease still current | running', () => {
  it('the lease is extended', async () => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    await service.leap(20_000);
    const answer = await service.heartbeat(lease);
    expect(answer.body).toEqual({ lease_expires_at: expect.any(String) });
    await service.leap(20_000);
    expect((await service.complete(lease)).status).toBe(200);
  });

  it('details go to the next attempt as last_details', async () => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    await service.must(service.heartbeat(lease, { details: { page: 1 } }));
    await service.must(service.heartbeat(lease, { details: { page: 17 } }));
    await service.must(service.fail(lease, 'retryable'));
    await service.pass(1000);
    const next = await service.offered();
    expect(next).toMatchObject({ attempt: 2, last_details: { page: 17 }, step_key: lease.step_key });
  });
});

describe('running | complete | output, state patch, usage sent | attempt finished', () => {
  it('the response carries run status and next step', async () => {
    await open();
    await service.start('flow');
    const first = await service.complete(await service.take(), { output: 1 });
    expect(first.body).toEqual({ run_status: 'queued', next_step: 'two' });
    const last = await service.complete(await service.take(), { output: 2 });
    expect(last.body).toEqual({ run_status: 'succeeded' });
  });

  it('the state patch merges with top-level keys replacing', async () => {
    await open();
    const { run_id } = await service.start('flow');
    await service.must(service.complete(await service.take(), { state_patch: { a: { x: 1 }, b: 1 } }));
    await service.must(service.complete(await service.take(), { state_patch: { a: { y: 2 } } }));
    expect((await service.run(run_id)).state).toEqual({ a: { y: 2 }, b: 1 });
  });

  it('usage, one or a list of them, is priced with the span price book and adds up', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const one = { model: 'gpt-4o-mini', input_tokens: 1000, output_tokens: 100, output_details: { reasoning: 10 } };
    await service.must(service.complete(await service.take(), { usage: one }));
    const known = { model: 'of-our-own', input_tokens: 5, cost: 0.5 };
    await service.must(service.complete(await service.take(), { usage: [one, known] }));
    const { usage, cost, attempts } = await service.run(run_id);
    const priced = (1000 * 0.15 + 100 * 0.6) / 1e6;
    expect(usage).toMatchObject({ input_tokens: 2005, output_tokens: 200, total_tokens: 2205 });
    expect(usage.cost).toBeCloseTo(2 * priced + 0.5, 12);
    expect(cost?.total_cost).toBeCloseTo(2 * priced + 0.5, 12);
    expect(attempts[0]?.usage).toEqual([one]);
    expect(attempts[0]?.cost).toMatchObject({ currency: 'USD', is_estimated: true, price_book_id: 'builtin' });
    expect(attempts[1]?.usage).toEqual([one, known]);
  });

  it('usage with `record` is a model span below that of the step; without, or with false, it is none', async () => {
    await open();
    await service.start('flow');
    const entry = { model: 'gpt-4o-mini', input_tokens: 1000, output_tokens: 100 };
    const lease = await service.take();
    const usage = [entry, { ...entry, record: true }, { ...entry, record: false }];
    await service.must(service.complete(lease, { usage }));
    await service.runs.flushOutbox();
    expect(service.spans.filter(({ kind }) => kind === 'model_generation')).toMatchObject([
      {
        parentSpanId: lease.span_id,
        model: 'gpt-4o-mini',
        usage: { inputTokens: 1000, outputTokens: 100 },
        cost: { priceBookId: 'builtin', isEstimated: true },
      },
    ]);
    const { attempts } = await service.run(lease.run_id);
    expect(attempts[0]?.usage).toEqual([entry, { ...entry, record: true }, entry]);
  });
});

describe('running | fail | error with a class | retried within the step budget or failed, per class', () => {
  it('a retryable failure is tried again within the budget, then fails the run', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const first = await service.fail(await service.take(), 'retryable');
    expect(first.body).toEqual({ run_status: expect.any(String), next_step: 'one', will_retry: true });
    await service.pass(1000);
    const second = await service.fail(await service.take(), 'retryable');
    expect(second.body).toEqual({ run_status: 'failed', will_retry: false });
    expect(await service.run(run_id)).toMatchObject({
      status: 'failed',
      error: { class: 'retryable', message: 'it broke', step_id: 'one' },
    });
  });

  it('rate_limited is tried again after retry_after_ms and spends no budget', async () => {
    await open();
    await service.start('flow');
    for (let n = 0; n < 3; n += 1) {
      const answer = await service.fail(await service.take(), 'rate_limited', { retry_after_ms: 500_000 });
      expect(answer.body).toEqual({ run_status: 'waiting', next_step: 'one', will_retry: true });
      await service.leap(400_000);
      expect(await service.claim()).toEqual([]);
      await service.leap(101_000);
    }
    expect((await service.take()).attempt).toBe(4);
  });

  it.each(['fatal', 'a_class_of_ours'])('%s is not tried again', async (name) => {
    await open();
    await service.start('flow');
    const answer = await service.fail(await service.take(), name);
    expect(answer.body).toEqual({ run_status: 'failed', will_retry: false });
  });
});

describe('running | no heartbeat within the lease ttl | orphaned', () => {
  const orphan = async (definition: string) => {
    await open();
    const { run_id } = await service.start(definition);
    const lease = await service.take();
    await service.leap(30_000);
    expect((await service.run(run_id)).attempts.at(-1)).toMatchObject({ status: 'orphaned' });
    return { run_id, lease };
  };

  it('after a reclaim window requeued under at_least_once', async () => {
    const { run_id, lease } = await orphan('flow');
    await service.pass(6000);
    expect(await service.run(run_id)).toMatchObject({ status: 'queued', cursor: 'one' });
    const next = await service.take();
    expect(next).toMatchObject({ step_id: 'one', visit: 1, attempt: 2, step_key: lease.step_key });
  });

  it('after a reclaim window failed under at_most_once', async () => {
    const { run_id } = await orphan('once');
    await service.pass(6000);
    expect(await service.run(run_id)).toMatchObject({ status: 'failed', error: { class: 'orphaned', step_id: 'one' } });
    expect(await service.claim()).toEqual([]);
  });

  it('until then it is its worker’s: a heartbeat revives it', async () => {
    const { run_id, lease } = await orphan('once');
    expect((await service.heartbeat(lease)).status).toBe(200);
    expect((await service.run(run_id)).attempts.at(-1)).toMatchObject({ status: 'running' });
    await service.pass(6000);
    expect((await service.complete(lease)).body).toEqual({ run_status: 'succeeded' });
  });

  it('until then it is its worker’s: a complete is taken', async () => {
    const { lease } = await orphan('flow');
    expect((await service.complete(lease)).body).toEqual({ run_status: 'queued', next_step: 'two' });
  });
});

describe('offered | worker does not hold the definition, version or step | failed as unservable; body never runs', () => {
  it.each(['flow', 'once'])('requeued for another worker without spending retry budget (%s)', async (definition) => {
    await open();
    await service.register('w2');
    const { run_id } = await service.start(definition);
    const answer = await service.fail(await service.offered('w1'), 'unservable');
    expect(answer.body).toEqual({ run_status: 'queued', next_step: 'one', will_retry: true });
    expect(await service.claim('w1')).toEqual([]);
    const lease = await service.offered('w2');
    expect(lease).toMatchObject({ step_id: 'one', attempt: 2 });
    expect((await service.run(run_id)).attempts.map(({ status }) => status)).toEqual(['unservable', 'offered']);
  });

  it('that version is not offered again to that worker for five minutes', async () => {
    await open();
    await service.start('flow');
    await service.must(service.fail(await service.offered(), 'unservable'));
    await service.leap(4 * 60_000);
    expect(await service.claim()).toEqual([]);
    await service.leap(61_000);
    expect(await service.claim()).toHaveLength(1);
  });
});

describe('offered | not started within offer_ttl_ms | back to the queue', () => {
  it.each(['flow', 'once'])('the body never ran, so it costs nothing (%s)', async (definition) => {
    await open();
    const { run_id } = await service.start(definition);
    const lease = await service.offered();
    await service.pass(6000);
    expect(await service.run(run_id)).toMatchObject({ status: 'queued', attempts: [{ status: 'lapsed' }] });
    expect((await service.started(lease)).body).toMatchObject({ code: 'fenced' });
    expect(await service.offered()).toMatchObject({ attempt: 2 });
  });

  it('the shorter of offer ttl and lease ttl counts', async () => {
    await open({ runs: { leaseTtlMs: 2000, offerTtlMs: 5000 } });
    await service.start('flow');
    await service.offered();
    await service.pass(3000);
    expect(await service.claim()).toHaveLength(1);
  });
});

describe('any | later call on a reclaimed or ended lease | refused with 409 and one of four reasons', () => {
  const verbs = ['started', 'heartbeat', 'complete', 'fail'] as const;
  const call = (name: (typeof verbs)[number], lease: { lease_id: string }, worker = 'w1') =>
    name === 'fail' ? service.fail(lease, 'fatal', {}, worker) : service[name](lease, {}, worker);
  const refused = async (name: (typeof verbs)[number], lease: { lease_id: string }, code: string, worker = 'w1') => {
    const answer = await call(name, lease, worker);
    expect([answer.status, answer.body.code]).toEqual([409, code]);
    expect(answer.body.message).toEqual(expect.any(String));
  };

  it.each(verbs)('already_applied: this lease’s own earlier complete landed (%s)', async (name) => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    await service.must(service.complete(lease));
    await refused(name, lease, 'already_applied');
  });

  it.each(verbs)('already_applied: this lease’s own earlier fail landed (%s)', async (name) => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    await service.must(service.fail(lease, 'retryable'));
    await refused(name, lease, 'already_applied');
  });

  it.each(verbs)('already_applied is tried before run_terminal (%s)', async (name) => {
    await open();
    await service.start('once');
    const lease = await service.take();
    await service.must(service.complete(lease));
    await refused(name, lease, 'already_applied');
  });

  it.each(verbs)('run_terminal: the run ended (%s)', async (name) => {
    await open();
    const { run_id } = await service.start('flow');
    const lease = await service.take();
    await service.must(service.post(`/runs/${run_id}/cancel`));
    await refused(name, lease, 'run_terminal');
  });

  it.each(verbs)('run_terminal is tried before fenced (%s)', async (name) => {
    await open();
    const { run_id } = await service.start('flow');
    const lease = await service.take();
    await service.leap(30_000);
    await service.leap(6000);
    await service.must(service.post(`/runs/${run_id}/cancel`));
    await refused(name, lease, 'run_terminal');
  });

  it.each(verbs)('run_terminal is tried before not_started (%s)', async (name) => {
    await open();
    const { run_id } = await service.start('once');
    const lease = await service.offered();
    await service.must(service.post(`/runs/${run_id}/cancel`));
    await refused(name, lease, 'run_terminal');
  });

  it.each(verbs)('fenced: a later attempt exists (%s)', async (name) => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    await service.leap(30_000);
    await service.leap(6000);
    await service.take();
    await refused(name, lease, 'fenced');
  });

  it.each(verbs)('fenced: the lease was reclaimed (%s)', async (name) => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    await service.leap(30_000);
    await service.leap(6000);
    await refused(name, lease, 'fenced');
  });

  it.each(verbs)('fenced: a call by another worker_id than the holder’s (%s)', async (name) => {
    await open();
    await service.register('w2');
    await service.start('once');
    await refused(name, await service.offered('w1'), 'fenced', 'w2');
  });

  it.each(['complete', 'fail'] as const)(
    'not_started: an at_most_once attempt whose started never arrived (%s)',
    async (name) => {
      await open();
      const { run_id } = await service.start('once');
      await refused(name, await service.offered(), 'not_started');
      expect((await service.run(run_id)).attempts).toMatchObject([{ status: 'offered' }]);
    },
  );

  it('an offered at_least_once lease takes a complete', async () => {
    await open();
    await service.start('flow');
    expect((await service.complete(await service.offered())).status).toBe(200);
  });

  it('a lease that never was is 404', async () => {
    await open();
    for (const name of verbs) {
      const answer = await call(name, { lease_id: '01900000-0000-7000-8000-000000000001' });
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
  });

  it('a refused call changes nothing', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const lease = await service.take();
    await service.must(service.complete(lease, { output: 'first' }));
    const before = [await service.run(run_id), await service.journal(run_id)];
    for (const name of verbs) await call(name, lease);
    expect([await service.run(run_id), await service.journal(run_id)]).toEqual(before);
  });
});
