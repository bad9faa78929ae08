import { inspect } from 'node:util';
import { queryObjects } from 'node:v8';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createWorker,
  defineWorkflow,
  RetryableError,
  ServiceError,
  type StepBody,
  StepFailure,
  StepInterrupted,
  type Worker,
  type WorkerOptions,
} from '../../sdk/typescript/src/index.ts';
import { aLease, aRun, type FakeService, refusal, startFakeService } from '../../sdk/conformance/opposite/scripted.ts';

const refund = (pay: StepBody, version = 1) =>
  defineWorkflow({ definition: { id: 'refund', version, steps: [{ id: 'pay', kind: 'task' }] }, bodies: { pay } });

// All of it holds with a service that takes many calls in one, and with one that is older than that.
describe.each([
  ['batches', true],
  ['single calls', false],
])('with %s', (_, batches) => {
  let service: FakeService;
  let worker: Worker | undefined;
  const warnings: string[] = [];

  beforeEach(async () => {
    warnings.length = 0;
    service = await startFakeService({ heartbeatMs: 20, leaseTtlMs: 10_000, batches });
  });
  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
    await service.stop();
  });

  /** Runs a worker in the background; what `run` throws is in `ended`. */
  const start = (pay: StepBody, over: Partial<WorkerOptions> = {}): { ended: Promise<void> } => {
    worker = createWorker({
      endpoint: service.url,
      workerId: 'w',
      workflows: [refund(pay)],
      stopOnSignals: false,
      logger: { warn: (message) => warnings.push(message), error: (message) => warnings.push(message) },
      ...over,
    });
    const ended = worker.run();
    ended.catch(() => {});
    return { ended };
  };

  const promised = () => {
    let resolve = (): void => {};
    const done = new Promise<void>((settle) => {
      resolve = settle;
    });
    return { done, resolve: () => resolve() };
  };

  /** A body that goes on until the test lets it end, or its signal fires. */
  const heldBody = () => {
    const released = promised();
    // That the service saw `started` does not mean that the worker has its answer.
    const begun = promised();
    const reasons: unknown[] = [];
    const body: StepBody = async (context) => {
      begun.resolve();
      await Promise.race([
        released.done,
        new Promise<void>((_resolve, reject) => {
          context.signal.addEventListener('abort', () => {
            reasons.push(context.signal.reason);
            reject(context.signal.reason as Error);
          });
        }),
      ]);
      return 'done';
    };
    return { body, begun: begun.done, letGo: released.resolve, reasons };
  };

  describe('a worker', () => {
    it('registers its definitions, claims, declares started before the body, and completes with the output', async () => {
      const order: string[] = [];
      start((context, input, steps) => {
        order.push(...service.verbs());
        expect(input).toEqual({ amount: 5 });
        expect(steps).toEqual({ triage: { output: 'ok' } });
        expect(context).toMatchObject({ runId: 'run-1', stepId: 'pay', stepKey: 'key-1', attempt: 1, state: { a: 1 } });
        return { paid: true };
      });
      const declaredFirst = { delivery: 'at_most_once' } as const;
      service.offer(aLease({ ...declaredFirst, steps: { triage: { output: 'ok' } }, state: { a: 1 } }));
      const complete = await service.seen('complete');
      expect(order).toEqual(['register', 'started']);
      expect(complete.path).toBe('/v1/api/steps/lease-1/complete');
      expect(complete.body).toEqual({ worker_id: 'w', output: { paid: true } });
      expect(service.callsTo('register')[0]?.body).toMatchObject({
        worker_id: 'w',
        concurrency: 10,
        definitions: [{ id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task' }] }],
      });
    });

    it('sends its key with every call', async () => {
      start(() => null, { apiKey: 'secret' });
      service.offer(aLease());
      await service.seen('complete');
      expect(service.calls.every((call) => call.headers.authorization === 'Bearer secret')).toBe(true);
    });

    it('claims no more steps than it has free slots', async () => {
      const { body, letGo } = heldBody();
      start(body, { concurrency: 2 });
      expect((await service.seen('claim')).body).toMatchObject({ worker_id: 'w', max: 2 });
      service.offer(aLease({ lease_id: 'a' }));
      expect((await service.seen('claim', 2)).body).toMatchObject({ max: 1 });
      service.offer(aLease({ lease_id: 'b' }));
      await service.seen('started', 2);
      service.offer(aLease({ lease_id: 'c' }));
      await service.seen('heartbeat', 4);
      expect(service.callsTo('claim')).toHaveLength(2);
      letGo();
      await service.seen('complete', 3);
      expect(worker?.active()).toBeLessThanOrEqual(2);
    });

    it('asks for no more than the 1000 steps that one claim may take', async () => {
      start(() => null, { concurrency: 1001 });
      expect((await service.seen('claim')).body).toMatchObject({ max: 1000 });
      expect(service.callsTo('register')[0]?.body).toMatchObject({ concurrency: 1001 });
    });

    it('keeps nothing of steps that are over while another body goes on', async () => {
      const { body, begun, letGo } = heldBody();
      start((context, ...given) => (context.lease.lease_id === 'held' ? body(context, ...given) : null), {
        concurrency: 2,
        claimWaitMs: 50,
      });
      service.offer(aLease({ lease_id: 'held' }));
      await begun;
      /** @returns how many promises live once so many steps are over */
      const promisesAfter = async (steps: number): Promise<number> => {
        const over = service.callsTo('complete').length;
        for (let n = 1; n <= steps; n += 1) service.offer(aLease({ lease_id: `short-${over + n}` }));
        await service.seen('complete', over + steps);
        return queryObjects(Promise, { format: 'count' });
      };
      const before = await promisesAfter(20);
      expect((await promisesAfter(400)) - before).toBeLessThan(200);
      letGo();
    });

    it('merges state patches, the last value of a key winning', async () => {
      start((context) => {
        context.patchState({ a: 1, b: 1 });
        context.patchState({ b: 2 });
      });
      service.offer(aLease());
      expect((await service.seen('complete')).body).toEqual({ worker_id: 'w', state_patch: { a: 1, b: 2 } });
    });

    it('gives back what it does not hold, as unservable, and never starts it', async () => {
      start(() => 'never');
      service.offer(aLease({ lease_id: 'a', definition_version: 2 }), aLease({ lease_id: 'b', step_id: 'other' }));
      service.offer(aLease({ lease_id: 'c', step_id: 'constructor' }));
      await service.seen('fail', 3);
      for (const call of service.callsTo('fail')) expect(call.body).toMatchObject({ error: { class: 'unservable' } });
      expect(service.verbs()).not.toContain('started');
    });

    it('holds several versions of one workflow side by side', async () => {
      worker = createWorker({
        endpoint: service.url,
        workflows: [refund(() => 'one', 1), refund(() => 'two', 2)],
        stopOnSignals: false,
      });
      void worker.run();
      service.offer(aLease({ lease_id: 'a', definition_version: 2 }), aLease({ lease_id: 'b', definition_version: 1 }));
      await service.seen('complete', 2);
      const outputs = service.callsTo('complete').map((call) => [call.path.split('/')[4], call.body['output']]);
      expect(Object.fromEntries(outputs)).toEqual({ a: 'two', b: 'one' });
    });

    it('ends with the refusal when the service refuses to register it', async () => {
      service.answer('register', refusal(409, 'definition_conflict'));
      const { ended } = start(() => null);
      await expect(ended).rejects.toMatchObject({ name: 'ServiceError', code: 'definition_conflict', status: 409 });
    });

    it('says when it is registered, where, and what it serves', async () => {
      const said: string[] = [];
      const logger = { info: (line: string) => void said.push(line), warn: () => {}, error: () => {} };
      start(() => null, { logger, project: 'shop', concurrency: 3 });
      await service.seen('claim');
      expect(said).toEqual([
        `w is registered at ${service.url}, project shop and serves refund@1, up to 3 steps at once`,
      ]);
    });

    it('refused for its definition, ends with each fault on a line of its own, and without a stack', async () => {
      const message =
        'definition refund has 2 faults: steps[0].retry.x: unknown key; steps[1]: a sleep has exactly one of both';
      service.answer('register', {
        status: 400,
        body: { code: 'definition_invalid', message, field: 'definitions[0]' },
      });
      const error: unknown = await start(() => null).ended.catch((refused: unknown) => refused);
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({
        code: 'definition_invalid',
        status: 400,
        field: 'definitions[0]',
        name: 'ServiceError',
      });
      const text =
        'definition refund has 2 faults:\n  steps[0].retry.x: unknown key\n  steps[1]: a sleep has exactly one of both';
      expect((error as Error).message).toBe(text);
      expect((error as Error).stack).toBe(`ServiceError: definition_invalid: ${text}`);
      // What Node prints when nobody catches it.
      expect(inspect(error)).toBe(`[ServiceError: definition_invalid: ${text}]`);
      expect(new Error('another').stack).toContain('worker.test');
    });

    it('registers until the service answers, and again after claims found it away or forgetful', async () => {
      service.answer('register', refusal(503, 'store_unavailable'), 'hang up');
      service.answer('claim', 'hang up', refusal(404, 'not_found'));
      start(() => null);
      await service.seen('register', 5);
      service.offer(aLease());
      await service.seen('complete');
      expect(service.callsTo('register')).toHaveLength(5);
    });
  });

  describe('what a body raises', () => {
    it.each([
      ['RetryableError', new RetryableError('later'), { error: { class: 'retryable', message: 'later' } }],
      [
        'RetryableError with a wait',
        new RetryableError('later', { retryAfterMs: 1500 }),
        { error: { class: 'retryable', message: 'later' }, retry_after_ms: 1500 },
      ],
      [
        'StepFailure',
        new StepFailure({ class: 'rate_limited', code: 'quota', message: 'slow down', retryAfterMs: 9 }),
        { error: { class: 'rate_limited', code: 'quota', message: 'slow down' }, retry_after_ms: 9 },
      ],
      [
        'a class of its own',
        new StepFailure({ class: 'no_funds', message: 'm' }),
        { error: { class: 'no_funds', message: 'm' } },
      ],
      [
        'any other error',
        new TypeError('x is not a function'),
        { error: { class: 'fatal', message: 'x is not a function' } },
      ],
      ['a text', 'thrown text', { error: { class: 'fatal', message: 'thrown text' } }],
      ['nothing', undefined, { error: { class: 'fatal', message: 'the body failed' } }],
      ['null', null, { error: { class: 'fatal', message: 'the body failed' } }],
      ['a number', 42, { error: { class: 'fatal', message: '42' } }],
      ['an object with a message', { message: 'no funds' }, { error: { class: 'fatal', message: 'no funds' } }],
      ['an error without a message', new RangeError(), { error: { class: 'fatal', message: 'RangeError' } }],
      [
        'a wait that is no whole number',
        new RetryableError('later', { retryAfterMs: 1500.2 }),
        { error: { class: 'retryable', message: 'later' }, retry_after_ms: 1501 },
      ],
    ])('%s decides the class; the message travels, the stack does not', async (_title, raised, sent) => {
      start(() => {
        throw raised;
      });
      service.offer(aLease());
      const call = await service.seen('fail');
      expect(call.body).toEqual({ worker_id: 'w', ...sent });
      expect(JSON.stringify(call.body)).not.toContain('worker.test');
    });

    /** As JavaScript without types calls it. */
    const Untyped = StepFailure as unknown as new (...given: readonly unknown[]) => StepFailure;
    const shape = 'StepFailure takes { class, message, code?, retryAfterMs? }';
    const fatal = (message: string) => ({ error: { class: 'fatal', code: 'invalid_failure', message } });
    it.each([
      [['no money'], fatal(`no money (${shape}: class is missing or no text, message is missing or no text)`)],
      [
        ['no_funds', 'no money'],
        fatal(
          `no_funds: no money (${shape}: class is missing or no text, message is missing or no text, it has one argument)`,
        ),
      ],
      [[{ message: 'no money' }], fatal(`no money (${shape}: class is missing or no text)`)],
      [[{ class: '', message: 'no money' }], fatal(`no money (${shape}: class is missing or no text)`)],
      [[new Error('no money')], fatal(`no money (${shape}: class is missing or no text)`)],
      [[], fatal(`StepFailure (${shape}: class is missing or no text, message is missing or no text)`)],
      [[null], fatal(`StepFailure (${shape}: class is missing or no text, message is missing or no text)`)],
      [
        [{ class: 'no_funds', message: new Error('no money') }],
        { error: { class: 'no_funds', message: `no money (${shape}: message is missing or no text)` } },
      ],
      [
        [{ class: 'no_funds', message: 'no money', code: Symbol('E17') }],
        { error: { class: 'no_funds', message: `no money (${shape}: code is no text)` } },
      ],
      [
        [{ class: 'rate_limited', message: 'no money', retryAfterMs: 'soon' }],
        { error: { class: 'rate_limited', message: `no money (${shape}: retryAfterMs is no number from 0)` } },
      ],
      [
        [{ class: 'rate_limited', message: 'no money', retryAfterMs: -1 }],
        { error: { class: 'rate_limited', message: `no money (${shape}: retryAfterMs is no number from 0)` } },
      ],
      [
        [{ class: 'rate_limited', message: 'no money', retryAfterMs: 0 }],
        { error: { class: 'rate_limited', message: 'no money' }, retry_after_ms: 0 },
      ],
    ])('a StepFailure that is called wrongly loses none of its words: $1.error.message', async (given, sent) => {
      start(() => {
        throw new Untyped(...given);
      });
      service.offer(aLease());
      expect((await service.seen('fail')).body).toEqual({ worker_id: 'w', ...sent });
    });

    it('keeps the message of the body within the bound, in front of what was wrong with the call', async () => {
      start(() => {
        throw new Untyped('x'.repeat(9000));
      });
      service.offer(aLease());
      const { error } = (await service.seen('fail')).body as { readonly error: { readonly message: string } };
      expect(error.message).toBe('x'.repeat(8192));
    });

    it('fails as fatal when its output is not JSON, or is refused', async () => {
      const cycle: { self?: object } = {};
      cycle.self = cycle;
      start((context) => (context.stepKey === 'cycle' ? cycle : 'large'));
      service.offer(aLease({ step_key: 'cycle' }));
      expect((await service.seen('fail')).body).toMatchObject({ error: { class: 'fatal', code: 'invalid_output' } });
      service.answer('complete', refusal(413, 'payload_too_large'));
      service.offer(aLease({ lease_id: 'b' }));
      expect((await service.seen('fail', 2)).body).toMatchObject({
        error: { class: 'fatal', code: 'payload_too_large' },
      });
    });

    it('fails as fatal when the service refuses the class', async () => {
      service.answer('fail', refusal(400, 'invalid_body'));
      start(() => {
        throw new StepFailure({ class: 'timeout', message: 'mine' });
      });
      service.offer(aLease());
      expect((await service.seen('fail', 2)).body).toMatchObject({
        error: {
          class: 'fatal',
          code: 'invalid_failure',
          message: 'mine (reported as fatal: invalid_body by the test)',
        },
      });
    });
  });

  describe('heartbeats', () => {
    it('come while the body runs, and stop with it', async () => {
      const { body, letGo } = heldBody();
      // One slot: the second lease is claimed when all of the first is over.
      start((context, ...more) => (context.stepKey === 'second' ? 'at once' : body(context, ...more)), {
        concurrency: 1,
      });
      service.offer(aLease({ lease_id: 'first' }));
      await service.seen('heartbeat', 3);
      letGo();
      service.offer(aLease({ lease_id: 'second', step_key: 'second' }));
      await service.seen('complete', 2);
      const paths = service.calls.map((call) => call.path);
      const after = paths.slice(paths.indexOf('/v1/api/steps/second/started'));
      expect(after).not.toContain('/v1/api/steps/first/heartbeat');
      expect(service.callsTo('heartbeat')[0]?.body).toEqual({ worker_id: 'w' });
    });

    it('carry the last details, once each, and give the next attempt those of this one', async () => {
      let found: unknown;
      start(async (context) => {
        found = context.lastDetails;
        const details = { page: 1 };
        context.heartbeat(details);
        details.page = 2;
        await service.seen('heartbeat', 2);
      });
      service.offer(aLease({ last_details: { page: 0 } }));
      await service.seen('complete');
      expect(found).toEqual({ page: 0 });
      // How many beats there are is a matter of speed; which of them carries the details is not.
      const [first, ...others] = service.callsTo('heartbeat').map((call) => call.body);
      expect(first).toEqual({ worker_id: 'w', details: { page: 1 } });
      expect(others.filter((body) => 'details' in body)).toEqual([]);
    });

    it('are repeated, with their details, when nobody answers', async () => {
      service.answer('heartbeat', 'hang up', refusal(503, 'store_unavailable'));
      start(async (context) => {
        context.heartbeat('mark');
        await service.seen('heartbeat', 3);
      });
      service.offer(aLease());
      await service.seen('complete');
      const sent = service.callsTo('heartbeat').map((call) => call.body['details']);
      expect(sent.slice(0, 3)).toEqual(['mark', 'mark', 'mark']);
      expect(sent.slice(3).filter((details) => details !== undefined)).toEqual([]);
    });

    it('refuse details over 64 KiB of JSON, counted in bytes', async () => {
      start((context) => context.heartbeat(`é${'x'.repeat(64 * 1024 - (context.stepKey === 'fits' ? 4 : 3))}`));
      service.offer(aLease());
      expect((await service.seen('fail')).body).toMatchObject({
        error: { class: 'fatal', message: 'heartbeat details have 65537 bytes as JSON, more than 65536' },
      });
      service.offer(aLease({ lease_id: 'b', step_key: 'fits' }));
      await service.seen('complete');
    });
  });

  describe('the four refusals', () => {
    it('already_applied on a report is success: the earlier one landed', async () => {
      service.answer('complete', 'hang up', refusal(409, 'already_applied'));
      start(() => 'once');
      service.offer(aLease());
      await service.seen('complete', 2);
      service.offer(aLease({ lease_id: 'next' }));
      await service.seen('complete', 3);
      expect(service.callsTo('fail')).toEqual([]);
      expect(warnings).toEqual([]);
    });

    it.each(['fenced', 'run_terminal'] as const)(
      '%s on a heartbeat cancels the body, and nothing is reported',
      async (code) => {
        const { body, reasons } = heldBody();
        service.answer('heartbeat', refusal(409, code));
        start(body);
        service.offer(aLease());
        await service.seen('heartbeat');
        await worker?.stop();
        expect(reasons).toHaveLength(1);
        expect(reasons[0]).toBeInstanceOf(StepInterrupted);
        expect(reasons[0]).toMatchObject({ reason: code });
        expect(service.verbs()).not.toContain('complete');
        expect(service.verbs()).not.toContain('fail');
      },
    );

    it.each(['fenced', 'run_terminal', 'already_applied'])(
      '%s on started means that the body never runs',
      async (code) => {
        let ran = false;
        service.answer('started', refusal(409, code));
        start(() => {
          ran = true;
        });
        service.offer(aLease({ attempt: 2 }));
        await service.seen('started');
        await worker?.stop();
        expect(ran).toBe(false);
        expect(service.verbs()).toEqual(['register', 'started']);
      },
    );

    it.each(['fenced', 'run_terminal'])('%s on a report abandons it', async (code) => {
      service.answer('complete', refusal(409, code));
      start(() => 1);
      service.offer(aLease());
      await service.seen('complete');
      await worker?.stop();
      expect(service.verbs()).toEqual(['register', 'started', 'complete']);
      expect(warnings).toEqual([]);
    });

    it('run_terminal also ends a worker that serves this run alone', async () => {
      service.answer('complete', refusal(409, 'run_terminal'));
      const { ended } = start(() => 1, { runId: 'run-1' });
      expect((await service.seen('claim')).body).toMatchObject({ run_id: 'run-1' });
      service.offer(aLease());
      await ended;
      expect(service.callsTo('complete')).toHaveLength(1);
    });

    it('a report whose answer says that the run is over ends such a worker, too', async () => {
      service.answer('complete', { status: 200, body: { run_status: 'succeeded' } });
      const { ended } = start(() => 1, { runId: 'run-1' });
      service.offer(aLease());
      await ended;
      expect(service.callsTo('claim')).toHaveLength(2);
    });

    it('so does a claim without steps, when the run has ended elsewhere', async () => {
      service.setRun(aRun({ status: 'running' }));
      const { ended } = start(() => 1, { runId: 'run-1', claimWaitMs: 5 });
      await service.seen('claim', 3);
      service.setRun(aRun({ status: 'cancelled' }));
      await ended;
      expect(service.verbs()).toContain('run-1');
    });

    it('a key that may not read runs lets such a worker go on', async () => {
      service.answer('run-1', ...Array.from({ length: 2 }, () => refusal(403, 'forbidden')));
      const { ended } = start(() => 1, { runId: 'run-1', claimWaitMs: 5 });
      await service.seen('run-1', 3);
      await ended;
      expect(service.callsTo('run-1')).toHaveLength(3);
    });

    it('not_started is said to be a bug, and not tried again', async () => {
      service.answer('complete', refusal(409, 'not_started'));
      start(() => 1);
      service.offer(aLease({ delivery: 'at_most_once' }));
      await service.seen('complete');
      await worker?.stop();
      expect(warnings.join()).toContain('never saw it started');
      expect(service.callsTo('complete')).toHaveLength(1);
    });
  });

  describe('reports', () => {
    it('are sent until they are answered: a service that restarts loses no result', async () => {
      service.answer(
        'complete',
        'hang up',
        refusal(503, 'store_unavailable'),
        refusal(502, 'bad'),
        refusal(429, 'overloaded', { 'retry-after': '0' }),
      );
      start(() => 'kept');
      service.offer(aLease());
      expect((await service.seen('complete', 5)).body).toMatchObject({ output: 'kept' });
    });

    it('declare started until it is answered, and then run the body once', async () => {
      let ran = 0;
      service.answer('started', 'hang up', refusal(503, 'store_unavailable'));
      start(() => {
        ran += 1;
      });
      service.offer(aLease({ delivery: 'at_most_once' }));
      await service.seen('complete');
      expect(service.callsTo('started')).toHaveLength(3);
      expect(ran).toBe(1);
    });

    it('do not turn a fault of the service into a failure of the step', async () => {
      service.answer('complete', refusal(500, 'internal'));
      start(() => 1);
      service.offer(aLease());
      await service.seen('complete');
      await worker?.stop();
      expect(service.verbs()).toEqual(['register', 'started', 'complete']);
    });

    it('let an offer lapse whose started is not answered within the lease ttl: the body never runs', async () => {
      await service.stop();
      service = await startFakeService({ leaseTtlMs: 0, batches });
      service.answer('started', 'hang up');
      let ran = 0;
      start(() => {
        ran += 1;
      });
      service.offer(aLease({ delivery: 'at_most_once' }));
      await service.seen('started');
      await worker?.stop();
      expect(service.verbs()).toEqual(['register', 'started']);
      expect(ran).toBe(0);
    });
  });

  describe('a first attempt that may run more than once', () => {
    it('begins while its declaration is on its way, and reports once that is answered', async () => {
      const [answered, ended] = [promised(), promised()];
      service.answer('started', { status: 200, body: { run_status: 'running' }, after: answered.done });
      start(async () => {
        await service.seen('started');
        ended.resolve();
        return 'early';
      });
      service.offer(aLease());
      await ended.done;
      await service.seen('heartbeat', 2);
      expect(service.verbs()).toEqual(['register', 'started']);
      answered.resolve();
      expect((await service.seen('complete')).body).toMatchObject({ output: 'early' });
    });

    it('declares itself again where that was not answered, and runs once', async () => {
      let ran = 0;
      service.answer('started', 'hang up', refusal(503, 'store_unavailable'));
      start(async () => {
        ran += 1;
        await service.seen('started');
      });
      service.offer(aLease());
      await service.seen('complete');
      expect(service.verbs()).toEqual(['register', 'started', 'started', 'started', 'complete']);
      expect(ran).toBe(1);
    });

    if (batches)
      it('is one call also where it fills the only slot, with the answer to the report before it', async () => {
        const ids = ['a', 'b', 'c'];
        service.offer(...ids.map((lease_id) => aLease({ lease_id })));
        start(() => 1, { concurrency: 1 });
        await service.seen('complete', ids.length);
        expect(service.batches.map(({ body }) => [body['started'], body['completes']])).toMatchObject(
          ids.map((lease_id) => [[{ lease_id }], [{ lease_id, output: 1 }]]),
        );
      });

    it.each(['fenced', 'run_terminal', 'already_applied'])(
      '%s on its declaration cancels it, and it reports nothing',
      async (code) => {
        const { body, reasons } = heldBody();
        service.answer('started', refusal(409, code));
        start(body);
        service.offer(aLease());
        await service.seen('started');
        await worker?.stop();
        expect(reasons).toMatchObject([{ reason: code === 'run_terminal' ? code : 'fenced' }]);
        expect(service.verbs()).toEqual(['register', 'started']);
      },
    );

    it('is cancelled when nobody answers its declaration within the lease ttl', async () => {
      await service.stop();
      service = await startFakeService({ leaseTtlMs: 0, batches });
      const { body, reasons } = heldBody();
      service.answer('started', 'hang up');
      start(body);
      service.offer(aLease());
      await service.seen('started');
      await worker?.stop();
      expect(reasons).toMatchObject([{ reason: 'fenced' }]);
      expect(service.verbs()).toEqual(['register', 'started']);
    });
  });

  describe('usage', () => {
    it('adds up by model from the spans of the body', async () => {
      start(async (context) => {
        const model = { kind: 'model_generation', model: 'small' } as const;
        await context.span('first', model, (span) =>
          span.setUsage({ input_tokens: 10, output_tokens: 1, input_details: { cache_read: 4 } }),
        );
        await context.span('outer', {}, () =>
          context.span('second', model, (span) => span.setUsage({ input_tokens: 5, input_details: { cache_read: 1 } })),
        );
        await context.span('third', { model: 'large' }, (span) => span.setUsage({ output_tokens: 7 }));
      });
      service.offer(aLease());
      expect((await service.seen('complete')).body['usage']).toEqual([
        { model: 'small', input_tokens: 15, output_tokens: 1, input_details: { cache_read: 5 } },
        { model: 'large', output_tokens: 7 },
      ]);
    });

    it('is what was set by hand, where that was done', async () => {
      start(async (context) => {
        await context.span('call', { model: 'm' }, (span) => span.setUsage({ input_tokens: 10 }));
        context.setUsage({ model: 'm', input_tokens: 99, cost: 0.5 });
      });
      service.offer(aLease());
      expect((await service.seen('complete')).body['usage']).toEqual([{ model: 'm', input_tokens: 99, cost: 0.5 }]);
    });

    it('asks the service for a span of usage that was set by hand where the body recorded no model span', async () => {
      start(async (context) => {
        await context.span('a tool', { kind: 'tool_call' }, () => {});
        context.setUsage([
          { model: 'm', input_tokens: 9 },
          { model: 'n', input_tokens: 1, record: false },
        ]);
        if (context.stepKey === 'fails') throw new Error('after the call');
      });
      const usage = [
        { model: 'm', input_tokens: 9, record: true },
        { model: 'n', input_tokens: 1, record: false },
      ];
      service.offer(aLease());
      expect((await service.seen('complete')).body['usage']).toEqual(usage);
      service.offer(aLease({ lease_id: 'b', step_key: 'fails' }));
      expect((await service.seen('fail')).body['usage']).toEqual(usage);
    });

    it('asks for none beside a model span of the body, be it without tokens', async () => {
      start(async (context) => {
        await context.span('call', { kind: 'model_generation', model: 'm' }, () => {});
        context.setUsage({ model: 'm', input_tokens: 9 });
      });
      service.offer(aLease());
      expect((await service.seen('complete')).body['usage']).toEqual([{ model: 'm', input_tokens: 9 }]);
    });

    it('is reported with a failure too, and absent where there is none', async () => {
      start(async (context) => {
        if (context.stepKey === 'none') return;
        await context.span('call', { model: 'm' }, (span) => span.setUsage({ input_tokens: 10 }));
        throw new Error('after the call');
      });
      service.offer(aLease());
      expect((await service.seen('fail')).body['usage']).toEqual([{ model: 'm', input_tokens: 10 }]);
      service.offer(aLease({ lease_id: 'b', step_key: 'none' }));
      expect((await service.seen('complete')).body).not.toHaveProperty('usage');
    });
  });

  describe('spans of a body', () => {
    it('nest under the step span, and carry the correlation of the run', async () => {
      start(
        async (context) => {
          await context.span('outer', { kind: 'tool_call', input: { q: 1 } }, async (outer) => {
            await context.span('inner', {}, () => {});
            outer.setOutput('found');
          });
          return context.traceparent;
        },
        { exporting: { delayMs: 1 }, serviceName: 'refunds' },
      );
      service.offer(aLease({ correlation: { user_id: 'u' }, project: 'shop' }));
      const complete = await service.seen('complete');
      expect(complete.body['output']).toBe('00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01');
      await worker?.stop();
      const spans = service.callsTo('ingest').flatMap((call) => call.body['spans'] as Record<string, unknown>[]);
      const outer = spans.find((span) => span['name'] === 'outer');
      const inner = spans.find((span) => span['name'] === 'inner');
      expect(outer).toMatchObject({
        trace_id: '5b8efff798038103d269b633813fc60c',
        parent_span_id: 'eee19b7ec3c1b174',
        kind: 'tool_call',
        input: { q: 1 },
        output: 'found',
        status: 'ok',
        correlation: { project: 'shop', run_id: 'run-1', user_id: 'u', service_name: 'refunds' },
      });
      expect(inner).toMatchObject({ parent_span_id: outer?.['span_id'], trace_id: outer?.['trace_id'] });
    });
  });

  describe('a worker that stops', () => {
    it('claims nothing more, lets its bodies finish and reports them', async () => {
      const { body, letGo, reasons } = heldBody();
      const { ended } = start(body);
      service.offer(aLease());
      await service.seen('started');
      const stopped = worker?.stop();
      service.offer(aLease({ lease_id: 'late' }));
      letGo();
      await stopped;
      await ended;
      expect(reasons).toEqual([]);
      expect(service.callsTo('complete')).toHaveLength(1);
      expect(service.callsTo('started')).toHaveLength(1);
    });

    it('gives the step back without spending its budget when a body does not finish in time', async () => {
      const { body, begun, reasons } = heldBody();
      start(body, { graceMs: 1 });
      service.offer(aLease());
      await begun;
      await worker?.stop();
      expect(reasons[0]).toMatchObject({ reason: 'stopping' });
      expect(service.callsTo('fail').map((call) => call.body)).toEqual([
        {
          worker_id: 'w',
          error: { class: 'rate_limited', code: 'worker_stopping', message: 'the worker stopped while the step ran' },
          retry_after_ms: 0,
        },
      ]);
    });

    it('does so, too, when it has no free slot', async () => {
      const { body, begun, reasons } = heldBody();
      const { ended } = start(body, { concurrency: 1, graceMs: 1 });
      service.offer(aLease());
      await begun;
      await worker?.stop();
      await ended;
      expect(reasons[0]).toMatchObject({ reason: 'stopping' });
      expect(service.callsTo('fail')).toHaveLength(1);
    });

    it('gives back, without running it, what it may start only when the time of its bodies is over', async () => {
      const begun: string[] = [];
      const first = promised();
      const answered = promised();
      start(
        (context) =>
          new Promise((_resolve, reject) => {
            begun.push(context.lease.lease_id);
            first.resolve();
            context.signal.addEventListener('abort', () => {
              answered.resolve();
              reject(context.signal.reason as Error);
            });
          }),
        { graceMs: 1 },
      );
      service.offer(aLease({ lease_id: 'first', attempt: 2 }));
      await first.done;
      service.answer('started', { status: 200, body: { run_status: 'running' }, after: answered.done });
      service.offer(aLease({ lease_id: 'second', attempt: 2 }));
      await service.seen('started', 2);
      await worker?.stop();
      expect(begun).toEqual(['first']);
      const failed = service.callsTo('fail').map((call) => [call.path.split('/')[4], call.body['error']]);
      expect(Object.fromEntries(failed)).toEqual({
        first: expect.objectContaining({ code: 'worker_stopping' }) as object,
        second: expect.objectContaining({ code: 'worker_stopping' }) as object,
      });
    });

    it('leaves a body behind that does not listen, and says so', async () => {
      const begun = promised();
      const stubborn = promised();
      start(
        () => {
          begun.resolve();
          return stubborn.done;
        },
        { graceMs: 1, settleMs: 1 },
      );
      service.offer(aLease());
      await begun.done;
      await worker?.stop();
      stubborn.resolve();
      expect(service.verbs()).not.toContain('fail');
      expect(service.verbs()).not.toContain('complete');
      expect(warnings.join()).toContain('did not end in time');
    });

    it('hangs up on its claim, so that the service takes back what was on its way', async () => {
      start(() => null, { claimWaitMs: 60_000 });
      await service.seen('claim');
      await worker?.stop();
      expect(service.callsTo('claim')).toHaveLength(1);
    });
  });
});

