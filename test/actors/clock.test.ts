import { describe, expect, it } from 'vitest';
import { type ClockJump, createOrderClock, createServiceClock } from '../../src/actors/kernel/clock.ts';
import { ALL, aDefinition, createFakeClock, type Harness, must, task } from './run-harness.ts';
import { onEachEngine } from './engines.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const YEAR = 365 * 24 * 60 * MINUTE;
const JUMPS = [
  ['a second ahead', SECOND],
  ['a second back', -SECOND],
  ['ten years ahead', 10 * YEAR],
  ['ten years back', -10 * YEAR],
] as const;

/** Every kind of time that counts from a moment: each flow goes on a minute after it came to it. */
const COUNTED = [
  ['a sleep', [{ id: 'nap', kind: 'sleep', sleep_ms: MINUTE }, task('then')], {}, 'queued'],
  [
    'the timeout of a wait',
    [{ id: 'ask', kind: 'wait_event', event: 'e', timeout_ms: MINUTE, on_timeout: 'continue' }, task('then')],
    {},
    'queued',
  ],
  [
    'the timeout of a run',
    [{ id: 'ask', kind: 'wait_event', event: 'e' }],
    { limits: { run_timeout_ms: MINUTE } },
    'failed',
  ],
] as const;

const flow = (steps: readonly object[], more: object = {}) => ({ definitions: [aDefinition('flow', steps, more)] });
const statusOf = async ({ detail }: Harness, runId: string) => (await detail(runId)).status;

describe('the clocks of the service', () => {
  it('the steady one starts at the wall clock, and no jump moves it', () => {
    const time = createFakeClock(1_000_000);
    const clock = createServiceClock(time.clock);
    time.jumpWall(10 * YEAR);
    time.advance(1500);
    expect([clock.now(), clock.steady()]).toEqual([1_000_000 + 10 * YEAR + 1500, 1_001_500]);
    expect(clock.wallOf(1_001_600)).toBe(clock.now() + 100);
  });

  it('a jump of more than five seconds is told once, either way; one of five seconds is not', () => {
    const time = createFakeClock(1_000_000);
    const told: ClockJump[] = [];
    const clock = createServiceClock(time.clock, (jump) => told.push(jump));
    const looks = (ms: number): void => {
      time.jumpWall(ms);
      clock.look();
      time.advance(1000);
      clock.look();
    };
    looks(5000);
    looks(-5000);
    expect(told).toEqual([]);
    looks(5001);
    looks(-5001);
    expect(told).toEqual([
      { from: 1_002_000, to: 1_007_001, byMs: 5001 },
      { from: 1_008_001, to: 1_003_000, byMs: -5001 },
    ]);
    expect(clock.jumps()).toEqual({ count: 2, last: told });
  });

  it('times that order never go back, and go on from where they were told to', () => {
    const time = createFakeClock(1_000_000);
    const order = createOrderClock(time.clock);
    order.reach(1_000_500);
    expect(order.next()).toBe(1_000_500);
    time.jumpWall(-YEAR);
    time.advance(7);
    expect(order.next()).toBe(1_000_507);
    time.jumpWall(2 * YEAR);
    expect(order.next()).toBe(time.now());
  });
});

