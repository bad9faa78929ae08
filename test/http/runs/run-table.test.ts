import { afterEach, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, type RunsServiceOptions, startRunsService } from './service.ts';

// Interface specification, "States and transitions", "Run": each row, over HTTP.

let service: RunsHttp;
const wait = (more: object = {}) => ({
  id: 'ask',
  kind: 'wait_event',
  event: 'approval',
  key: 't/${input.id}',
  ...more,
});
const open = async (definitions: readonly object[], options: RunsServiceOptions = {}): Promise<void> => {
  service = await startRunsService({ definitions, ...options });
};
afterEach(() => service.close());

const publish = (more: object = {}) =>
  service.post('/events', { event: 'approval', key: 't/1', payload: { ok: true }, ...more });

describe('start (definition id and input)', () => {
  it('run and its trace created; run returned as stored', async () => {
    await open([aFlow('flow', [aTask('one')], { limits: { run_timeout_ms: 60_000 } })]);
    const answer = await service.post('/runs', {
      definition_id: 'flow',
      input: { a: [1, null] },
      correlation: { user_id: 'u', session_id: 's', project: 'ignored' },
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      run_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      project: 'default',
      definition_id: 'flow',
      definition_version: 1,
      status: 'queued',
      cursor: 'one',
      input: { a: [1, null] },
      state: {},
      correlation: expect.objectContaining({ user_id: 'u', session_id: 's' }),
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      step_count: 1,
      priority: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/),
      updated_at: expect.any(String),
      deadline_at: expect.any(String),
    });
    const { attempts, timers, waits, children, queued_reason: reason, ...run } = await service.run(answer.body.run_id);
    expect(run).toEqual(answer.body);
    expect(reason).toBe('workers_busy'); // read with the run, not stored
    expect([attempts, waits, children]).toEqual([[], [], []]);
    expect(timers).toEqual([expect.objectContaining({ due_at: run.deadline_at })]);
    await service.runs.flushOutbox();
    expect(service.spans).toMatchObject([{ traceId: run.trace_id, name: 'flow', status: 'unset' }]);
  });

  it('input validates against the definition schema, if any', async () => {
    const schema = { type: 'object', required: ['ticket'], properties: { ticket: { type: 'integer' } } };
    await open([aFlow('strict', [aTask('one')], { input_schema: schema }), aFlow('free', [aTask('one')])]);
    for (const input of [{}, { ticket: 'x' }, null]) {
      const answer = await service.post('/runs', { definition_id: 'strict', input });
      expect([answer.status, answer.body.code]).toEqual([400, 'input_invalid']);
    }
    expect((await service.post('/runs', { definition_id: 'strict', input: { ticket: 1 } })).status).toBe(201);
    expect((await service.post('/runs', { definition_id: 'free', input: null })).status).toBe(201);
    expect((await service.must(service.get('/runs'))).runs).toHaveLength(2);
  });

  it('highest stored definition version pinned', async () => {
    const version = (n: number) => ({ id: 'flow', version: n, steps: [aTask(`step-${n}`)] });
    await open([version(2), version(10), version(9)]);
    const run = await service.start('flow');
    expect(run).toMatchObject({ definition_version: 10, cursor: 'step-10' });
    await service.must(service.register('w1', [version(11)]));
    expect((await service.run(run.run_id)).definition_version).toBe(10);
    expect(await service.start('flow')).toMatchObject({ definition_version: 11 });
    expect(await service.start('flow', {}, { definition_version: 9 })).toMatchObject({ cursor: 'step-9' });
    const unknown = await service.post('/runs', { definition_id: 'flow', input: {}, definition_version: 3 });
    expect([unknown.status, unknown.body.code]).toEqual([404, 'not_found']);
  });

  it('an unknown definition at start is 404', async () => {
    await open([aFlow('flow', [aTask('one')])]);
    const refusal = { code: 'not_found', message: 'there is no definition nothing', field: 'definition_id' };
    for (const more of [{}, { definition_version: 3 }]) {
      const answer = await service.post('/runs', { definition_id: 'nothing', input: {}, ...more });
      expect([answer.status, answer.body]).toEqual([404, refusal]);
    }
    const answer = await service.post('/runs', { definition_id: 'flow', input: {}, definition_version: 3 });
    expect([answer.status, answer.body]).toEqual([
      404,
      { code: 'not_found', message: 'there is no definition flow version 3', field: 'definition_version' },
    ]);
  });
});

