import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createMachine, initialTransition, transition } from 'xstate';
import { apiOperations } from '../../../src/http/contract/contract.ts';
import type { Route } from '../../../src/http/route.ts';
import { runsSurface } from '../../../src/http/routes/runs-surface.ts';
import type { RunsDeps } from '../../../src/http/routes/runs-deps.ts';
import { findRouteFaults } from '../../../src/http/contract/route-faults.ts';
import openapi from '../../../src/model/generated/openapi.json' with { type: 'json' };
import { scopes } from '../../../src/model/scope.ts';
import { aFlow, aTask, type RunsHttp, type RunsServiceOptions, startRunsService } from './service.ts';
import { until } from '../../until.ts';

let service: RunsHttp;
const open = async (options: RunsServiceOptions = {}): Promise<void> => {
  service = await startRunsService({ definitions: [aFlow('flow', [aTask('one')])], ...options });
};
afterEach(() => service.close());

const codes = async (answer: Promise<{ status: number; body: { code?: string; field?: string } }>) => {
  const { status, body } = await answer;
  return [status, body.code, ...(body.field === undefined ? [] : [body.field])];
};

/** Calls a route by its own method, with `x` or 1 for what its path names. */
const call = async (
  { method, path }: Pick<Route, 'method' | 'path'>,
  body: unknown,
  more: { readonly key?: string } = {},
) => {
  const url = path
    .replace('/v1/api', '')
    .replace(':version', '1')
    .replaceAll(/:[a-z_]+/g, 'x');
  const send = {
    GET: () => service.get(url, more),
    POST: () => service.post(url, body, more),
    PUT: () => service.put(url, body, more),
    DELETE: () => service.del(url, more),
  } as const;
  return send[method]();
};

describe('routes and document', () => {
  it('every route of durable runs is in the document, and every operation tagged so has a route', async () => {
    await open();
    const routes = runsSurface({ requestTimeoutSeconds: 30 } as RunsDeps, true);
    expect(findRouteFaults(routes).routes).toEqual([]);
    const tagged = Object.values(
      openapi.paths as unknown as Record<string, Record<string, { operationId?: string; tags?: string[] }>>,
    )
      .flatMap((item) => Object.values(item))
      .filter(({ tags }) => tags?.includes('runs') === true)
      .map(({ operationId }) => operationId);
    const served = new Set<string | undefined>(routes.map(({ operationId }) => operationId));
    expect(tagged.filter((operation) => !served.has(operation))).toEqual([]);
    expect(apiOperations().get('startRun')?.scope).toBe('execute');
  });
});

describe('register', () => {
  it('answers lease_ttl_ms and heartbeat_ms, and what became of each definition', async () => {
    await open({ runs: { leaseTtlMs: 9000 } });
    const answer = await service.register('w1', [aFlow('flow', [aTask('one')]), aFlow('new', [aTask('one')])], {
      name: 'n',
      version: 'v',
      concurrency: 3,
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      worker_id: 'w1',
      lease_ttl_ms: 9000,
      heartbeat_ms: 3000,
      definitions: [
        { id: 'flow', version: 1, stored: 'unchanged' },
        { id: 'new', version: 1, stored: 'created' },
      ],
    });
  });

  it('the defaults are 30000 and 10000', async () => {
    await open();
    expect((await service.register()).body).toMatchObject({ lease_ttl_ms: 30_000, heartbeat_ms: 10_000 });
  });

  it('one bad definition refuses the whole call, naming each fault; nothing stored', async () => {
    await open();
    const bad = {
      id: 'bad',
      version: 1,
      steps: [aTask('one', { next: 'nowhere' }), aTask('two', { on_error: [{ to: 'lost' }] })],
    };
    const answer = await service.register('w2', [aFlow('good', [aTask('one')]), bad]);
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'definition_invalid', 'definitions[1]']);
    expect(answer.body.message).toContain('nowhere');
    expect(answer.body.message).toContain('lost');
    expect(await codes(service.get('/definitions/good'))).toEqual([404, 'not_found']);
    expect(await codes(service.post('/steps/claim', { worker_id: 'w2', max: 1, wait_ms: 0 }))).toEqual([
      404,
      'not_found',
      'worker_id',
    ]);
  });

  it('the same id and version with other content is 409 definition_conflict', async () => {
    await open();
    expect(await codes(service.register('w1', [aFlow('flow', [aTask('other')])]))).toEqual([
      409,
      'definition_conflict',
      'definitions[0]',
    ]);
  });
});

describe('definitions without a worker', () => {
  const good = aFlow('good', [aTask('one')]);
  const bad = {
    id: 'bad',
    version: 1,
    steps: [aTask('one', { next: 'nowhere' }), aTask('two', { on_error: [{ to: 'lost' }] })],
  };
  const send = (definitions: unknown, query = '', more: object = {}) =>
    service.post(`/definitions${query}`, { definitions, ...more });

  it('are stored, and a run of them waits for a worker', async () => {
    await open();
    expect((await service.must(send([good, aFlow('flow', [aTask('one')])]))).definitions).toEqual([
      { id: 'good', version: 1, stored: 'created' },
      { id: 'flow', version: 1, stored: 'unchanged' },
    ]);
    expect((await service.must(service.get('/definitions/good'))).latest).toEqual(good);
    const { run_id } = await service.start('good');
    expect(await service.run(run_id)).toMatchObject({ status: 'queued', queued_reason: 'no_worker' });
    await service.must(service.register('w2', [good]));
    expect((await service.claim('w2')).map((lease) => lease.run_id)).toEqual([run_id]);
  });

  it('one bad definition refuses the whole call, as in register; nothing stored', async () => {
    await open();
    const { status, body } = await send([good, bad]);
    expect([status, body.code, body.field]).toEqual([400, 'definition_invalid', 'definitions[1]']);
    expect(body.message).toContain('nowhere');
    expect(body.message).toContain('lost');
    expect(await codes(service.get('/definitions/good'))).toEqual([404, 'not_found']);
    expect(await codes(send([good, aFlow('flow', [aTask('other')])]))).toEqual([
      409,
      'definition_conflict',
      'definitions[1]',
    ]);
    expect(await codes(service.get('/definitions/good'))).toEqual([404, 'not_found']);
  });

  it('with check=true all faults of each are named, and nothing is stored', async () => {
    await open();
    const { definitions } = await service.must(
      send([good, bad, {}, { id: 7, version: 'x', steps: 5 }, aFlow('flow', [aTask('other')])], '?check=true'),
    );
    expect(definitions).toEqual([
      { id: 'good', version: 1, faults: [] },
      {
        id: 'bad',
        version: 1,
        faults: expect.arrayContaining([
          { path: 'steps[0].next', message: 'there is no step "nowhere"' },
          { path: 'steps[1].on_error[0].to', message: 'there is no step "lost"' },
        ]),
      },
      {
        faults: [
          { path: 'id', message: 'is required' },
          { path: 'version', message: 'is required' },
          { path: 'steps', message: 'is required' },
        ],
      },
      { faults: expect.arrayContaining([expect.objectContaining({ path: 'steps' })]) },
      { id: 'flow', version: 1, faults: [{ path: 'version', message: expect.stringContaining('other content') }] },
    ]);
    expect(await codes(service.get('/definitions/good'))).toEqual([404, 'not_found']);
    expect((await service.must(send([good], '?check=false'))).definitions).toMatchObject([{ stored: 'created' }]);
    expect((await service.must(send([good], '?check=true'))).definitions).toEqual([
      { id: 'good', version: 1, faults: [] },
    ]);
  });

  it('a check also finds two of one id and version in the same call', async () => {
    await open();
    const { definitions } = await service.must(
      send([good, aFlow('good', [aTask('two')]), structuredClone(good)], '?check=true'),
    );
    expect(definitions.map(({ faults }: { faults: { path: string }[] }) => faults.map(({ path }) => path))).toEqual([
      [],
      ['version'],
      [],
    ]);
  });

  it('lists 100 faults of a definition, and counts the others', async () => {
    await open();
    const faulty = (count: number) => ({
      ...good,
      ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`unknown_${n}`, n])),
    });
    const { definitions } = await service.must(send([faulty(100), faulty(101), faulty(102)], '?check=true'));
    expect(definitions.map(({ faults }: { faults: unknown[] }) => faults.length)).toEqual([100, 101, 101]);
    expect(definitions[1].faults.at(-1)).toEqual({ path: '', message: 'and one more fault' });
    expect(definitions[2].faults.at(-1)).toEqual({ path: '', message: 'and 2 more faults' });
  });

  it('at most 1000 a call, in 16 MiB; other parameters and members are refused by name', async () => {
    await open();
    const many = (count: number) => Array.from({ length: count }, () => good);
    expect((await service.must(send(many(1000)))).definitions).toHaveLength(1000);
    expect(await codes(send(many(1001)))).toEqual([400, 'invalid_parameter', 'definitions']);
    expect(await codes(send([good], '?check=maybe'))).toEqual([400, 'invalid_parameter', 'check']);
    expect(await codes(send([good], '', { owner: 'x' }))).toEqual([400, 'invalid_parameter', 'owner']);
    expect(await codes(send([5]))).toEqual([400, 'invalid_parameter', 'definitions.0']);
    expect(await codes(service.post('/definitions'))).toEqual([400, 'invalid_body']);
    const large = 'x'.repeat(16 * 1024 * 1024);
    expect(await codes(send([{ ...good, output: large }]))).toEqual([413, 'payload_too_large']);
  });
});

