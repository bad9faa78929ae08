/** The life of a worker: registration, stops, kills, and a service that is away. */
import assert from 'node:assert/strict';
import { between, meanwhile, until } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import { isCallTo, makes } from '../opposite/proxy.ts';
import { refusal } from '../opposite/scripted.ts';
import { oneTask } from './definitions.ts';
import {
  worker,
  working,
  onScripted,
  scriptOf,
  offer,
  servedRun,
  startedCount,
  bodyDeclared,
  bodyStarted,
  reportsOf,
  errorIn,
} from './worker-stage.ts';

export const workerLifeScenarios: readonly Scenario[] = [
  worker(
    72,
    'restart-of-the-service',
    'A body goes on while the service restarts, and its result arrives.',
    async (world) => {
      const service = await world.ownService('--lease-ttl-ms', '5000');
      const { fixture, id, run } = await servedRun(world, service, scriptOf({ await: 'go' }, { return: 'kept' }));
      await bodyDeclared(fixture, service);
      service.proxy.down();
      await fixture.ask('release', { name: 'go' });
      await fixture.event('body.ended');
      await service.restart('SIGKILL');
      service.proxy.up();
      const ended = await service.api.ended(run.run_id);
      assert.equal(ended.output, 'kept');
      assert.deepEqual(
        ended.attempts.map(({ attempt }) => attempt),
        [1],
      );
      const next = await service.api.start(id, scriptOf({ return: 'next' }));
      assert.equal((await service.api.ended(next.run_id)).output, 'next', 'it claims again');
    },
  ),

  worker(73, 'forgotten', 'A claim that is answered with 404 registers again, and goes on.', async (world) => {
    const service = await world.scripted();
    const unknown = { status: 404, body: { code: 'not_found', message: 'register first', field: 'worker_id' } };
    service.answer('claim', unknown);
    await onScripted(world, service);
    await service.seen('register', 2);
    offer(service, { input: scriptOf({ return: 1 }) });
    await service.seen('complete');
  }),

  worker(74, 'wrong-key', 'A claim that is answered with 401 ends the worker with that error.', async (world) => {
    const service = await world.scripted();
    service.answerAlways('claim', refusal(401, 'unauthenticated'));
    const { ran } = await onScripted(world, service);
    const { error } = await ran;
    assert.deepEqual([error?.type, error?.status, error?.code], ['ServiceError', 401, 'unauthenticated']);
    await meanwhile(300);
    assert.equal(service.callsTo('claim').length, 1);
  }),

  worker(
    75,
    'sigterm',
    'SIGTERM ends claims at once, lets bodies finish and report, and then ends the worker.',
    async (world) => {
      const service = await world.scripted({ heartbeatMs: 200 });
      const { fixture, ran } = await onScripted(world, service, { signals: true, grace_ms: 10_000 });
      offer(service, { input: scriptOf({ await: 'go' }, { return: 'finished' }) });
      await bodyStarted(fixture);
      await service.seen('claim', 2);
      fixture.kill('SIGTERM');
      await until('its claim is given up', undefined, () =>
        service.callsTo('claim').every((call) => call.isBrokenOff() || call.isAnswered()),
      );
      const claims = service.callsTo('claim').length;
      await meanwhile(500);
      const beats = service.callsTo('heartbeat').length;
      assert.ok(beats > 0, 'it beats while it drains');
      await fixture.ask('release', { name: 'go' });
      const answer = await ran;
      assert.equal(answer.error, undefined, 'a stop is no error');
      assert.equal((await service.seen('complete')).body['output'], 'finished');
      assert.equal(service.callsTo('claim').length, claims, 'no claim after the signal');
    },
  ),

  worker(
    76,
    'past-grace',
    'A body that outlives the grace of a stop is cancelled, and its step given back at no cost.',
    async (world) => {
      const service = await world.scripted();
      const { fixture, ran } = await onScripted(world, service, { grace_ms: 100, settle_ms: 3000 });
      offer(service, { input: scriptOf({ sleep_ms: 20_000 }, { return: 1 }) });
      await bodyStarted(fixture);
      await fixture.ask('worker.stop', {});
      assert.equal((await ran).error, undefined);
      assert.equal((await fixture.event('body.cancelled'))['reason'], 'stopping');
      const fail = await service.seen('fail');
      const { class: name, code } = errorIn(fail);
      assert.deepEqual([name, code, fail.body['retry_after_ms']], ['rate_limited', 'worker_stopping', 0]);
      assert.deepEqual(service.callsTo('complete'), []);
    },
  ),

  worker(
    77,
    'deaf-body',
    'A body that does not listen to its cancel is left behind: the stop ends, and nothing is reported.',
    async (world) => {
      const service = await world.scripted();
      const { fixture, ran } = await onScripted(world, service, { grace_ms: 100, settle_ms: 200 });
      offer(service, { input: scriptOf({ deaf_ms: 15_000 }, { return: 1 }) });
      await bodyStarted(fixture);
      const startedAt = performance.now();
      await fixture.ask('worker.stop', {});
      assert.equal((await ran).error, undefined);
      between('the stop', performance.now() - startedAt, 290, 6000);
      assert.deepEqual(reportsOf(service), [], 'it still runs: its lease will run out');
    },
  ),

  worker(78, 'killed', 'After kill -9 another worker gets the step, as a second attempt.', async (world) => {
    const service = await world.service('brisk');
    const id = world.unique('task');
    const definition = oneTask(id);
    await service.api.store(definition);
    const killed = await working(world, service, [definition]);
    const run = await service.api.start(id, { attempts: [[{ sleep_ms: 20_000 }], [{ return: 'by the second' }]] });
    await bodyStarted(killed.fixture);
    killed.fixture.kill('SIGKILL');
    const next = await working(world, service, [definition]);
    const ended = await service.api.ended(run.run_id);
    assert.equal(ended.output, 'by the second');
    assert.equal((await bodyStarted(next.fixture))['attempt'], 2);
  }),

  worker(79, 'two-versions', 'One worker serves two versions of a definition, each run its own.', async (world) => {
    const service = await world.service();
    const id = world.unique('task');
    const versions = [oneTask(id, {}, 1), oneTask(id, {}, 2)];
    const { fixture } = await working(world, service, versions);
    await service.proxy.seen('claim', isCallTo('POST', '/v1/api/steps/claim'));
    const script = scriptOf({ emit_context: true }, { return: 1 });
    const runs = await Promise.all(
      [1, 2].map((definition_version) => service.api.start(id, script, { definition_version })),
    );
    await Promise.all(runs.map(({ run_id }) => service.api.ended(run_id)));
    for (const [index, { run_id }] of runs.entries()) {
      const context = await fixture.event('body.context', (event) => event['run_id'] === run_id);
      assert.equal(context['definition_version'], index + 1);
    }
  }),

  worker(
    80,
    'stop-in-a-claim',
    'A stop while a claim is held ends at once, and hangs up on the claim.',
    async (world) => {
      const service = await world.scripted();
      const { fixture, ran } = await onScripted(world, service);
      const claim = await service.seen('claim');
      const startedAt = performance.now();
      await fixture.ask('worker.stop', {});
      between('the stop', performance.now() - startedAt, 0, 3000);
      assert.equal((await ran).error, undefined);
      await until('end of the claim', 3000, () => claim.isBrokenOff());
    },
  ),

  worker(93, 'paused-run', 'A worker that holds a step of a paused run finishes it as ever.', async (world) => {
    const service = await world.service();
    const id = world.unique('two');
    const definition = {
      ...{ id, version: 1 },
      steps: [
        { id: 'first', kind: 'task', input: '${input}' },
        { id: 'second', kind: 'task' },
      ],
    };
    await service.api.store(definition);
    const { fixture } = await working(world, service, [definition]);
    const run = await service.api.start(id, scriptOf({ await: 'go' }, { return: 'one' }));
    await bodyDeclared(fixture, service);
    await service.api.post(`/v1/api/runs/${run.run_id}/pause`, {});
    await fixture.ask('release', { name: 'go' });
    await until('its report', undefined, () => service.proxy.stepCalls('complete')[0]?.status === 200);
    await meanwhile(300);
    assert.equal(startedCount(fixture), 1, 'the next step is not offered');
    await service.api.post(`/v1/api/runs/${run.run_id}/resume`, {});
    assert.equal((await service.api.ended(run.run_id)).status, 'succeeded');
  }),

  worker(100, 'own-run', 'A worker for one run claims that run alone, and ends with it.', async (world) => {
    const service = await world.service();
    const id = world.unique('task');
    const definition = oneTask(id);
    await service.api.store(definition);
    const [other, own] = [
      await service.api.start(id, scriptOf({ return: 'other' })),
      await service.api.start(id, scriptOf({ return: 'own' })),
    ];
    const { ran } = await working(world, service, [definition], { run_id: own.run_id });
    assert.equal((await ran).error, undefined);
    assert.equal((await service.api.run(own.run_id)).output, 'own');
    assert.equal((await service.api.run(other.run_id)).status, 'queued');
  }),

  worker(
    101,
    'bad-text',
    'Text that is not well-formed ends its step: as something that JSON can say, or as a failure.',
    async (world) => {
      const service = await world.service();
      const { run } = await servedRun(world, service, scriptOf({ return: { text: 'a\ud800b' } }));
      const ended = await service.api.ended(run.run_id);
      assert.deepEqual(
        ended.attempts.map(({ attempt }) => attempt),
        [1],
        'it does not run again and again',
      );
      if (ended.status === 'failed') assert.equal(ended.error?.class, 'fatal');
      else assert.match(JSON.stringify(ended.output), /"a.+b"/);
    },
  ),

  worker(
    102,
    'bad-network',
    'A worker gets its step through where each kind of call is broken in another way.',
    async (world) => {
      const service = await world.service();
      const register = isCallTo('POST', '/v1/api/workers/register');
      service.proxy.break(register, { kind: 'truncate', bytes: 5 });
      service.proxy.break(register, { kind: 'drip', bytes: 16, everyMs: 10 });
      service.proxy.break(isCallTo('POST', '/v1/api/steps/claim'), { kind: 'refuse', status: 503 });
      service.proxy.break(makes('started'), { kind: 'cut before' });
      service.proxy.break(makes('started'), { kind: 'cut after' });
      service.proxy.break(makes('complete'), { kind: 'refuse', status: 429, headers: { 'retry-after': '0' } });
      service.proxy.break(makes('complete'), { kind: 'truncate', bytes: 3 });
      const { fixture, run } = await servedRun(world, service, scriptOf({ return: 'through' }));
      const ended = await service.api.ended(run.run_id);
      assert.equal(ended.output, 'through');
      assert.equal(startedCount(fixture), 1, 'the body runs once');
      await until('the last report to be answered', undefined, () => service.proxy.stepCalls('complete').length >= 3);
      assert.deepEqual(service.proxy.stepCalls('fail'), []);
    },
  ),

  worker(
    107,
    'new-times',
    'The times of leases and heartbeats are those of the latest registration.',
    async (world) => {
      const service = await world.scripted({ heartbeatMs: 300 });
      service.answer('register', {
        status: 200,
        body: { worker_id: 'w', lease_ttl_ms: 30_000, heartbeat_ms: 10_000, definitions: [] },
      });
      service.answer('claim', refusal(404, 'not_found'));
      const { fixture } = await onScripted(world, service);
      await service.seen('register', 2);
      offer(service, { input: scriptOf({ await: 'go' }, { return: 1 }) });
      const { at: begun } = await bodyStarted(fixture);
      const beat = await service.seen('heartbeat');
      between('the first heartbeat', beat.at - begun, 0, 5000);
      await fixture.ask('release', { name: 'go' });
      await service.seen('complete');
    },
  ),

  worker(
    108,
    'past-grace-without-a-slot',
    'A worker that has no free slot ends its bodies in time, too, when it stops.',
    async (world) => {
      const service = await world.scripted();
      const { fixture, ran } = await onScripted(world, service, { concurrency: 1, grace_ms: 100, settle_ms: 3000 });
      offer(service, { input: scriptOf({ sleep_ms: 20_000 }, { return: 1 }) });
      await bodyStarted(fixture);
      await fixture.ask('worker.stop', {});
      assert.equal((await ran).error, undefined);
      assert.equal((await fixture.event('body.cancelled'))['reason'], 'stopping');
      assert.equal(errorIn(await service.seen('fail'))['code'], 'worker_stopping');
    },
  ),
];