describe('what is refused before it starts', () => {
  it('a task without a body, and a body without a task', () => {
    const definition = { id: 'a', version: 1, steps: [{ id: 'x', kind: 'task' }] } as const;
    // @ts-expect-error a body is missing
    expect(() => defineWorkflow({ definition, bodies: {} })).toThrow('workflow a version 1 has no body for: x');
    // @ts-expect-error no such task
    expect(() => defineWorkflow({ definition, bodies: { x: () => 1, y: () => 1 } })).toThrow(
      'has bodies for no task of it: y',
    );
  });

  it('the same version twice, no slot, an endpoint that is none', () => {
    const workflows = [refund(() => 1)];
    expect(() => createWorker({ workflows: [...workflows, ...workflows] })).toThrow('refund@1 is given twice');
    expect(() => createWorker({ workflows, concurrency: 0 })).toThrow(
      'concurrency is a whole number from 1 to 100000, not 0',
    );
    expect(() => createWorker({ workflows, concurrency: 100_001 })).toThrow('from 1 to 100000, not 100001');
    expect(() => createWorker({ workflows, concurrency: 100_000 })).not.toThrow();
    expect(() => createWorker({ workflows, endpoint: 'nowhere' })).toThrow(
      'endpoint "nowhere" is not an http or https URL',
    );
  });
});