describe('claim', () => {
  it('offers no more than max, older steps first, and those of one run when asked', async () => {
    await open();
    const runs = [];
    for (let n = 0; n < 4; n += 1) runs.push((await service.start('flow')).run_id);
    const [third] = await service.claim('w1', { run_id: runs[2] });
    expect(third?.run_id).toBe(runs[2]);
    expect((await service.claim('w1', { max: 2 })).map(({ run_id }) => run_id)).toEqual([runs[0], runs[1]]);
    expect((await service.claim('w1', { max: 1000 })).map(({ run_id }) => run_id)).toEqual([runs[3]]);
  });

  it('is held until a run starts', async () => {
    await open();
    const held = service.claim('w1', { wait_ms: 10_000 });
    await until(() => service.runs.waitingClaims() === 1);
    const { run_id } = await service.start('flow');
    expect((await held).map((lease) => lease.run_id)).toEqual([run_id]);
  });

  it('is held at most wait_ms', async () => {
    await open();
    const held = service.claim('w1', { wait_ms: 120 });
    await until(() => service.timers().includes(120));
    await service.leap(119);
    expect(service.runs.waitingClaims()).toBe(1);
    await service.leap(1);
    expect(await held).toEqual([]);
  });

  it('and at most four fifths of the request timeout', async () => {
    await open({ requestTimeoutSeconds: 25 });
    const held = service.claim('w1', { wait_ms: 60_000 });
    await until(() => service.timers().includes(20_000));
    await service.leap(19_999);
    expect(service.runs.waitingClaims()).toBe(1);
    await service.leap(1);
    expect(await held).toEqual([]);
  });

  it('a claimer that hangs up while it waits is not offered what comes later', async () => {
    await open();
    const gone = new AbortController();
    const held = service.claim('w1', { wait_ms: 10_000 }, { signal: gone.signal });
    await until(() => service.runs.waitingClaims() === 1);
    gone.abort();
    await expect(held).rejects.toThrow('aborted');
    await until(() => service.runs.waitingClaims() === 0);
    const { run_id } = await service.start('flow');
    expect((await service.run(run_id)).attempts).toEqual([]);
    expect((await service.claim()).map((lease) => lease.run_id)).toEqual([run_id]);
  });

  it('a claimer that hangs up while its offer is committed gives it back', async () => {
    await open();
    const { run_id } = await service.start('flow');
    await service.runs.flushOutbox(); // so that the commit which is held is that of the offer
    const release = service.holdCommits();
    const gone = new AbortController();
    const held = service.claim('w1', { wait_ms: 10_000 }, { signal: gone.signal });
    await until(() => service.heldCommits() > 0);
    const connected = await service.connections();
    gone.abort();
    await expect(held).rejects.toThrow('aborted');
    // The commit ends after the service has seen the claimer go; before it, the answer would still find a socket.
    await until(async () => (await service.connections()) < connected);
    release();
    expect((await service.claim('w1', { wait_ms: 4000 })).map((lease) => [lease.run_id, lease.attempt])).toEqual([
      [run_id, 2],
    ]);
    expect((await service.run(run_id)).attempts.map(({ status }) => status)).toEqual(['lapsed', 'offered']);
  });

  it('a claimer that hangs up before it has taken the whole answer gives its offers back', async () => {
    // A lease carries the outputs before it: more than the buffers of a loopback connection take, so that the answer is
    // still on its way while its reader sleeps.
    const before = ['a', 'b', 'c', 'd'];
    await open({ definitions: [aFlow('flow', [...before.map((id) => aTask(id)), aTask('one')])] });
    const { run_id } = await service.start('flow');
    for (const _ of before)
      await service.must(service.complete(await service.take(), { output: 'x'.repeat(4_000_000) }));
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    const body = JSON.stringify({ worker_id: 'w1', max: 1, wait_ms: 10_000 });
    socket.write(
      `POST /v1/api/steps/claim HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    socket.pause();
    await until(async () => (await service.run(run_id)).attempts.at(-1)?.status === 'offered');
    socket.destroy();
    expect((await service.claim('w1', { wait_ms: 4000 })).map((lease) => [lease.run_id, lease.attempt])).toEqual([
      [run_id, 2],
    ]);
  });

  it('a service that stops answers at once', async () => {
    await open();
    const held = service.claim('w1', { wait_ms: 20_000 });
    await until(() => service.runs.waitingClaims() === 1);
    const closing = service.close();
    expect(await held).toEqual([]);
    await closing;
    await open(); // for the hook that closes
  });

  it('takes only what the worker registered, by id, and only the project of the worker', async () => {
    await open({ definitions: [aFlow('flow', [aTask('one')]), aFlow('other', [aTask('one')])] });
    await service.must(service.register('narrow', [aFlow('flow', [aTask('one')])], { project: 'p' }));
    await service.start('other', {}, { project: 'p' });
    await service.start('flow');
    const mine = await service.start('flow', {}, { project: 'p' });
    expect((await service.claim('narrow', { max: 10 })).map(({ run_id }) => run_id)).toEqual([mine.run_id]);
  });
});

it('a queued run says why it is queued, in its read and in lists', async () => {
  await open();
  const { run_id } = await service.start('flow');
  expect((await service.run(run_id)).queued_reason).toBe('workers_busy');
  expect((await service.must(service.get('/runs'))).runs[0].queued_reason).toBe('workers_busy');
  await service.leap(30_001);
  expect((await service.run(run_id)).queued_reason).toBe('no_worker');
  await service.take();
  expect(await service.run(run_id)).not.toHaveProperty('queued_reason');
});

it('lists runs by what they wait for, by parent, by session and by correlation', async () => {
  const retried = aFlow('retried', [aTask('one', { retry: { max_attempts: 3, backoff_ms: 60_000 } })]);
  await open({
    definitions: [
      aFlow('flow', [aTask('one')]),
      aFlow('event', [{ id: 'one', kind: 'wait_event', event: 'paid', key: 'k' }]),
      aFlow('timer', [{ id: 'one', kind: 'sleep', sleep_ms: 60_000 }]),
      aFlow('children', [{ id: 'one', kind: 'child', definition: 'event' }]),
      retried,
    ],
  });
  const list = async (query: string): Promise<string[]> =>
    (await service.must(service.get(`/runs?${query}`))).runs.map((run: { definition_id: string }) => run.definition_id);
  await service.start('retried', {}, { correlation: { session_id: 's 1', release: 'v1' } });
  await service.must(service.fail(await service.take(), 'retryable'));
  await service.start('timer', {}, { correlation: { session_id: 's 1' } });
  const { run_id } = await service.start('children', {}, { correlation: { release: 'v1' } });
  await service.start('flow');
  expect(await list('waiting_on=backoff')).toEqual(['retried']);
  expect(await list('waiting_on=timer')).toEqual(['timer']);
  expect(await list('waiting_on=children')).toEqual(['children']);
  expect(await list('waiting_on=event')).toEqual(['event']);
  expect(await list('waiting_on=worker')).toEqual(['flow']);
  expect(await list(`parent_run_id=${run_id}`)).toEqual(['event']);
  expect((await list('session_id=s+1')).toSorted()).toEqual(['retried', 'timer']);
  expect(await list('correlation.session_id=s+1&correlation.release=v1')).toEqual(['retried']);
  expect(await codes(service.get('/runs?waiting_on=godot'))).toEqual([400, 'invalid_parameter', 'waiting_on']);
  expect(await codes(service.get('/runs?correlation.colour=red'))).toEqual([
    400,
    'invalid_parameter',
    'correlation.colour',
  ]);
});

describe('waiting for the end of a run', () => {
  const waits = (count: number) => until(() => service.runs.endsAwaited() === count);
  const asked = (runId: string, waitMs: number, ask: object = {}) =>
    service.get(`/runs/${runId}?wait_ms=${waitMs}`, ask);

  it('the answer comes with the commit that ends it', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const held = asked(run_id, 20_000);
    await waits(1);
    const lease = await service.take();
    expect(service.runs.endsAwaited()).toBe(1);
    const release = service.holdCommits();
    const completed = service.complete(lease, { output: 7 });
    await until(() => service.heldCommits() > 0);
    expect(service.runs.endsAwaited()).toBe(1);
    release();
    expect((await held).body).toMatchObject({ run_id, status: 'succeeded', output: 7 });
    await completed;
    await waits(0);
  });

  it('or as it stands when the time is over', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const held = asked(run_id, 120);
    await until(() => service.timers().includes(120));
    await service.leap(119);
    expect(service.runs.endsAwaited()).toBe(1);
    await service.leap(1);
    expect((await held).body).toMatchObject({ run_id, status: 'queued' });
  });

  it('at most four fifths of the request timeout', async () => {
    await open({ requestTimeoutSeconds: 25 });
    const { run_id } = await service.start('flow');
    const held = asked(run_id, 60_000);
    await until(() => service.timers().includes(20_000));
    await service.leap(20_000);
    expect((await held).status).toBe(200);
  });

  it('at once when it has ended', async () => {
    await open();
    const { run_id } = await service.start('flow');
    await service.must(service.post(`/runs/${run_id}/cancel`));
    expect((await asked(run_id, 20_000)).body).toMatchObject({ status: 'cancelled' });
  });

  it.each(['60001', '-1', '1.5', 'long'])('wait_ms of %s is 400', async (value) => {
    await open();
    expect(await codes(service.get(`/runs/r?wait_ms=${value}`))).toEqual([400, 'invalid_parameter', 'wait_ms']);
  });

  it('a run that is not there, or of another project, is refused without a wait', async () => {
    const of = (name: string) => ({ read: [`${name}-reads`], execute: [`${name}-starts`], worker: [`${name}-works`] });
    await open({ keys: { topLevel: {}, projects: { p: of('p'), q: of('q') } } });
    await service.must(service.register('w1', [aFlow('flow', [aTask('one')])], {}, { key: 'q-works' }));
    const { run_id } = await service.start('flow', {}, {}, { key: 'q-starts' });
    expect(await codes(asked('nowhere', 20_000, { key: 'p-reads' }))).toEqual([404, 'not_found']);
    expect(await codes(asked(run_id, 20_000, { key: 'p-reads' }))).toEqual([403, 'forbidden']);
  });

  it('a start can wait, too', async () => {
    await open();
    const held = service.post('/runs', { definition_id: 'flow', input: {}, wait_ms: 20_000 });
    await waits(1);
    await service.must(service.complete(await service.take(), { output: 'done' }));
    const answer = await held;
    expect([answer.status, answer.body.status, answer.body.output]).toEqual([201, 'succeeded', 'done']);
    expect(answer.body).not.toHaveProperty('attempts');
    // What the commit left in memory is what it stored.
    const { attempts: _a, timers: _t, waits: _w, children: _c, ...stored } = await service.run(answer.body.run_id);
    expect(answer.body).toEqual(stored);
    expect(await codes(service.post('/runs', { definition_id: 'flow', input: {}, wait_ms: 60_001 }))).toEqual([
      400,
      'invalid_parameter',
      'wait_ms',
    ]);
  });

  it('a start under a key that was used waits for the end of that run; one whose time is over is answered as the run stands', async () => {
    await open();
    const { run_id } = await service.start('flow', {}, { idempotency_key: 'k' });
    const again = { definition_id: 'flow', input: {}, idempotency_key: 'k', wait_ms: 20_000 };
    const over = service.post('/runs', again);
    await waits(1);
    await service.pass(20_000);
    expect(await over).toMatchObject({
      status: 200,
      body: { run_id, status: 'queued', queued_reason: 'workers_busy' },
    });
    const held = service.post('/runs', again);
    await waits(1);
    await service.must(service.complete(await service.take(), { output: 'done' }));
    expect(await held).toMatchObject({ status: 200, body: { run_id, status: 'succeeded', output: 'done' } });
  });

  it('a caller that hangs up waits no more', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const gone = new AbortController();
    const held = asked(run_id, 20_000, { signal: gone.signal });
    await waits(1);
    gone.abort();
    await expect(held).rejects.toThrow('aborted');
    await waits(0);
  });

  it('a service that stops answers at once', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const held = asked(run_id, 20_000);
    await waits(1);
    const closing = service.close();
    expect((await held).body).toMatchObject({ status: 'queued' });
    await closing;
    await open(); // for the hook that closes
  });
});

describe('bodies: each bound from both sides', () => {
  const MIB = 1024 * 1024;
  it('4 MiB as received for what brings payloads', async () => {
    await open();
    const sized = (bytes: number): string => {
      const empty = JSON.stringify({ definition_id: 'flow', input: '' });
      return JSON.stringify({ definition_id: 'flow', input: 'x'.repeat(bytes - empty.length) });
    };
    expect((await service.post('/runs', sized(4 * MIB))).status).toBe(201);
    const over = await service.post('/runs', sized(4 * MIB + 1));
    expect([over.status, over.body.code]).toEqual([413, 'payload_too_large']);
    expect(over.body.message).toContain('4194305');
    expect(over.body.message).toContain('4194304 bytes (4 MiB)');
    expect(over.body.message).not.toContain('--max-b');
  });

  it('and as inflated', async () => {
    await open();
    const response = await fetch(`${service.url}/v1/api/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify({ definition_id: 'flow', input: 'x'.repeat(4 * MIB) })),
    });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([413, 'payload_too_large']);
  });

  it('details of a heartbeat: 64 KiB as JSON', async () => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    expect((await service.heartbeat(lease, { details: 'x'.repeat(65_534) })).status).toBe(200);
    const over = await service.heartbeat(lease, { details: 'x'.repeat(65_535) });
    expect([over.status, over.body.code, over.body.field]).toEqual([413, 'payload_too_large', 'details']);
    expect(over.body.message).toContain('65537');
    expect(over.body.message).toContain('65536');
  });

  it('worker retry_after_ms above 3650 days is 400', async () => {
    await open();
    await service.start('flow');
    const lease = await service.take();
    const days = 3650 * 24 * 3_600_000;
    expect(await codes(service.fail(lease, 'retryable', { retry_after_ms: days + 1 }))).toEqual([
      400,
      'invalid_parameter',
      'retry_after_ms',
    ]);
    expect((await service.fail(lease, 'retryable', { retry_after_ms: days })).status).toBe(200);
  });

  it.each(['timeout', 'orphaned', 'expression', 'limit', 'cancelled'])(
    'the reserved class %s is 400 from a worker',
    async (name) => {
      await open();
      await service.start('flow');
      const lease = await service.take();
      expect(await codes(service.fail(lease, name))).toEqual([400, 'invalid_parameter', 'error.class']);
      expect((await service.complete(lease)).status).toBe(200);
    },
  );

  const bodies: [name: string, path: string, body: unknown, field: string][] = [
    ['a start without a definition', '/runs', { input: {} }, 'definition_id'],
    ['a start without an input', '/runs', { definition_id: 'flow' }, 'input'],
    ['a start with a field that is not known', '/runs', { definition_id: 'flow', input: 1, when: 1 }, 'when'],
    ['a start into all projects', '/runs', { definition_id: 'flow', input: 1, project: '*' }, 'project'],
    ['an empty idempotency key', '/runs', { definition_id: 'flow', input: 1, idempotency_key: '' }, 'idempotency_key'],
    [
      'a key of 257 characters',
      '/runs',
      { definition_id: 'flow', input: 1, idempotency_key: 'k'.repeat(257) },
      'idempotency_key',
    ],
    [
      'a correlation that is not known',
      '/runs',
      { definition_id: 'flow', input: 1, correlation: { who: 'u' } },
      'correlation.who',
    ],
    [
      'a correlation that is no text',
      '/runs',
      { definition_id: 'flow', input: 1, correlation: { user_id: 1 } },
      'correlation.user_id',
    ],
    ['version 0', '/runs', { definition_id: 'flow', input: 1, definition_version: 0 }, 'definition_version'],
    ['an event without a key', '/events', { event: 'e', payload: {} }, 'key'],
    ['an event without a payload', '/events', { event: 'e', key: '' }, 'payload'],
    ['a payload that is no object', '/events', { event: 'e', key: '', payload: 1 }, 'payload'],
    ['a claim of none', '/steps/claim', { worker_id: 'w1', max: 0, wait_ms: 0 }, 'max'],
    ['a claim without wait_ms', '/steps/claim', { worker_id: 'w1', max: 1 }, 'wait_ms'],
    ['a claim of nobody', '/steps/claim', { max: 1, wait_ms: 0 }, 'worker_id'],
    ['a worker without definitions', '/workers/register', { worker_id: 'w' }, 'definitions'],
    ['negative tokens', '/steps/x/complete', { worker_id: 'w', usage: { input_tokens: -1 } }, 'usage.input_tokens'],
    [
      'negative tokens in a list',
      '/steps/x/complete',
      { worker_id: 'w', usage: [{}, { input_tokens: -1 }] },
      'usage.1.input_tokens',
    ],
    [
      'usage to record that does not say yes or no',
      '/steps/x/complete',
      { worker_id: 'w', usage: { record: 'yes' } },
      'usage.record',
    ],
    ['a patch that is no object', '/steps/x/complete', { worker_id: 'w', state_patch: [] }, 'state_patch'],
    ['a fail without an error', '/steps/x/fail', { worker_id: 'w' }, 'error'],
    ['an error without a class', '/steps/x/fail', { worker_id: 'w', error: { message: 'm' } }, 'error.class'],
    ['a reason that is no text', '/runs/x/cancel', { reason: 1 }, 'reason'],
    ['a restart from no step', '/runs/x/restart', { from_step: '' }, 'from_step'],
    ['a restart from visit 0', '/runs/x/restart', { visit: 0 }, 'visit'],
    ['a restart on version 0', '/runs/x/restart', { definition_version: 0 }, 'definition_version'],
    ['a restart with a patch that is no object', '/runs/x/restart', { state_patch: [] }, 'state_patch'],
    ['a restart of another start', '/runs/x/restart', { start_at: '+1h' }, 'start_at'],
  ];
  it.each(bodies)('%s is 400 naming the field', async (_name, path, body, field) => {
    await open();
    expect(await codes(service.post(path, body))).toEqual([400, 'invalid_parameter', field]);
  });

  it('text that is not JSON is 400 invalid_body in the service’s own shape', async () => {
    await open();
    expect(await codes(service.post('/runs', '{"definition_id"'))).toEqual([400, 'invalid_body']);
    const typeless = await service.post('/runs', '{}', { headers: { 'content-type': 'text/plain' } });
    expect([typeless.status, typeless.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it('unknown and unusable query parameters are refused by name', async () => {
    await open();
    expect(await codes(service.get('/runs?sort=x'))).toEqual([400, 'invalid_parameter', 'sort']);
    expect(await codes(service.get('/runs?status=done'))).toEqual([400, 'invalid_parameter', 'status']);
    expect(await codes(service.get('/runs?from=-1h&to=-2h'))).toEqual([400, 'invalid_parameter', 'from']);
    expect(await codes(service.get('/runs/x/events?after=-2'))).toEqual([400, 'invalid_parameter', 'after']);
    expect(await codes(service.get('/actors/run/x?at_seq=-1'))).toEqual([400, 'invalid_parameter', 'at_seq']);
    expect(await codes(service.get('/actors?type=runs'))).toEqual([400, 'invalid_parameter', 'type']);
    for (const type of ['run', 'lease', 'monitor', 'slo', 'timer', 'pipeline', 'dispatcher', 'outbox'])
      expect((await service.get(`/actors?type=${type}`)).status).toBe(200);
  });
});

describe('restarting a run', () => {
  const failed = async () => {
    await open({ definitions: [aFlow('flow', [aTask('one'), aTask('two')])] });
    const { run_id } = await service.start('flow', { n: 1 }, { correlation: { user_id: 'ann' } });
    await service.must(service.complete(await service.take(), { output: 'first', state_patch: { a: 1 } }));
    await service.must(service.fail(await service.take(), 'fatal'));
    return run_id;
  };
  const restart = (runId: string, body: object = {}) => service.post(`/runs/${runId}/restart`, body);

  it('answers 201 with the new run, which names the old one; the list finds it by that', async () => {
    const old = await failed();
    const answer = await restart(old);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      restarted_from: { run_id: old, step_id: 'two', visit: 1 },
      status: 'queued',
      cursor: 'two',
      state: { a: 1 },
      correlation: { user_id: 'ann' },
      step_count: 1,
    });
    const { events } = (await service.get(`/runs/${answer.body.run_id}/events`)).body;
    expect(events[0]).toMatchObject({
      seq: 0,
      kind: 'run.started',
      data: { restarted_from: { run_id: old, step_id: 'two', visit: 1 } },
    });
    const listed = (await service.get(`/runs?restarted_from=${old}`)).body.runs;
    expect(listed).toMatchObject([{ run_id: answer.body.run_id, restarted_from: { run_id: old } }]);
    expect((await service.run(old)).restarted_from).toBeUndefined();
  });

  it('takes an empty body, and answers 200 with the first run under the same idempotency key', async () => {
    const old = await failed();
    const first = await restart(old, { idempotency_key: 'k' });
    const again = await restart(old, { idempotency_key: 'k' });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body.run_id).toBe(first.body.run_id);
    expect((await service.post(`/runs/${old}/restart`)).status).toBe(201);
  });

  it('each refusal has its own status, code and field', async () => {
    const old = await failed();
    const { body: open } = await restart(old);
    expect(await codes(restart(open.run_id))).toEqual([409, 'conflict']);
    expect(await codes(restart(crypto.randomUUID()))).toEqual([404, 'not_found']);
    expect(await codes(restart(old, { from_step: 'three' }))).toEqual([400, 'invalid_parameter', 'from_step']);
    expect(await codes(restart(old, { from_step: 'one', visit: 2 }))).toEqual([400, 'invalid_parameter', 'visit']);
    expect(await codes(restart(old, { definition_version: 9 }))).toEqual([404, 'not_found', 'definition_version']);
    await service.must(service.post(`/runs/${open.run_id}/cancel`));
    expect(await codes(restart(open.run_id))).toEqual([400, 'invalid_parameter', 'from_step']);
  });
});