onEachEngine('a clock that jumps', ({ createHarness }) => {
  it.each(COUNTED.flatMap((counted) => JUMPS.map((jump) => [...counted, ...jump] as const)))(
    '%s lasts as long as it says, whatever the clock does (%#)',
    async (_name, steps, more, after, _jump, ms) => {
      const service = await createHarness(flow(steps, more));
      const { runId } = await service.start('flow');
      await service.pass(20_000);
      service.time.jumpWall(ms);
      await service.pass(39_999);
      expect(await statusOf(service, runId)).toBe('waiting');
      await service.pass(1);
      expect(await statusOf(service, runId)).toBe(after);
      const seqs = (await service.journal(runId)).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, index) => index));
    },
  );

  it.each(JUMPS)('a backoff lasts as long as it says (%s)', async (_jump, ms) => {
    const retry = { max_attempts: 2, backoff_ms: MINUTE, jitter: 'none' };
    const service = await createHarness(flow([task('one', { retry })]));
    const { runId } = await service.start('flow');
    must(await service.fail(await service.take(), 'retryable'));
    service.time.jumpWall(ms);
    await service.pass(59_999);
    expect(await statusOf(service, runId)).toBe('waiting');
    await service.pass(1);
    expect(await statusOf(service, runId)).toBe('queued');
  });

  it.each(JUMPS)(
    'no lease, offer or reclaim window is lost to a jump alone, and each ends in its time (%s)',
    async (_jump, ms) => {
      const service = await createHarness(flow([task('one', { timeout_ms: 40_000, retry: { max_attempts: 1 } })]));
      const { runId } = await service.start('flow');
      const [offer] = await service.claim();
      if (offer === undefined) throw new Error('an offer was expected');
      service.time.jumpWall(ms);
      await service.pass(4999);
      const who = { ...ALL, leaseId: offer.leaseId, workerId: 'w1' };
      expect(must(await service.runs.started(who)).leaseExpiresAt).toBe(service.time.now() + 30_000);
      service.time.jumpWall(-ms);
      await service.pass(29_999);
      expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
      must(await service.runs.heartbeat(who));
      service.time.jumpWall(ms);
      await service.pass(10_000);
      expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
      await service.pass(1);
      expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'timeout' } });
    },
  );

  it('a heartbeat in the same millisecond as one before the clock was set back extends the lease all the same', async () => {
    const service = await createHarness(flow([task('one')]));
    const { runId } = await service.start('flow');
    const lease = await service.take();
    const who = { ...ALL, leaseId: lease.leaseId, workerId: 'w1' };
    await service.pass(20_000);
    service.time.jumpWall(-20_000);
    must(await service.runs.heartbeat(who));
    await service.pass(29_999);
    expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
  });

  it('after a jump forth and back, what begins has the stamps of the clock as it stands, over restarts too', async () => {
    const service = await createHarness(flow([task('one')]));
    service.time.jumpWall(10 * YEAR);
    await service.pass(2500);
    const during = await service.start('flow');
    expect(during.createdAt).toBe(service.time.now());
    service.time.jumpWall(-10 * YEAR);
    expect((await service.start('flow')).createdAt).toBe(service.time.now());
    const next = await service.reopen();
    const { run } = must(await next.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: {} }));
    expect(run.createdAt).toBe(service.time.now());
  });

  it('a time that somebody named follows the clock: it comes with it, and a jump forth and back before it leaves no trace', async () => {
    const service = await createHarness(flow([{ id: 'nap', kind: 'sleep', sleep_until: '${input.at}' }, task('then')]));
    const at = (ms: number) => ({ at: new Date(service.time.now() + ms).toISOString() });
    service.time.jumpWall(10 * YEAR);
    await service.pass(2500);
    service.time.jumpWall(-10 * YEAR);
    const inAYear = await service.start('flow', at(YEAR));
    const inAMinute = await service.start('flow', at(MINUTE));
    await service.runs.tick();
    expect(await statusOf(service, inAYear.runId)).toBe('waiting');
    service.time.jumpWall(MINUTE - 1);
    await service.runs.tick();
    expect(await statusOf(service, inAMinute.runId)).toBe('waiting');
    service.time.jumpWall(1);
    await service.runs.tick();
    expect(await statusOf(service, inAMinute.runId)).toBe('queued');
    // What fell due while the clock stood wrong has fallen due.
    service.time.jumpWall(YEAR);
    await service.runs.tick();
    service.time.jumpWall(-YEAR);
    expect(await statusOf(service, inAYear.runId)).toBe('queued');
  });

  it.each([
    ['as it would without a restart', 20_000, 0, 40_000],
    ['at once where the clock says that its time is over', 20_000, MINUTE, 0],
    ['by the clock where that went ahead', 20_000, 15_000, 25_000],
    ['by the clock where that went back, not before the sleep began', 20_000, -20_000, MINUTE],
    ['complete where the clock stands a millisecond before it began', 20_000, -20_001, MINUTE],
    ['complete where the clock stands years before it began', 20_000, -10 * YEAR, MINUTE],
  ])('over a restart a sleep goes on %s', async (_what, passed, ms, left) => {
    const service = await createHarness(flow([{ id: 'nap', kind: 'sleep', sleep_ms: MINUTE }, task('then')]));
    const { runId } = await service.start('flow');
    await service.pass(passed);
    service.time.jumpWall(ms);
    const next = await service.reopen();
    const statusNow = async () => must(await next.getRun({ ...ALL, runId })).status;
    if (left > 0) {
      service.time.advance(left - 1);
      await next.tick();
      expect(await statusNow()).toBe('waiting');
      service.time.advance(1);
    }
    await next.tick();
    expect(await statusNow()).toBe('queued');
  });

  it('a sleep that began again goes on over the next restart: it does not begin again each time', async () => {
    const service = await createHarness(flow([{ id: 'nap', kind: 'sleep', sleep_ms: MINUTE }, task('then')]));
    const { runId } = await service.start('flow');
    service.time.jumpWall(-10 * YEAR);
    await service.reopen();
    service.time.advance(40_000);
    const next = await service.reopen();
    service.time.advance(19_999);
    await next.tick();
    expect(must(await next.getRun({ ...ALL, runId })).status).toBe('waiting');
    service.time.advance(1);
    await next.tick();
    expect(must(await next.getRun({ ...ALL, runId })).status).toBe('queued');
  });

  it('over a restart with a clock that went back, the time of a body runs again, complete', async () => {
    const service = await createHarness(flow([task('one', { timeout_ms: 20_000, retry: { max_attempts: 1 } })]));
    const { runId } = await service.start('flow');
    await service.take();
    await service.pass(15_000);
    service.time.jumpWall(-10 * YEAR);
    const next = await service.reopen();
    service.time.advance(19_999);
    await next.tick();
    expect(must(await next.getRun({ ...ALL, runId })).status).toBe('running');
    service.time.advance(1);
    await next.tick();
    expect(must(await next.getRun({ ...ALL, runId })).status).toBe('failed');
  });

  it('runs are offered in the order in which they came, whatever the clock showed then, over restarts too', async () => {
    const service = await createHarness(flow([task('one')]));
    const came: string[] = [];
    for (const ms of [0, 10 * YEAR, -10 * YEAR, -YEAR, 2 * YEAR]) {
      service.time.jumpWall(ms);
      service.time.advance(10);
      came.push((await service.start('flow')).runId);
    }
    expect((await service.claim('w1', 2)).map(({ runId }) => runId)).toEqual(came.slice(0, 2));
    const next = await service.reopen();
    service.time.advance(10);
    came.push(must(await next.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: {} })).run.runId);
    const claimed = next.claim({ ...ALL, workerId: 'w1', max: 9, waitMs: 0 }, new AbortController().signal);
    expect(must(await claimed).map(({ runId }) => runId)).toEqual(came.slice(2));
  });

  it('timers show when they go off by the clock as it stands', async () => {
    const service = await createHarness(flow([{ id: 'nap', kind: 'sleep', sleep_ms: MINUTE }]));
    const { runId } = await service.start('flow');
    service.time.jumpWall(YEAR);
    await service.pass(20_000);
    expect((await service.detail(runId)).timers).toMatchObject([{ dueAt: service.time.now() + 40_000 }]);
  });

  it('an event that was parked before a jump forth and back is there for the wait that opens after it', async () => {
    const service = await createHarness(
      flow([{ id: 'ask', kind: 'wait_event', event: 'e', accept_parked: true }, task('then')]),
    );
    must(await service.runs.publishEvent({ ...ALL, project: 'p', event: 'e', key: '', payload: 1 }));
    service.time.jumpWall(10 * YEAR);
    const during = await service.start('flow');
    expect(await statusOf(service, during.runId)).toBe('waiting');
    must(await service.runs.cancelRun({ ...ALL, runId: during.runId }));
    service.time.jumpWall(-10 * YEAR);
    expect(await statusOf(service, (await service.start('flow')).runId)).toBe('queued');
  });

  it('an event that was parked while the clock stood years ahead is kept for a day from then on, not for years', async () => {
    const service = await createHarness(flow([task('one')]));
    service.time.jumpWall(10 * YEAR);
    must(await service.runs.publishEvent({ ...ALL, project: 'p', event: 'e', key: '', payload: 1 }));
    service.time.jumpWall(-10 * YEAR);
    await service.pass(61_000);
    const parked = async () => must(await service.runs.listParkedEvents({ ...ALL, limit: 9 })).items.length;
    service.time.advance(24 * 60 * MINUTE - 61_000);
    await service.runs.tick();
    expect(await parked()).toBe(1);
    service.time.advance(2 * MINUTE);
    await service.runs.tick();
    expect(await parked()).toBe(0);
  });

  it('a worker that lives stays registered and live through a jump, and is silent when it is', async () => {
    const service = await createHarness(flow([task('one')]));
    const workers = async () =>
      must(await service.runs.listWorkers({ ...ALL, limit: 9 })).items.map(({ workerId, lastSeenAt }) => [
        workerId,
        lastSeenAt,
      ]);
    await service.claim();
    await service.pass(60 * MINUTE);
    await service.claim();
    service.time.jumpWall(10 * YEAR);
    await service.pass(2 * MINUTE);
    expect((await workers()).map(([workerId]) => workerId)).toEqual(['w1']);
    await service.claim();
    service.time.jumpWall(-10 * YEAR);
    await service.claim();
    expect(await workers()).toEqual([['w1', service.time.now()]]);
  });

  it('the timer shows the jumps that it saw', async () => {
    const told: ClockJump[] = [];
    const service = await createHarness({ onClockJump: (jump) => told.push(jump) });
    const shown = async () => must(await service.runs.getActor({ ...ALL, type: 'timer', id: 'main' })).context;
    await service.pass(2000);
    expect(await shown()).toMatchObject({ clockJumps: { count: 0 } });
    const from = service.time.now();
    service.time.jumpWall(YEAR);
    await service.runs.tick();
    await service.pass(5000);
    expect(await shown()).toMatchObject({ clockJumps: { count: 1, last: { fromAt: from, toAt: from + YEAR } } });
    expect(told).toEqual([{ from, to: from + YEAR, byMs: YEAR }]);
  });
});
