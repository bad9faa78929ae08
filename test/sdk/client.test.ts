import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Client,
  ConnectionError,
  createClient,
  defineWorkflow,
  type JournalEntry,
  RunFailed,
  type ScheduleOptions,
  ServiceError,
  type,
} from '../../sdk/typescript/src/index.ts';
import { holdTimers, shiftClock } from '../held-timers.ts';
import { anEntry, aRun, type FakeService, refusal, startFakeService } from '../../sdk/conformance/opposite/scripted.ts';

let service: FakeService;
let client: Client;

beforeEach(async () => {
  service = await startFakeService();
  client = createClient({ endpoint: service.url, apiKey: 'k', retry: { attempts: 4, baseMs: 1, maxMs: 5 } });
});
afterEach(async () => {
  client.close();
  await service.stop();
});

const finished = (seq: number) => anEntry(seq, { kind: 'run.finished' });
const frame = (entry: JournalEntry): string => `id: ${entry.seq}\ndata: ${JSON.stringify(entry)}\n\n`;
const collect = async (entries: AsyncIterable<JournalEntry>): Promise<number[]> => {
  const seen: number[] = [];
  for await (const entry of entries) seen.push(entry.seq);
  return seen;
};

describe('start', () => {
  it('sends the definition, the input and what goes with them, under a key of its own', async () => {
    const run = await client.start(
      'refund',
      { ticket: 1 },
      { correlation: { user_id: 'u' }, project: 'p', version: 2 },
    );
    expect(run.run_id).toBe('run-1');
    expect(service.callsTo('runs')[0]?.body).toEqual({
      definition_id: 'refund',
      definition_version: 2,
      input: { ticket: 1 },
      project: 'p',
      correlation: { user_id: 'u' },
      idempotency_key: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    expect(service.callsTo('runs')[0]?.headers.authorization).toBe('Bearer k');
  });

  it('waits for the end within the call, when asked to', async () => {
    await client.start('refund', {}, { waitMs: 5000 });
    expect(service.callsTo('runs')[0]?.body).toMatchObject({ wait_ms: 5000 });
    await client.start('refund', {});
    expect(service.callsTo('runs')[1]?.body).not.toHaveProperty('wait_ms');
  });

  it('repeats a lost start under the same key, so that one run starts', async () => {
    service.answer(
      'runs',
      'hang up',
      refusal(503, 'store_unavailable'),
      refusal(429, 'overloaded', { 'retry-after': '0' }),
    );
    await client.start('refund', {});
    const keys = service.callsTo('runs').map((call) => call.body['idempotency_key']);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    await client.start('refund', {}, { idempotencyKey: 'mine' });
    expect(service.callsTo('runs').at(-1)?.body['idempotency_key']).toBe('mine');
  });

  it('knows the type of the input of a workflow', async () => {
    const refund = defineWorkflow({
      definition: { id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task' }] },
      input: type<{ amount: number }>(),
      bodies: { pay: (_context, input: { amount: number }) => input.amount },
    });
    await client.start(refund, { amount: 1 });
    expect(service.callsTo('runs')[0]?.body).toMatchObject({ definition_id: 'refund', input: { amount: 1 } });
    // @ts-expect-error the amount is a number
    await client.start(refund, { amount: 'one' });
  });
});

describe('calls that fail', () => {
  it.each([400, 401, 403, 404, 409, 413, 422])('%d is not tried again', async (status) => {
    service.answer('run-1', refusal(status, 'some_code'));
    const error = await client.getRun('run-1').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      status,
      code: 'some_code',
      message: 'some_code by the test',
      requestId: 'request-1',
    });
    expect(service.calls).toHaveLength(1);
  });

  it.each([500, 501])('%d is not tried again: a later try meets the same fault', async (status) => {
    service.answer('run-1', refusal(status, 'internal'));
    await expect(client.getRun('run-1')).rejects.toMatchObject({ status });
    expect(service.calls).toHaveLength(1);
  });

  it.each([429, 502, 503, 504])('%d is tried again, until the tries are used up', async (status) => {
    service.answer('run-1', ...Array.from({ length: 4 }, () => refusal(status, 'later')));
    await expect(client.getRun('run-1')).rejects.toMatchObject({ status });
    expect(service.calls).toHaveLength(4);
  });

  it('503 runs_disabled is not: no wait will change it', async () => {
    service.answer('run-1', refusal(503, 'runs_disabled'));
    await expect(client.getRun('run-1')).rejects.toMatchObject({ code: 'runs_disabled' });
    expect(service.calls).toHaveLength(1);
  });

  it('waits as long as Retry-After asks', async () => {
    service.answer('run-1', refusal(503, 'store_unavailable', { 'retry-after': '1' }));
    const wait = holdTimers((ms) => ms === 1000);
    const asked = client.getRun('run-1');
    await wait.untilArmed();
    expect(service.calls).toHaveLength(1);
    wait.fire();
    await asked;
    expect(service.calls).toHaveLength(2);
  });

  it('tells that nobody answered', async () => {
    await service.stop();
    const error = await client.getRun('run-1').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toContain('GET /v1/api/runs/run-1 got no answer');
  });

  it('says what a refusal in plain text says', async () => {
    service.answer('run-1', { status: 422, body: 'missing field x' });
    await expect(client.getRun('run-1')).rejects.toMatchObject({
      status: 422,
      code: 'http_422',
      message: '"missing field x"',
    });
  });
});

describe('watch', () => {
  it('gives every entry in order and ends with the run', async () => {
    service.streams.push({
      text: `: hello\n\n${frame(anEntry(0))}${frame(anEntry(1))}${frame(finished(2))}`,
      end: 'stay',
    });
    expect(await collect(client.watch('run-1'))).toEqual([0, 1, 2]);
  });

  it('resumes after the last entry it saw when the connection breaks, and repeats none', async () => {
    service.streams.push({ text: frame(anEntry(0)) + frame(anEntry(1)), end: 'hang up' });
    service.streams.push({ text: frame(anEntry(1)) + frame(anEntry(2)), end: 'hang up' });
    service.streams.push({ text: frame(finished(3)), end: 'stay' });
    expect(await collect(client.watch('run-1'))).toEqual([0, 1, 2, 3]);
    expect(service.callsTo('events').map((call) => call.headers['last-event-id'])).toEqual([undefined, '1', '2']);
  });

  it('starts after the entry it is given', async () => {
    service.streams.push({ text: frame(finished(8)), end: 'stay' });
    expect(await collect(client.watch('run-1', { after: 7 }))).toEqual([8]);
    expect(service.calls[0]?.headers['last-event-id']).toBe('7');
  });

  it('ends when the run had ended before the point where it starts', async () => {
    service.streams.push({ text: '', end: 'end' });
    service.setRun(aRun({ status: 'succeeded' }), []);
    expect(await collect(client.watch('run-1', { after: 9 }))).toEqual([]);
  });

  it('goes on when the service ends the stream of a run that has not ended', async () => {
    service.streams.push({ text: frame(anEntry(0)), end: 'end' });
    service.setRun(aRun({ status: 'running' }), [anEntry(1)]);
    service.streams.push({ text: frame(finished(2)), end: 'stay' });
    expect(await collect(client.watch('run-1'))).toEqual([0, 1, 2]);
  });

  it('misses no entry of a run that ends just after its stream did', async () => {
    service.streams.push({ text: frame(anEntry(0)), end: 'end' });
    service.setRun(aRun({ status: 'running' }), []);
    service.streams.push({ text: frame(finished(1)), end: 'stay' });
    // The second call reads the journal, and finds nothing new; only then the run ends.
    const ended = service.seen('events', 2).then(() => service.setRun(aRun({ status: 'succeeded' }), [finished(1)]));
    expect(await collect(client.watch('run-1'))).toEqual([0, 1]);
    await ended;
  });

  it('reads frames that arrive in pieces, with any line end', async () => {
    const text = frame(anEntry(0, { data: { text: 'é\u2028' } })).replaceAll('\n', '\r\n') + frame(finished(1));
    service.streams.push({ text, end: 'stay' });
    const entries: JournalEntry[] = [];
    for await (const entry of client.watch('run-1')) entries.push(entry);
    expect(entries[0]?.data).toEqual({ text: 'é\u2028' });
    expect(entries).toHaveLength(2);
  });

  it('ends without a fault when its signal fires', async () => {
    service.streams.push({ text: frame(anEntry(0)), end: 'stay' });
    const stop = new AbortController();
    const seen: number[] = [];
    for await (const entry of client.watch('run-1', { signal: stop.signal })) {
      seen.push(entry.seq);
      stop.abort();
    }
    expect(seen).toEqual([0]);
  });

  it('outlasts a service that is away for longer than a call would wait, once it was there', async () => {
    service.streams.push({ text: frame(anEntry(0)), end: 'hang up' });
    service.streams.push({ text: frame(finished(1)), end: 'stay' });
    const seen: number[] = [];
    for await (const entry of client.watch('run-1')) {
      seen.push(entry.seq);
      if (entry.seq === 0) service.answer('events', ...Array.from({ length: 12 }, () => 'hang up' as const));
    }
    expect(seen).toEqual([0, 1]);
    expect(service.callsTo('events')).toHaveLength(14);
  });

  it('is as patient when the run was silent for long before the service went away', async () => {
    service.streams.push({ text: frame(anEntry(0)), end: 'hang up' });
    service.streams.push({ text: frame(finished(1)), end: 'stay' });
    const seen: number[] = [];
    const letPass = shiftClock();
    for await (const entry of client.watch('run-1')) {
      seen.push(entry.seq);
      letPass(3_600_000);
      if (entry.seq === 0) service.answer('events', ...Array.from({ length: 12 }, () => 'hang up' as const));
    }
    expect(seen).toEqual([0, 1]);
  });

  it('outlasts a service that stops in good order, too', async () => {
    service.streams.push({ text: frame(anEntry(0)), end: 'end' });
    service.streams.push({ text: frame(finished(1)), end: 'stay' });
    const seen: number[] = [];
    for await (const entry of client.watch('run-1')) {
      seen.push(entry.seq);
      if (entry.seq === 0) service.answer('run-1', ...Array.from({ length: 12 }, () => 'hang up' as const));
      service.setRun(aRun({ status: 'running' }), []);
    }
    expect(seen).toEqual([0, 1]);
  });

  it('throws what the service refuses, and gives up after so many broken connections in a row', async () => {
    service.answer('events', refusal(404, 'not_found'));
    await expect(collect(client.watch('run-1'))).rejects.toMatchObject({ code: 'not_found' });
    service.answer('events', 'hang up', 'hang up', 'hang up', 'hang up');
    await expect(collect(client.watch('run-1'))).rejects.toBeInstanceOf(ConnectionError);
    expect(service.callsTo('events')).toHaveLength(5);
  });
});

describe('wait', () => {
  const withoutWaits = (): void =>
    service.answer('run-1', {
      status: 400,
      body: { code: 'invalid_parameter', message: '`wait_ms` is not a parameter of this call', field: 'wait_ms' },
    });

  it('returns the output of a run that succeeded', async () => {
    service.setRun(aRun({ output: { paid: true } }));
    expect(await client.wait('run-1')).toEqual({ paid: true });
    expect(service.calls.map(({ path }) => path)).toEqual(['/v1/api/runs/run-1?wait_ms=20000']);
  });

  it.each([
    [
      aRun({ status: 'failed', error: { class: 'fatal', code: 'no_funds', message: 'm' } }),
      'run run-1 failed: fatal/no_funds: m',
    ],
    [aRun({ status: 'cancelled' }), 'run run-1 was cancelled'],
  ])('throws a typed failure that holds the run when it did not: %#', async (run, message) => {
    service.setRun(run);
    const error = await client.wait('run-1').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunFailed);
    expect((error as RunFailed).run).toEqual(run);
    expect((error as RunFailed).message).toBe(message);
  });

  it('asks again while the run goes on', async () => {
    service.answer('run-1', { status: 200, body: aRun({ status: 'running' }) });
    service.answer('run-1', { status: 200, body: aRun({ status: 'waiting' }) });
    service.setRun(aRun({ output: 'late' }));
    expect(await client.wait('run-1')).toBe('late');
    expect(service.callsTo('run-1')).toHaveLength(3);
  });

  it('outlasts a service that is away for long, once it was there', async () => {
    service.answer('run-1', { status: 200, body: aRun({ status: 'running' }) });
    service.answer('run-1', ...Array.from({ length: 12 }, () => 'hang up' as const));
    service.setRun(aRun({ output: 'kept' }));
    expect(await client.wait('run-1')).toBe('kept');
    expect(service.callsTo('run-1')).toHaveLength(14);
  });

  it('outlasts one that went after the run was started, before its end was asked for', async () => {
    service.answer('runs', { status: 201, body: aRun({ status: 'queued' }) });
    await client.start('flow', {});
    service.answer('run-1', ...Array.from({ length: 12 }, () => 'hang up' as const));
    service.setRun(aRun({ output: 'kept' }));
    expect(await client.wait('run-1')).toBe('kept');
    expect(service.callsTo('run-1')).toHaveLength(13);
  });

  it('gives up on a service that was never there', async () => {
    service.answer('run-1', 'hang up', 'hang up', 'hang up', 'hang up');
    await expect(client.wait('run-1')).rejects.toBeInstanceOf(ConnectionError);
    expect(service.callsTo('run-1')).toHaveLength(4);
  });

  it('throws what the service refuses', async () => {
    service.answer('run-1', refusal(404, 'not_found'));
    await expect(client.wait('run-1')).rejects.toMatchObject({ code: 'not_found' });
    expect(service.calls).toHaveLength(1);
  });

  it('throws the reason of its signal', async () => {
    const held = Promise.withResolvers<void>();
    service.answer('run-1', { status: 200, body: aRun(), after: held.promise });
    const stop = new AbortController();
    const waiting = client.wait('run-1', { signal: stop.signal });
    await service.seen('run-1');
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    held.resolve();
    await expect(client.wait('run-1', { signal: stop.signal })).rejects.toThrow('enough');
    expect(service.calls).toHaveLength(1);
  });

  it('follows the journal of a service that does not know wait_ms', async () => {
    withoutWaits();
    service.streams.push({ text: frame(finished(0)), end: 'stay' });
    service.setRun(aRun({ output: { paid: true } }));
    expect(await client.wait('run-1')).toEqual({ paid: true });
    expect(service.calls.map(({ path }) => path)).toEqual([
      '/v1/api/runs/run-1?wait_ms=20000',
      '/v1/api/runs/run-1/events',
      '/v1/api/runs/run-1',
    ]);
  });

  it('and there throws the reason of its signal, too', async () => {
    withoutWaits();
    service.streams.push({ text: '', end: 'stay' });
    const stop = new AbortController();
    const waiting = client.wait('run-1', { signal: stop.signal });
    await service.seen('events');
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

it('restarts an ended run, under a key of its own so that a retry starts nothing', async () => {
  await client.restart('run-1', {
    fromStep: 'pay',
    visit: 2,
    definitionVersion: 3,
    statePatch: { a: 1 },
    idempotencyKey: 'k',
  });
  await client.restart('run-1');
  expect(service.callsTo('restart').map(({ method, path, body }) => ({ method, path, body }))).toEqual([
    {
      method: 'POST',
      path: '/v1/api/runs/run-1/restart',
      body: { from_step: 'pay', visit: 2, definition_version: 3, state_patch: { a: 1 }, idempotency_key: 'k' },
    },
    {
      method: 'POST',
      path: '/v1/api/runs/run-1/restart',
      body: { idempotency_key: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown },
    },
  ]);
});

it('signals, cancels, publishes and reads at the paths of the interface', async () => {
  await client.signal('run/1', 'approval', { ok: true });
  await client.cancel('run-1', 'why');
  await client.pause('run-1', 'weekend');
  await client.resume('run-1');
  await client.publish({ event: 'paid', key: 'ticket/7', payload: { ok: true }, eventId: 'e' });
  await client.listRuns({ status: 'failed', definitionId: 'd', limit: 5 });
  await client.listRuns({
    parentRunId: 'p',
    restartedFrom: 'o',
    waitingOn: 'event',
    sessionId: 's',
    correlation: { request_id: 'r', thread_id: 't' },
  });
  await client.stepCause('run-1', 'pay');
  await client.getDefinition('d');
  await client.getDefinitionVersion('d', 3);
  await client.listDefinitions();
  const definition = { id: 'd', version: 1, steps: [{ id: 'pay', kind: 'task' as const }] };
  await client.storeDefinitions([definition]);
  await client.checkDefinitions([definition], { project: 'p' });
  await client.listWorkers();
  await client.getDefinition('d', { project: 'p' });
  await client.getDefinitionVersion('d', 3, { project: 'p' });
  await client.listDefinitions({ project: 'p', limit: 2 });
  await client.listWorkers({ project: 'p' });
  await client.journal('run-1', { after: 4 });
  await client.read('/v1/api/traces', { has_error: true });
  expect(service.calls.map((call) => `${call.method} ${call.path}`)).toEqual([
    'POST /v1/api/runs/run%2F1/signal',
    'POST /v1/api/runs/run-1/cancel',
    'POST /v1/api/runs/run-1/pause',
    'POST /v1/api/runs/run-1/resume',
    'POST /v1/api/events',
    'GET /v1/api/runs?status=failed&definition_id=d&limit=5',
    'GET /v1/api/runs?session_id=s&parent_run_id=p&restarted_from=o&waiting_on=event&correlation.request_id=r&correlation.thread_id=t',
    'GET /v1/api/runs/run-1/steps/pay/cause',
    'GET /v1/api/definitions/d',
    'GET /v1/api/definitions/d/versions/3',
    'GET /v1/api/definitions',
    'POST /v1/api/definitions',
    'POST /v1/api/definitions?check=true',
    'GET /v1/api/workers',
    'GET /v1/api/definitions/d?project=p',
    'GET /v1/api/definitions/d/versions/3?project=p',
    'GET /v1/api/definitions?project=p&limit=2',
    'GET /v1/api/workers?project=p',
    'GET /v1/api/runs/run-1/events?after=4',
    'GET /v1/api/traces?has_error=true',
  ]);
  expect(service.calls[0]?.body).toMatchObject({ event: 'approval', payload: { ok: true } });
  expect(service.calls[0]?.body['event_id']).toBeTypeOf('string');
  expect(service.calls[2]?.body).toEqual({ reason: 'weekend' });
  expect(service.calls[11]?.body).toEqual({ definitions: [definition] });
  expect(service.calls[12]?.body).toEqual({ definitions: [definition], project: 'p' });
  expect(service.calls[4]?.body).toEqual({ event: 'paid', key: 'ticket/7', payload: { ok: true }, event_id: 'e' });
});

describe('schedules', () => {
  it('are made, replaced, moved and deleted at the paths of the interface', async () => {
    const nightly: ScheduleOptions = {
      ...{ definitionId: 'report', cron: '30 2 * * *', timezone: 'Europe/Berlin', input: { n: 1 } },
      overlap: 'queue',
      catchUp: 'all',
      ...{ catchUpWindowMs: 5, jitterMs: 6, priority: 7 },
      ...{ startsAt: '2026-01-01T00:00:00Z', endsAt: '2027-01-01T00:00:00Z', correlation: { user_id: 'u' } },
    };
    await client.createSchedule('nightly', nightly, { project: 'p' });
    await client.replaceSchedule('nightly', { definitionId: 'report', everyMs: 1000 });
    await client.listSchedules({ project: 'p', limit: 2 });
    await client.getSchedule('a/b', { project: 'p' });
    await client.pauseSchedule('nightly');
    await client.resumeSchedule('nightly', { project: 'p' });
    await client.triggerSchedule('nightly');
    await client.deleteSchedule('nightly', { project: 'p' });
    expect(service.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/api/schedules',
      'PUT /v1/api/schedules/nightly',
      'GET /v1/api/schedules?project=p&limit=2',
      'GET /v1/api/schedules/a%2Fb?project=p',
      'POST /v1/api/schedules/nightly/pause',
      'POST /v1/api/schedules/nightly/resume?project=p',
      'POST /v1/api/schedules/nightly/trigger',
      'DELETE /v1/api/schedules/nightly?project=p',
    ]);
    expect(service.calls[0]?.body).toEqual({
      ...{ id: 'nightly', project: 'p', definition_id: 'report', input: { n: 1 }, correlation: { user_id: 'u' } },
      ...{ cron: '30 2 * * *', timezone: 'Europe/Berlin', overlap: 'queue', catch_up: 'all', catch_up_window_ms: 5 },
      ...{ jitter_ms: 6, priority: 7, starts_at: '2026-01-01T00:00:00Z', ends_at: '2027-01-01T00:00:00Z' },
    });
    expect(service.calls[1]?.body).toEqual({ definition_id: 'report', every_ms: 1000 });
  });

  it('take cron times or an interval: the compiler refuses both, and neither', async () => {
    // @ts-expect-error an interval has no time zone
    await client.createSchedule('n', { definitionId: 'd', everyMs: 1000, timezone: 'UTC' });
    // @ts-expect-error one of them is needed
    await client.createSchedule('n', { definitionId: 'd' });
    expect(service.calls).toHaveLength(2);
  });

  it('a trigger that is lost is not tried again: it may have started a run', async () => {
    service.answer('trigger', 'hang up');
    await expect(client.triggerSchedule('nightly')).rejects.toBeInstanceOf(ConnectionError);
    expect(service.callsTo('trigger')).toHaveLength(1);
    service.answer('pause', 'hang up');
    await client.pauseSchedule('nightly');
    expect(service.callsTo('pause')).toHaveLength(2);
  });
});

describe('actions on many runs', () => {
  it('are counted, begun, looked at and stopped', async () => {
    const filter = { status: 'failed', definitionId: 'd', correlation: { request_id: 'r' }, from: '-1h' } as const;
    await client.countBulk({ action: 'restart' }, filter);
    await client.startBulk({ action: 'cancel', reason: 'why' }, { sessionId: 's', project: 'p' });
    await client.startBulk(
      { action: 'signal', event: 'go', payload: { n: 1 } },
      { waitingOn: 'event' },
      { idempotencyKey: 'mine' },
    );
    await client.getBulk('b/1');
    await client.stopBulk('b-1');
    expect(service.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/api/runs/bulk',
      'POST /v1/api/runs/bulk',
      'POST /v1/api/runs/bulk',
      'GET /v1/api/runs/bulk/b%2F1',
      'DELETE /v1/api/runs/bulk/b-1',
    ]);
    expect(service.calls.slice(0, 3).map(({ body }) => body)).toEqual([
      {
        action: 'restart',
        filter: { status: 'failed', definition_id: 'd', correlation: { request_id: 'r' }, from: '-1h' },
        dry_run: true,
      },
      {
        action: 'cancel',
        reason: 'why',
        filter: { session_id: 's', project: 'p' },
        dry_run: false,
        idempotency_key: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
      {
        action: 'signal',
        event: 'go',
        payload: { n: 1 },
        filter: { waiting_on: 'event' },
        dry_run: false,
        idempotency_key: 'mine',
      },
    ]);
  });

  it('of the project that is set, and never of a filter that is empty', async () => {
    const inShop = createClient({ endpoint: service.url, project: 'shop' });
    await inShop.startBulk({ action: 'cancel' }, { status: 'waiting' });
    await inShop.startBulk({ action: 'cancel' }, {});
    inShop.close();
    expect(service.calls.map(({ body }) => body['filter'])).toEqual([{ status: 'waiting', project: 'shop' }, {}]);
  });

  it('one whose answer is lost is sent again under the same key, and a count is asked for again', async () => {
    service.answer('bulk', 'hang up');
    await client.startBulk({ action: 'restart' }, { status: 'failed' });
    const [lost, again] = service.calls.map(({ body }) => body['idempotency_key']);
    expect([typeof lost, again]).toEqual(['string', lost]);
    service.answer('bulk', 'hang up');
    await client.countBulk({ action: 'restart' }, { status: 'failed' });
    expect(service.calls.slice(2).map(({ body }) => body['idempotency_key'])).toEqual([undefined, undefined]);
  });
});

it('a definition is paused and resumed in its project', async () => {
  await client.pauseDefinition('refund', { reason: 'broken prompt', project: 'p' });
  await client.resumeDefinition('refund');
  expect(service.calls.map(({ method, path, body }) => [`${method} ${path}`, body])).toEqual([
    ['POST /v1/api/definitions/refund/pause', { project: 'p', reason: 'broken prompt' }],
    ['POST /v1/api/definitions/refund/resume', {}],
  ]);
});

it('reads traces and judgements, and records judgements under an id of its own', async () => {
  const traceId = '5b8efff798038103d269b633813fc60c';
  await client.listTraces({ has_error: true });
  await client.getTrace(traceId);
  await client.getTrace(traceId, { include: ['scores', 'all'] });
  await client.listScores({ trace_id: traceId });
  await client.listFeedback({ trace_id: traceId });
  await client.listParkedEvents({ limit: 5 });
  await client.health();
  await client.createScore({ trace_id: traceId, scorer_id: 's', value: 1 });
  await client.createFeedback({ trace_id: traceId, kind: 'thumbs', value: 'up', feedback_id: 'mine' });
  expect(service.calls.map((call) => `${call.method} ${call.path}`)).toEqual([
    'GET /v1/api/traces?has_error=true',
    `GET /v1/api/traces/${traceId}`,
    `GET /v1/api/traces/${traceId}?include=scores%2Call`,
    `GET /v1/api/scores?trace_id=${traceId}`,
    `GET /v1/api/feedback?trace_id=${traceId}`,
    'GET /v1/api/events?limit=5',
    'GET /healthz',
    'POST /v1/api/scores',
    'POST /v1/api/feedback',
  ]);
  expect(service.calls[7]?.body).toEqual({
    score_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    trace_id: traceId,
    scorer_id: 's',
    value: 1,
  });
  expect(service.calls[8]?.body['feedback_id']).toBe('mine');
});