describe('lists', () => {
  it('runs: newest-updated first, by status, definition, user and created_at, a page at a time', async () => {
    await open({ definitions: [aFlow('flow', [aTask('one')]), aFlow('other', [aTask('one')])] });
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push((await service.start(n === 4 ? 'other' : 'flow', {}, { correlation: { user_id: `u${n % 2}` } })).run_id);
      await service.leap(10_000);
    }
    const list = async (query: string) =>
      (await service.must(service.get(`/runs?${query}`))).runs.map((run: { run_id: string }) =>
        ids.indexOf(run.run_id),
      );
    expect(await list('')).toEqual([4, 3, 2, 1, 0]);
    await service.must(service.post(`/runs/${ids[1]}/cancel`));
    expect(await list('')).toEqual([1, 4, 3, 2, 0]);
    expect(await list('status=cancelled')).toEqual([1]);
    expect(await list('definition_id=other')).toEqual([4]);
    expect(await list('user_id=u1')).toEqual([1, 3]);
    const created = (await service.run(ids[2] ?? '')).created_at;
    expect(await list(`to=${created}`)).toEqual([1, 0]);
    expect(await list(`from=${created}`)).toEqual([4, 3, 2]);
    expect(await list('project=nobody')).toEqual([]);

    const first = await service.must(service.get('/runs?limit=2'));
    expect(first.runs).toHaveLength(2);
    expect(first.runs[0]).not.toHaveProperty('input');
    const second = await service.must(service.get(`/runs?limit=2&cursor=${first.next_cursor}`));
    const third = await service.must(service.get(`/runs?limit=2&cursor=${second.next_cursor}`));
    expect([...first.runs, ...second.runs, ...third.runs].map(({ run_id }) => ids.indexOf(run_id))).toEqual([
      1, 4, 3, 2, 0,
    ]);
    expect(third).not.toHaveProperty('next_cursor');
    expect(await codes(service.get(`/runs?status=queued&cursor=${first.next_cursor}`))).toEqual([
      400,
      'invalid_parameter',
      'cursor',
    ]);
    expect(await codes(service.get('/runs?cursor=x'))).toEqual([400, 'invalid_parameter', 'cursor']);
  });

  it('definitions: the latest of each; one with its versions, open runs and workers; one version', async () => {
    await open();
    const second = { id: 'flow', version: 2, steps: [aTask('two')] };
    await service.must(service.register('w2', [second, aFlow('another', [aTask('one')])]));
    await service.start('flow', {}, { definition_version: 1 });
    expect((await service.must(service.get('/definitions'))).definitions).toEqual([
      { id: 'another', version: 1, created_at: expect.any(String) },
      { id: 'flow', version: 2, created_at: expect.any(String) },
    ]);
    const page = await service.must(service.get('/definitions?limit=1'));
    expect(
      (await service.must(service.get(`/definitions?limit=1&cursor=${page.next_cursor}`))).definitions,
    ).toMatchObject([{ id: 'flow' }]);
    expect(await service.must(service.get('/definitions/flow'))).toEqual({
      id: 'flow',
      versions: [
        { version: 1, created_at: expect.any(String), open_runs: 1, workers: 1 },
        { version: 2, created_at: expect.any(String), open_runs: 0, workers: 1 },
      ],
      latest: second,
    });
    expect(await service.must(service.get('/definitions/flow/versions/2'))).toEqual({
      id: 'flow',
      version: 2,
      created_at: expect.any(String),
      definition: second,
    });
    expect(await codes(service.get('/definitions/flow/versions/3'))).toEqual([404, 'not_found']);
    expect(await codes(service.get('/definitions/none'))).toEqual([404, 'not_found']);
    expect(await codes(service.get('/definitions/flow/versions/x'))).toEqual([400, 'invalid_parameter', 'version']);
  });

  it('workers with when they were last seen and the leases they hold; live leases, oldest first', async () => {
    await open();
    await service.register('w1', undefined, { name: 'n', version: 'v', concurrency: 2 });
    const a = await service.start('flow');
    await service.start('flow');
    const one = await service.take();
    const two = await service.offered();
    const { workers } = await service.must(service.get('/workers'));
    expect(workers).toEqual([
      {
        worker_id: 'w1',
        name: 'n',
        version: 'v',
        concurrency: 2,
        definitions: [{ id: 'flow', version: 1 }],
        last_seen_at: expect.any(String),
        leases: 2,
      },
    ]);
    const { leases, ...times } = await service.must(service.get('/leases'));
    expect(times).toEqual({ offer_ttl_ms: 5000, lease_ttl_ms: 30_000, heartbeat_ms: 10_000, reclaim_window_ms: 5000 });
    expect(leases).toEqual([
      {
        lease_id: one.lease_id,
        run_id: a.run_id,
        project: 'default',
        definition_id: 'flow',
        definition_version: 1,
        step_id: 'one',
        visit: 1,
        attempt: 1,
        status: 'running',
        worker_id: 'w1',
        offered_at: expect.any(String),
        started_at: expect.any(String),
        last_heartbeat_at: expect.any(String),
        lease_expires_at: expect.any(String),
      },
      expect.objectContaining({ lease_id: two.lease_id, status: 'offered' }),
    ]);
    const page = await service.must(service.get('/leases?limit=1'));
    expect((await service.must(service.get(`/leases?limit=1&cursor=${page.next_cursor}`))).leases).toMatchObject([
      { lease_id: two.lease_id },
    ]);
    await service.must(service.complete(one));
    expect((await service.must(service.get('/leases'))).leases).toHaveLength(1);
  });

  it('parked events, newest first, without payloads', async () => {
    await open();
    for (const [n, key] of ['a', 'b', 'c'].entries())
      await service.must(service.post('/events', { event: 'paid', key, payload: { n }, event_id: `id-${key}` }));
    const first = await service.must(service.get('/events?limit=2'));
    expect(first.events).toEqual([
      {
        event: 'paid',
        key: 'c',
        project: 'default',
        event_id: 'id-c',
        parked_at: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/),
        payload_bytes: '{"n":2}'.length,
      },
      expect.objectContaining({ key: 'b' }),
    ]);
    expect(Date.parse(first.events[0].expires_at) - Date.parse(first.events[0].parked_at)).toBe(24 * 3600_000);
    const rest = await service.must(service.get(`/events?limit=2&cursor=${first.next_cursor}`));
    expect(rest).toEqual({ events: [expect.objectContaining({ key: 'a' })] });
    expect((await service.must(service.get('/events?project=other'))).events).toEqual([]);
    expect(await codes(service.get('/events?limit=1001'))).toEqual([400, 'invalid_parameter', 'limit']);
  });

  it('workers by page; the cursor of another list is refused', async () => {
    await open();
    for (const worker of ['b', 'c', 'a']) await service.must(service.register(worker));
    const idsOf = (page: { workers: readonly { worker_id: string }[] }) => page.workers.map((one) => one.worker_id);
    const first = await service.must(service.get('/workers?limit=2'));
    expect(idsOf(first)).toEqual(['a', 'b']);
    const rest = await service.must(service.get(`/workers?limit=2&cursor=${first.next_cursor}`));
    expect(idsOf(rest).slice(0, 1)).toEqual(['c']);
    expect(rest.next_cursor).toBeUndefined();
    expect(await codes(service.get(`/leases?cursor=${first.next_cursor}`))).toEqual([
      400,
      'invalid_parameter',
      'cursor',
    ]);
    expect(await codes(service.get('/workers?limit=1001'))).toEqual([400, 'invalid_parameter', 'limit']);
  });
});

