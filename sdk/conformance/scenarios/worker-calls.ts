/** The calls on a lease: their order, their answers, and what is repeated. */
import assert from 'node:assert/strict';
import { between, meanwhile, until } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import { isCallTo, makes } from '../opposite/proxy.ts';
import type { Lease } from '../../typescript/src/generated/wire.ts';
import { aLease, refusal } from '../opposite/scripted.ts';
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

export const workerCallsScenarios: readonly Scenario[] = [
  worker(
    52,
    'order-of-calls',
    'A step is registered for, claimed, started, run and completed, in this order; a body that may run once waits for the answer to started.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('task');
      const definition = oneTask(id, { delivery: 'at_most_once' });
      await service.api.store(definition);
      service.proxy.break(makes('started'), { kind: 'delay', ms: 400 });
      const { fixture } = await working(world, service, [definition]);
      const run = await service.api.start(id, scriptOf({ return: { ok: true } }));
      const ended = await service.api.ended(run.run_id);
      assert.deepEqual(ended.output, { ok: true });
      const register = await service.proxy.seen('register', isCallTo('POST', '/v1/api/workers/register'));
      const claim = await service.proxy.seen('claim', isCallTo('POST', '/v1/api/steps/claim'));
      const [started] = service.proxy.stepCalls('started');
      const [complete] = service.proxy.stepCalls('complete');
      const body = await bodyStarted(fixture);
      const times = [register.at, claim.at, started?.at ?? 0, body.at, complete?.at ?? 0];
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
        'register, claim, started, body, complete',
      );
      between('the body behind started', body.at - (started?.at ?? 0), 395, 10_000);
      assert.equal(startedCount(fixture), 1);
    },
  ),

  worker(
    53,
    'free-slots',
    'A worker never claims more than its free slots, and never runs more bodies.',
    async (world) => {
      const service = await world.scripted();
      const { fixture } = await onScripted(world, service, { concurrency: 2 });
      for (const n of [1, 2, 3, 4, 5])
        offer(service, { lease_id: `lease-${n}`, run_id: `run-${n}`, input: scriptOf({ await: 'go' }, { return: n }) });
      await until('two bodies', undefined, () => startedCount(fixture) >= 2);
      await meanwhile(300);
      assert.equal(startedCount(fixture), 2, 'two slots, two bodies');
      await fixture.ask('release', { name: 'go' });
      await service.seen('complete', 5);
      for (const call of service.callsTo('claim'))
        assert.ok(Number(call.body['max']) <= 2, `it claims ${String(call.body['max'])}`);
      let open = 0;
      for (const { event } of fixture.events) {
        if (event === 'body.started') open += 1;
        if (event === 'body.ended') open -= 1;
        assert.ok(open <= 2, `${open} bodies at once`);
      }
    },
  ),

  worker(
    54,
    'started-unanswered',
    'A started that is not answered is repeated, and the lease dropped when its time is over: the body never runs.',
    async (world) => {
      const service = await world.scripted({ leaseTtlMs: 1500 });
      service.answerAlways('started', 'hang up');
      const { fixture } = await onScripted(world, service);
      offer(service, { delivery: 'at_most_once', input: scriptOf({ return: 1 }) });
      await service.seen('started', 2);
      // Twice its life, and the longest wait between two tries.
      await until('no further try', 12_000, async () => {
        const before = service.callsTo('started').length;
        await meanwhile(1600);
        return service.callsTo('started').length === before;
      });
      assert.equal(startedCount(fixture), 0);
      assert.deepEqual(reportsOf(service), []);
      service.answerAlways('started', undefined);
      offer(service, { lease_id: 'lease-2', input: scriptOf({ return: 2 }) });
      const { path } = await service.seen('complete');
      assert.match(path, /lease-2/, 'it goes on with other leases');
    },
  ),

  worker(
    55,
    'heartbeats',
    'Heartbeats come as often as the service asks, and sooner after one that was not answered.',
    async (world) => {
      const service = await world.scripted({ heartbeatMs: 800 });
      const { fixture } = await onScripted(world, service);
      offer(service, { input: scriptOf({ await: 'go' }, { return: 1 }) });
      const { at: begun } = await bodyStarted(fixture);
      const first = await service.seen('heartbeat', 1);
      service.answer('heartbeat', 'hang up');
      const second = await service.seen('heartbeat', 2);
      const third = await service.seen('heartbeat', 3);
      between('the first heartbeat', first.at - begun, 0, 1600);
      between('the second heartbeat', second.at - first.at, 300, 1600);
      between('the heartbeat after a miss', third.at - second.at, 0, 700);
      await fixture.ask('release', { name: 'go' });
      await service.seen('complete');
      const count = service.callsTo('heartbeat').length;
      await meanwhile(1000);
      assert.ok(service.callsTo('heartbeat').length <= count + 1, 'no heartbeats after the report');
    },
  ),

  worker(
    56,
    'blocked-body',
    'A body that blocks its thread for longer than a lease lives keeps its lease.',
    async (world) => {
      const service = await world.service('brisk');
      const { run } = await servedRun(world, service, scriptOf({ block_ms: 3000 }, { return: 'kept' }));
      const ended = await service.api.ended(run.run_id);
      assert.equal(ended.output, 'kept');
      assert.deepEqual(
        ended.attempts.map(({ attempt }) => attempt),
        [1],
        'one attempt',
      );
    },
    { needs: ['blocking_bodies'] },
  ),

  worker(
    60,
    'already-applied',
    'A report whose answer is lost is repeated, and already_applied is a success.',
    async (world) => {
      const service = await world.service();
      service.proxy.break(makes('complete'), { kind: 'cut after' });
      const { fixture, run } = await servedRun(world, service, scriptOf({ return: 'once' }));
      assert.equal((await service.api.ended(run.run_id)).output, 'once');
      await until('a second report', undefined, () => service.proxy.stepCalls('complete').length >= 2);
      await until('its answer', undefined, () => service.proxy.stepCalls('complete')[1]?.status === 409);
      await meanwhile(300);
      assert.equal(service.proxy.stepCalls('complete').length, 2, 'it is over with that');
      assert.deepEqual(service.proxy.stepCalls('fail'), []);
      const errors = fixture.events.filter((event) => event.event === 'worker.log' && event['level'] === 'error');
      assert.deepEqual(errors, [], 'nobody is alarmed');
    },
  ),

  worker(61, 'fenced', 'A heartbeat that is fenced cancels the body, and nothing is reported.', async (world) => {
    const service = await world.scripted({ heartbeatMs: 100 });
    const { fixture } = await onScripted(world, service);
    service.answer('heartbeat', refusal(409, 'fenced'));
    offer(service, { input: scriptOf({ sleep_ms: 20_000 }, { return: 1 }) });
    const cancelled = await fixture.event('body.cancelled');
    assert.equal(cancelled['reason'], 'fenced');
    await fixture.event('body.ended');
    await meanwhile(400);
    assert.deepEqual(reportsOf(service), []);
    assert.ok(service.callsTo('heartbeat').length <= 2, 'and no heartbeat follows');
  }),

  worker(
    62,
    'run-terminal',
    'The cancel of a run ends its body at the next heartbeat, and nothing is reported.',
    async (world) => {
      const service = await world.service('brisk');
      const { fixture, run } = await servedRun(world, service, scriptOf({ sleep_ms: 20_000 }, { return: 1 }));
      await bodyDeclared(fixture, service);
      await service.api.post(`/v1/api/runs/${run.run_id}/cancel`, {});
      const cancelled = await fixture.event('body.cancelled');
      assert.equal(cancelled['reason'], 'run_terminal');
      await fixture.event('body.ended');
      await meanwhile(300);
      assert.deepEqual([...service.proxy.stepCalls('complete'), ...service.proxy.stepCalls('fail')], []);
    },
  ),

  worker(63, 'not-started', 'not_started is logged, and the report is not repeated.', async (world) => {
    const service = await world.scripted();
    service.answer('complete', refusal(409, 'not_started'));
    const { fixture } = await onScripted(world, service);
    offer(service, { delivery: 'at_most_once', input: scriptOf({ return: 1 }) });
    await fixture.event('worker.log', (event) => event['level'] === 'error');
    await meanwhile(400);
    assert.equal(service.callsTo('complete').length, 1);
    assert.equal(service.callsTo('fail').length, 0);
    assert.equal(fixture.events.filter((event) => event['level'] === 'error').length, 1, 'once');
  }),

  worker(
    64,
    'at-most-once',
    'A body that may run once is not run again after its worker was killed.',
    async (world) => {
      const service = await world.service('brisk');
      const id = world.unique('task');
      const definition = oneTask(id, { delivery: 'at_most_once' });
      await service.api.store(definition);
      const killed = await working(world, service, [definition]);
      const run = await service.api.start(id, scriptOf({ sleep_ms: 20_000 }));
      await bodyStarted(killed.fixture);
      const next = await working(world, service, [definition]);
      killed.fixture.kill('SIGKILL');
      const ended = await service.api.ended(run.run_id);
      assert.equal(ended.status, 'failed');
      assert.equal(ended.error?.class, 'orphaned');
      assert.equal(startedCount(next.fixture), 0);
    },
  ),

  worker(
    65,
    'unservable',
    'A step of a version that the worker does not hold is given back as unservable, without started.',
    async (world) => {
      const service = await world.scripted();
      const { fixture } = await onScripted(world, service);
      offer(service, { definition_version: 2, input: scriptOf({ return: 1 }) });
      const fail = await service.seen('fail');
      assert.equal(errorIn(fail)['class'], 'unservable');
      offer(service, { lease_id: 'lease-2', step_id: 'unknown', input: scriptOf({ return: 1 }) });
      const second = await service.seen('fail', 2);
      assert.equal(errorIn(second)['class'], 'unservable', 'and so is an unknown step');
      assert.deepEqual([service.callsTo('started').length, startedCount(fixture)], [0, 0]);
    },
  ),

  worker(
    95,
    'batch',
    'Reports of bodies that end together travel in one call, with a claim for what follows.',
    async (world) => {
      const service = await world.scripted();
      const { fixture } = await onScripted(world, service, { concurrency: 8 });
      for (let n = 1; n <= 8; n += 1)
        offer(service, { lease_id: `lease-${n}`, run_id: `run-${n}`, input: scriptOf({ await: 'go' }, { return: n }) });
      await until('eight bodies', undefined, () => startedCount(fixture) === 8);
      await fixture.ask('release', { name: 'go' });
      await service.seen('complete', 8);
      const lists = service.batches.map(
        ({ body }) => (body['completes'] as readonly unknown[] | undefined)?.length ?? 0,
      );
      assert.ok(Math.max(...lists) >= 2, 'reports that are ready together travel together');
      for (const { body } of service.batches) {
        const claim = body['claim'] as { max: number } | undefined;
        const ends = [body['completes'] ?? [], body['fails'] ?? []].flat().length;
        assert.ok((claim?.max ?? 0) <= ends, 'a batch claims no more than the slots that it frees');
      }
    },
    { needs: ['batch'] },
  ),

  worker(
    96,
    'batch-faults',
    'A bad item of a batch spoils no other.',
    async (world) => {
      const service = await world.scripted();
      const { fixture } = await onScripted(world, service, { concurrency: 3 });
      service.answer('complete', refusal(400, 'invalid_body'));
      for (const n of [1, 2, 3])
        offer(service, { lease_id: `lease-${n}`, run_id: `run-${n}`, input: scriptOf({ await: 'go' }, { return: n }) });
      await until('three bodies', undefined, () => startedCount(fixture) === 3);
      await fixture.ask('release', { name: 'go' });
      await service.seen('fail');
      await meanwhile(300);
      assert.equal(service.callsTo('complete').length, 3, 'each is reported once');
      assert.equal(service.callsTo('fail').length, 1, 'one is refused, and fails');
    },
    { needs: ['batch'] },
  ),

  worker(
    97,
    'older-service',
    'Where the service does not know the batch, each call is made by itself.',
    async (world) => {
      const service = await world.scripted({ batches: false });
      const { fixture } = await onScripted(world, service, { concurrency: 3 });
      for (const n of [1, 2, 3])
        offer(service, {
          lease_id: `lease-${n}`,
          run_id: `run-${n}`,
          input: scriptOf({ beat: { n } }, { sleep_ms: 50 }, { return: n }),
        });
      await service.seen('complete', 3);
      assert.equal(startedCount(fixture), 3);
      assert.equal(service.callsTo('started').length, 3);
    },
  ),

  worker(
    98,
    'busy-service',
    'A claim that is answered with 429 or 503 is made again, no sooner than Retry-After says.',
    async (world) => {
      const service = await world.scripted();
      service.answer('claim', refusal(429, 'overloaded', { 'retry-after': '1' }));
      await onScripted(world, service);
      const first = await service.seen('claim', 1);
      const second = await service.seen('claim', 2);
      between('wait before the second claim', second.at - first.at, 990, 7000);
      offer(service, { input: scriptOf({ return: 1 }) });
      await service.seen('complete');
    },
  ),

  worker(
    99,
    'report-until-answered',
    'A report meets 503, a broken connection and 429, and is repeated until it is answered.',
    async (world) => {
      const service = await world.scripted({ heartbeatMs: 300 });
      service.answer('complete', refusal(503, 'unavailable'), 'hang up', refusal(429, 'overloaded'));
      const { fixture } = await onScripted(world, service);
      offer(service, { input: scriptOf({ patch: { a: 1 } }, { return: { sum: 1 } }) });
      await service.seen('complete', 4);
      const bodies = service.callsTo('complete').map(({ body }) => body);
      for (const body of bodies) assert.deepEqual(body, bodies[0], 'the same report each time');
      assert.equal(startedCount(fixture), 1, 'the body runs once');
      assert.deepEqual(service.callsTo('fail'), []);
    },
  ),

  worker(
    105,
    'refused-batch',
    'Where a batch is refused as a whole, each of its calls is made by itself, and judged by its own answer.',
    async (world) => {
      const service = await world.scripted();
      const { fixture } = await onScripted(world, service, { concurrency: 3 });
      for (const n of [1, 2, 3])
        offer(service, { lease_id: `lease-${n}`, run_id: `run-${n}`, input: scriptOf({ await: 'go' }, { return: n }) });
      await until('three bodies', undefined, () => startedCount(fixture) === 3);
      // An output that is nested too deeply for the reader of bodies spoils the call that holds it, whatever else is in it.
      service.answerAlways('batch', refusal(400, 'invalid_body'));
      service.answer('complete', refusal(400, 'invalid_body'));
      await fixture.ask('release', { name: 'go' });
      await service.seen('complete', 3);
      await service.seen('fail');
      await meanwhile(300);
      assert.equal(service.callsTo('complete').length, 3, 'each is reported once');
      assert.equal(service.callsTo('fail').length, 1, 'the one that is refused by itself fails, and no other');
    },
    { needs: ['batch'] },
  ),

  worker(
    106,
    'slot-claimed-once',
    'A slot is claimed for once, however often its report is repeated: never more bodies than slots.',
    async (world) => {
      const service = await world.scripted();
      service.answer('complete', refusal(503, 'unavailable'), refusal(400, 'invalid_body'));
      const { fixture } = await onScripted(world, service, { concurrency: 1 });
      const bodies = [scriptOf({ return: 1 }), ...[2, 3, 4, 5].map((n) => scriptOf({ await: 'go' }, { return: n }))];
      for (const [at, input] of bodies.entries())
        offer(service, { lease_id: `lease-${at + 1}`, run_id: `run-${at + 1}`, input });
      await service.seen('fail');
      await until('the next body', undefined, () => startedCount(fixture) >= 2);
      await meanwhile(500);
      assert.equal(startedCount(fixture), 2, 'one slot, one body at a time');
      await fixture.ask('release', { name: 'go' });
      await service.seen('complete', 6);
    },
    { needs: ['batch'] },
  ),

  worker(
    109,
    'bad-offer',
    'An offer that is not what the service promises spoils no other that comes with it.',
    async (world) => {
      const service = await world.scripted();
      const bad = { ...aLease({ lease_id: 'bad' }), definition_version: 'one', visit: {} };
      service.offer(bad as unknown as Lease);
      offer(service, { lease_id: 'good', run_id: 'run-2', input: scriptOf({ return: 1 }) });
      await onScripted(world, service);
      const complete = await until('the report of the good one', undefined, () =>
        service.callsTo('complete').find(({ path }) => path.includes('good')),
      );
      assert.equal(complete.body['output'], 1);
    },
  ),

  worker(
    110,
    'silent-heartbeat',
    'A heartbeat that nobody answers is given up, and made again before the lease is over.',
    async (world) => {
      const service = await world.scripted({ heartbeatMs: 1000, leaseTtlMs: 6000 });
      service.answer('heartbeat', 'stall');
      const { fixture } = await onScripted(world, service);
      offer(service, { input: scriptOf({ await: 'go' }, { return: 1 }) });
      const { at: begun } = await bodyStarted(fixture);
      const again = await service.seen('heartbeat', 2);
      between('the second heartbeat', again.at - begun, 0, 6000);
      await fixture.ask('release', { name: 'go' });
      await service.seen('complete');
    },
  ),

  worker(
    111,
    'refused-declaration',
    'Where started is refused, a body that had begun is cancelled, and nothing is reported.',
    async (world) => {
      const service = await world.scripted();
      const { fixture } = await onScripted(world, service);
      service.answer('started', refusal(409, 'fenced'));
      offer(service, { input: scriptOf({ sleep_ms: 20_000 }, { return: 1 }) });
      await service.seen('started');
      offer(service, { lease_id: 'lease-2', input: scriptOf({ return: 2 }) });
      const { path } = await service.seen('complete');
      assert.match(path, /lease-2/, 'it goes on with other leases');
      const ofRefused = (event: string) =>
        fixture.events.some((each) => each.event === event && each['lease_id'] === 'lease-1');
      if (ofRefused('body.started')) {
        const cancelled = await fixture.event('body.cancelled');
        assert.equal(cancelled['lease_id'], 'lease-1');
        assert.equal(cancelled['reason'], 'fenced');
      }
      await meanwhile(300);
      assert.equal(reportsOf(service).length, 1, 'nothing is reported of it');
    },
  ),

  worker(
    112,
    'declared-again',
    'The body of a second attempt begins after its started was answered: in the first it may have ended its process.',
    async (world) => {
      const service = await world.scripted();
      const { fixture } = await onScripted(world, service);
      const answered = Promise.withResolvers<void>();
      service.answer('started', {
        status: 200,
        body: { run_status: 'running', lease_expires_at: '2100-01-01T00:00:00Z' },
        after: answered.promise,
      });
      offer(service, { attempt: 2, input: scriptOf({ return: 1 }) });
      await service.seen('started');
      await meanwhile(300);
      assert.equal(startedCount(fixture), 0);
      answered.resolve();
      await service.seen('complete');
      assert.equal(startedCount(fixture), 1);
    },
  ),

  worker(
    113,
    'saturated',
    'A step that fills the slot of the report before it is declared and reported in one call, too, where its body is short.',
    async (world) => {
      const service = await world.scripted();
      await onScripted(world, service, { concurrency: 1 });
      const leases = Array.from({ length: 20 }, (_, n) => `lease-${n}`);
      for (const id of leases) offer(service, { lease_id: id, run_id: `of-${id}`, input: scriptOf({ return: 1 }) });
      await service.seen('complete', leases.length);
      const idsIn = (list: unknown): readonly unknown[] =>
        Array.isArray(list) ? list.map(({ lease_id }: { lease_id: unknown }) => lease_id) : [];
      const together = service.batches.flatMap(({ body }) => {
        const declared = idsIn(body['started']);
        return idsIn(body['completes']).filter((id) => declared.includes(id));
      });
      // A busy machine parts some of them.
      assert.ok(together.length >= leases.length / 4, `${together.length} of ${leases.length} were one call`);
    },
    { needs: ['batch'] },
  ),
];
