import assert from 'node:assert/strict';
import type { Answer, Fixture, FixtureEvent } from '../kit/fixture.ts';
import { between, meanwhile, until } from '../kit/judging.ts';
import { area, type Scenario, type World } from '../kit/scenario.ts';
import type { Service, StoredRun } from '../opposite/daemon.ts';
import { isCallTo, type Passed } from '../opposite/proxy.ts';
import { anEntry, aRun, type FakeService } from '../opposite/scripted.ts';
import type { Json } from './arrived.ts';
import { echo, fails, oneTask, waits } from './definitions.ts';
import { decoding } from './vectors.ts';

const client = area('client');

const QUICK_RETRY = { attempts: 3, base_ms: 10, max_ms: 50 };
const STARTS = isCallTo('POST', '/v1/api/runs');

const fixtureAt = async (world: World, service: { readonly url: string }, more: object = {}): Promise<Fixture> => {
  const fixture = await world.fixture({ SVC_ENDPOINT: service.url });
  await fixture.ask('configure', { retry: QUICK_RETRY, ...more });
  return fixture;
};
const watchEntries = (fixture: Fixture, call: number): FixtureEvent[] =>
  fixture.events.filter((event) => event.event === 'watch.entry' && event['call'] === call);
const seqsOf = (entries: readonly FixtureEvent[]): unknown[] => entries.map((entry) => entry['seq']);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const okOf = (answer: Answer): unknown => {
  if (answer.error !== undefined) assert.fail(`it answered ${JSON.stringify(answer.error)}`);
  return answer.ok;
};

/** A run that waits for its first event. */
const waitingRun = async (world: World, service: Service, count = 1): Promise<{ run: StoredRun; key: string }> => {
  const id = world.unique('waits');
  const key = world.unique('key');
  await service.api.store(waits(id, count));
  return { run: await service.api.start(id, { key }), key };
};
const signalRun = (service: Service, runId: string, event: string, payload: object = {}): Promise<unknown> =>
  service.api.post(`/v1/api/runs/${runId}/signal`, { event, payload });

const memberAt = (value: unknown, path: string): unknown =>
  path
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (found, name) =>
        found !== null && typeof found === 'object' && Object.hasOwn(found, name) ? (found as Json)[name] : undefined,
      value,
    );

const endedJournal = [anEntry(0, { kind: 'run.started' }), anEntry(1, { kind: 'run.finished' })];
const eventText = (entry: object, id: number): string => `id: ${id}\ndata: ${JSON.stringify(entry)}\n\n`;

/** Asks for the run of a scripted service, as it stands there. */
const readRun = (service: FakeService, text: string): void => service.answerAlways('r-1', { status: 200, raw: text });