describe('who was seen', () => {
  it('a call on a lease by somebody who does not hold it is no sign of the worker it names', async () => {
    await open();
    await service.register('w1');
    await service.register('w2');
    await service.start('flow');
    const lease = await service.take('w1');
    const seen = async (): Promise<string[]> =>
      (await service.must(service.get('/workers'))).workers.map(
        (worker: { last_seen_at: string }) => worker.last_seen_at,
      );
    const before = await seen();
    await service.leap(5);
    expect(await codes(service.heartbeat(lease, {}, 'w2'))).toEqual([409, 'fenced']);
    expect(await seen()).toEqual(before);
    await service.must(service.heartbeat(lease, {}, 'w1'));
    expect(await seen()).not.toEqual(before);
  });
});

describe('journal page and cause', () => {
  it('pages by after, with seq from 0 without a gap', async () => {
    await open();
    const { run_id } = await service.start('flow');
    await service.must(service.complete(await service.take()));
    const entries = await service.journal(run_id);
    expect(entries.map(({ kind }) => kind)).toEqual([
      'run.started',
      'cursor.moved',
      'step.leased',
      'step.started',
      'step.finished',
      'run.finished',
    ]);
    expect(entries.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5]);
    const read = [];
    for (let after = -1; ; ) {
      const page = await service.must(service.get(`/runs/${run_id}/events?after=${after}&limit=2`));
      read.push(...page.events);
      if (page.events.length === 0) {
        expect(page.next_after).toBe(after);
        break;
      }
      after = page.next_after;
    }
    expect(read).toEqual(entries);
  });

  it('of a run with large outputs, whose rows are read some at a time, is one answer all the same: every entry, and where to go on', async () => {
    await open({
      definitions: [
        aFlow(
          'flow',
          ['one', 'two', 'three', 'four'].map((id) => aTask(id)),
        ),
      ],
    });
    const { run_id } = await service.start('flow');
    const output = { text: 'x'.repeat(700_000) };
    for (let step = 0; step < 4; step++) await service.must(service.complete(await service.take(), { output }));
    const one = await service.must(service.get(`/runs/${run_id}/events?limit=1000`));
    const single = [];
    for (let after = -1; single.length < one.events.length; after++)
      single.push(...(await service.must(service.get(`/runs/${run_id}/events?after=${after}&limit=1`))).events);
    expect(one.events).toEqual(single);
    expect(one.next_after).toBe(one.events.at(-1).seq);
    const few = await service.must(service.get(`/runs/${run_id}/events?limit=9`));
    expect([few.events, few.next_after]).toEqual([single.slice(0, 9), 8]);
  });

  it('cause: the attempt and the chain of entries that led to it, oldest last', async () => {
    await open({ definitions: [aFlow('flow', [aTask('one'), aTask('two')])] });
    const { run_id } = await service.start('flow');
    await service.must(service.complete(await service.take()));
    const lease = await service.take();
    const cause = await service.must(service.get(`/runs/${run_id}/steps/two/cause`));
    expect(cause.attempt).toMatchObject({ lease_id: lease.lease_id, status: 'running' });
    const seqs = cause.chain.map(({ seq }: { seq: number }) => seq);
    expect(seqs).toEqual(seqs.toSorted((a: number, b: number) => b - a));
    expect(cause.chain.at(-1)).toMatchObject({ seq: 0, kind: 'run.started' });
    expect(await codes(service.get(`/runs/${run_id}/steps/none/cause`))).toEqual([404, 'not_found']);
    expect(await service.must(service.get(`/runs/${run_id}/steps/two/cause?attempt=2`))).toEqual({ chain: [] });
  });
});

