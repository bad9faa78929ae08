import { describe, expect, it } from 'vitest';
import { ALL, aDefinition, codeOf, createHarness as createOn, must, settled, tasks } from './run-harness.ts';

import { WORKER_RETENTION_MS, WORKER_SEEN_MS } from '../../src/actors/start.ts';
import { noChanges, type RunRecord, type RunStore, type StoredRun } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

const DAY = 24 * 3600_000;
/** How often the service looks for what is past its time. */
const SWEEP_MS = 60_000;
const recordOf = async (store: RunStore, runId: string): Promise<RunRecord> =>
  ((await store.load([{ kind: 'run', runId }]))[0] as StoredRun).record;
const task = (id: string, more: object = {}) => ({ id, kind: 'task', ...more });

/** What the service promises, whatever it stores on. `open` gives an empty store, and the caller closes it. */
export const runsSuite = (open: () => Promise<RunStore>): void => {
  const createHarness = async (options: Parameters<typeof createOn>[0] = {}) =>
    createOn({ store: await open(), ...options });

  describe('a run of tasks', () => {
    it('goes through its steps in order and ends with the output of the last', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });
      const run = await service.start('flow', { n: 1 });
      expect(run.status).toBe('queued');
      const one = await service.take();
      expect(one).toMatchObject({ stepId: 'one', visit: 1, attempt: 1, steps: {} });
      expect(must(await service.complete(one, { a: 1 }))).toMatchObject({ nextStep: 'two' });
      const two = await service.take();
      expect(two.steps).toEqual({ one: { output: { a: 1 } } });
      expect(must(await service.complete(two, 'end'))).toEqual({ runStatus: 'succeeded' });
      const ended = await service.detail(run.runId);
      expect(ended).toMatchObject({ status: 'succeeded', output: 'end', stepCount: 2 });
      expect(ended.attempts.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
      expect(ended.attempts.map(({ output }) => output)).toEqual([{ a: 1 }, 'end']);
      expect(await service.kinds(run.runId)).toEqual([
        'run.started',
        'cursor.moved',
        'step.leased',
        'step.started',
        'step.finished',
        'cursor.moved',
        'step.leased',
        'step.started',
        'step.finished',
        'run.finished',
      ]);
      expect((await service.journal(run.runId)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(service.faults).toEqual([]);
    });

    it('ends by "end" with the output that the definition makes', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [task('one', { next: 'end' })], {
            output: { paid: '${steps.one.output.ok}', by: '${run.run_id}' },
          }),
        ],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), { ok: true }));
      expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: { paid: true, by: runId } });
    });

    it('merges a state patch with top-level keys replacing', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two', 'three'))] });
      await service.start('flow');
      must(await service.complete(await service.take(), 1, { statePatch: { a: { x: 1 }, b: 1, __proto: 1 } }));
      const two = await service.take();
      expect(two.state).toEqual({ a: { x: 1 }, b: 1, __proto: 1 });
      must(await service.complete(two, 1, { statePatch: { a: { y: 2 } } }));
      expect((await service.take()).state).toEqual({ a: { y: 2 }, b: 1, __proto: 1 });
    });

    it('renders the input of a step, and keeps the type of a template that stands alone', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('one', { input: { t: '${input.ticket}', s: 'n=${input.n}', c: '${correlation.user_id}' } }),
          ]),
        ],
      });
      await service.start('flow', { ticket: { id: 7 }, n: 2 }, { correlation: { user_id: 'u' } });
      expect((await service.take()).input).toEqual({ t: { id: 7 }, s: 'n=2', c: 'u' });
    });

    it('fails the step with class expression, naming the path, when a required input is missing', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('one', {
              input: { t: '${input.ticket.id}' },
              on_error: [{ class: 'expression', to: 'sorry' }],
              next: 'end',
            }),
            task('sorry', { input: { why: '${error.message}', at: '${error.step_id}' }, next: 'end' }),
          ]),
        ],
      });
      await service.start('flow');
      const sorry = await service.take();
      expect(sorry).toMatchObject({ stepId: 'sorry', input: { at: 'one' } });
      expect(JSON.stringify(sorry.input)).toContain('input.ticket');
    });

    it('takes the first branch whose condition holds, and counts visits', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('triage', {
              next: [
                { when: 'state.confidence >= 0.8', to: 'pay' },
                { when: 'visits.triage < 3', to: 'triage' },
                { to: 'ask' },
              ],
            }),
            task('ask', { next: 'end' }),
            task('pay', { next: 'end' }),
          ]),
        ],
      });
      const { runId } = await service.start('flow');
      const visits: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const lease = await service.take();
        visits.push(lease.visit);
        expect(lease).toMatchObject({ stepId: 'triage', attempt: 1 });
        must(await service.complete(lease, round, { statePatch: { confidence: 0.1 } }));
      }
      expect(visits).toEqual([1, 2, 3]);
      expect((await service.take()).stepId).toBe('ask');
      const keys = (await service.detail(runId)).attempts.map(({ visit, output }) => [visit, output]);
      expect(keys).toEqual([
        [1, 0],
        [2, 1],
        [3, 2],
        [1, undefined],
      ]);
    });

    it('a visit without an output hides the output of the visit before, also after a restart', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('one', { next: [{ when: 'visits.one < 2', to: 'one' }, { to: 'two' }] }),
            task('two'),
          ]),
        ],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), 'first'));
      must(await service.complete(await service.take()));
      const again = await service.reopen();
      const [two] = must(await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }));
      expect(two?.steps).toEqual({});
      expect((await service.detail(runId)).attempts.map(({ output }) => output)).toEqual([
        'first',
        undefined,
        undefined,
      ]);
    });

    it('fails the run with class expression where no branch matches, whatever on_error says', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('one', {
              next: [{ when: 'state.x == 1', to: 'two' }],
              on_error: [{ class: 'expression', to: 'two' }],
            }),
            task('two', { next: 'end' }),
          ]),
        ],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), 1, { statePatch: { x: 2 } }));
      expect(await service.detail(runId)).toMatchObject({
        status: 'failed',
        error: { class: 'expression', stepId: 'one' },
      });
    });

    it('fails the step with class expression when a condition fails, so that on_error may take it', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('one', {
              next: [{ when: 'state.x == 1', to: 'two' }, { to: 'two' }],
              on_error: [{ class: 'expression', to: 'two' }],
            }),
            task('two', { next: 'end' }),
          ]),
        ],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), 1));
      expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'two' });
    });
  });

  describe('succeed and fail steps', () => {
    it('succeed ends the run with its rendered output', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('pay'),
            { id: 'done', kind: 'succeed', output: { paid: '${steps.pay.output.ok}' } },
          ]),
        ],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), { ok: 1 }));
      expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: { paid: 1 }, stepCount: 2 });
    });

    it('succeed without an output hands on that of the step before', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', [task('pay'), { id: 'done', kind: 'succeed' }])],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), 'x'));
      expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: 'x' });
    });

    it('fail ends the run as failed with class fatal and its code', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', [task('one'), { id: 'refused', kind: 'fail', code: 'refused' }])],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take()));
      expect(await service.detail(runId)).toMatchObject({
        status: 'failed',
        error: { class: 'fatal', code: 'refused', stepId: 'refused' },
      });
    });
  });

  describe('retries', () => {
    const retrying = (more: object = {}) =>
      aDefinition('flow', [
        task('one', {
          retry: { max_attempts: 3, backoff_ms: 10_000, multiplier: 2, max_backoff_ms: 60_000, jitter: 'none' },
          next: 'end',
          ...more,
        }),
      ]);

    it('retries retryable failures after a growing backoff, up to max_attempts', async () => {
      const service = await createHarness({ definitions: [retrying()] });
      const { runId } = await service.start('flow');
      const first = await service.take();
      expect(must(await service.fail(first, 'retryable'))).toEqual({
        runStatus: 'waiting',
        nextStep: 'one',
        willRetry: true,
      });
      expect((await service.detail(runId)).timers).toEqual([
        { name: 'backoff', dueAt: service.time.now() + 10_000, stepId: 'one' },
      ]);
      await service.pass(9000);
      expect(await service.claim()).toEqual([]);
      await service.pass(1000);
      const second = await service.take();
      expect(second).toMatchObject({ attempt: 2, visit: 1, stepKey: first.stepKey });
      must(await service.fail(second, 'retryable'));
      await service.pass(19_000);
      expect(await service.claim()).toEqual([]);
      await service.pass(1000);
      expect(must(await service.fail(await service.take(), 'retryable'))).toEqual({
        runStatus: 'failed',
        willRetry: false,
      });
      expect(await service.detail(runId)).toMatchObject({
        status: 'failed',
        error: { class: 'retryable', stepId: 'one' },
      });
    });

    it('draws the backoff from the whole range with full jitter, from the chance it is handed', async () => {
      const service = await createHarness({
        random: () => 0.25,
        definitions: [retrying({ retry: { backoff_ms: 10_000, jitter: 'full' } })],
      });
      const { runId } = await service.start('flow');
      must(await service.fail(await service.take(), 'retryable'));
      expect((await service.detail(runId)).timers[0]?.dueAt).toBe(service.time.now() + 2500);
    });

    it('takes retry_after_ms as a minimum', async () => {
      const service = await createHarness({ definitions: [retrying()] });
      const { runId } = await service.start('flow');
      const lease = await service.take();
      must(
        await service.runs.fail({
          ...ALL,
          leaseId: lease.leaseId,
          workerId: 'w1',
          error: { class: 'retryable', message: 'later' },
          retryAfterMs: 45_000,
        }),
      );
      expect((await service.detail(runId)).timers[0]?.dueAt).toBe(service.time.now() + 45_000);
    });

    it('retries rate_limited after retry_after_ms without spending the budget', async () => {
      const service = await createHarness({ definitions: [retrying({ retry: { max_attempts: 1 } })] });
      await service.start('flow');
      for (let round = 1; round <= 5; round += 1) {
        const lease = await service.take();
        expect(lease.attempt).toBe(round);
        const failed = await service.runs.fail({
          ...ALL,
          leaseId: lease.leaseId,
          workerId: 'w1',
          error: { class: 'rate_limited', message: 'slow down' },
          retryAfterMs: 3000,
        });
        expect(must(failed).willRetry).toBe(true);
        await service.pass(3000);
      }
      expect(must(await service.complete(await service.take())).runStatus).toBe('succeeded');
    });

    it('retries at once when the backoff is zero', async () => {
      const service = await createHarness({ definitions: [retrying({ retry: { backoff_ms: 0 } })] });
      await service.start('flow');
      expect(must(await service.fail(await service.take(), 'retryable'))).toMatchObject({
        runStatus: 'queued',
        willRetry: true,
      });
      expect((await service.take()).attempt).toBe(2);
    });

    it.each(['fatal', 'my_own_class'])('does not retry class %s: on_error decides', async (errorClass) => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            task('one', {
              on_error: [
                { class: errorClass, code: 'nope', to: 'end' },
                { class: errorClass, to: 'sorry' },
              ],
              next: 'end',
            }),
            task('sorry', { next: 'end' }),
          ]),
        ],
      });
      await service.start('flow');
      expect(must(await service.fail(await service.take(), errorClass, { code: 'other' }))).toEqual({
        runStatus: 'queued',
        nextStep: 'sorry',
        willRetry: false,
      });
    });

    it('runs an at_most_once body once, whatever the class', async () => {
      for (const errorClass of ['retryable', 'rate_limited', 'unservable', 'fatal']) {
        const service = await createHarness({ definitions: [retrying({ delivery: 'at_most_once' })] });
        const { runId } = await service.start('flow');
        expect(must(await service.fail(await service.take(), errorClass))).toMatchObject({
          runStatus: 'failed',
          willRetry: false,
        });
        expect(await service.detail(runId)).toMatchObject({ error: { class: errorClass } });
      }
    });
  });

  describe('the four refusals', () => {
    const open = () => createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });

    it('answers already_applied to a complete, a fail or a heartbeat after its own complete, even when the run has ended', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      await service.start('flow');
      const lease = await service.take();
      must(await service.complete(lease));
      expect(codeOf(await service.complete(lease))).toBe('already_applied');
      expect(codeOf(await service.fail(lease, 'fatal'))).toBe('already_applied');
      expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }))).toBe(
        'already_applied',
      );
    });

    it('answers run_terminal to a heartbeat, a complete and a started after a cancel', async () => {
      const service = await open();
      const { runId } = await service.start('flow');
      const lease = await service.take();
      must(await service.runs.cancelRun({ ...ALL, runId, reason: 'enough' }));
      expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }))).toBe(
        'run_terminal',
      );
      expect(codeOf(await service.complete(lease))).toBe('run_terminal');
      expect(codeOf(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }))).toBe(
        'run_terminal',
      );
      expect((await service.detail(runId)).attempts[0]).toMatchObject({ status: 'cancelled' });
    });

    it('answers fenced to another worker, and to a lease that was reclaimed', async () => {
      const service = await open();
      await service.start('flow');
      const lease = await service.take();
      expect(codeOf(await service.complete(lease, 1, {}, 'w2'))).toBe('fenced');
      await service.pass(36_000);
      expect(codeOf(await service.complete(lease))).toBe('fenced');
    });

    it('answers not_started to a complete or fail of an at_most_once attempt that never declared its body', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', [task('one', { delivery: 'at_most_once' })])],
      });
      await service.start('flow');
      const [lease] = await service.claim();
      if (lease === undefined) throw new Error('no lease');
      expect(codeOf(await service.complete(lease))).toBe('not_started');
      expect(codeOf(await service.fail(lease, 'retryable'))).toBe('not_started');
      expect(must(await service.fail(lease, 'unservable')).runStatus).toBe('queued');
    });

    it('takes a complete from an offered at_least_once lease', async () => {
      const service = await open();
      await service.start('flow');
      const [lease] = await service.claim();
      if (lease === undefined) throw new Error('no lease');
      expect(must(await service.complete(lease)).nextStep).toBe('two');
    });

    it('answers 200 to a started that is repeated', async () => {
      const service = await open();
      await service.start('flow');
      const lease = await service.take();
      expect(must(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' })).runStatus).toBe(
        'running',
      );
    });

    it('answers not_found to a lease that never was, and forbidden outside the reach of the key', async () => {
      const service = await open();
      await service.start('flow');
      const lease = await service.take();
      expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: 'nope', workerId: 'w1' }))).toBe('not_found');
      const foreign = { reach: ['other'], leaseId: lease.leaseId, workerId: 'w1' } as const;
      expect(codeOf(await service.runs.complete(foreign))).toBe('forbidden');
    });
  });

  describe('leases in time', () => {
    const open = (more: object = {}) =>
      createHarness({ definitions: [aDefinition('flow', [task('one', { next: 'end', ...more })])] });

    it('an offer that is not started lapses and goes back to the queue at no cost, in either delivery mode', async () => {
      for (const delivery of ['at_least_once', 'at_most_once']) {
        const service = await open({ delivery });
        const { runId } = await service.start('flow');
        const [lease] = await service.claim();
        await service.pass(4000);
        expect((await service.detail(runId)).status).toBe('running');
        await service.pass(1000);
        expect(await service.detail(runId)).toMatchObject({ status: 'queued', attempts: [{ status: 'lapsed' }] });
        expect(codeOf(await service.runs.started({ ...ALL, leaseId: lease?.leaseId ?? '', workerId: 'w1' }))).toBe(
          'fenced',
        );
        expect((await service.take()).attempt).toBe(2);
      }
    });

    it('a heartbeat extends the lease by its ttl', async () => {
      const service = await open();
      const { runId } = await service.start('flow');
      const lease = await service.take();
      for (let beat = 0; beat < 5; beat += 1) {
        await service.pass(29_000);
        const { leaseExpiresAt } = must(
          await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }),
        );
        expect(leaseExpiresAt).toBe(service.time.now() + 30_000);
      }
      expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
    });

    it('a heartbeat before started is taken and extends nothing', async () => {
      const service = await open();
      const { runId } = await service.start('flow');
      const [lease] = await service.claim();
      await service.pass(3000);
      must(await service.runs.heartbeat({ ...ALL, leaseId: lease?.leaseId ?? '', workerId: 'w1' }));
      await service.pass(2000);
      expect((await service.detail(runId)).attempts[0]?.status).toBe('lapsed');
    });

    it('an orphan is revived by a heartbeat within the reclaim window', async () => {
      const service = await open();
      const { runId } = await service.start('flow');
      const lease = await service.take();
      await service.pass(30_000);
      expect((await service.detail(runId)).attempts[0]?.status).toBe('orphaned');
      must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
      expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
    });

    it('a complete from an orphan is taken within the reclaim window', async () => {
      const service = await open();
      await service.start('flow');
      const lease = await service.take();
      await service.pass(34_000);
      expect(must(await service.complete(lease)).runStatus).toBe('succeeded');
    });

    it('an orphan is requeued after the window under at_least_once, and fails under at_most_once', async () => {
      const service = await open();
      const first = await service.start('flow');
      await service.take();
      await service.pass(35_000);
      expect(await service.detail(first.runId)).toMatchObject({ status: 'queued', attempts: [{ status: 'orphaned' }] });
      expect(await service.kinds(first.runId)).toContain('step.requeued');

      const once = await open({ delivery: 'at_most_once' });
      const second = await once.start('flow');
      await once.take();
      await once.pass(35_000);
      expect(await once.detail(second.runId)).toMatchObject({ status: 'failed', error: { class: 'orphaned' } });
    });

    it('the tenth orphan is the last', async () => {
      const service = await open();
      const { runId } = await service.start('flow');
      for (let orphan = 1; orphan <= 9; orphan += 1) {
        await service.take();
        await service.pass(35_000);
        expect((await service.detail(runId)).status).toBe('queued');
      }
      await service.take();
      await service.pass(35_000);
      expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'orphaned' } });
    });

    it('timeout_ms runs from started, spends the budget and ends the lease', async () => {
      const service = await open({ timeout_ms: 5000, retry: { max_attempts: 2, backoff_ms: 0 } });
      const { runId } = await service.start('flow');
      const [offered] = await service.claim();
      await service.pass(4000);
      must(await service.runs.started({ ...ALL, leaseId: offered?.leaseId ?? '', workerId: 'w1' }));
      await service.pass(4000);
      expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
      await service.pass(1000);
      expect(await service.detail(runId)).toMatchObject({
        status: 'queued',
        attempts: [{ status: 'failed', error: { class: 'timeout' } }],
      });
      expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: offered?.leaseId ?? '', workerId: 'w1' }))).toBe(
        'fenced',
      );
      await service.take();
      await service.pass(5000);
      expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'timeout' } });
    });

    it('heartbeats do not put the timeout off', async () => {
      const service = await open({ timeout_ms: 20_000, retry: { max_attempts: 1 } });
      const { runId } = await service.start('flow');
      const lease = await service.take();
      for (let beat = 0; beat < 19; beat += 1) {
        await service.pass(1000);
        must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
      }
      await service.pass(1000);
      expect((await service.detail(runId)).status).toBe('failed');
    });

    it('a jump of the wall clock expires no live lease', async () => {
      const service = await open();
      const { runId } = await service.start('flow');
      const lease = await service.take();
      service.time.jumpWall(10 * 365 * 24 * 3600 * 1000);
      await service.runs.tick();
      expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
      service.time.jumpWall(-20 * 365 * 24 * 3600 * 1000);
      await service.runs.tick();
      expect(must(await service.complete(lease)).runStatus).toBe('succeeded');
      const times = (await service.journal(runId)).map(({ at }) => at);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    });

    it('a clock that is set back stops no timer', async () => {
      const service = await createHarness({
        definitions: [aDefinition('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 60_000 }, task('then')])],
      });
      service.time.jumpWall(10 * 365 * 24 * 3600 * 1000);
      await service.runs.tick();
      service.time.jumpWall(-10 * 365 * 24 * 3600 * 1000);
      const { runId } = await service.start('nap');
      await service.pass(59_000);
      expect((await service.detail(runId)).status).toBe('waiting');
      await service.pass(1000);
      expect((await service.detail(runId)).status).toBe('queued');
    });

    it('a clock that is set back while the service is down takes no journal back', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      const { runId } = await service.start('flow');
      const [lease] = await service.claim();
      if (lease === undefined) throw new Error('one was expected');
      service.time.advance(4000);
      must(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
      service.time.jumpWall(-3600_000);
      const next = await service.reopen();
      must(await next.complete({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
      const times = (await service.journal(runId)).map(({ at }) => at);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    });

    it('gives the details of the last heartbeat to the next attempt', async () => {
      const service = await open();
      await service.start('flow');
      const lease = await service.take();
      must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1', details: { page: 3 } }));
      expect(lease.lastDetails).toBeUndefined();
      await service.pass(35_000);
      expect((await service.take()).lastDetails).toEqual({ page: 3 });
    });

    it('at start every live lease gets at least one whole ttl', async () => {
      const service = await open();
      const { runId } = await service.start('flow');
      const lease = await service.take();
      service.time.advance(10 * 60_000);
      const again = await service.reopen();
      const pass = async (ms: number): Promise<void> => {
        service.time.advance(ms);
        await again.tick();
      };
      await pass(29_999);
      expect(must(await again.getRun({ ...ALL, runId })).attempts[0]?.status).toBe('running');
      await pass(1);
      expect(must(await again.getRun({ ...ALL, runId })).attempts[0]?.status).toBe('orphaned');
      expect(must(await again.complete({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' })).runStatus).toBe(
        'succeeded',
      );
    });
  });

  describe('unservable', () => {
    it('requeues for another worker, spends nothing, and is not offered to that worker again for five minutes', async () => {
      const definition = aDefinition('flow', [task('one', { next: 'end', retry: { max_attempts: 1 } })]);
      const service = await createHarness({ definitions: [definition] });
      must(await service.runs.registerWorker({ ...ALL, workerId: 'w2', definitions: [definition] }));
      const { runId } = await service.start('flow');
      const [lease] = await service.claim('w1');
      if (lease === undefined) throw new Error('no lease');
      expect(must(await service.fail(lease, 'unservable'))).toMatchObject({ runStatus: 'queued', willRetry: true });
      expect(await service.claim('w1')).toEqual([]);
      expect((await service.claim('w2')).length).toBe(1);
      await service.pass(5000);
      expect((await service.detail(runId)).attempts.map(({ status }) => status)).toEqual(['unservable', 'lapsed']);
      await service.pass(5 * 60_000 - 6000);
      expect(await service.claim('w1')).toEqual([]);
      await service.pass(1000);
      expect((await service.claim('w1')).length).toBe(1);
    });
  });

  it('is busy for 50 ms after a call, and not by its own timers', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    service.time.advance(50);
    await service.runs.tick();
    expect(service.runs.isBusy()).toBe(false);
    await service.start('flow');
    service.time.advance(49);
    expect(service.runs.isBusy()).toBe(true);
    service.time.advance(1);
    expect(service.runs.isBusy()).toBe(false);
  });

  describe('waits and events', () => {
    const waiting = (more: object = {}) =>
      aDefinition('flow', [
        { id: 'ask', kind: 'wait_event', event: 'approval', key: 'ticket/${input.id}', ...more },
        task('then', { input: { got: '${steps.ask.output?}', name: '${event.name?}' }, next: 'end' }),
      ]);
    const publish = (service: Awaited<ReturnType<typeof createHarness>>, key: string, more: object = {}) =>
      service.runs.publishEvent({ ...ALL, project: 'p', event: 'approval', key, payload: { ok: true }, ...more });

    it('waits until an event with its name and expanded key arrives, which becomes its output', async () => {
      const service = await createHarness({ definitions: [waiting()] });
      const { runId } = await service.start('flow', { id: 7 });
      expect(await service.detail(runId)).toMatchObject({
        status: 'waiting',
        waits: [{ event: 'approval', key: 'ticket/7', stepId: 'ask' }],
      });
      expect(must(await publish(service, 'ticket/8'))).toEqual({ outcome: 'parked' });
      expect(must(await publish(service, 'ticket/7'))).toEqual({ outcome: 'delivered', runId });
      const lease = await service.take();
      expect(lease.input).toEqual({ got: { ok: true }, name: 'approval' });
      expect((await service.detail(runId)).waits).toEqual([]);
      expect(await service.kinds(runId)).toEqual(
        expect.arrayContaining(['run.waiting', 'event.delivered', 'run.resumed']),
      );
    });

    it('a run in memory no more is found by its event', async () => {
      const service = await createHarness({ definitions: [waiting()] });
      const { runId } = await service.start('flow', { id: 7 });
      const again = await service.reopen();
      expect(
        must(await again.publishEvent({ ...ALL, project: 'p', event: 'approval', key: 'ticket/7', payload: 1 })),
      ).toEqual({
        outcome: 'delivered',
        runId,
      });
    });

    it('one event goes to one wait, the oldest', async () => {
      const service = await createHarness({ definitions: [waiting()] });
      const ids = [];
      for (let n = 0; n < 3; n += 1) ids.push((await service.start('flow', { id: 1 })).runId);
      const outcomes = await Promise.all(ids.map(() => publish(service, 'ticket/1')));
      expect(outcomes.map((outcome) => must(outcome).runId)).toEqual(ids);
      expect(must(await publish(service, 'ticket/1')).outcome).toBe('parked');
    });

    it('more waits than one group looks at are all served', async () => {
      const service = await createHarness({ definitions: [waiting()] });
      const ids = await Promise.all(
        Array.from({ length: 150 }, async () => (await service.start('flow', { id: 1 })).runId),
      );
      const outcomes = await Promise.all(ids.map(() => publish(service, 'ticket/1')));
      expect(new Set(outcomes.map((outcome) => must(outcome).runId))).toEqual(new Set(ids));
    });

    // Memory keeps up to 64 waits and events of a name and key; of more it asks the store, again and again.
    it.each([63, 64, 65, 66, 130])(
      '%i waits of one key, opened one by one, are served from the oldest',
      async (count) => {
        const service = await createHarness({ definitions: [waiting()] });
        const ids: string[] = [];
        for (let n = 0; n < count; n += 1) ids.push((await service.start('flow', { id: 1 })).runId);
        const served: unknown[] = [];
        for (let n = 0; n < count; n += 1) served.push(must(await publish(service, 'ticket/1')).runId);
        expect(served).toEqual(ids);
        expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'parked' });
      },
    );

    it.each([63, 64, 65, 66, 130])(
      '%i events of one key, parked one by one, are taken from the oldest',
      async (count) => {
        const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
        for (let n = 0; n < count; n += 1) must(await publish(service, 'ticket/1', { payload: n }));
        const taken: unknown[] = [];
        for (let n = 0; n < count; n += 1) {
          await service.start('flow', { id: 1 });
          taken.push(((await service.take()).input as { got: unknown }).got);
        }
        expect(taken).toEqual(Array.from({ length: count }, (_, n) => n));
        expect((await service.start('flow', { id: 1 })).status).toBe('waiting');
      },
    );

    it.each([63, 64, 65, 66, 130])('%i parked events are taken by as many runs that start at once', async (count) => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      for (let n = 0; n < count; n += 1) must(await publish(service, 'ticket/1'));
      const again = await service.reopen();
      const start = async () =>
        must(await again.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: { id: 1 } })).run.status;
      const started = await Promise.all(Array.from({ length: count + 1 }, start));
      expect(started).toEqual([...Array.from({ length: count }, () => 'queued'), 'waiting']);
    });

    const mailbox = { id: 'inbox', kind: 'wait_event', event: 'approval', accept_parked: true };
    const letters = async (service: Awaited<ReturnType<typeof createHarness>>, count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) must(await publish(service, ''));
    };

    it.each([64, 65, 260])('%i parked events are all taken by one run, in the turn that starts it', async (count) => {
      const next = [{ when: `visits.inbox >= ${count}`, to: 'end' }, { to: 'inbox' }];
      const service = await createHarness({ definitions: [aDefinition('flow', [{ ...mailbox, next }])] });
      await letters(service, count);
      expect((await service.start('flow')).status).toBe('succeeded');
    });

    it('more parked events than a turn looks at are taken by a run that a timer moves', async () => {
      const next = [{ when: 'visits.inbox >= 65', to: 'end' }, { to: 'inbox' }];
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [
            { id: 'nap', kind: 'sleep', sleep_ms: 1000 },
            { ...mailbox, next },
          ]),
        ],
      });
      const { runId } = await service.start('flow');
      await letters(service, 65);
      await service.pass(2000);
      expect((await service.detail(runId)).status).toBe('succeeded');
    });

    it('more parked events than a turn looks at are taken by children that start together', async () => {
      const many = { id: 'many', kind: 'child', definition: 'kid', for_each: '${input}', max_parallel: 100 };
      const service = await createHarness({
        definitions: [aDefinition('kid', [mailbox]), aDefinition('flow', [many])],
      });
      await letters(service, 80);
      const { runId } = await service.start(
        'flow',
        Array.from({ length: 81 }, (_, n) => n),
      );
      expect((await service.detail(runId)).status).toBe('waiting');
      must(await publish(service, ''));
      expect((await service.detail(runId)).status).toBe('succeeded');
    });

    it.each([63, 64, 65, 66, 130])('%i waits and events of one key, found again in the store', async (count) => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) ids.push((await service.start('flow', { id: 1 })).runId);
      const second = { ...service, runs: await service.reopen() };
      const served: unknown[] = [];
      for (let n = 0; n < count; n += 1) served.push(must(await publish(second, 'ticket/1')).runId);
      expect(served).toEqual(ids);
      for (let n = 0; n < count; n += 1) must(await publish(second, 'ticket/1'));
      const third = await second.reopen();
      const start = async () =>
        must(await third.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: { id: 1 } })).run.status;
      const found: unknown[] = [];
      for (let n = 0; n < count; n += 1) found.push(await start());
      expect(found).toEqual(Array.from({ length: count }, () => 'queued'));
      expect(await start()).toBe('waiting');
    });

    it('an event asks the store nothing of a wait that memory knows, and finds one that it does not', async () => {
      const store = await open();
      let asked = 0;
      const load: RunStore['load'] = (lookups) => {
        asked += lookups.filter(({ kind }) => kind === 'meeting').length;
        return store.load(lookups);
      };
      const service = await createOn({ definitions: [waiting({ accept_parked: true })], store: { ...store, load } });
      const { runId } = await service.start('flow', { id: 1 });
      expect(asked).toBe(1);
      expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'delivered', runId });
      expect(asked).toBe(1);
      // Nothing waits and nothing is parked any more: memory has let go of it.
      expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'parked' });
      expect(asked).toBe(2);
      expect((await service.start('flow', { id: 1 })).status).toBe('queued');
      expect(asked).toBe(2);
    });

    it('a wait that was cancelled or timed out takes no event, whatever memory held of it', async () => {
      const service = await createHarness({ definitions: [waiting({ timeout_ms: 5000 })] });
      const cancelled = await service.start('flow', { id: 1 });
      const late = await service.start('flow', { id: 1 });
      must(await service.runs.cancelRun({ ...ALL, runId: cancelled.runId }));
      await service.pass(6000);
      expect((await service.detail(late.runId)).waits).toEqual([]);
      const { runId } = await service.start('flow', { id: 1 });
      expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'delivered', runId });
    });

    it('an event and the wait that it is for meet, sent in the same moment', async () => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      const [run, outcome] = await Promise.all([service.start('flow', { id: 1 }), publish(service, 'ticket/1')]);
      expect(must(outcome)).toEqual({ outcome: 'delivered', runId: run.runId });
    });

    it('a parked event is taken by a later wait that accepts parked events, and only by such a one', async () => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      must(await publish(service, 'ticket/1'));
      const taker = await service.start('flow', { id: 1 });
      expect(taker).toMatchObject({ status: 'queued', cursor: 'then' });
      expect((await service.start('flow', { id: 1 })).status).toBe('waiting');

      const strict = await createHarness({ definitions: [waiting()] });
      must(await publish(strict, 'ticket/1'));
      expect((await strict.start('flow', { id: 1 })).status).toBe('waiting');
    });

    it('a parked event expires after 24 hours', async () => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      must(await publish(service, 'ticket/1'));
      must(await publish(service, 'ticket/2'));
      service.time.advance(24 * 3600_000 - 1);
      expect((await service.start('flow', { id: 1 })).status).toBe('queued');
      service.time.advance(1);
      expect((await service.start('flow', { id: 2 })).status).toBe('waiting');
    });

    it('an event_id seen before in the project is a duplicate: nothing is written', async () => {
      const service = await createHarness({ definitions: [waiting()] });
      const { runId } = await service.start('flow', { id: 1 });
      const second = await service.start('flow', { id: 1 });
      const sent = await Promise.all([
        publish(service, 'ticket/1', { eventId: 'e' }),
        publish(service, 'ticket/1', { eventId: 'e' }),
      ]);
      expect(sent.map((one) => must(one).outcome).toSorted()).toEqual(['delivered', 'duplicate']);
      expect(must(await publish(service, 'ticket/1', { eventId: 'e' }))).toEqual({ outcome: 'duplicate', runId });
      expect((await service.detail(second.runId)).status).toBe('waiting');
      expect(must(await publish(service, 'ticket/1', { eventId: 'e', project: 'other' })).outcome).toBe('parked');
    });

    it('event_id seen before: a parked event that a wait took is a duplicate for as long as its run is kept', async () => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      const resend = async () => must(await publish(service, 'ticket/1', { eventId: 'e' }));
      expect((await resend()).outcome).toBe('parked');
      expect(await resend()).toEqual({ outcome: 'duplicate' });
      service.time.advance(DAY - 1);
      const { runId } = await service.start('flow', { id: 1 });
      expect((await service.detail(runId)).status).toBe('queued');
      const again = await service.start('flow', { id: 1 });
      for (const ms of [0, 1, DAY, 30 * DAY]) {
        service.time.advance(ms);
        await service.runs.tick();
        expect(await resend()).toEqual({ outcome: 'duplicate', runId });
      }
      expect((await service.detail(again.runId)).status).toBe('waiting');
      must(await service.runs.cancelRun({ ...ALL, runId }));
      expect(await resend()).toEqual({ outcome: 'duplicate', runId });
      await service.runs.trimFinishedRuns('p', service.time.now() + 1, 10);
      expect(await resend()).toEqual({ outcome: 'delivered', runId: again.runId });
    });

    it('event_id seen before: known to the event that is parked and taken in the same moment', async () => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      const [parked, run, again] = await Promise.all([
        publish(service, 'ticket/1', { eventId: 'e' }),
        service.start('flow', { id: 1 }),
        publish(service, 'ticket/1', { eventId: 'e' }),
      ]);
      expect(must(parked)).toEqual({ outcome: 'parked' });
      expect(must(again)).toEqual({ outcome: 'duplicate', runId: run.runId });
      service.time.advance(DAY + 1);
      await service.runs.tick();
      expect(must(await publish(service, 'ticket/1', { eventId: 'e' }))).toMatchObject({ outcome: 'duplicate' });
    });

    it('event_id seen before: one that nobody took is known for the 24 hours that its event can be taken', async () => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      const resend = async () => must(await publish(service, 'ticket/1', { eventId: 'e' }));
      expect((await resend()).outcome).toBe('parked');
      service.time.advance(DAY - 1);
      expect(await resend()).toEqual({ outcome: 'duplicate' });
      // Gone to the millisecond, whether or not the rows were swept since.
      service.time.advance(1);
      expect(await resend()).toEqual({ outcome: 'parked' });
      await service.runs.tick();
      const { runId } = await service.start('flow', { id: 1 });
      expect((await service.detail(runId)).status).toBe('queued');
      expect(await resend()).toEqual({ outcome: 'duplicate', runId });
    });

    it('a signal delivers to the open wait of that run, whatever its key', async () => {
      const service = await createHarness({ definitions: [waiting()] });
      await service.start('flow', { id: 1 });
      const { runId } = await service.start('flow', { id: 1 });
      const signal = (event: string) => service.runs.signalRun({ ...ALL, runId, event, payload: 5 });
      expect(codeOf(await signal('other'))).toBe('conflict');
      expect(must(await signal('approval'))).toEqual({ outcome: 'delivered', runId });
      expect(codeOf(await signal('approval'))).toBe('conflict');
      must(await service.runs.cancelRun({ ...ALL, runId }));
      expect(codeOf(await signal('approval'))).toBe('run_terminal');
      expect(codeOf(await service.runs.signalRun({ ...ALL, runId: 'nope', event: 'approval', payload: 1 }))).toBe(
        'not_found',
      );
    });

    it('keeps its deadline when the timer of the wait before it, read as due, comes late', async () => {
      const store = await open();
      let late: Awaited<ReturnType<RunStore['dueTimers']>> | undefined;
      const slow: RunStore = {
        ...store,
        dueTimers: async (now, limit) => {
          const read = late ?? (await store.dueTimers(now, limit));
          late = undefined;
          return read;
        },
      };
      const wait = (id: string) => ({ id, kind: 'wait_event', event: 'approval', key: id, timeout_ms: 5000 });
      const service = await createOn({ store: slow, definitions: [aDefinition('flow', [wait('a'), wait('b')])] });
      const { runId } = await service.start('flow');
      service.time.advance(5000);
      late = await store.dueTimers(service.time.now(), 10);
      expect(late).toMatchObject([{ runId, name: 'wait' }]);
      // Meanwhile the event comes, and the next wait opens with a deadline of the same name.
      must(await publish(service, 'a'));
      await service.runs.tick();
      expect(await service.detail(runId)).toMatchObject({
        cursor: 'b',
        timers: [{ name: 'wait', stepId: 'b', dueAt: service.time.now() + 5000 }],
      });
      await service.pass(5000);
      expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'timeout', stepId: 'b' } });
    });

    it('at its deadline a wait fails with class timeout, and on_error decides', async () => {
      const service = await createHarness({
        definitions: [waiting({ timeout_ms: 5000, on_error: [{ class: 'timeout', to: 'then' }] })],
      });
      const { runId } = await service.start('flow', { id: 1 });
      expect((await service.detail(runId)).timers).toMatchObject([{ name: 'wait', dueAt: service.time.now() + 5000 }]);
      await service.pass(4000);
      expect((await service.detail(runId)).status).toBe('waiting');
      await service.pass(1000);
      expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'then', timers: [], waits: [] });
      expect(must(await publish(service, 'ticket/1')).outcome).toBe('parked');
    });

    it('on_timeout continue goes on with no output', async () => {
      const service = await createHarness({ definitions: [waiting({ timeout_ms: 5000, on_timeout: 'continue' })] });
      await service.start('flow', { id: 1 });
      await service.pass(5000);
      expect((await service.take()).input).toEqual({});
    });
  });

  describe('sleeps', () => {
    it('sleep_ms is never early and survives a restart', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', [{ id: 'nap', kind: 'sleep', sleep_ms: 60_000 }, task('then')])],
      });
      const { runId } = await service.start('flow');
      expect((await service.detail(runId)).timers).toEqual([
        { name: 'sleep', dueAt: service.time.now() + 60_000, stepId: 'nap' },
      ]);
      await service.pass(59_000);
      expect((await service.detail(runId)).status).toBe('waiting');
      const again = await service.reopen();
      service.time.advance(999);
      await again.tick();
      expect(must(await again.getRun({ ...ALL, runId })).status).toBe('waiting');
      service.time.advance(1);
      await again.tick();
      expect(must(await again.getRun({ ...ALL, runId }))).toMatchObject({
        status: 'queued',
        cursor: 'then',
        timers: [],
      });
      await again.tick();
      expect(
        must(await again.journal({ ...ALL, runId, after: -1, limit: 100 })).events.filter(
          ({ kind }) => kind === 'run.resumed',
        ).length,
      ).toBe(1);
    });

    it('sleep_until takes a template; beyond the year 2262 it is held as never due', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', [{ id: 'nap', kind: 'sleep', sleep_until: '${input.at}' }, task('then')])],
      });
      const soon = await service.start('flow', { at: '2026-03-01T12:00:10.0000001Z' });
      expect((await service.detail(soon.runId)).timers[0]?.dueAt).toBe(service.time.now() + 10_001);
      const never = await service.start('flow', { at: '2400-01-01T00:00:00Z' });
      expect((await service.detail(never.runId)).timers).toEqual([{ name: 'sleep', stepId: 'nap' }]);
      expect(await service.runs.findStuckRuns()).toEqual([]);
      const bad = await service.start('flow', { at: 'tomorrow' });
      expect(await service.detail(bad.runId)).toMatchObject({ status: 'failed', error: { class: 'expression' } });
    });
  });

  describe('children', () => {
    const child = aDefinition('kid', [task('work', { input: { doc: '${input.doc}' }, next: 'end' })]);
    const parent = (more: object = {}) =>
      aDefinition('flow', [
        {
          id: 'index',
          kind: 'child',
          definition: 'kid',
          for_each: '${input.docs}',
          input: { doc: '${item}' },
          max_parallel: 2,
          ...more,
        },
        task('then', { input: { all: '${steps.index.output}' }, next: 'end' }),
      ]);

    it('for_each starts one child an item, at most max_parallel at once, and gives the outputs in item order', async () => {
      const service = await createHarness({ definitions: [child, parent()] });
      const { runId, traceId } = await service.start(
        'flow',
        { docs: ['a', 'b', 'c'] },
        { correlation: { user_id: 'u' } },
      );
      const [first, second, none] = await service.claim('w1', 5);
      expect(none).toBeUndefined();
      if (first === undefined || second === undefined) throw new Error('two were expected');
      expect([first.input, second.input]).toEqual([{ doc: 'a' }, { doc: 'b' }]);
      expect(first).toMatchObject({ traceId, project: 'p', correlation: { user_id: 'u' } });
      must(await service.complete(second, 'B'));
      const third = await service.take();
      expect(third.input).toEqual({ doc: 'c' });
      await Promise.all([service.complete(third, 'C'), service.complete(first, 'A')]);
      expect((await service.take()).input).toEqual({ all: ['A', 'B', 'C'] });
      const detail = await service.detail(runId);
      expect(detail.children.map(({ index, status, stepId }) => [index, status, stepId])).toEqual([
        [0, 'succeeded', 'index'],
        [1, 'succeeded', 'index'],
        [2, 'succeeded', 'index'],
      ]);
      expect((await service.kinds(runId)).filter((kind) => kind.startsWith('child.'))).toEqual([
        'child.started',
        'child.started',
        'child.finished',
        'child.started',
        'child.finished',
        'child.finished',
      ]);
    });

    it('for_each over 10,000 children that end at once: no commit starts more than 100, and the outputs are in order', async () => {
      const started: number[] = [];
      const store = await open();
      const watched: RunStore = {
        ...store,
        commit: (changes) => {
          started.push(changes.runsInserted.filter(({ parent }) => parent !== undefined).length);
          return store.commit(changes);
        },
      };
      const docs = Array.from({ length: 10_000 }, (_, n) => n);
      const quick = aDefinition('kid', [{ id: 'done', kind: 'succeed', output: '${input.doc}' }]);
      const service = await createOn({ store: watched, definitions: [quick, parent({ max_parallel: 1000 })] });
      const { runId } = await service.start('flow', { docs });
      for (let turn = 0; turn < 1000 && (await recordOf(store, runId)).status === 'waiting'; turn += 1)
        await settled(service.runs);
      expect((await service.take()).input).toEqual({ all: docs });
      expect(Math.max(...started)).toBe(100);
      expect(started.reduce((sum, n) => sum + n)).toBe(10_000);
      expect((await service.detail(runId)).timers).toEqual([]);
      expect(service.faults).toEqual([]);
    });

    it('children that one commit could not start are started by the next service, and none is started twice', async () => {
      const docs = Array.from({ length: 250 }, (_, n) => n);
      const store = await open();
      let dead = false;
      const dying: RunStore = {
        ...store,
        commit: async (changes) => {
          if (dead) throw new StoreUnavailable('the process is gone');
          dead = changes.runsInserted.some(({ definitionId }) => definitionId === 'flow');
          return store.commit(changes);
        },
      };
      const service = await createOn({ store: dying, definitions: [child, parent({ max_parallel: 1000 })] });
      const { runId } = await service.start('flow', { docs });
      expect(await service.detail(runId)).toMatchObject({
        status: 'waiting',
        timers: [{ name: 'children', stepId: 'index', dueAt: service.time.now() }],
      });
      expect((await service.detail(runId)).children).toHaveLength(100);
      expect(await service.runs.findStuckRuns()).toEqual([]);
      dead = false;
      const next = await service.reopen();
      await settled(next);
      const { children, timers } = await service.detail(runId);
      expect(children).toHaveLength(250);
      expect(timers).toEqual([]);
      const started = (await service.journal(runId)).filter(({ kind }) => kind === 'child.started');
      expect(started.map(({ data }) => data['index'])).toEqual(docs);
      for (const seq of [0, 100, 200, 251])
        expect(must(await next.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq })).value).toBeDefined();
      must(await next.cancelRun({ ...ALL, runId }));
      expect((await service.detail(runId)).children.every(({ status }) => status === 'cancelled')).toBe(true);
    });

    it('cancel ends a step that has yet to start children, and the timer that would', async () => {
      const docs = Array.from({ length: 150 }, (_, n) => n);
      const service = await createHarness({ definitions: [child, parent({ max_parallel: 1000 })] });
      const [{ runId }, cancelled] = await Promise.all([
        service.start('flow', { docs }),
        service.start('flow', { docs }),
      ]);
      must(await service.runs.cancelRun({ ...ALL, runId: cancelled.runId }));
      await settled(service.runs);
      const ended = await service.detail(cancelled.runId);
      expect(ended).toMatchObject({ status: 'cancelled', timers: [] });
      expect(ended.children.filter(({ status }) => status !== 'cancelled')).toEqual([]);
      expect((await service.detail(runId)).children).toHaveLength(150);
      expect(service.faults).toEqual([]);
    });

    it('cancel ends a tree of more children than one commit takes, those beyond right after it', async () => {
      const branches = aDefinition('tree', [
        {
          id: 'grow',
          kind: 'child',
          definition: 'flow',
          for_each: '${input.branches}',
          input: { docs: '${item}' },
          max_parallel: 20,
        },
      ]);
      const service = await createHarness({ definitions: [child, parent({ max_parallel: 1000 }), branches] });
      const leaves = Array.from({ length: 60 }, (_, n) => n);
      const { runId } = await service.start('tree', { branches: Array.from({ length: 20 }, () => leaves) });
      const openRuns = async () => (await service.runs.counts()).openRuns;
      const dueIsDone = async () => {
        for (let turn = 0; turn < 100 && (await service.store.dueTimers(service.time.now(), 1)).length > 0; turn += 1)
          await settled(service.runs);
      };
      await dueIsDone();
      expect(await openRuns()).toBe(1 + 20 + 20 * 60);
      must(await service.runs.cancelRun({ ...ALL, runId }));
      await dueIsDone();
      expect(await openRuns()).toBe(0);
      expect(await service.store.dueTimers(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
      expect(service.faults).toEqual([]);
    });

    it("without for_each the output is the child's", async () => {
      const service = await createHarness({
        definitions: [
          child,
          aDefinition('flow', [{ id: 'index', kind: 'child', definition: 'kid', input: { doc: 1 } }]),
        ],
      });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), { done: true }));
      expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: { done: true } });
    });

    it('children that end in the turn that starts them are all counted, in one answer', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('kid', [{ id: 'at_once', kind: 'succeed', output: '${input.doc}' }]),
          aDefinition('flow', [
            { id: 'index', kind: 'child', definition: 'kid', for_each: '${input.docs}', input: { doc: '${item}' } },
          ]),
        ],
      });
      const docs = Array.from({ length: 100 }, (_, n) => n);
      const run = await service.start('flow', { docs });
      expect(run).toMatchObject({ status: 'succeeded', output: docs });
    });

    it('an empty list gives an empty output and starts nobody', async () => {
      const service = await createHarness({ definitions: [child, parent()] });
      await service.start('flow', { docs: [] });
      expect((await service.take()).input).toEqual({ all: [] });
    });

    it('a failed child fails the step with class fatal and code child_failed, and its siblings are cancelled', async () => {
      const service = await createHarness({
        definitions: [child, parent({ on_error: [{ code: 'child_failed', to: 'end' }] })],
      });
      const { runId } = await service.start('flow', { docs: ['a', 'b', 'c'] });
      const lease = await service.take();
      must(await service.fail(lease, 'fatal'));
      const detail = await service.detail(runId);
      expect(detail.status).toBe('succeeded');
      expect(detail.children.map(({ status }) => status)).toEqual(['failed', 'cancelled']);
      expect(await service.claim()).toEqual([]);
    });

    it('a cancelled child fails the step with class cancelled', async () => {
      const service = await createHarness({ definitions: [child, parent()] });
      const { runId } = await service.start('flow', { docs: ['a'] });
      const kid = (await service.detail(runId)).children[0];
      must(await service.runs.cancelRun({ ...ALL, runId: kid?.runId ?? '' }));
      expect(await service.detail(runId)).toMatchObject({
        status: 'failed',
        error: { class: 'cancelled', stepId: 'index' },
      });
    });

    it('cancel reaches children and grandchildren, and their leases', async () => {
      const grand = aDefinition('grand', [
        { id: 'sub', kind: 'child', definition: 'flow', input: { docs: ['x', 'y'] } },
      ]);
      const service = await createHarness({ definitions: [child, parent(), grand] });
      const { runId } = await service.start('grand');
      const lease = await service.take();
      must(await service.runs.cancelRun({ ...ALL, runId }));
      expect(codeOf(await service.complete(lease))).toBe('run_terminal');
      const all = must(await service.runs.listRuns({ ...ALL, limit: 50 })).items;
      expect(all.length).toBe(4);
      expect(all.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled']);
      expect(await service.runs.findStuckRuns()).toEqual([]);
    });

    it('a definition that starts itself without end fails instead', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', [{ id: 'again', kind: 'child', definition: 'flow' }])],
      });
      const { runId } = await service.start('flow');
      expect(await service.detail(runId)).toMatchObject({
        status: 'failed',
        error: { class: 'fatal', code: 'child_failed' },
      });
    });
  });

  describe('limits', () => {
    it('entering one step more than max_steps ends the run with an error naming the limit', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [task('one', { next: [{ when: 'visits.one > 99', to: 'end' }, { to: 'one' }] })], {
            limits: { max_steps: 3 },
          }),
        ],
      });
      const { runId } = await service.start('flow');
      for (let n = 0; n < 3; n += 1) must(await service.complete(await service.take()));
      expect(await service.detail(runId)).toMatchObject({
        status: 'failed',
        error: { class: 'limit', limit: 'max_steps' },
      });
    });

    it('run_timeout_ms ends the run wherever it is', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', tasks('one'), { limits: { run_timeout_ms: 10_000 } })],
      });
      const run = await service.start('flow');
      expect(run.deadlineAt).toBe(service.time.now() + 10_000);
      const lease = await service.take();
      expect(lease.deadlineAt).toBe(run.deadlineAt);
      await service.pass(10_000);
      expect(await service.detail(run.runId)).toMatchObject({
        status: 'failed',
        timers: [],
        error: { class: 'limit', limit: 'run_timeout_ms' },
        attempts: [{ status: 'cancelled' }],
      });
      expect(codeOf(await service.complete(lease))).toBe('run_terminal');
    });

    it('max_cost_usd counts the priced usage of steps, also of failed ones', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [task('one', { retry: { backoff_ms: 0 } }), task('two')], {
            limits: { max_cost_usd: 2.5 },
          }),
        ],
      });
      const { runId } = await service.start('flow');
      const usage = [{ model: 'm', inputTokens: 500, outputTokens: 500 }];
      const first = await service.take();
      must(
        await service.runs.fail({
          ...ALL,
          leaseId: first.leaseId,
          workerId: 'w1',
          error: { class: 'retryable', message: 'x' },
          usage,
        }),
      );
      must(await service.complete(await service.take(), 1, { usage }));
      expect(await service.detail(runId)).toMatchObject({
        status: 'queued',
        usage: { inputTokens: 1000, outputTokens: 1000, totalTokens: 2000, cost: 2 },
        cost: { totalCost: 2, currency: 'USD' },
      });
      must(
        await service.complete(await service.take(), 1, { usage: [...usage, { model: 'unknown', inputTokens: 5 }] }),
      );
      expect(await service.detail(runId)).toMatchObject({
        status: 'failed',
        error: { class: 'limit', limit: 'max_cost_usd' },
      });
    });

    it('a run whose usage cannot be priced has no cost, rather than zero', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), 1, { usage: [{ model: 'unknown', inputTokens: 5 }] }));
      const run = await service.detail(runId);
      expect(run.cost).toBeUndefined();
      expect(run.usage).toEqual({ inputTokens: 5, outputTokens: 0, totalTokens: 5 });
    });
  });

  describe('bounds', () => {
    it('a run that holds more than it may takes no further output, and can still be ended', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), 'x'.repeat(32 * 1024 * 1024)));
      const lease = await service.take();
      expect(codeOf(await service.complete(lease, 1))).toBe('payload_too_large');
      expect(must(await service.complete(lease)).runStatus).toBe('succeeded');
      expect((await service.detail(runId)).status).toBe('succeeded');
    });
  });

  describe('starting and cancelling', () => {
    it('an idempotency key used again returns the first run, also when both come at once', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      const start = (project = 'p') =>
        service.runs.startRun({ ...ALL, project, definitionId: 'flow', input: {}, idempotencyKey: 'k' });
      const [a, b] = (await Promise.all([start(), start()])).map(must);
      expect([a?.created, b?.created]).toEqual([true, false]);
      expect(b?.run.runId).toBe(a?.run.runId);
      expect(must(await start('other')).created).toBe(true);
      must(await service.complete(await service.take()));
      expect(must(await start())).toMatchObject({ created: false, run: { status: 'succeeded' } });
    });

    it('pins the highest stored version at start; an unknown definition is not found', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', tasks('one')), aDefinition('flow', tasks('one'), { version: 3 })],
      });
      expect((await service.start('flow')).definitionVersion).toBe(3);
      expect((await service.start('flow', {}, { definitionVersion: 1 })).definitionVersion).toBe(1);
      expect(codeOf(await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'nope', input: {} }))).toBe(
        'not_found',
      );
      expect(
        codeOf(
          await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', definitionVersion: 2, input: {} }),
        ),
      ).toBe('not_found');
    });

    it('validates the input against the schema of the definition', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', tasks('one'), { input_schema: { type: 'object', required: ['ticket'] } })],
      });
      expect(codeOf(await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: {} }))).toBe(
        'input_invalid',
      );
      expect((await service.start('flow', { ticket: 1 })).status).toBe('queued');
    });

    it('a terminal run is returned unchanged by cancel', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      const { runId } = await service.start('flow');
      must(await service.complete(await service.take(), 1));
      const before = await service.detail(runId);
      service.time.advance(1000);
      expect(must(await service.runs.cancelRun({ ...ALL, runId }))).toMatchObject({
        status: 'succeeded',
        updatedAt: before.updatedAt,
      });
      expect((await service.journal(runId)).at(-1)?.data).toEqual({ status: 'succeeded' });
      expect(codeOf(await service.runs.cancelRun({ ...ALL, runId: 'nope' }))).toBe('not_found');
      expect(codeOf(await service.runs.cancelRun({ reach: ['q'], runId }))).toBe('forbidden');
    });

    it('refuses what the key does not reach', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      expect(codeOf(await service.runs.startRun({ reach: ['q'], project: 'p', definitionId: 'flow', input: {} }))).toBe(
        'forbidden',
      );
      const { runId } = await service.start('flow');
      expect(codeOf(await service.runs.getRun({ reach: ['q'], runId }))).toBe('forbidden');
      expect(codeOf(await service.runs.journal({ reach: ['q'], runId, after: -1, limit: 1 }))).toBe('forbidden');
    });
  });

  describe('registering', () => {
    it('stores definitions once; other content under the same id and version is a conflict, and nothing is stored', async () => {
      const service = await createHarness();
      const one = aDefinition('flow', tasks('one'));
      const register = (definitions: readonly never[] | readonly unknown[]) =>
        service.runs.registerWorker({ ...ALL, workerId: 'w', definitions: definitions as never });
      expect(must(await register([one]))).toMatchObject({
        leaseTtlMs: 30_000,
        heartbeatMs: 10_000,
        definitions: [{ stored: 'created' }],
      });
      expect(must(await register([one])).definitions).toEqual([{ id: 'flow', version: 1, stored: 'unchanged' }]);
      expect(codeOf(await register([aDefinition('new', tasks('one')), aDefinition('flow', tasks('two'))]))).toBe(
        'definition_conflict',
      );
      expect(codeOf(await register([aDefinition('new', tasks('one')), { id: 'bad' }]))).toBe('definition_invalid');
      expect(codeOf(await service.runs.getDefinition('new'))).toBe('not_found');
      expect(must(await service.runs.getDefinition('flow'))).toMatchObject({
        versions: [{ version: 1, openRuns: 0, workers: 1 }],
        latest: { id: 'flow' },
      });
      expect(must(await service.runs.getDefinitionVersion('flow', 1)).document).toEqual(one);
    });

    it('a worker that never registered may not claim', async () => {
      const service = await createHarness();
      expect(codeOf(await service.runs.claim({ ...ALL, workerId: 'x', max: 1, waitMs: 0 }))).toBe('not_found');
    });

    it('a worker that registered with the service before it restarted may claim', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      await service.start('flow');
      const again = await service.reopen();
      expect(must(await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 })).length).toBe(1);
    });
  });

  describe('claims', () => {
    const open = () =>
      createHarness({ definitions: [aDefinition('flow', tasks('one', 'two')), aDefinition('other', tasks('one'))] });

    it('a claim that waits is answered by the commit that makes a step runnable', async () => {
      const service = await open();
      const claimed = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 20_000 });
      await settled(service.runs);
      const { runId } = await service.start('flow');
      const [lease] = must(await claimed);
      expect(lease?.runId).toBe(runId);
      const next = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 20_000 });
      await settled(service.runs);
      expect(must(await service.complete(lease as never)).nextStep).toBe('two');
      expect(must(await next)[0]).toMatchObject({ runId, stepId: 'two' });
    });

    it('answers empty when its time is over, at once when the caller goes away, and at once when the service stops', async () => {
      const service = await open();
      const timed = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 5000 });
      await settled(service.runs);
      service.time.advance(5000);
      expect(must(await timed)).toEqual([]);
      const gone = new AbortController();
      const left = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 5000 }, gone.signal);
      await settled(service.runs);
      gone.abort();
      expect(must(await left)).toEqual([]);
      const held = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 5000 });
      await settled(service.runs);
      const closed = service.runs.close();
      expect(must(await held)).toEqual([]);
      await closed;
    });

    it('offers no more than max, and older steps first', async () => {
      const service = await open();
      const ids = [];
      for (let n = 0; n < 4; n += 1) {
        ids.push((await service.start('flow')).runId);
        service.time.advance(10);
      }
      expect((await service.claim('w1', 3)).map(({ runId }) => runId)).toEqual(ids.slice(0, 3));
      expect((await service.claim('w1', 3)).map(({ runId }) => runId)).toEqual(ids.slice(3));
    });

    it('a started run goes before a new one of the same age', async () => {
      const service = await open();
      const begun = await service.start('flow');
      const lease = await service.take();
      const fresh = await service.start('flow');
      must(await service.complete(lease));
      expect((await service.claim('w1', 2)).map(({ runId }) => runId)).toEqual([begun.runId, fresh.runId]);
    });

    it('an offer that went back keeps its age', async () => {
      const service = await open();
      const old = await service.start('flow');
      const [lease] = await service.claim();
      service.time.advance(1000);
      const young = await service.start('flow');
      // Given back later than the young one came: counted from then, it would be the younger of the two.
      service.time.advance(1000);
      await service.runs.giveBack([lease?.leaseId ?? '']);
      expect((await service.claim('w1', 2)).map(({ runId }) => runId)).toEqual([old.runId, young.runId]);
    });

    it('a claim may be limited to one run', async () => {
      const service = await open();
      await service.start('flow');
      const { runId } = await service.start('flow');
      const claimed = must(await service.runs.claim({ ...ALL, workerId: 'w1', max: 5, waitMs: 1000, runId }));
      expect(claimed.map((lease) => lease.runId)).toEqual([runId]);
      const next = service.runs.claim({ ...ALL, workerId: 'w1', max: 5, waitMs: 60_000, runId });
      await settled(service.runs);
      must(await service.complete(claimed[0] as never));
      expect(must(await next)[0]).toMatchObject({ runId, stepId: 'two' });
    });

    it('offers only definitions that the worker registered, and only its project', async () => {
      const service = await open();
      must(
        await service.runs.registerWorker({
          ...ALL,
          workerId: 'w2',
          definitions: [aDefinition('other', tasks('one'))],
          project: 'q',
        }),
      );
      await service.start('flow');
      await service.start('other');
      expect(await service.claim('w2')).toEqual([]);
      const { runId } = must(
        await service.runs.startRun({ ...ALL, project: 'q', definitionId: 'other', input: {} }),
      ).run;
      expect((await service.claim('w2', 5)).map((lease) => lease.runId)).toEqual([runId]);
    });

    it('a long queue that a worker may not have does not hide what it may have', async () => {
      const service = await open();
      must(
        await service.runs.registerWorker({
          ...ALL,
          workerId: 'w2',
          definitions: [aDefinition('flow', tasks('one', 'two'))],
          project: 'q',
        }),
      );
      for (let n = 0; n < 25; n += 1) await Promise.all(Array.from({ length: 100 }, () => service.start('flow')));
      service.time.advance(1);
      const { runId } = must(
        await service.runs.startRun({ ...ALL, project: 'q', definitionId: 'flow', input: {} }),
      ).run;
      const again = await service.reopen();
      const claimed = must(await again.claim({ ...ALL, workerId: 'w2', max: 5, waitMs: 1000 }));
      expect(claimed.map((lease) => lease.runId)).toEqual([runId]);
    });

    it('more runnable runs than memory holds are all offered once, in order', async () => {
      const service = await open();
      const ids: string[] = [];
      for (let n = 0; n < 30; n += 1) {
        service.time.advance(1);
        ids.push(
          ...(await Promise.all(Array.from({ length: 100 }, () => service.start('flow')))).map(({ runId }) => runId),
        );
      }
      const again = await service.reopen();
      const claimed: string[] = [];
      for (let n = 0; n < 300; n += 1)
        claimed.push(
          ...must(await again.claim({ ...ALL, workerId: 'w1', max: 10, waitMs: 1000 })).map(({ runId }) => runId),
        );
      expect(new Set(claimed).size).toBe(3000);
      expect(claimed).toEqual(ids);
    });
  });

  describe('looking', () => {
    it('the snapshot at any seq is what the run was after that entry', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [task('one', { next: [{ when: 'visits.one >= 30', to: 'end' }, { to: 'one' }] })]),
        ],
      });
      const { runId } = await service.start('flow');
      const seen = new Map<number, unknown>();
      const note = async (): Promise<void> => {
        const seq = (await service.journal(runId)).at(-1)?.seq ?? -1;
        seen.set(seq, must(await service.runs.getActor({ ...ALL, type: 'run', id: runId })));
      };
      await note();
      for (let n = 0; n < 30; n += 1) {
        const [lease] = await service.claim();
        await note();
        must(await service.complete(lease as never));
        await note();
      }
      for (const [seq, now] of seen) {
        const { value, context } = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq }));
        expect({ value, context }).toEqual({
          value: (now as { value: unknown }).value,
          context: (now as { context: unknown }).context,
        });
      }
      expect(codeOf(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: 100_000 }))).toBe('not_found');
    });

    it('looks back past a checkpoint', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [task('one', { next: [{ when: 'visits.one >= 300', to: 'end' }, { to: 'one' }] })]),
        ],
      });
      const { runId } = await service.start('flow');
      for (let n = 0; n < 300; n += 1) must(await service.complete(await service.take()));
      expect(await service.store.checkpoint(runId, 10_000)).toBeDefined();
      const end = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId }));
      const journal = [];
      for (let after = -1; ; ) {
        const page = must(await service.runs.journal({ ...ALL, runId, after, limit: 500 }));
        if (page.events.length === 0) break;
        journal.push(...page.events);
        after = page.nextAfter;
      }
      expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_, index) => index));
      const atEnd = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: journal.length - 1 }));
      expect({ value: atEnd.value, context: atEnd.context }).toEqual({ value: end.value, context: end.context });
      const leased = journal.filter(({ kind }) => kind === 'step.leased')[200];
      const then = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: leased?.seq ?? -1 }));
      expect(then.value).toEqual({ active: { one: 'leased' } });
      expect(then.context).toMatchObject({ visits: { one: 201 }, leaseId: leased?.leaseId });
    });

    it('the journal can be followed: pages in committed order until the run has ended', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      const { runId } = await service.start('flow');
      const stream = must(await service.runs.followJournal({ ...ALL, runId, after: 0 }, new AbortController().signal));
      const read = (async () => {
        const seen: number[] = [];
        for await (const entries of stream) seen.push(...entries.map(({ seq }) => seq));
        return seen;
      })();
      const lease = await service.take();
      await settled(service.runs);
      must(await service.complete(lease));
      expect(await read).toEqual([1, 2, 3, 4, 5]);
      const over = must(await service.runs.followJournal({ ...ALL, runId, after: 5 }, new AbortController().signal));
      for await (const entries of over) expect(entries).toEqual([]);
    });

    it('a follower ends when its reader goes away and when the service closes', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      const { runId } = await service.start('flow');
      const gone = new AbortController();
      const count = async (signal: AbortSignal): Promise<number> => {
        let pages = 0;
        for await (const _ of must(await service.runs.followJournal({ ...ALL, runId, after: -1 }, signal))) pages += 1;
        return pages;
      };
      const left = count(gone.signal);
      const kept = count(new AbortController().signal);
      await settled(service.runs);
      gone.abort();
      expect(await left).toBe(1);
      await service.runs.close();
      expect(await kept).toBe(1);
    });

    it('names the chain that led to an attempt, oldest last', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', [task('one', { retry: { backoff_ms: 0 } }), task('two')])],
      });
      const { runId } = await service.start('flow');
      must(await service.fail(await service.take(), 'retryable'));
      must(await service.complete(await service.take()));
      const lease = await service.take();
      const cause = must(await service.runs.stepCause({ ...ALL, runId, stepId: 'two' }));
      expect(cause.attempt?.leaseId).toBe(lease.leaseId);
      expect(cause.chain.map(({ kind }) => kind)).toEqual([
        'step.leased',
        'cursor.moved',
        'step.finished',
        'step.requeued',
        'step.failed',
        'cursor.moved',
        'run.started',
      ]);
      expect(codeOf(await service.runs.stepCause({ ...ALL, runId, stepId: 'nope' }))).toBe('not_found');
    });

    it('lists runs newest-updated first, by key, with cursors that belong to their filters', async () => {
      const service = await createHarness({
        definitions: [aDefinition('flow', tasks('one')), aDefinition('other', tasks('one'))],
      });
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) {
        service.time.advance(1);
        ids.push(
          (await service.start(n === 2 ? 'other' : 'flow', {}, { correlation: { user_id: `u${n % 2}` } })).runId,
        );
      }
      const list = async (more: object = {}) => must(await service.runs.listRuns({ ...ALL, limit: 2, ...more }));
      const first = await list();
      expect(first.items.map(({ runId }) => runId)).toEqual([ids[4], ids[3]]);
      const second = await list({ cursor: first.nextCursor });
      const third = await list({ cursor: second.nextCursor });
      expect([...second.items, ...third.items].map(({ runId }) => runId)).toEqual([ids[2], ids[1], ids[0]]);
      expect(third.nextCursor).toBeUndefined();
      expect(
        codeOf(await service.runs.listRuns({ ...ALL, limit: 2, cursor: first.nextCursor ?? '', status: 'queued' })),
      ).toBe('invalid_parameter');
      expect((await list({ definitionId: 'other', limit: 10 })).items.map(({ runId }) => runId)).toEqual([ids[2]]);
      expect((await list({ userId: 'u1', limit: 10 })).items.map(({ runId }) => runId)).toEqual([ids[3], ids[1]]);
      expect((await list({ status: 'succeeded' })).items).toEqual([]);
      expect((await list({ project: 'q' })).items).toEqual([]);
      expect(codeOf(await service.runs.listRuns({ reach: ['q'], project: 'p', limit: 2 }))).toBe('forbidden');
      service.time.advance(1000);
      await service.take();
      expect((await list({ limit: 1 })).items[0]?.runId).toBe(ids[0]);
    });

    it('lists workers, leases, actors and machines', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', [task('one-a'), task('two')])] });
      const { runId } = await service.start('flow');
      const lease = await service.take();
      expect(must(await service.runs.listWorkers({ ...ALL, limit: 10 })).items).toMatchObject([
        { workerId: 'w1', leases: 1, definitions: [{ id: 'flow', version: 1 }] },
      ]);
      expect(must(await service.runs.listLeases({ ...ALL, limit: 10 })).items).toMatchObject([
        { leaseId: lease.leaseId, runId, status: 'running', definitionId: 'flow', workerId: 'w1' },
      ]);
      expect(must(await service.runs.listActors({ ...ALL, limit: 10 })).items).toMatchObject([
        { type: 'run', id: runId, machine: 'run:flow@1', value: { active: { 'one-a': 'leased' } }, status: 'active' },
        { type: 'lease', id: lease.leaseId, machine: 'lease', value: 'running', status: 'active' },
      ]);
      expect(must(await service.runs.getActor({ ...ALL, type: 'lease', id: lease.leaseId }))).toMatchObject({
        value: 'running',
        machineVersion: 1,
      });
      expect(must(await service.runs.listMachines()).map(({ name }) => name)).toEqual(['lease', 'run:flow@1']);
      const { states } = must(await service.runs.getMachine('run:flow@1'));
      expect(states).toContain('active.one-a.queued');
      expect(must(await service.runs.getMachineDiagram('run:flow@1'))).toContain('stateDiagram-v2');
      expect(codeOf(await service.runs.getMachine('run:nope@1'))).toBe('not_found');
    });
  });

  describe('workers', () => {
    const flow = aDefinition('flow', tasks('one'));
    const ids = async (service: Awaited<ReturnType<typeof createHarness>>) =>
      must(await service.runs.listWorkers({ ...ALL, limit: 50 })).items.map(({ workerId }) => workerId);

    it('one that was not heard of for 30 days is registered no more, and may register again', async () => {
      const service = await createHarness({ definitions: [flow] });
      service.time.advance(WORKER_RETENTION_MS);
      await service.runs.tick();
      expect(await ids(service)).toEqual(['w1']);
      service.time.advance(SWEEP_MS);
      await service.runs.tick();
      expect(await ids(service)).toEqual([]);
      const claim = () => service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 0 });
      expect(codeOf(await claim())).toBe('not_found');
      must(await service.runs.registerWorker({ ...ALL, workerId: 'w1', definitions: [flow] }));
      await service.start('flow');
      expect(await service.claim()).toHaveLength(1);
    });

    it('one that claims is kept, also where the service was started again since', async () => {
      const service = await createHarness({ definitions: [flow] });
      for (let half = 0; half < 4; half += 1) {
        service.time.advance(WORKER_RETENTION_MS / 2);
        await service.claim();
        await service.runs.tick();
        expect(await ids(service)).toEqual(['w1']);
      }
      // What memory knew is written down: the next service knows it too.
      const next = await service.reopen();
      service.time.advance(WORKER_RETENTION_MS - WORKER_SEEN_MS);
      await next.tick();
      expect(must(await next.listWorkers({ ...ALL, limit: 5 })).items).toHaveLength(1);
      service.time.advance(WORKER_SEEN_MS + SWEEP_MS);
      await next.tick();
      expect(must(await next.listWorkers({ ...ALL, limit: 5 })).items).toEqual([]);
    });

    it('one that holds a lease is kept for as long as it does', async () => {
      const service = await createHarness({ definitions: [flow], leaseTtlMs: 2 * WORKER_RETENTION_MS });
      await service.start('flow');
      const lease = await service.take();
      service.time.advance(WORKER_RETENTION_MS + 1);
      await service.runs.tick();
      expect(await ids(service)).toEqual(['w1']);
      must(await service.runs.cancelRun({ ...ALL, runId: lease.runId }));
      service.time.advance(SWEEP_MS);
      await service.runs.tick();
      expect(await ids(service)).toEqual([]);
    });

    it('however many are silent, one look lets go of 500 of them', async () => {
      const service = await createHarness();
      const register = (n: number) => service.runs.registerWorker({ ...ALL, workerId: `w${n}`, definitions: [flow] });
      await Promise.all(Array.from({ length: 600 }, (_, n) => register(n)));
      const left = async () => must(await service.runs.listWorkers({ ...ALL, limit: 1000 })).items.length;
      service.time.advance(WORKER_RETENTION_MS + 1);
      await service.runs.tick();
      expect(await left()).toBe(100);
      await service.runs.tick();
      expect(await left()).toBe(100);
      service.time.advance(SWEEP_MS);
      await service.runs.tick();
      expect(await left()).toBe(0);
    });

    it('are listed by page', async () => {
      const service = await createHarness();
      for (const workerId of ['c', 'a', 'b'])
        must(await service.runs.registerWorker({ ...ALL, workerId, definitions: [flow] }));
      const first = must(await service.runs.listWorkers({ ...ALL, limit: 2 }));
      expect(first.items.map(({ workerId }) => workerId)).toEqual(['a', 'b']);
      const cursor = first.nextCursor ?? '';
      const second = must(await service.runs.listWorkers({ ...ALL, limit: 2, cursor }));
      expect(second.items.map(({ workerId }) => workerId)).toEqual(['c']);
      expect(second.nextCursor).toBeUndefined();
      expect(codeOf(await service.runs.listWorkers({ ...ALL, limit: 2, cursor: `${cursor}x` }))).toBe(
        'invalid_parameter',
      );
    });

    it('are replaced only by a key that reaches the project served or, where that is none, all that the first key did', async () => {
      const service = await createHarness();
      type Reach = 'all' | readonly string[];
      let n = 0;
      const replaced = async (by: Reach, project: string | undefined, next: Reach): Promise<string> => {
        const workerId = `w${(n += 1)}`;
        const as = (reach: Reach, more: object = {}) =>
          service.runs.registerWorker({ reach, workerId, definitions: [flow], ...more });
        must(await as(by, project === undefined ? {} : { project }));
        return codeOf(await as(next));
      };
      expect(await replaced('all', undefined, 'all')).toBe('ok');
      expect(await replaced('all', undefined, ['p'])).toBe('forbidden');
      expect(await replaced(['p'], undefined, ['p'])).toBe('ok');
      expect(await replaced(['p'], undefined, ['q'])).toBe('forbidden');
      expect(await replaced(['p'], undefined, ['q', 'p'])).toBe('ok');
      expect(await replaced(['p', 'q'], undefined, ['p'])).toBe('forbidden');
      expect(await replaced(['p'], undefined, 'all')).toBe('ok');
      expect(await replaced('all', 'p', ['p'])).toBe('ok');
      expect(await replaced('all', 'p', ['q'])).toBe('forbidden');
      // Those that come at once are told apart as well.
      const together = await Promise.all(
        [['p'], ['q']].map((reach) => service.runs.registerWorker({ reach, workerId: 'w', definitions: [flow] })),
      );
      expect(together.map(codeOf)).toEqual(['ok', 'forbidden']);
    });

    it('whoever registered one with an earlier release may replace it', async () => {
      const service = await createHarness();
      const { registeredBy: _, ...row } = { workerId: 'w', definitions: [], lastSeenAt: 1, registeredBy: 'all' };
      await service.store.commit({ ...noChanges(), workers: [row] });
      const as = (reach: readonly string[]) =>
        service.runs.registerWorker({ reach, workerId: 'w', definitions: [flow] });
      expect(codeOf(await as(['p']))).toBe('ok');
      expect(codeOf(await as(['q']))).toBe('forbidden');
    });
  });

  describe('erasure and retention', () => {
    it('erases the finished runs of a person with their children, leaves unfinished ones whole and counts them', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('kid', tasks('work')),
          aDefinition('flow', [{ id: 'sub', kind: 'child', definition: 'kid' }]),
          aDefinition('plain', tasks('one')),
        ],
      });
      const mine = { correlation: { user_id: 'u' }, idempotencyKey: 'k' };
      const done = await service.start('flow', {}, mine);
      must(await service.complete(await service.take(), 'secret'));
      const open = await service.start('plain', {}, { correlation: { user_id: 'u' } });
      const other = await service.start('plain', {}, { correlation: { user_id: 'v' } });
      const traceIds: string[] = [];
      const ofTrace = () => service.spans.filter(({ traceId }) => traceId === done.traceId);
      let sent = 0;
      const erased = must(
        await service.runs.eraseSubject({ ...ALL, userId: 'u' }, async (ids) => {
          traceIds.push(...ids);
          sent = ofTrace().length;
        }),
      );
      expect(erased).toEqual({ runsErased: 2, runsInFlight: 1 });
      expect(traceIds).toEqual([done.traceId]);
      expect(sent).toBeGreaterThan(0);
      expect(codeOf(await service.runs.getRun({ ...ALL, runId: done.runId }))).toBe('not_found');
      expect((await service.detail(open.runId)).status).toBe('queued');
      expect((await service.detail(other.runId)).status).toBe('queued');
      await service.runs.flushOutbox();
      // Every span had been sent before its trace was erased: none comes back.
      expect(ofTrace()).toHaveLength(sent);
      expect((await service.start('plain', {}, { idempotencyKey: 'k' })).runId).not.toBe(done.runId);
    });

    it('trims runs whose root ended before the boundary, and never unfinished ones', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      const old = await service.start('flow');
      must(await service.complete(await service.take()));
      const open = await service.start('flow');
      service.time.advance(1000);
      const boundary = service.time.now();
      expect(await service.runs.trimFinishedRuns('q', boundary, 100)).toBe(0);
      expect(await service.runs.trimFinishedRuns('p', boundary, 100)).toBe(1);
      expect(codeOf(await service.runs.getRun({ ...ALL, runId: old.runId }))).toBe('not_found');
      expect((await service.detail(open.runId)).status).toBe('queued');
      expect(must(await service.runs.getDefinition('flow')).id).toBe('flow');
    });
  });

  describe('a run is a trace', () => {
    it('one root span and one span an attempt, with input, output and the priced total, ids from run and lease', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('flow', [task('one', { input: { n: '${input.n}' }, retry: { backoff_ms: 0 } }), task('two')]),
        ],
      });
      const run = await service.start('flow', { n: 1 }, { correlation: { user_id: 'u', session_id: 's' } });
      const failed = await service.take();
      must(await service.fail(failed, 'retryable'));
      const one = await service.take();
      must(await service.complete(one, { ok: true }, { usage: [{ model: 'm', inputTokens: 10, outputTokens: 10 }] }));
      must(await service.complete(await service.take(), 'end'));
      await service.runs.flushOutbox();
      const byId = new Map(service.spans.map((span) => [span.spanId, span]));
      expect(byId.size).toBe(4);
      expect([...new Set(service.spans.map(({ traceId }) => traceId))]).toEqual([run.traceId]);
      const root = [...byId.values()].find(({ parentSpanId }) => parentSpanId === undefined);
      expect(root).toMatchObject({
        name: 'flow',
        kind: 'workflow_run',
        status: 'ok',
        input: { n: 1 },
        output: 'end',
        correlation: { project: 'p', userId: 'u', sessionId: 's', runId: run.runId },
      });
      expect(byId.get(failed.spanId)).toMatchObject({
        parentSpanId: root?.spanId,
        status: 'error',
        error: { message: 'it broke', type: 'retryable' },
      });
      expect(byId.get(one.spanId)).toMatchObject({
        name: 'one',
        status: 'ok',
        input: { n: 1 },
        output: { ok: true },
        attributes: { 'svc.step.total_cost': 0.02 },
      });
      expect(byId.get(one.spanId)?.usage).toBeUndefined();
      expect(await service.store.readOutbox(0, 100)).toEqual([]);
    });

    it('the root span is unset while the run is open', async () => {
      const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
      await service.start('flow');
      await service.runs.flushOutbox();
      expect(service.spans).toMatchObject([{ status: 'unset', name: 'flow' }]);
      expect(service.spans[0]?.endTime).toBeUndefined();
    });

    it('the root span of a child hangs under the span of the step that started it', async () => {
      const service = await createHarness({
        definitions: [
          aDefinition('kid', tasks('work')),
          aDefinition('flow', [{ id: 'sub', kind: 'child', definition: 'kid' }]),
        ],
      });
      await service.start('flow');
      must(await service.complete(await service.take(), 1));
      await service.runs.flushOutbox();
      const last = (name: string) => service.spans.findLast((span) => span.name === name);
      expect(last('kid')?.parentSpanId).toBe(last('sub')?.spanId);
      expect(last('sub')?.parentSpanId).toBe(last('flow')?.spanId);
      expect(last('sub')).toMatchObject({ status: 'ok', output: 1 });
    });

    it('keeps spans in the outbox while the trace store is away', async () => {
      let away = true;
      const spans: string[] = [];
      const service = await createHarness({
        definitions: [aDefinition('flow', tasks('one'))],
        writeSpans: async (batch) => {
          if (away) throw new Error('away');
          spans.push(...batch.map(({ name }) => name));
        },
      });
      await service.start('flow');
      await expect(service.runs.flushOutbox()).rejects.toThrow('away');
      expect((await service.store.readOutbox(0, 10)).length).toBe(1);
      away = false;
      await service.runs.flushOutbox();
      expect(spans).toEqual(['flow']);
    });
  });
};
