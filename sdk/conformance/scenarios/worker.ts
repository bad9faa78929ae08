import assert from 'node:assert/strict';
import type { Answer, Fixture, FixtureEvent } from '../kit/fixture.ts';
import { between, meanwhile, until } from '../kit/judging.ts';
import { area, type Scenario, type World } from '../kit/scenario.ts';
import type { JsonObject, Lease } from '../../typescript/src/generated/wire.ts';
import type { Service, StoredRun } from '../opposite/daemon.ts';
import { isCallTo, makes } from '../opposite/proxy.ts';
import { aLease, type Call, type FakeService, refusal } from '../opposite/scripted.ts';
import type { Json, SentSpan } from './arrived.ts';
import { oneTask } from './definitions.ts';

const worker = area('worker');

const REFUND = { id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task', input: '${input}' }] };

type Running = { readonly fixture: Fixture; readonly ran: Promise<Answer> };

/** A worker at work. @param input of `worker.run` */
const working = async (
  world: World,
  service: { readonly url: string },
  definitions: readonly object[],
  input: object = {},
): Promise<Running> => {
  const fixture = await world.fixture({ SVC_ENDPOINT: service.url });
  const { answer: ran } = fixture.send('worker.run', { definitions, grace_ms: 200, settle_ms: 500, ...input });
  return { fixture, ran };
};
const onScripted = async (world: World, service: FakeService, input: object = {}): Promise<Running> => {
  const running = await working(world, service, [REFUND], input);
  await service.seen('register');
  return running;
};
const scriptOf = (...script: readonly object[]): { script: readonly object[] } => ({ script });
type Over = Omit<Partial<Lease>, 'input'> & { readonly input: object };
const offer = (service: FakeService, { input, ...over }: Over): void =>
  service.offer(aLease({ ...over, input: input as JsonObject }));

/** A run of one task, on a worker of its own. */
const servedRun = async (
  world: World,
  service: Service,
  input: unknown,
  step: object = {},
  run: object = {},
): Promise<Running & { readonly run: StoredRun; readonly id: string }> => {
  const id = world.unique('task');
  const definition = oneTask(id, step);
  await service.api.store(definition);
  const running = await working(world, service, [definition], run);
  return { ...running, id, run: await service.api.start(id, input) };
};

const startedCount = (fixture: Fixture): number =>
  fixture.events.filter(({ event }) => event === 'body.started').length;
const bodyStarted = (fixture: Fixture): Promise<FixtureEvent> => fixture.event('body.started');
const reportsOf = (service: FakeService): Call[] => [...service.callsTo('complete'), ...service.callsTo('fail')];
const errorIn = (call: Call): Json => call.body['error'] as Json;

export const workerScenarios: readonly Scenario[] = [
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
    57,
    'details',
    'The details of the last heartbeat reach the next attempt, also those given just before a failure.',
    async (world) => {
      const service = await world.service();
      const first = [
        { beat: { page: 1 } },
        { beat: { page: 17 } },
        { throw: { as: 'retryable', message: 'once more' } },
      ];
      const { fixture, run } = await servedRun(world, service, {
        attempts: [first, [{ emit_context: true }, { return: 'done' }]],
      });
      assert.equal((await service.api.ended(run.run_id)).output, 'done');
      const context = await fixture.event('body.context');
      assert.deepEqual(context['last_details'], { page: 17 });
      assert.equal(context['attempt'], 2);
    },
  ),

  worker(
    58,
    'failures',
    "retryable, rate_limited, a class of one's own and a plain error reach the journal by class and message, without a stack.",
    async (world) => {
      const service = await world.service();
      const rows: readonly (readonly [object, Json])[] = [
        [
          { as: 'retryable', message: 'busy' },
          { class: 'retryable', message: 'busy' },
        ],
        [
          { as: 'failure', class: 'rate_limited', message: 'slow down', retry_after_ms: 5 },
          { class: 'rate_limited', message: 'slow down' },
        ],
        [
          { as: 'failure', class: 'no_funds', code: 'E17', message: 'empty' },
          { class: 'no_funds', code: 'E17', message: 'empty' },
        ],
        [
          { as: 'plain', message: 'a bug' },
          { class: 'fatal', message: 'a bug' },
        ],
        [
          { as: 'panic', message: 'a deep bug' },
          { class: 'fatal', message: 'a deep bug' },
        ],
      ];
      await Promise.all(
        rows.map(async ([thrown, error]) => {
          const { run } = await servedRun(world, service, { attempts: [[{ throw: thrown }], [{ return: 'done' }]] });
          const ended = await service.api.ended(run.run_id);
          const [attempt] = ended.attempts;
          assert.deepEqual(attempt?.error, error);
          const again = error['class'] === 'retryable' || error['class'] === 'rate_limited';
          assert.equal(ended.status, again ? 'succeeded' : 'failed');
        }),
      );
      const said = service.proxy.stepCalls('fail').map(({ body }) => JSON.stringify(body));
      for (const text of said)
        assert.doesNotMatch(text, /stack|Traceback|\.ts:\d|\.py"|\.go:\d|\.java:\d|\.rs:\d/, 'no stack travels');
    },
  ),

  worker(
    59,
    'reserved-class',
    'A class that the service keeps for itself fails the step as fatal, and says so.',
    async (world) => {
      const service = await world.service();
      const thrown = { as: 'failure', class: 'timeout', message: 'my own timeout' };
      const { run } = await servedRun(world, service, scriptOf({ throw: thrown }));
      const ended = await service.api.ended(run.run_id);
      assert.equal(ended.status, 'failed');
      assert.equal(ended.error?.class, 'fatal');
      assert.match(ended.error?.message ?? '', /my own timeout/, 'the words of the body are not lost');
    },
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
      await bodyStarted(fixture);
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

  worker(66, 'output-not-json', 'An output that JSON cannot say fails the step as fatal.', async (world) => {
    const service = await world.scripted();
    await onScripted(world, service);
    offer(service, { input: scriptOf({ return_not_json: true }) });
    const fail = await service.seen('fail');
    assert.equal(errorIn(fail)['class'], 'fatal');
    assert.deepEqual(service.callsTo('complete'), []);
  }),

  worker(
    67,
    'refused-report',
    'A report that is refused with 400 or 413 fails the step as fatal, and is not repeated.',
    async (world) => {
      const service = await world.scripted();
      await onScripted(world, service);
      const codes = ['invalid_body', 'payload_too_large'];
      for (const [index, status] of [400, 413].entries()) {
        service.answer('complete', refusal(status, codes[index] ?? ''));
        offer(service, { lease_id: `lease-${status}`, input: scriptOf({ return: 1 }) });
        const fail = await service.seen('fail', index + 1);
        assert.equal(errorIn(fail)['class'], 'fatal');
        assert.match(fail.path, new RegExp(`lease-${status}`));
      }
      await meanwhile(300);
      assert.equal(service.callsTo('complete').length, 2);
    },
  ),

  worker(
    68,
    'payloads',
    'A megabyte, text of any kind and empty values go through a step unchanged.',
    async (world) => {
      const service = await world.service();
      const value = {
        text: 'Grüße 😀 \u2028 "\\ \u{10ffff}',
        list: [[], {}, null, false, 0, -0.5, 1e300, 9007199254740991],
        big: 'x'.repeat(1024 * 1024),
        nested: { constructor: 1, class: 2 },
      };
      const { run } = await servedRun(world, service, value);
      const ended = await service.api.ended(run.run_id);
      assert.deepEqual(ended.output, value);
    },
  ),

  worker(
    94,
    'int64',
    'An integer beyond 2^53 goes through a step unchanged.',
    async (world) => {
      const service = await world.scripted();
      // As text: a number of this process would already have lost it.
      const lease = JSON.stringify(aLease({ input: 'HERE' })).replace('"HERE"', '{"n":9007199254740993}');
      service.answer('claim', { status: 200, raw: `{"leases":[${lease}]}` });
      const { fixture } = await working(world, service, [REFUND]);
      const complete = await service.seen('complete');
      assert.match(complete.text, /"n":9007199254740993[,}]/);
      assert.equal(startedCount(fixture), 1);
    },
    { needs: ['int64'] },
  ),

  worker(
    69,
    'state-and-outputs',
    'A patch of the state and the outputs of prior steps reach the steps that follow.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('two');
      const definition = {
        ...{ id, version: 1 },
        steps: [
          { id: 'first', kind: 'task', input: '${input.first}' },
          { id: 'second', kind: 'task', input: '${input.second}' },
        ],
      };
      await service.api.store(definition);
      const { fixture } = await working(world, service, [definition]);
      const run = await service.api.start(
        id,
        {
          first: scriptOf({ patch: { paid: true, sum: 1 } }, { patch: { sum: 2 } }, { return: { payment: 'p-1' } }),
          second: scriptOf({ emit_context: true }, { return: 'done' }),
        },
        { correlation: { user_id: 'u-1' } },
      );
      const ended = await service.api.ended(run.run_id);
      assert.deepEqual(ended.state, { paid: true, sum: 2 });
      const context = await fixture.event('body.context');
      const { lease_id: _lease, event: _event, at: _at, traceparent, ...rest } = context;
      assert.deepEqual(rest, {
        run_id: run.run_id,
        project: 'default',
        definition_id: id,
        definition_version: 1,
        step_id: 'second',
        visit: 1,
        attempt: 1,
        step_key: `${run.run_id}:second:1`,
        state: { paid: true, sum: 2 },
        steps: { first: { output: { payment: 'p-1' } } },
        correlation: { user_id: 'u-1' },
      });
      assert.match(String(traceparent), new RegExp(`^00-${run.trace_id}-[0-9a-f]{16}-01$`));
    },
  ),

  worker(
    70,
    'usage',
    'Usage is the sum of the spans of the body by model; what the body sets by hand wins.',
    async (world) => {
      const service = await world.scripted();
      await onScripted(world, service);
      const model = (name: string, usage: object): object => ({
        span: { name: 'call', kind: 'model_generation', model: name, usage },
      });
      offer(service, {
        input: scriptOf(
          model('a', { input_tokens: 1, output_tokens: 2 }),
          model('a', { input_tokens: 10 }),
          model('b', { output_tokens: 5 }),
          { return: 1 },
        ),
      });
      const sums = (await service.seen('complete')).body['usage'] as readonly Json[];
      const byModel = Object.fromEntries(sums.map(({ model: name, ...counts }) => [name, counts]));
      assert.deepEqual(
        byModel,
        { a: { input_tokens: 11, output_tokens: 2 }, b: { output_tokens: 5 } },
        'unknown counts are absent',
      );

      const set = { model: 'c', input_tokens: 7 };
      offer(service, { lease_id: 'lease-2', input: scriptOf({ usage: set }, { return: 1 }) });
      const byHand = (await service.seen('complete', 2)).body['usage'];
      assert.deepEqual([byHand].flat(), [{ ...set, record: true }], 'no span holds it: the service is asked for one');

      offer(service, {
        lease_id: 'lease-3',
        input: scriptOf(model('a', { input_tokens: 1 }), { usage: set }, { return: 1 }),
      });
      const both = (await service.seen('complete', 3)).body['usage'];
      assert.deepEqual([both].flat(), [set], 'the setter wins, and a span holds tokens already');
    },
  ),

  worker(71, 'spans-of-a-step', 'Spans and logs of a body belong to the span of its step.', async (world) => {
    const service = await world.service();
    const { run } = await servedRun(
      world,
      service,
      scriptOf(
        { span: { name: 'inside', kind: 'tool_call' } },
        { log: { severity: 'info', message: 'from the body' } },
        { return: 1 },
      ),
    );
    await service.api.ended(run.run_id);
    type Batch = { spans?: readonly SentSpan[]; logs?: readonly Json[] };
    const batches = (): Batch[] =>
      service.proxy.callsTo('POST', '/v1/ingest').map(({ text }) => JSON.parse(text) as Batch);
    const span = await until('the span', undefined, () =>
      batches()
        .flatMap(({ spans = [] }) => spans)
        .find(({ name }) => name === 'inside'),
    );
    const log = await until('the log', undefined, () => batches().flatMap(({ logs = [] }) => logs)[0]);
    assert.equal(span.trace_id, run.trace_id);
    assert.equal(span.correlation?.['run_id'], run.run_id);
    assert.equal(log['trace_id'], run.trace_id);
    assert.equal(log['span_id'], span.parent_span_id, 'both hang at the span of the step');
    await until('the trace with both', undefined, async () => {
      const { spans } = await service.api.get<{ spans: readonly SentSpan[] }>(`/v1/api/traces/${run.trace_id}`);
      const ids = spans.map(({ span_id }) => span_id);
      return ids.includes(span.span_id) && ids.includes(span.parent_span_id ?? '') ? spans : undefined;
    });
  }),

  worker(
    72,
    'restart-of-the-service',
    'A body goes on while the service restarts, and its result arrives.',
    async (world) => {
      const service = await world.ownService('--lease-ttl-ms', '5000');
      const { fixture, id, run } = await servedRun(world, service, scriptOf({ await: 'go' }, { return: 'kept' }));
      await bodyStarted(fixture);
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
    await bodyStarted(fixture);
    await service.api.post(`/v1/api/runs/${run.run_id}/pause`, {});
    await fixture.ask('release', { name: 'go' });
    await until('its report', undefined, () => service.proxy.stepCalls('complete')[0]?.status === 200);
    await meanwhile(300);
    assert.equal(startedCount(fixture), 1, 'the next step is not offered');
    await service.api.post(`/v1/api/runs/${run.run_id}/resume`, {});
    assert.equal((await service.api.ended(run.run_id)).status, 'succeeded');
  }),

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
    104,
    'details-after-a-miss',
    'Details that are given just before a failure reach the next attempt, also where their heartbeat is not answered at first.',
    async (world) => {
      const service = await world.service();
      service.proxy.break(makes('heartbeat'), { kind: 'cut before' });
      service.proxy.break(makes('heartbeat'), { kind: 'refuse', status: 503 });
      const { fixture, run } = await servedRun(world, service, {
        attempts: [
          [{ beat: { page: 17 } }, { throw: { as: 'retryable', message: 'once more' } }],
          [{ emit_context: true }, { return: 'done' }],
        ],
      });
      assert.equal((await service.api.ended(run.run_id)).output, 'done');
      const context = await fixture.event('body.context');
      assert.deepEqual([context['attempt'], context['last_details']], [2, { page: 17 }]);
    },
  ),
];