describe('actors and machines', () => {
  it('lists actors by type and status, and shows a complete snapshot, also as it was', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const lease = await service.take();
    const list = async (query = '') => (await service.must(service.get(`/actors${query}`))).actors;
    expect(await list('?type=lease')).toEqual([
      {
        type: 'lease',
        id: lease.lease_id,
        machine: 'lease',
        value: 'running',
        status: 'active',
        version: expect.any(Number),
        updated_at: expect.any(String),
      },
    ]);
    expect(await list('?status=done')).toEqual([]);
    const now = await service.must(service.get(`/actors/run/${run_id}`));
    expect(now).toMatchObject({
      type: 'run',
      id: run_id,
      machine: 'run:flow@1',
      machine_version: expect.any(Number),
      value: { active: { one: 'leased' } },
      status: 'active',
      mailbox: 0,
    });
    await service.must(service.complete(lease));
    expect(await service.must(service.get(`/actors/run/${run_id}`))).toMatchObject({
      value: 'succeeded',
      status: 'done',
    });
    const entries = await service.journal(run_id);
    expect(await service.must(service.get(`/actors/run/${run_id}?at_seq=2`))).toMatchObject({
      value: now.value,
      status: 'active',
      updated_at: entries[2]?.at,
    });
    expect(await codes(service.get(`/actors/run/${run_id}?at_seq=100`))).toEqual([404, 'not_found']);
    expect(await codes(service.get('/actors/cat/tom'))).toEqual([404, 'not_found']);
    expect(await service.must(service.get(`/actors/lease/${lease.lease_id}`))).toMatchObject({
      machine: 'lease',
      machine_version: 1,
      run_id,
      version: 3,
      value: 'succeeded',
      status: 'done',
    });
    const leased = entries.find(({ kind }) => kind === 'step.leased');
    expect(await service.must(service.get(`/actors/lease/${lease.lease_id}?at_seq=${leased?.seq}`))).toMatchObject({
      ...{ value: 'offered', status: 'active', updated_at: leased?.at, run_id },
      context: { delivery: 'at_least_once', bodyRan: false },
    });
    expect(await codes(service.get(`/actors/lease/${lease.lease_id}?at_seq=100`))).toEqual([404, 'not_found']);
    expect(await codes(service.get('/actors/timer/main?at_seq=0'))).toEqual([400, 'invalid_parameter', 'at_seq']);
  });

  it.each(['timer', 'dispatcher', 'outbox'])('shows the %s as an actor of no project', async (type) => {
    await open();
    const { actors } = await service.must(service.get(`/actors?type=${type}&project=nobody`));
    const shown = await service.must(service.get(`/actors/${type}/main`));
    expect(actors).toEqual([
      {
        type,
        id: 'main',
        machine: type,
        value: expect.any(String),
        status: 'active',
        version: expect.any(Number),
        updated_at: expect.any(String),
      },
    ]);
    expect(shown).toMatchObject({ type, id: 'main', machine_version: 1, mailbox: expect.any(Number) });
    expect(shown.context).toHaveProperty('perSecond');
    expect((await service.get(`/machines/${type}?format=mermaid`)).text).toContain('state "idle" as idle');
    expect(await codes(service.get(`/actors/${type}/other`))).toEqual([404, 'not_found']);
    expect(await codes(service.get(`/actors/${type}/main?at_seq=0`))).toEqual([400, 'invalid_parameter', 'at_seq']);
  });

  it('a machine opens in createMachine, and draws itself', async () => {
    await open();
    const { machines } = await service.must(service.get('/machines'));
    expect(machines.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['lease', 'run:flow@1']));
    for (const { name, states } of machines) {
      const config = await service.must(service.get(`/machines/${name}`));
      const machine = createMachine(config);
      expect(Object.keys(machine.states).length).toBeGreaterThan(1);
      expect(states.length).toBeGreaterThan(1);
      const drawn = await service.get(`/machines/${name}?format=mermaid`);
      expect(drawn.headers.get('content-type')).toMatch(/^text\/plain/);
      expect(drawn.text).toMatch(/^stateDiagram-v2\n/);
    }
    const lease = createMachine(await service.must(service.get('/machines/lease'))).provide({
      guards: { mayReport: () => true },
    });
    const [unissued] = initialTransition(lease);
    expect(transition(lease, unissued, { type: 'lease.offered' })[0].value).toBe('offered');
    expect(await codes(service.get('/machines/run:flow@9'))).toEqual([404, 'not_found']);
    expect(await codes(service.get('/machines/lease?format=svg'))).toEqual([400, 'invalid_parameter', 'format']);
  });

  it.each([1, 2, 6, 7, 8, 50])('machines by page without gap or repeat, the own first, %i a page', async (limit) => {
    await open({ definitions: ['b', 'a', 'c'].map((id) => aFlow(id, [aTask('one')])) });
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages += 1) {
      const page: { machines: { name: string }[]; next_cursor?: string } = await service.must(
        service.get(`/machines?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`),
      );
      expect(page.machines.length).toBeLessThanOrEqual(limit);
      seen.push(...page.machines.map(({ name }) => name));
      cursor = page.next_cursor;
    }
    const own = [
      'bulk',
      'definition',
      'dispatcher',
      'lease',
      'limit',
      'monitor',
      'outbox',
      'pipeline',
      'schedule',
      'slo',
      'timer',
    ];
    expect(seen).toEqual([...own, 'run:a@1', 'run:b@1', 'run:c@1']);
    expect(pages).toBe(Math.ceil(seen.length / limit));
  });

  it('machines: the cursor of another list, and a limit out of bounds, are refused', async () => {
    await open();
    const { next_cursor } = await service.must(service.get('/machines?limit=1'));
    expect(await codes(service.get(`/workers?cursor=${next_cursor}`))).toEqual([400, 'invalid_parameter', 'cursor']);
    expect(await codes(service.get('/machines?cursor=x'))).toEqual([400, 'invalid_parameter', 'cursor']);
    expect(await codes(service.get('/machines?limit=0'))).toEqual([400, 'invalid_parameter', 'limit']);
    expect(await codes(service.get('/machines?limit=1001'))).toEqual([400, 'invalid_parameter', 'limit']);
    expect((await service.must(service.get('/machines?limit=1000'))).next_cursor).toBeUndefined();
  });
});

