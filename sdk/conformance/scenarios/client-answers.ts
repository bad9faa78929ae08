/** Refusals, broken answers and lost ones, and what is read of those that arrive. */
import assert from 'node:assert/strict';
import type { Answer } from '../kit/fixture.ts';
import { between, meanwhile } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { StoredRun } from '../opposite/daemon.ts';
import { isCallTo } from '../opposite/proxy.ts';
import type { FakeService } from '../opposite/scripted.ts';
import type { Json } from './arrived.ts';
import { echo, oneTask } from './definitions.ts';
import { decoding } from './vectors.ts';
import { client, QUICK_RETRY, fixtureAt, okOf } from './client-stage.ts';

const STARTS = isCallTo('POST', '/v1/api/runs');
const memberAt = (value: unknown, path: string): unknown =>
  path
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (found, name) =>
        found !== null && typeof found === 'object' && Object.hasOwn(found, name) ? (found as Json)[name] : undefined,
      value,
    );
/** Asks for the run of a scripted service, as it stands there. */
const readRun = (service: FakeService, text: string): void => service.answerAlways('r-1', { status: 200, raw: text });

export const clientAnswersScenarios: readonly Scenario[] = [
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
];