describe('start with an idempotency_key already used in the project while the run is retained', () => {
  it('the existing run is returned, with 200; no second run', async () => {
    await open([aFlow('flow', [aTask('one')])]);
    const body = { definition_id: 'flow', input: { n: 1 }, idempotency_key: 'k' };
    const first = await service.post('/runs', body);
    const again = await service.post('/runs', { ...body, input: { n: 2 } });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual(first.body);
    const other = await service.post('/runs', { ...body, project: 'other' });
    expect(other.status).toBe(201);
    expect((await service.must(service.get('/runs?project=*'))).runs).toHaveLength(2);
  });

  it('also when both come at once', async () => {
    await open([aFlow('flow', [aTask('one')])]);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        service.post('/runs', { definition_id: 'flow', input: {}, idempotency_key: 'k' }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.run_id)).size).toBe(1);
  });
});

describe('wait_event step reached', () => {
  it('run waits until an event with the step’s name and expanded key arrives', async () => {
    await open([aFlow('flow', [wait({ timeout_ms: 60_000 })])]);
    const { run_id } = await service.start('flow', { id: 1 });
    const run = await service.run(run_id);
    expect(run).toMatchObject({ status: 'waiting', cursor: 'ask' });
    expect(run.waits).toEqual([
      { event: 'approval', key: 't/1', step_id: 'ask', since: expect.any(String), deadline_at: expect.any(String) },
    ]);
    expect((await publish({ key: 't/2' })).body).toEqual({ outcome: 'parked' });
    expect((await publish({ event: 'other' })).body).toEqual({ outcome: 'parked' });
    expect((await publish({ project: 'other' })).body).toEqual({ outcome: 'parked' });
    expect((await service.run(run_id)).status).toBe('waiting');
    expect((await publish()).body).toEqual({ outcome: 'delivered', run_id });
    expect(await service.run(run_id)).toMatchObject({ status: 'succeeded', output: { ok: true }, waits: [] });
  });
});

describe('event published', () => {
  it('matching open wait: delivered, to one wait, the oldest', async () => {
    await open([aFlow('flow', [wait()])]);
    const first = await service.start('flow', { id: 1 });
    const second = await service.start('flow', { id: 1 });
    expect((await publish()).body).toEqual({ outcome: 'delivered', run_id: first.run_id });
    expect((await publish()).body).toEqual({ outcome: 'delivered', run_id: second.run_id });
    expect((await publish()).body).toEqual({ outcome: 'parked' });
  });

  it('no open wait: parked, for a later wait that declares it accepts parked events', async () => {
    await open([aFlow('takes', [wait({ accept_parked: true })]), aFlow('waits', [wait()])]);
    expect((await publish()).body).toEqual({ outcome: 'parked' });
    expect(await service.start('waits', { id: 1 })).toMatchObject({ status: 'waiting' });
    const { run_id } = await service.start('takes', { id: 1 });
    expect(await service.run(run_id)).toMatchObject({ status: 'succeeded', output: { ok: true } });
  });

  it('parked: expires after 24 hours', async () => {
    await open([aFlow('takes', [wait({ accept_parked: true })])]);
    const day = 24 * 3_600_000;
    await publish();
    await service.leap(day - 60_000);
    expect((await service.run((await service.start('takes', { id: 1 })).run_id)).status).toBe('succeeded');
    await publish();
    await service.leap(day + 1000);
    expect((await service.run((await service.start('takes', { id: 1 })).run_id)).status).toBe('waiting');
  });

  it('event_id seen before: duplicate, nothing written', async () => {
    await open([aFlow('flow', [wait()])]);
    const first = await service.start('flow', { id: 1 });
    expect((await publish({ event_id: 'e' })).body).toMatchObject({ outcome: 'delivered' });
    const second = await service.start('flow', { id: 1 });
    expect((await publish({ event_id: 'e' })).body).toMatchObject({ outcome: 'duplicate' });
    expect((await service.run(second.run_id)).status).toBe('waiting');
    expect((await service.run(first.run_id)).status).toBe('succeeded');
    expect((await publish({ event_id: 'e', project: 'other' })).body).toEqual({ outcome: 'parked' });
  });

  it('event_id of a parked event that a wait took: duplicate on both sides of 24 hours, naming the run', async () => {
    await open([aFlow('takes', [wait({ accept_parked: true })])]);
    const day = 24 * 3_600_000;
    expect((await publish({ event_id: 'e' })).body).toEqual({ outcome: 'parked' });
    const { run_id } = await service.start('takes', { id: 1 });
    const other = await service.start('takes', { id: 1 });
    for (const ms of [0, day - 1, 1, 60_000, day]) {
      await service.leap(ms);
      expect((await publish({ event_id: 'e' })).body).toEqual({ outcome: 'duplicate', run_id });
    }
    expect((await service.run(other.run_id)).status).toBe('waiting');
  });

  it('event_id of a parked event that nobody took: duplicate until 24 hours have passed, then a new event', async () => {
    await open([aFlow('takes', [wait({ accept_parked: true })])]);
    expect((await publish({ event_id: 'e' })).body).toEqual({ outcome: 'parked' });
    await service.leap(24 * 3_600_000 - 1);
    expect((await publish({ event_id: 'e' })).body).toEqual({ outcome: 'duplicate' });
    await service.leap(1);
    expect((await publish({ event_id: 'e' })).body).toEqual({ outcome: 'parked' });
    const { run_id } = await service.start('takes', { id: 1 });
    expect((await service.run(run_id)).status).toBe('succeeded');
  });
});