describe('DELETE /v1/api/subjects/{user_id}', () => {
  it('erases finished runs with children and their traces, leaves unfinished ones whole and counts them', async () => {
    await open({
      definitions: [
        aFlow('kid', [aTask('work')]),
        aFlow('parent', [{ id: 'sub', kind: 'child', definition: 'kid' }]),
        aFlow('flow', [aTask('one')]),
      ],
    });
    const mine = { correlation: { user_id: 'a/b' } };
    const done = await service.start('parent', {}, mine);
    await service.must(service.complete(await service.take()));
    const going = await service.start('flow', {}, mine);
    const other = await service.start('flow', {}, { correlation: { user_id: 'c' } });
    const answer = await service.must(service.del('/subjects/a%2Fb'));
    expect(answer).toEqual({
      runs_erased: 2,
      runs_in_flight: 1,
      traces_erased: 1,
      views_erased: 0,
      deletes_pending: false,
      note: '1 unfinished run was left unchanged: cancel them or let them end, then erase again. Parked events are not reached by erasure; they expire within 24 hours.',
    });
    expect(service.erased).toEqual([done.trace_id]);
    expect(await codes(service.get(`/runs/${done.run_id}`))).toEqual([404, 'not_found']);
    for (const { run_id } of [going, other]) expect((await service.run(run_id)).status).toBe('queued');
    expect(await service.must(service.del('/subjects/nobody'))).toMatchObject({
      runs_erased: 0,
      runs_in_flight: 0,
      traces_erased: 0,
    });
  });
});

