/** What a body is given, and what becomes of what it gives. */
import assert from 'node:assert/strict';
import { meanwhile, until } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import { makes } from '../opposite/proxy.ts';
import { aLease, refusal } from '../opposite/scripted.ts';
import type { Json, SentSpan } from './arrived.ts';
import {
  worker,
  REFUND,
  working,
  onScripted,
  scriptOf,
  offer,
  servedRun,
  startedCount,
  errorIn,
} from './worker-stage.ts';

export const workerBodiesScenarios: readonly Scenario[] = [
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
];