describe('signal', () => {
  it('delivers to that run’s own open wait, whatever its key', async () => {
    await open([aFlow('flow', [wait()])]);
    const other = await service.start('flow', { id: 1 });
    const { run_id } = await service.start('flow', { id: 1 });
    const signal = (more: object = {}, run = run_id) =>
      service.post(`/runs/${run}/signal`, { event: 'approval', payload: { by: 'me' }, ...more });
    const wrong = await signal({ event: 'refusal' });
    expect([wrong.status, wrong.body.code]).toEqual([409, 'conflict']);
    expect((await signal({ event_id: 's' })).body).toEqual({ outcome: 'delivered', run_id });
    expect((await signal({ event_id: 's' })).body).toMatchObject({ outcome: 'duplicate' });
    expect((await service.run(run_id)).output).toEqual({ by: 'me' });
    expect((await service.run(other.run_id)).status).toBe('waiting');
  });

  it('to an ended run is 409 run_terminal, with no matching open wait 409 conflict, to no run 404', async () => {
    await open([aFlow('flow', [aTask('one')])]);
    const { run_id } = await service.start('flow');
    const signal = async (run: string) => {
      const { status, body } = await service.post(`/runs/${run}/signal`, { event: 'e', payload: {} });
      return [status, body.code];
    };
    expect(await signal(run_id)).toEqual([409, 'conflict']);
    await service.must(service.post(`/runs/${run_id}/cancel`));
    expect(await signal(run_id)).toEqual([409, 'run_terminal']);
    expect(await signal('nobody')).toEqual([404, 'not_found']);
  });
});

describe('wait deadline reached', () => {
  it('on_timeout fail: fail and hand the decision to on_error', async () => {
    await open([
      aFlow('flow', [
        wait({ timeout_ms: 500_000, on_error: [{ class: 'timeout', to: 'late' }] }),
        { id: 'ok', kind: 'succeed' },
        { id: 'late', kind: 'succeed', output: '${error.class}' },
      ]),
      aFlow('bare', [wait({ timeout_ms: 500_000 })]),
    ]);
    const routed = await service.start('flow', { id: 1 });
    const bare = await service.start('bare', { id: 1 });
    await service.leap(400_000);
    expect((await service.run(routed.run_id)).status).toBe('waiting');
    await service.leap(101_000);
    expect(await service.run(routed.run_id)).toMatchObject({ status: 'succeeded', output: 'timeout' });
    expect(await service.run(bare.run_id)).toMatchObject({
      status: 'failed',
      error: { class: 'timeout', step_id: 'ask' },
    });
  });

  it('on_timeout continue: continue with no output', async () => {
    await open([
      aFlow('flow', [
        wait({ timeout_ms: 500_000, on_timeout: 'continue' }),
        { id: 'done', kind: 'succeed', output: { got: '${steps.ask.output?}' } },
      ]),
    ]);
    const { run_id } = await service.start('flow', { id: 1 });
    await service.leap(501_000);
    expect(await service.run(run_id)).toMatchObject({ status: 'succeeded', output: {} });
  });
});