describe('--runs-data off', () => {
  it('every endpoint of runs, events, definitions, workers, leases, steps, subjects answers 503 runs_disabled', async () => {
    await open({ enabled: false });
    const routes = runsSurface({ requestTimeoutSeconds: 30 } as RunsDeps, true).filter(
      ({ surface }) => surface === 'runs',
    );
    expect(routes.length).toBeGreaterThan(18);
    for (const route of routes) {
      const { method, path } = route;
      expect([method, path, ...(await codes(call(route, '{not JSON')))]).toEqual([method, path, 503, 'runs_disabled']);
    }
  });

  it('actors and machines still answer', async () => {
    await open({ enabled: false });
    expect(await service.must(service.get('/actors'))).toEqual({ actors: [] });
    expect((await service.must(service.get('/machines'))).machines).toHaveLength(11);
    expect((await service.get('/machines/lease?format=mermaid')).status).toBe(200);
  });
});

describe('keys', () => {
  const OWN = 'own';
  const keys = {
    topLevel: Object.fromEntries(scopes.map((scope) => [scope, [`top-${scope}`]])),
    projects: {
      [OWN]: Object.fromEntries(scopes.map((scope) => [scope, [`own-${scope}`]])),
      other: Object.fromEntries(scopes.map((scope) => [scope, [`other-${scope}`]])),
    },
  };
  const flow = aFlow('flow', [aTask('one')]);

  it('routes x scopes: every route of runs takes its own scope and no other, admin beside execute and worker', async () => {
    await open({ keys });
    const routes = runsSurface({ requestTimeoutSeconds: 30 } as RunsDeps, true);
    for (const route of routes) {
      const { method, path, scope } = route;
      for (const held of scopes) {
        const { status } = await call(route, {}, { key: `top-${held}` });
        const may = held === scope || (held === 'admin' && (scope === 'execute' || scope === 'worker'));
        expect([method, path, held, status === 403]).toEqual([method, path, held, !may]);
      }
      expect([method, path, (await call(route, {})).status]).toEqual([method, path, 401]);
    }
  });

  it('the project of the stored run and lease is checked, whatever the call says', async () => {
    await open({ keys });
    const asOwn = { key: 'own-execute' };
    await service.must(service.register('w', [flow], {}, { key: 'own-worker' }));
    await service.must(service.register('x', [flow], {}, { key: 'other-worker' }));
    const { run_id, project } = await service.start('flow', {}, {}, asOwn);
    expect(project).toBe(OWN);
    expect(
      await codes(service.post('/runs', { definition_id: 'flow', input: 1, project: OWN }, { key: 'other-execute' })),
    ).toEqual([403, 'forbidden']);
    for (const path of ['', '/events', '/steps/one/cause']) {
      expect((await service.get(`/runs/${run_id}${path}`, { key: 'own-read' })).status).toBe(200);
      expect(await codes(service.get(`/runs/${run_id}${path}`, { key: 'other-read' }))).toEqual([403, 'forbidden']);
    }
    expect(await codes(service.get(`/actors/run/${run_id}`, { key: 'other-read' }))).toEqual([403, 'forbidden']);
    const stream = { key: 'other-read', headers: { accept: 'text/event-stream' } };
    expect(await codes(service.get(`/runs/${run_id}/events`, stream))).toEqual([403, 'forbidden']);
    expect(await codes(service.post(`/runs/${run_id}/cancel`, {}, { key: 'other-execute' }))).toEqual([
      403,
      'forbidden',
    ]);
    expect(
      await codes(service.post(`/runs/${run_id}/signal`, { event: 'e', payload: {} }, { key: 'other-execute' })),
    ).toEqual([403, 'forbidden']);
    expect(
      await codes(
        service.post('/events', { event: 'e', key: '', payload: {}, project: OWN }, { key: 'other-execute' }),
      ),
    ).toEqual([403, 'forbidden']);
    // A worker's key limits what it is offered, and what it may report.
    expect(await service.claim('x', {}, { key: 'other-worker' })).toEqual([]);
    expect(
      await codes(
        service.post('/steps/claim', { worker_id: 'x', max: 1, wait_ms: 0, run_id }, { key: 'other-worker' }),
      ),
    ).toEqual([403, 'forbidden']);
    const lease = await service.offered('w', { key: 'own-worker' });
    for (const verb of ['started', 'heartbeat', 'complete'] as const)
      expect(await codes(service[verb](lease, {}, 'w', { key: 'other-worker' }))).toEqual([403, 'forbidden']);
    expect(await codes(service.fail(lease, 'fatal', {}, 'w', { key: 'other-worker' }))).toEqual([403, 'forbidden']);
    expect((await service.started(lease, {}, 'w', { key: 'own-worker' })).status).toBe(200);
    const lists = async (path: string, key: string) =>
      Object.values(await service.must(service.get(path, { key })))[0] as unknown[];
    for (const [path, length, ofNoProject] of [
      ['/runs', 1, 0],
      ['/leases', 1, 0],
      ['/actors?type=run', 1, 0],
      ['/actors?type=lease', 1, 0],
      ['/actors', 5, 3],
    ] as const) {
      expect(await lists(path, 'own-read')).toHaveLength(length);
      expect(await lists(path, 'other-read')).toHaveLength(ofNoProject);
      const and = path.includes('?') ? '&' : '?';
      expect(await lists(`${path}${and}project=*`, 'top-read')).toHaveLength(length);
      expect(await codes(service.get(`${path}${and}project=${OWN}`, { key: 'other-read' }))).toEqual([
        403,
        'forbidden',
        'project',
      ]);
    }
    for (const query of ['', '?check=true']) {
      const define = (key: string) =>
        service.post(`/definitions${query}`, { definitions: [flow], project: OWN }, { key });
      expect(await codes(define('other-execute'))).toEqual([403, 'forbidden', 'project']);
      await service.must(define('own-execute'));
    }
    await service.must(service.post('/events', { event: 'e', key: '', payload: {} }, asOwn));
    expect(await lists('/events', 'own-execute')).toHaveLength(1);
    expect(await lists('/events', 'other-execute')).toEqual([]);
    expect(await lists('/events?project=*', 'top-execute')).toHaveLength(1);
    expect(await codes(service.get(`/events?project=${OWN}`, { key: 'other-execute' }))).toEqual([
      403,
      'forbidden',
      'project',
    ]);
    expect(await codes(service.register('y', [flow], { project: OWN }, { key: 'other-worker' }))).toEqual([
      403,
      'forbidden',
      'project',
    ]);
    expect(await service.must(service.del('/subjects/u', { key: 'other-admin' }))).toMatchObject({ runs_erased: 0 });
  });

  it('a worker bound to a project is not replaced by a key that does not reach that project', async () => {
    await open({ keys });
    await service.must(service.register('w', [flow], { project: OWN }, { key: 'own-worker' }));
    for (const project of ['other', undefined])
      expect(
        await codes(service.register('w', [flow], project === undefined ? {} : { project }, { key: 'other-worker' })),
      ).toEqual([403, 'forbidden', 'worker_id']);
    await service.must(service.register('w', [flow], { project: OWN, version: '2' }, { key: 'own-worker' }));
    await service.must(service.register('w', [flow], {}, { key: 'top-worker' }));
  });

  it('a worker of no project is replaced only by a key that reaches all that the first key did', async () => {
    await open({ keys });
    const register = async (worker: string, key: string) => codes(service.register(worker, [flow], {}, { key }));
    const refused = [403, 'forbidden', 'worker_id'];
    await service.must(service.register('mine', [flow], {}, { key: 'own-worker' }));
    expect(await register('mine', 'other-worker')).toEqual(refused);
    await service.must(service.register('mine', [flow], { version: '2' }, { key: 'own-worker' }));
    await service.must(service.register('mine', [flow], {}, { key: 'top-worker' }));
    expect(await register('mine', 'own-worker')).toEqual(refused);
    const { workers } = await service.must(service.get('/workers', { key: 'top-read' }));
    expect(workers).toEqual([
      {
        worker_id: 'mine',
        definitions: [{ id: 'flow', version: 1 }],
        last_seen_at: expect.any(String),
        leases: 0,
      },
    ]);
  });

  it('erasure reaches the projects of the key alone', async () => {
    await open({ keys });
    await service.must(service.register('w', [flow], {}, { key: 'top-worker' }));
    const mine = { correlation: { user_id: 'u' } };
    const { run_id } = await service.start('flow', {}, mine, { key: 'own-execute' });
    await service.must(service.post(`/runs/${run_id}/cancel`, {}, { key: 'own-execute' }));
    expect(await service.must(service.del('/subjects/u', { key: 'other-admin' }))).toMatchObject({ runs_erased: 0 });
    expect(await service.must(service.del('/subjects/u', { key: 'own-admin' }))).toMatchObject({ runs_erased: 1 });
  });

  it('execute and worker fall back to the write keys; unset, ingest and read keys reach the runs surface too', async () => {
    await open({ keys: { topLevel: { ingest: ['i'], read: ['r'] } } });
    for (const key of ['i', 'r']) expect((await service.register('w', [flow], {}, { key })).status).toBe(200);
    expect((await service.register('w', [flow])).status).toBe(401);
    await service.close();
    await open({ keys: { topLevel: { write: ['w'], read: ['r'], execute: ['e'] } } });
    expect((await service.register('w', [flow], {}, { key: 'w' })).status).toBe(200);
    expect((await service.register('w', [flow], {}, { key: 'r' })).status).toBe(403);
    expect((await service.post('/runs', { definition_id: 'flow', input: 1 }, { key: 'w' })).status).toBe(403);
    expect((await service.post('/runs', { definition_id: 'flow', input: 1 }, { key: 'e' })).status).toBe(201);
  });
});