export const clientScenarios: readonly Scenario[] = [
  client(
    33,
    'start',
    'A start carries its input, version and correlation, and gives the run as it is stored.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('echo');
      await service.api.store(echo(id));
      const fixture = await fixtureAt(world, service);
      const input = { amount: 40.5, text: 'Grüße 😀', list: [1, null, { a: false }], empty: {} };
      const run = await fixture.ask<StoredRun>('client.start', {
        ...{ definition_id: id, input, version: 1, correlation: { user_id: 'u-7' }, wait_ms: 5000 },
      });
      const stored = await service.api.run(run.run_id);
      assert.deepEqual(stored.input, input);
      assert.deepEqual((stored as unknown as Json)['correlation'], { user_id: 'u-7' });
      assert.equal(run.trace_id, stored.trace_id);
      assert.equal(run.status, 'succeeded', 'with wait_ms the answer is the end');
      assert.deepEqual(run.output, input);
    },
  ),

  client(34, 'idempotency-key', 'Two starts with one key are one run, and two without are two.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    await service.api.store(echo(id));
    const fixture = await fixtureAt(world, service);
    const start = (more: object): Promise<StoredRun> =>
      fixture.ask('client.start', { definition_id: id, input: {}, ...more });
    const idempotency_key = world.unique('order');
    const [first, again, other, another] = [
      await start({ idempotency_key }),
      await start({ idempotency_key }),
      await start({}),
      await start({}),
    ];
    assert.equal(again.run_id, first.run_id);
    assert.equal(new Set([first.run_id, other.run_id, another.run_id]).size, 3);
  }),

  client(
    35,
    'typed-refusal',
    'A refusal is an error with status, code, field and request id, after one call.',
    async (world) => {
      const service = await world.scripted();
      const body = { code: 'input_invalid', message: 'input.amount is missing', field: 'input' };
      service.answerAlways('runs', { status: 400, body, headers: { 'x-request-id': 'req-17' } });
      const fixture = await fixtureAt(world, service);
      const error = await fixture.refused('client.start', { definition_id: 'refund', input: {} });
      const { type, status, code, field, request_id } = error;
      assert.deepEqual(
        { type, status, code, field, request_id },
        { type: 'ServiceError', status: 400, code: 'input_invalid', field: 'input', request_id: 'req-17' },
      );
      assert.match(error.message, /input\.amount is missing/);
      await meanwhile(200);
      assert.equal(service.callsTo('runs').length, 1, 'a 4xx is not tried again');
    },
  ),

  client(36, 'text-refusal', 'A refusal in plain text is an error with its status and its words.', async (world) => {
    const service = await world.scripted();
    const headers = { 'content-type': 'text/plain' };
    service.answerAlways('runs', { status: 422, raw: 'missing field `input` at line 1', headers });
    const fixture = await fixtureAt(world, service);
    const { type, status, message } = await fixture.refused('client.start', { definition_id: 'refund', input: {} });
    assert.deepEqual({ type, status }, { type: 'ServiceError', status: 422 });
    assert.match(message, /missing field `input`/);
    assert.equal(service.callsTo('runs').length, 1);
  }),

  client(37, 'html-refusal', 'A 503 in HTML is tried again, and then is an error with its status.', async (world) => {
    const service = await world.scripted();
    const headers = { 'content-type': 'text/html' };
    service.answerAlways('runs', { status: 503, raw: '<html><body>Service Unavailable</body></html>', headers });
    const fixture = await fixtureAt(world, service);
    const { type, status } = await fixture.refused('client.start', { definition_id: 'refund', input: {} });
    assert.deepEqual({ type, status }, { type: 'ServiceError', status: 503 });
    assert.equal(service.callsTo('runs').length, QUICK_RETRY.attempts, 'as often as the retry policy says');
  }),

  client(
    38,
    'start-after-a-cut',
    'A start whose answer is lost is one run: it is sent again with the same key, or not at all.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('echo');
      await service.api.store(echo(id));
      const fixture = await fixtureAt(world, service);
      service.proxy.break(STARTS, { kind: 'cut after' });
      const idempotency_key = world.unique('order');
      const run = await fixture.ask<StoredRun>('client.start', { definition_id: id, input: {}, idempotency_key });
      const sent = service.proxy.passed.filter(STARTS).map(({ text }) => (JSON.parse(text) as Json)['idempotency_key']);
      assert.deepEqual(sent, [idempotency_key, idempotency_key], 'with a key it is sent again');

      service.proxy.break(STARTS, { kind: 'cut after' });
      await fixture.send('client.start', { definition_id: id, input: {} }).answer;
      const { runs } = await service.api.get<{ runs: readonly StoredRun[] }>(`/v1/api/runs?definition_id=${id}`);
      assert.equal(runs.length, 2, 'without one of the user it starts one run, however often it is sent');
      assert.ok(runs.some(({ run_id }) => run_id === run.run_id));
    },
  ),

  client(39, 'watch', 'A watch gives every entry of the journal once, in order, as it is written.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service, 2);
    const fixture = await fixtureAt(world, service);
    const watching = fixture.send('client.watch', { run_id: run.run_id });
    await until('first entries', undefined, () => watchEntries(fixture, watching.id).length > 0);
    await signalRun(service, run.run_id, 'go1');
    await fixture.event('watch.entry', (event) => event['kind'] !== 'run.started' && Number(event['seq']) > 2);
    await signalRun(service, run.run_id, 'go2');
    okOf(await watching.answer);
    const journal = await service.api.journal(run.run_id);
    const seen = watchEntries(fixture, watching.id).map(({ seq, kind }) => ({ seq, kind }));
    assert.deepEqual(
      seen,
      journal.map(({ seq, kind }) => ({ seq, kind })),
    );
  }),

  client(
    40,
    'watch-over-cuts',
    'A watch has no gap and no double over broken connections and a restart of the service.',
    async (world) => {
      const service = await world.ownService();
      const { run } = await waitingRun(world, service, 3);
      const fixture = await fixtureAt(world, service, { retry: { attempts: 200, base_ms: 10, max_ms: 100 } });
      const watching = fixture.send('client.watch', { run_id: run.run_id });
      await until('first entries', undefined, () => watchEntries(fixture, watching.id).length > 0);
      service.proxy.cutAll();
      await signalRun(service, run.run_id, 'go1');
      await service.restart('SIGKILL');
      await signalRun(service, run.run_id, 'go2');
      service.proxy.cutAll();
      await signalRun(service, run.run_id, 'go3');
      okOf(await watching.answer);
      const journal = await service.api.journal(run.run_id);
      assert.deepEqual(seqsOf(watchEntries(fixture, watching.id)), upTo(journal.length));
    },
  ),

  client(41, 'watch-ends', 'A watch ends with the run, also one that begins after it.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    await service.api.store(echo(id));
    const { run_id } = await service.api.start(id, {}, { wait_ms: 5000 });
    const journal = await service.api.journal(run_id);
    const fixture = await fixtureAt(world, service);
    const startedAt = performance.now();
    const all = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id });
    assert.deepEqual(all.seqs, upTo(journal.length));
    const rest = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id, after: 0 });
    assert.deepEqual(rest.seqs, upTo(journal.length).slice(1), 'after 0 begins at 1');
    const none = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id, after: journal.length - 1 });
    assert.deepEqual(none.seqs, [], 'nothing is behind the end');
    between('three watches of an ended run', performance.now() - startedAt, 0, 8000);
  }),

  client(
    42,
    'event-stream',
    'Comments, CRLF, data over several lines and characters cut in two are read as the standard says.',
    async (world) => {
      const service = await world.scripted();
      const text = [
        ': a comment\r\n\r\n',
        `id: 0\r\nevent: journal\r\ndata: {"seq":0,"kind":"run.grüße😀",\r\ndata: "at":"2026-11-20T09:00:00Z","data":{}}\r\n\r\n`,
        `data:${JSON.stringify(anEntry(1, { kind: 'cursor.moved' }))}\n\n`,
        'retry: 10\n: another\n\n',
        `unknown: field\rid: 2\rdata: ${JSON.stringify(anEntry(2, { kind: 'run.finished' }))}\r\r`,
        ': the end\n',
      ].join('');
      const bytes = Buffer.from(text);
      // Three bytes a piece: each character beyond ASCII, and each CRLF, is cut in two somewhere.
      const pieces = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, index) =>
        bytes.subarray(index * 3, index * 3 + 3),
      );
      service.streams.push({ text: '', end: 'end', pieces: { bytes: pieces, everyMs: 1 } });
      service.setRun(aRun(), endedJournal);
      const fixture = await fixtureAt(world, service);
      const { id, answer } = fixture.send('client.watch', { run_id: 'run-1' });
      okOf(await answer);
      assert.deepEqual(
        watchEntries(fixture, id).map((event) => event['kind']),
        ['run.grüße😀', 'cursor.moved', 'run.finished'],
      );
    },
  ),

  client(
    43,
    'silent-stream',
    'A stream that is silent for too long is replaced, from the last entry on.',
    async (world) => {
      const service = await world.scripted();
      service.setRun(aRun({ status: 'running' }));
      service.streams.push(
        { text: eventText(anEntry(0, { kind: 'run.started' }), 0), end: 'stay' },
        { text: eventText(anEntry(1, { kind: 'run.finished' }), 1), end: 'end' },
      );
      const fixture = await fixtureAt(world, service, { stream_idle_ms: 500 });
      const { seqs } = await fixture.ask<{ seqs: readonly number[] }>('client.watch', { run_id: 'run-1' });
      assert.deepEqual(seqs, [0, 1]);
      const streams = service.callsTo('events').filter((call) => call.headers.accept === 'text/event-stream');
      assert.equal(streams.length, 2);
      assert.equal(streams[1]?.headers['last-event-id'], '0', 'it goes on behind the last one seen');
      between('silence before it was replaced', (streams[1]?.at ?? 0) - (streams[0]?.at ?? 0), 450, 8000);
    },
  ),

  client(44, 'wait-output', 'A wait gives the output of a run that succeeds while it waits.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service);
    const fixture = await fixtureAt(world, service);
    const waiting = fixture.send('client.wait', { run_id: run.run_id });
    await service.proxy.seen('the wait', ({ path }) => path.includes(run.run_id));
    await signalRun(service, run.run_id, 'go1', { approved: true, by: 'Zoë' });
    assert.deepEqual(okOf(await waiting.answer), { output: { approved: true, by: 'Zoë' } });
  }),

  client(45, 'wait-failure', 'A wait for a run that fails is an error that holds the run.', async (world) => {
    const service = await world.service();
    const id = world.unique('fails');
    await service.api.store(fails(id));
    const { run_id } = await service.api.start(id, {});
    const fixture = await fixtureAt(world, service);
    const { type, run, message } = await fixture.refused('client.wait', { run_id });
    assert.equal(type, 'RunFailed');
    assert.equal(run?.['run_id'], run_id);
    assert.equal(run?.['status'], 'failed');
    assert.deepEqual(run?.['error'], (await service.api.run(run_id)).error);
    assert.match(message, /the account is empty/, 'its message says why');
  }),

  client(
    46,
    'wait-cancelled',
    'A wait for a run that is cancelled is an error that holds the cancelled run.',
    async (world) => {
      const service = await world.service();
      const { run } = await waitingRun(world, service);
      const fixture = await fixtureAt(world, service);
      const waiting = fixture.send('client.wait', { run_id: run.run_id });
      await service.proxy.seen('the wait', ({ path }) => path.includes(run.run_id));
      const cancelled = await fixture.ask<StoredRun>('client.cancel', {
        run_id: run.run_id,
        reason: 'no longer wanted',
      });
      assert.equal(cancelled.status, 'cancelled');
      const { error } = await waiting.answer;
      assert.equal(error?.type, 'RunFailed');
      assert.equal(error?.run?.['status'], 'cancelled');
    },
  ),

  client(
    47,
    'caller-stops',
    'A caller that stops waiting or watching gets control at once, and the connection is closed.',
    async (world) => {
      const service = await world.scripted();
      service.answerAlways('run-1', 'stall');
      service.streams.push({ text: eventText(anEntry(0), 0), end: 'stay' });
      const fixture = await fixtureAt(world, service);
      const waiting = fixture.send('client.wait', { run_id: 'run-1' });
      const watching = fixture.send('client.watch', { run_id: 'run-2' });
      const wait = await service.seen('run-1');
      const watch = await service.seen('events');
      await until('an entry', undefined, () => watchEntries(fixture, watching.id).length > 0);
      const startedAt = performance.now();
      await fixture.ask('cancel_call', { call: waiting.id });
      await fixture.ask('cancel_call', { call: watching.id });
      const [waited, watched] = await Promise.all([waiting.answer, watching.answer]);
      between('the stop', performance.now() - startedAt, 0, 3000);
      assert.equal(waited.error?.type, 'Cancelled');
      if (watched.error !== undefined) assert.equal(watched.error.type, 'Cancelled');
      await until('end of both connections', 3000, () => wait.isBrokenOff() && watch.isBrokenOff());
    },
  ),

  client(
    48,
    'events',
    'Signals and published events are delivered, parked, and known again by their id.',
    async (world) => {
      const service = await world.service();
      const { run, key } = await waitingRun(world, service, 2);
      const fixture = await fixtureAt(world, service);
      await service.api.runWhere(run.run_id, 'that waits', ({ status }) => status === 'waiting');
      const outcome = async (verb: string, input: object): Promise<unknown> =>
        (await fixture.ask<{ outcome: string }>(verb, input)).outcome;
      const event_id = world.unique('event');
      assert.equal(
        await outcome('client.signal', { run_id: run.run_id, event: 'go1', payload: { n: 1 }, event_id }),
        'delivered',
      );
      assert.equal(
        await outcome('client.signal', { run_id: run.run_id, event: 'go1', payload: { n: 1 }, event_id }),
        'duplicate',
      );
      assert.equal(await outcome('client.publish', { event: 'go2', key: 'nobody', payload: {} }), 'parked');
      assert.equal(await outcome('client.publish', { event: 'go2', key, payload: { n: 2 } }), 'delivered');
      assert.deepEqual((await service.api.ended(run.run_id)).output, { n: 2 });
      const conflict = await fixture.refused('client.signal', { run_id: run.run_id, event: 'go1', payload: {} });
      assert.deepEqual([conflict.type, conflict.status, conflict.code], ['ServiceError', 409, 'run_terminal']);
    },
  ),

  client(
    49,
    'decoding',
    'Unknown members and values, large integers and text of any kind are read as the vectors say.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await fixtureAt(world, service);
      const { capabilities } = fixture.hello;
      for (const { why, model, text, expect, needs } of decoding.cases) {
        if (needs !== undefined && !capabilities.includes(needs)) continue;
        let answer: Answer;
        if (model === 'RunDetail') {
          readRun(service, text);
          answer = await fixture.send('client.get', { run_id: 'r-1' }).answer;
        } else if (model === 'JournalEntry') {
          service.answerAlways('events', { status: 200, raw: `{"events":[${text}],"next_after":3}` });
          answer = await fixture.send('client.journal', { run_id: 'r-1' }).answer;
        } else continue;
        const read =
          model === 'JournalEntry' ? (okOf(answer) as { events: readonly unknown[] }).events[0] : okOf(answer);
        for (const { path, json } of expect) {
          const member = memberAt(read, path);
          if (json === null) assert.equal(member, undefined, `${why}: ${path} is absent`);
          else if (/^\d{16,}$/.test(json)) assert.ok('raw' in answer && answer.raw.includes(json), `${why}: ${path}`);
          else assert.deepEqual(member, JSON.parse(json), `${why}: ${path}`);
        }
      }
    },
  ),

  client(
    50,
    'spec-version',
    'Another major spec_version is refused by client and worker; instrumentation goes on, and another minor is fine.',
    async (world) => {
      const other = await world.scripted({ specVersion: '2.0' });
      const fixture = await fixtureAt(world, other, { delay_ms: 20 });
      const started = await fixture.refused('client.start', { definition_id: 'refund', input: {} });
      assert.equal(started.type, 'IncompatibleServer');
      assert.match(started.message, /2\.0/, 'it names the version that it found');
      const served = await fixture.refused('worker.run', { definitions: [oneTask('refund')] });
      assert.equal(served.type, 'IncompatibleServer');
      await fixture.ask('span', { name: 'goes-on' });
      await fixture.ask('flush', { timeout_ms: 5000 });
      assert.equal(other.callsTo('ingest').length, 1, 'signals are sent all the same');
      assert.equal(
        other.callsTo('runs').length + other.callsTo('register').length,
        0,
        'nothing is started or registered',
      );

      const minor = await world.scripted({ specVersion: '1.7' });
      const content = await fixtureAt(world, minor);
      assert.equal(
        (await content.ask<StoredRun>('client.start', { definition_id: 'refund', input: {} })).run_id,
        'run-1',
      );
    },
  ),

  client(
    51,
    'broken-answers',
    'An answer that is cut, or comes too slowly, is a connection error within its time.',
    async (world) => {
      const service = await world.scripted();
      const fixture = await fixtureAt(world, service, {
        timeout_ms: 400,
        retry: { attempts: 2, base_ms: 10, max_ms: 20 },
      });
      service.answerAlways('r-1', { status: 200, raw: '{"run_id":"r-1","stat' });
      assert.equal((await fixture.refused('client.get', { run_id: 'r-1' })).type, 'ConnectionError');
      service.answerAlways('r-2', {
        status: 200,
        raw: `{"run_id":"r-2"${' '.repeat(400)}}`,
        drip: { bytes: 1, everyMs: 50 },
      });
      const startedAt = performance.now();
      assert.equal((await fixture.refused('client.get', { run_id: 'r-2' })).type, 'ConnectionError');
      between('two tries of 400 ms', performance.now() - startedAt, 390, 6000);
    },
  ),

  client(84, 'pause-resume', 'A run is paused and resumed, with its reason.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service);
    await service.api.runWhere(run.run_id, 'that waits', ({ status }) => status === 'waiting');
    const fixture = await fixtureAt(world, service);
    const paused = await fixture.ask<StoredRun>('client.pause', { run_id: run.run_id, reason: 'holiday' });
    assert.equal(paused.status, 'paused');
    await fixture.ask('client.signal', { run_id: run.run_id, event: 'go1', payload: { n: 1 } });
    assert.equal((await service.api.run(run.run_id)).status, 'paused', 'what comes meanwhile waits');
    await fixture.ask('client.resume', { run_id: run.run_id });
    assert.deepEqual((await service.api.ended(run.run_id)).output, { n: 1 });
    const journal = await service.api.journal(run.run_id);
    const entry = journal.find(({ kind }) => kind === 'run.paused');
    assert.equal(entry?.data['reason'], 'holiday');
  }),

  client(85, 'restart', 'An ended run is restarted from a step, as a new run.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service, 2);
    const fixture = await fixtureAt(world, service);
    await service.api.runWhere(run.run_id, 'that waits', ({ status }) => status === 'waiting');
    await signalRun(service, run.run_id, 'go1');
    await service.api.runWhere(run.run_id, 'at its second wait', (each) => JSON.stringify(each.waits).includes('go2'));
    await fixture.ask('client.cancel', { run_id: run.run_id });
    const key = world.unique('restart');
    const restart = (): Promise<StoredRun> =>
      fixture.ask('client.restart', {
        run_id: run.run_id,
        from_step: 'wait2',
        state_patch: { again: true },
        idempotency_key: key,
      });
    const restarted = await restart();
    assert.notEqual(restarted.run_id, run.run_id);
    assert.equal((await restart()).run_id, restarted.run_id, 'the same key is the same run');
    const stored = await service.api.run(restarted.run_id);
    assert.deepEqual(stored.state, { again: true });
    const { restarted_from: from } = stored as unknown as { restarted_from: Json };
    assert.deepEqual([from['run_id'], from['step_id']], [run.run_id, 'wait2']);
    assert.equal((await service.api.run(run.run_id)).status, 'cancelled', 'the ended run stays as it is');
  }),

  client(86, 'start-at-priority', 'A start may lie ahead, and has a priority.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    await service.api.store(echo(id));
    const fixture = await fixtureAt(world, service);
    const run = await fixture.ask<StoredRun>('client.start', {
      definition_id: id,
      input: {},
      start_at: '+1h',
      priority: 7,
    });
    const stored = await service.api.run(run.run_id);
    assert.deepEqual([stored.status, stored.priority], ['scheduled', 7]);
    assert.equal(run.status, 'scheduled', 'a status of later releases is read too');
  }),

  client(
    87,
    'schedules',
    'A schedule is made, read, replaced, paused, resumed, triggered, listed and deleted.',
    async (world) => {
      const service = await world.service();
      const definition = world.unique('echo');
      const id = world.unique('nightly');
      await service.api.store(echo(definition));
      const fixture = await fixtureAt(world, service);
      const schedule = {
        definition_id: definition,
        cron: '0 3 * * *',
        timezone: 'Europe/Vienna',
        input: { n: 1 },
        overlap: 'queue',
      };
      const made = await fixture.ask<Json>('client.create_schedule', { id, schedule });
      assert.deepEqual(
        [made['cron'], made['timezone'], made['overlap'], made['input']],
        ['0 3 * * *', 'Europe/Vienna', 'queue', { n: 1 }],
      );
      const conflict = await fixture.refused('client.create_schedule', {
        id,
        schedule: { ...schedule, cron: '0 4 * * *' },
      });
      assert.equal(conflict.status, 409);
      await fixture.ask('client.replace_schedule', {
        id,
        schedule: { definition_id: definition, every_ms: 3_600_000 },
      });
      assert.equal((await fixture.ask<Json>('client.pause_schedule', { id }))['status'], 'paused');
      assert.equal((await fixture.ask<Json>('client.resume_schedule', { id }))['status'], 'active');
      const fired = await fixture.ask<{ firings: readonly Json[] }>('client.trigger_schedule', { id });
      assert.equal(fired.firings[0]?.['outcome'], 'started');
      const runId = String(fired.firings[0]?.['run_id']);
      assert.equal((await service.api.ended(runId)).status, 'succeeded');
      const read = await fixture.ask<Json>('client.get_schedule', { id });
      assert.equal(read['every_ms'], 3_600_000);
      assert.equal(read['cron'], undefined, 'what was replaced is gone');
      const listed = await fixture.ask<{ schedules: readonly Json[] }>('client.list_schedules', {});
      assert.ok(listed.schedules.some((each) => each['id'] === id));
      await fixture.ask('client.delete_schedule', { id });
      assert.equal((await fixture.refused('client.get_schedule', { id })).status, 404);
    },
  ),

  client(
    88,
    'trigger-once',
    'A trigger whose answer is lost is not sent again: it may have started a run.',
    async (world) => {
      const service = await world.service();
      const definition = world.unique('echo');
      const id = world.unique('manual');
      await service.api.store(echo(definition));
      await service.api.post('/v1/api/schedules', {
        id,
        definition_id: definition,
        every_ms: 86_400_000,
        overlap: 'allow',
      });
      const fixture = await fixtureAt(world, service);
      service.proxy.break(isCallTo('POST', /\/trigger$/), { kind: 'cut after' });
      assert.equal((await fixture.refused('client.trigger_schedule', { id })).type, 'ConnectionError');
      await meanwhile(200);
      const { runs } = await service.api.get<{ runs: readonly StoredRun[] }>(
        `/v1/api/runs?definition_id=${definition}`,
      );
      assert.equal(runs.length, 1);
    },
  ),

  client(89, 'bulk', 'An action on many runs is counted, begun once, and followed.', async (world) => {
    const service = await world.service();
    const id = world.unique('waits');
    await service.api.store(waits(id, 1));
    const started = await Promise.all([1, 2, 3].map((n) => service.api.start(id, { key: `k${n}` })));
    const fixture = await fixtureAt(world, service);
    const work = { action: 'cancel', reason: 'cleared', filter: { definition_id: id } };
    const counted = await fixture.ask<{ count: number; sample: readonly string[] }>('client.count_bulk', work);
    assert.equal(counted.count, 3);
    assert.deepEqual(counted.sample.toSorted(), started.map(({ run_id }) => run_id).toSorted());
    assert.notEqual((await service.api.run(started[0]?.run_id ?? '')).status, 'cancelled', 'counting does nothing');
    const { bulk_id } = await fixture.ask<{ bulk_id: string }>('client.start_bulk', work);
    await Promise.all(started.map(({ run_id }) => service.api.ended(run_id)));
    const done = await until('end of the action', undefined, async () => {
      const bulk = await fixture.ask<Json>('client.get_bulk', { bulk_id });
      return bulk['done'] === 3 ? bulk : undefined;
    });
    assert.deepEqual([done['count'], done['refused']], [3, 0]);
  }),

  client(90, 'definitions', 'Definitions are checked, stored, paused and resumed without a worker.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    const fixture = await fixtureAt(world, service);
    const checked = await fixture.ask<{ definitions: readonly { faults: readonly Json[] }[] }>(
      'client.check_definitions',
      {
        definitions: [{ id, version: 1, steps: [] }],
      },
    );
    assert.ok((checked.definitions[0]?.faults.length ?? 0) > 0, 'its faults are named');
    await fixture.ask('client.store_definitions', { definitions: [echo(id)] });
    await fixture.ask('client.pause_definition', { id, reason: 'deploy' });
    const run = await fixture.ask<StoredRun>('client.start', { definition_id: id, input: 7 });
    assert.equal((await service.api.run(run.run_id)).status, 'queued', 'nothing begins meanwhile');
    await fixture.ask('client.resume_definition', { id });
    assert.equal((await service.api.ended(run.run_id)).output, 7);
  }),

  client(
    91,
    'retry-after',
    'A call that is answered with 429 is made again, no sooner than Retry-After says.',
    async (world) => {
      const service = await world.scripted();
      const refusal = { status: 429, headers: { 'retry-after': '1' }, body: { code: 'overloaded', message: 'later' } };
      service.answer('run-1', refusal);
      const fixture = await fixtureAt(world, service);
      await fixture.ask('client.get', { run_id: 'run-1' });
      const [first, second] = service.callsTo('run-1');
      between('wait before the second try', (second?.at ?? 0) - (first?.at ?? 0), 990, 6000);
    },
  ),

  client(
    92,
    'reads',
    'Runs are listed by filter and page, journals by page, and any read has a way.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('echo');
      await service.api.store(echo(id));
      for (const n of [1, 2, 3]) await service.api.start(id, n, { wait_ms: 5000, correlation: { user_id: `u-${n}` } });
      const fixture = await fixtureAt(world, service);
      type Page = { runs: readonly StoredRun[]; next_cursor?: string };
      const first = await fixture.ask<Page>('client.list', { definition_id: id, status: 'succeeded', limit: 2 });
      assert.equal(first.runs.length, 2);
      const rest = await fixture.ask<Page>('client.list', {
        ...{ definition_id: id, status: 'succeeded', limit: 2 },
        cursor: first.next_cursor,
      });
      assert.equal(rest.runs.length, 1);
      assert.equal(new Set([...first.runs, ...rest.runs].map(({ run_id }) => run_id)).size, 3);
      const own = await fixture.ask<Page>('client.list', { definition_id: id, user_id: 'u-2' });
      assert.equal(own.runs.length, 1);
      const runId = own.runs[0]?.run_id ?? '';
      const page = await fixture.ask<{ events: readonly { seq: number }[] }>('client.journal', {
        run_id: runId,
        after: 0,
        limit: 1,
      });
      assert.deepEqual(
        page.events.map(({ seq }) => seq),
        [1],
      );
      const read = await fixture.ask<Page>('client.read', {
        path: '/v1/api/runs',
        query: { definition_id: id, limit: 1 },
      });
      assert.equal(read.runs.length, 1);
    },
  ),

  client(
    103,
    'bulk-after-a-cut',
    'An action on many runs whose answer is lost is sent again under the same key, and is one action.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('waits');
      await service.api.store(waits(id, 1));
      for (const n of [1, 2]) await service.api.start(id, { key: `k${n}` });
      const fixture = await fixtureAt(world, service);
      const work = { action: 'pause', filter: { definition_id: id } };
      const isBegun = ({ method, path, text }: Passed): boolean =>
        method === 'POST' && path === '/v1/api/runs/bulk' && !(JSON.parse(text) as { dry_run?: boolean }).dry_run;
      const begun = () => service.proxy.passed.filter(isBegun);
      const keyIn = ({ text }: Passed): unknown => (JSON.parse(text) as Json)['idempotency_key'];
      type Answer = { readonly bulk_id?: string; readonly count: number };

      service.proxy.break(isBegun, { kind: 'cut after' });
      const own = await fixture.ask<Answer>('client.start_bulk', work);
      const [lost, again] = begun();
      assert.ok(lost !== undefined && again !== undefined, 'it is sent again');
      assert.equal(typeof keyIn(lost), 'string', 'without a key of the user it has one of its own');
      assert.equal(keyIn(again), keyIn(lost));
      assert.equal(own.bulk_id, (JSON.parse(lost.answer ?? '{}') as Answer).bulk_id, 'the answer is that of the first');

      const idempotency_key = world.unique('tidy');
      const [first, second, other] = [
        await fixture.ask<Answer>('client.start_bulk', { ...work, idempotency_key }),
        await fixture.ask<Answer>('client.start_bulk', { ...work, idempotency_key }),
        await fixture.ask<Answer>('client.start_bulk', work),
      ];
      assert.deepEqual(begun().slice(2, 4).map(keyIn), [idempotency_key, idempotency_key]);
      assert.deepEqual(second, first, 'the same key again is the action that it began');
      assert.equal(new Set([own.bulk_id, first.bulk_id, other.bulk_id]).size, 3, 'another key is another action');
    },
  ),
];