describe('max_steps, run_timeout_ms or max_cost_usd reached: run ends with an error naming the limit', () => {
  it('max_steps: entering one more than it ends the run', async () => {
    const next = [{ when: 'visits.one > 100', to: 'end' }, { to: 'one' }];
    await open([aFlow('flow', [aTask('one', { next })], { limits: { max_steps: 2 } })]);
    const { run_id } = await service.start('flow');
    await service.must(service.complete(await service.take()));
    expect((await service.complete(await service.take())).body).toEqual({ run_status: 'failed' });
    expect(await service.run(run_id)).toMatchObject({ error: { class: 'limit', limit: 'max_steps' }, step_count: 3 });
  });

  it('run_timeout_ms', async () => {
    await open([aFlow('flow', [aTask('one')], { limits: { run_timeout_ms: 25_000 } })]);
    const { run_id } = await service.start('flow');
    const lease = await service.take();
    expect(Date.parse(lease.deadline_at ?? '')).toBeGreaterThan(0);
    await service.leap(15_000);
    expect((await service.run(run_id)).status).toBe('running');
    await service.leap(11_000);
    expect(await service.run(run_id)).toMatchObject({
      status: 'failed',
      error: { class: 'limit', limit: 'run_timeout_ms' },
    });
    expect((await service.heartbeat(lease)).body.code).toBe('run_terminal');
  });

  it('max_cost_usd: cost is the priced sum of step-reported usage', async () => {
    await open([aFlow('flow', [aTask('one'), aTask('two'), aTask('three')], { limits: { max_cost_usd: 1 } })]);
    const { run_id } = await service.start('flow');
    const usage = { model: 'gpt-4o-mini', input_tokens: 4_000_000 };
    expect((await service.complete(await service.take(), { usage })).body).toMatchObject({ run_status: 'queued' });
    expect((await service.complete(await service.take(), { usage })).body).toEqual({ run_status: 'failed' });
    expect(await service.run(run_id)).toMatchObject({
      error: { class: 'limit', limit: 'max_cost_usd' },
      usage: { cost: 1.2 },
    });
  });
});

describe('cancel', () => {
  it('run not terminal: run and all child runs end; the worker learns at its next heartbeat', async () => {
    await open([
      aFlow('kid', [aTask('work')]),
      aFlow('flow', [
        { id: 'sub', kind: 'child', definition: 'kid', for_each: '${input.docs}', input: { doc: '${item}' } },
      ]),
    ]);
    const { run_id } = await service.start('flow', { docs: [1, 2] });
    const { children } = await service.run(run_id);
    expect(children).toMatchObject([
      { definition_id: 'kid', definition_version: 1, status: 'queued', step_id: 'sub', visit: 1, index: 0 },
      { index: 1 },
    ]);
    const lease = await service.take();
    const answer = await service.post(`/runs/${run_id}/cancel`, { reason: 'the customer withdrew' });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'cancelled', ended_at: expect.any(String) });
    for (const { run_id: child } of children) {
      expect(await service.run(child)).toMatchObject({ status: 'cancelled', parent_run_id: run_id });
    }
    const beat = await service.heartbeat(lease);
    expect([beat.status, beat.body.code]).toEqual([409, 'run_terminal']);
    expect(await service.claim()).toEqual([]);
    expect((await service.journal(run_id)).at(-1)).toMatchObject({ kind: 'run.finished' });
  });

  it('run already terminal: nothing changes; run returned as is', async () => {
    await open([aFlow('flow', [aTask('one')])]);
    const { run_id } = await service.start('flow');
    await service.must(service.complete(await service.take(), { output: 7 }));
    const before = await service.run(run_id);
    const answer = await service.post(`/runs/${run_id}/cancel`, {});
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'succeeded', output: 7, updated_at: before.updated_at });
    expect(await service.run(run_id)).toEqual(before);
  });

  it('a run that is not there is 404', async () => {
    await open([]);
    expect((await service.post('/runs/nobody/cancel')).body).toMatchObject({ code: 'not_found' });
  });
});