describe('audit', () => {
  it('reads of runs are audited under the project that owns the run, refused ones too; worker calls are not', async () => {
    const keys = {
      topLevel: { worker: ['w'], execute: ['e'] },
      projects: { own: { read: ['own'] }, other: { read: ['other'] } },
    };
    await open({ keys });
    const worker = { key: 'w' };
    await service.must(service.register('w1', [aFlow('flow', [aTask('one')])], {}, worker));
    const { run_id } = await service.start('flow', {}, { project: 'own' }, { key: 'e' });
    const lease = await service.take('w1', worker);
    await service.must(service.complete(lease, {}, 'w1', worker));
    const schedule = { id: 'nightly', definition_id: 'flow', every_ms: 1000, project: 'own' };
    await service.must(service.post('/schedules', schedule, { key: 'e' }));
    expect(await service.audited()).toEqual([]);
    const reads: [path: string, operation: string][] = [
      [`/runs/${run_id}`, 'get_run'],
      [`/runs/${run_id}/events`, 'list_run_events'],
      [`/runs/${run_id}/steps/one/cause`, 'get_step_cause'],
      [`/actors/run/${run_id}`, 'get_actor'],
      ['/schedules/nightly?project=own', 'get_schedule'],
    ];
    for (const [path, operation] of reads)
      for (const [key, outcome] of [
        ['own', 'allowed'],
        ['other', 'refused'],
      ] as const) {
        await service.get(path, { key });
        expect((await service.audited()).at(-1)).toMatchObject({
          operation,
          project: 'own',
          outcome,
          resource: `/v1/api${path.split('?')[0]}`,
        });
      }
    await service.get('/runs', { key: 'own' });
    expect((await service.audited()).at(-1)).toMatchObject({
      operation: 'list_runs',
      project: 'own',
      outcome: 'allowed',
    });
    await service.post(`/runs/${run_id}/cancel`, {}, { key: 'e' });
    expect((await service.audited()).at(-1)).toMatchObject({
      operation: 'cancel_run',
      project: 'own',
      outcome: 'allowed',
    });
    await service.post(`/runs/${run_id}/cancel`, {}, { key: 'own' });
    expect((await service.audited()).at(-1)).toMatchObject({
      operation: 'cancel_run',
      project: 'own',
      outcome: 'refused',
    });
    await service.get(`/runs/${run_id}/events`, { key: 'own', headers: { accept: 'text/event-stream' } });
    expect((await service.audited()).at(-1)).toMatchObject({ operation: 'list_run_events', outcome: 'allowed' });
    for (const path of ['/machines', '/machines/lease', '/actors']) await service.get(path, { key: 'own' });
    expect((await service.audited()).slice(-3).map(({ operation }) => operation)).toEqual([
      'list_machines',
      'get_machine',
      'list_actors',
    ]);
  });
});