describe('timers', () => {
  it('a sleep is never early', async () => {
    // An hour, so that the seconds which a busy machine takes for the calls between do not count.
    await open([aFlow('flow', [{ id: 'nap', kind: 'sleep', sleep_ms: 3_600_000 }])]);
    const { run_id } = await service.start('flow');
    expect(await service.run(run_id)).toMatchObject({ status: 'waiting', timers: [{ step_id: 'nap' }] });
    await service.leap(3_540_000);
    expect((await service.run(run_id)).status).toBe('waiting');
    await service.leap(60_000);
    expect(await service.run(run_id)).toMatchObject({ status: 'succeeded', timers: [] });
  });

  it('sleep_until beyond year 2262 is held as never due: a timer without due_at', async () => {
    await open([aFlow('flow', [{ id: 'nap', kind: 'sleep', sleep_until: '${input.until}' }])]);
    const { run_id } = await service.start('flow', { until: '2300-01-01T00:00:00Z' });
    const { timers } = await service.run(run_id);
    expect(timers).toHaveLength(1);
    expect(timers[0]).not.toHaveProperty('due_at');
    await service.leap(60_000);
    expect((await service.run(run_id)).status).toBe('waiting');
    expect((await service.journal(run_id)).at(-1)).toMatchObject({ kind: 'run.waiting', data: { reason: 'sleep' } });
    expect((await service.journal(run_id)).at(-1)?.data).not.toHaveProperty('due_at');
  });

  it('run with every persisted attempt, unfired timers and open waits: a body that runs has the timer of its timeout_ms', async () => {
    await open([aFlow('flow', [aTask('one', { timeout_ms: 60_000, retry: { max_attempts: 1 } })])]);
    const { run_id } = await service.start('flow');
    const lease = await service.take();
    const { attempts, timers } = await service.run(run_id);
    expect(timers).toEqual([{ name: 'timeout', step_id: 'one', due_at: expect.any(String) }]);
    expect(Date.parse(String(timers[0]?.due_at)) - Date.parse(String(attempts[0]?.started_at))).toBe(60_000);
    await service.must(service.complete(lease));
    expect((await service.run(run_id)).timers).toEqual([]);
  });

  it('an offer has no such timer: timeout_ms of a task runs from started', async () => {
    await open([aFlow('flow', [aTask('one', { timeout_ms: 60_000 })])]);
    const { run_id } = await service.start('flow');
    await service.offered();
    expect((await service.run(run_id)).timers).toEqual([]);
  });

  it('timestamps in answers are RFC 3339, also in the data of journal entries', async () => {
    await open([
      aFlow('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 60_000 }]),
      aFlow('flow', [aTask('one', { retry: { backoff_ms: 60_000, jitter: 'none' } })]),
    ]);
    const nap = await service.start('nap');
    const waiting = (await service.journal(nap.run_id)).at(-1);
    expect(waiting).toMatchObject({ kind: 'run.waiting', data: { reason: 'sleep' } });
    expect(waiting?.data['due_at']).toBe((await service.run(nap.run_id)).timers[0]?.due_at);
    const flow = await service.start('flow');
    await service.must(service.fail(await service.take(), 'retryable'));
    const due = (await service.run(flow.run_id)).timers[0]?.due_at;
    expect((await service.journal(flow.run_id)).slice(-2)).toMatchObject([
      { kind: 'step.failed', data: { will_retry: true, retry_at: due } },
      { kind: 'run.waiting', data: { reason: 'backoff', due_at: due } },
    ]);
    expect(due).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
  });
});
