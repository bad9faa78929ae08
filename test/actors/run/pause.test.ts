import { expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.ts';
import type { Lease } from '../../../src/model/run.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, task, tasks } from '../run-harness.ts';

// Interface decisions, section 13, "Pause". Each title quotes or paraphrases one promise of it.

const pause = async (service: Harness, runId: string, reason?: string) =>
  must(await service.runs.pauseRun({ ...ALL, runId, ...(reason === undefined ? {} : { reason }) }));
const resume = async (service: Harness, runId: string, reason?: string) =>
  must(await service.runs.resumeRun({ ...ALL, runId, ...(reason === undefined ? {} : { reason }) }));
const lastKinds = async (service: Harness, runId: string, count: number) => (await service.kinds(runId)).slice(-count);

onEachEngine('a paused run', ({ createHarness }) => {
  const open = (steps: readonly object[], more: object = {}) =>
    createHarness({ definitions: [aDefinition('flow', steps, more)] });

  it('is offered to nobody, and keeps its age in the queue', async () => {
    const service = await open(tasks('one'));
    const old = await service.start('flow');
    expect(await pause(service, old.runId, 'weekend')).toMatchObject({
      status: 'paused',
      cursor: 'one',
      pause: { since: service.time.now(), byParent: false, reason: 'weekend' },
    });
    service.time.advance(1000);
    const young = await service.start('flow');
    const another = await service.start('flow');
    expect((await service.claim('w1', 1)).map(({ runId }) => runId)).toEqual([young.runId]);
    const resumed = await resume(service, old.runId);
    expect([resumed.status, resumed.pause]).toEqual(['queued', undefined]);
    expect((await service.claim('w1', 9)).map(({ runId }) => runId)).toEqual([old.runId, another.runId]);
  });

  it('is offered to no claim that waits for it by name, and to that very claim when it is resumed', async () => {
    const service = await open(tasks('one'));
    const { runId } = await service.start('flow');
    await pause(service, runId);
    const claimed = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 60_000, runId });
    await service.pass(2000);
    expect(service.runs.waitingClaims()).toBe(1);
    await resume(service, runId);
    expect(must(await claimed)).toMatchObject([{ runId, stepId: 'one' }]);
  });

  it('"leased steps may finish, nothing new is offered or started": a worker notices nothing', async () => {
    const service = await open([task('one'), task('two'), task('three')]);
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await pause(service, runId);
    const held = { ...ALL, leaseId: lease.leaseId, workerId: 'w1' };
    expect(must(await service.runs.heartbeat(held)).leaseExpiresAt).toBe(service.time.now() + 30_000);
    expect(must(await service.runs.started(held)).runStatus).toBe('paused');
    expect(must(await service.complete(lease, { n: 1 }, { statePatch: { seen: true } }))).toEqual({
      runStatus: 'paused',
      nextStep: 'two',
    });
    expect(await service.detail(runId)).toMatchObject({
      status: 'paused',
      cursor: 'two',
      state: { seen: true },
      attempts: [{ status: 'succeeded', output: { n: 1 } }],
    });
    expect(await lastKinds(service, runId, 3)).toEqual(['run.paused', 'step.finished', 'cursor.moved']);
    await service.pass(5000);
    expect(await service.claim()).toEqual([]);
    await resume(service, runId);
    expect((await service.claim()).map(({ stepId, steps }) => [stepId, steps['one']])).toEqual([
      ['two', { output: { n: 1 } }],
    ]);
  });

  it('an offer that was not started when it was paused goes on', async () => {
    const service = await open(tasks('one'));
    const { runId } = await service.start('flow');
    const [lease] = await service.claim();
    await pause(service, runId);
    must(await service.runs.started({ ...ALL, leaseId: lease?.leaseId ?? '', workerId: 'w1' }));
    expect(must(await service.complete(lease as Lease)).runStatus).toBe('succeeded');
    expect((await service.detail(runId)).status).toBe('succeeded');
  });

  it('an offer that lapses, and an orphan that is reclaimed, are not offered again before it is resumed', async () => {
    const service = await open(tasks('one'));
    const { runId } = await service.start('flow');
    await service.claim();
    await pause(service, runId);
    await service.pass(6000);
    expect((await service.detail(runId)).attempts).toMatchObject([{ status: 'lapsed' }]);
    expect(await service.claim()).toEqual([]);
    await resume(service, runId);
    await service.take();
    await pause(service, runId);
    await service.pass(40_000);
    expect((await service.detail(runId)).attempts).toMatchObject([{ status: 'lapsed' }, { status: 'orphaned' }]);
    expect(await service.claim()).toEqual([]);
    await resume(service, runId);
    expect(await service.claim()).toMatchObject([{ attempt: 3 }]);
  });

  it('the lease of a step goes on over a restart', async () => {
    const service = await open(tasks('one', 'two'));
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await pause(service, runId);
    const again = await service.reopen();
    expect(must(await again.listLeases({ ...ALL, limit: 9 })).items.map(({ leaseId }) => leaseId)).toEqual([
      lease.leaseId,
    ]);
    expect(must(await again.listWorkers({ reach: ['p'], limit: 9 })).items).toMatchObject([{ leases: 1 }]);
    service.time.advance(40_000);
    await again.tick();
    expect(must(await again.getRun({ ...ALL, runId })).attempts).toMatchObject([{ status: 'orphaned' }]);
  });

  it('a failed try waits for its next one only after it is resumed; one that fell due meanwhile follows at once', async () => {
    const retry = { max_attempts: 5, backoff_ms: 10_000, multiplier: 1, jitter: 'none' };
    const service = await open([task('one', { retry })]);
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await pause(service, runId);
    expect(must(await service.fail(lease, 'retryable'))).toMatchObject({ runStatus: 'paused', willRetry: true });
    expect((await service.detail(runId)).timers).toEqual([]);
    await service.pass(30_000);
    expect(await service.claim()).toEqual([]);
    expect((await resume(service, runId)).status).toBe('queued');
    must(await service.fail(await service.take(), 'retryable'));
    await service.pass(4000);
    await pause(service, runId);
    await service.pass(2000);
    expect((await resume(service, runId)).status).toBe('waiting');
    await service.pass(3000);
    expect((await service.detail(runId)).status).toBe('waiting');
    await service.pass(1000);
    expect((await service.detail(runId)).status).toBe('queued');
  });

  it('a step that `on_error` leads to is entered, and opened when the run is resumed', async () => {
    const service = await open([
      task('one', { on_error: [{ class: 'fatal', to: 'sorry' }], next: 'end' }),
      { id: 'sorry', kind: 'sleep', sleep_ms: 1000 },
    ]);
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await pause(service, runId);
    expect(must(await service.fail(lease, 'fatal'))).toMatchObject({ runStatus: 'paused', nextStep: 'sorry' });
    await service.pass(5000);
    expect(await service.detail(runId)).toMatchObject({ status: 'paused', cursor: 'sorry', timers: [] });
    expect((await resume(service, runId)).status).toBe('waiting');
    expect((await service.detail(runId)).timers).toEqual([
      { name: 'sleep', dueAt: service.time.now() + 1000, stepId: 'sorry' },
    ]);
  });

  it('a sleep that falls due is kept and acts at resume; one that does not goes on for what is left of it', async () => {
    for (const step of [
      { id: 'nap', kind: 'sleep', sleep_ms: 60_000 },
      { id: 'nap', kind: 'sleep', sleep_until: '2026-03-01T12:01:00Z' },
    ]) {
      const service = await open([step, task('then')]);
      const early = await service.start('flow');
      const late = await service.start('flow');
      for (const { runId } of [early, late]) {
        await pause(service, runId);
        expect(await service.detail(runId)).toMatchObject({ status: 'paused', timers: [] });
      }
      await service.pass(20_000);
      expect((await resume(service, early.runId)).status).toBe('waiting');
      await service.pass(39_000);
      expect((await service.detail(early.runId)).status).toBe('waiting');
      await service.pass(1000);
      expect((await service.detail(early.runId)).status).toBe('queued');
      await service.pass(1000);
      expect((await service.detail(late.runId)).status).toBe('paused');
      expect(await resume(service, late.runId)).toMatchObject({ status: 'queued', cursor: 'then' });
      expect(await lastKinds(service, late.runId, 4)).toEqual([
        'run.paused',
        'run.unpaused',
        'run.resumed',
        'cursor.moved',
      ]);
    }
  });

  it('a sleep without an end stays one', async () => {
    const service = await open([{ id: 'nap', kind: 'sleep', sleep_until: '2400-01-01T00:00:00Z' }]);
    const { runId } = await service.start('flow');
    await pause(service, runId);
    await resume(service, runId);
    expect(await service.detail(runId)).toMatchObject({
      status: 'waiting',
      timers: [{ name: 'sleep', stepId: 'nap' }],
    });
  });

  it('`start_at` that falls due is kept and acts at resume; one that does not is a timer again', async () => {
    const service = await open(tasks('one'), { limits: { run_timeout_ms: 600_000 } });
    const early = await service.start('flow', {}, { startAt: { afterMs: 60_000 } });
    const late = await service.start('flow', {}, { startAt: { afterMs: 60_000 } });
    for (const { runId } of [early, late]) await pause(service, runId);
    await service.pass(30_000);
    expect((await resume(service, early.runId)).status).toBe('scheduled');
    await service.pass(40_000);
    expect((await service.detail(early.runId)).status).toBe('queued');
    expect((await service.detail(late.runId)).status).toBe('paused');
    expect((await resume(service, late.runId)).status).toBe('queued');
    expect((await service.claim('w1', 9)).length).toBe(2);
  });

  it('"run_timeout_ms and a leased task\'s timeout_ms go on"', async () => {
    const service = await open([task('one', { timeout_ms: 20_000 })], { limits: { run_timeout_ms: 60_000 } });
    const leased = await service.start('flow');
    await service.take();
    const queued = await service.start('flow');
    for (const { runId } of [leased, queued]) await pause(service, runId);
    await service.pass(20_000);
    expect((await service.detail(leased.runId)).attempts).toMatchObject([{ error: { class: 'timeout' } }]);
    await service.pass(40_000);
    for (const { runId } of [leased, queued])
      expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { limit: 'run_timeout_ms' } });
  });

  it('takes a step that was last: it ends, for nothing new is started', async () => {
    const service = await open(tasks('one'));
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await pause(service, runId);
    expect(must(await service.complete(lease, 1)).runStatus).toBe('succeeded');
    const ended = await service.detail(runId);
    expect([ended.status, ended.output, ended.pause]).toEqual(['succeeded', 1, undefined]);
    expect(codeOf(await service.runs.resumeRun({ ...ALL, runId }))).toBe('run_terminal');
  });

  it('a `succeed` that is opened at resume still finds the output of the step before', async () => {
    const service = await open(
      [task('one', { next: 'done' }), task('other'), { id: 'done', kind: 'succeed' }].filter(
        ({ id }) => id !== 'other',
      ),
    );
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await pause(service, runId);
    must(await service.complete(lease, { answer: 42 }));
    const again = await service.reopen();
    expect(must(await again.resumeRun({ ...ALL, runId }))).toMatchObject({
      status: 'succeeded',
      output: { answer: 42 },
    });
  });

  it('an ended run is 409 `run_terminal`; pausing and resuming again change nothing; `reason` is in the journal', async () => {
    const service = await open(tasks('one'));
    const { runId } = await service.start('flow');
    expect((await resume(service, runId)).status).toBe('queued');
    await pause(service, runId, 'first');
    const version = async () => must(await service.runs.getActor({ ...ALL, type: 'run', id: runId })).version;
    const before = await version();
    expect((await pause(service, runId, 'second')).pause?.reason).toBe('first');
    expect(await version()).toBe(before);
    await resume(service, runId, 'monday');
    await resume(service, runId, 'again');
    const entries = (await service.journal(runId)).filter(
      ({ kind }) => kind === 'run.paused' || kind === 'run.unpaused',
    );
    expect(entries).toMatchObject([
      { kind: 'run.paused', stepId: 'one', visit: 1, data: { reason: 'first' } },
      { kind: 'run.unpaused', stepId: 'one', visit: 1, data: { reason: 'monday' } },
    ]);
    expect(entries.map(({ data }) => Object.keys(data))).toEqual([['reason'], ['reason']]);
    must(await service.runs.cancelRun({ ...ALL, runId }));
    for (const call of [service.runs.pauseRun, service.runs.resumeRun])
      expect(codeOf(await call({ ...ALL, runId }))).toBe('run_terminal');
    for (const call of [service.runs.pauseRun, service.runs.resumeRun]) {
      expect(codeOf(await call({ ...ALL, runId: 'nobody' }))).toBe('not_found');
      expect(codeOf(await call({ reach: ['other'], runId }))).toBe('forbidden');
    }
  });

  it('is cancelled, wherever it rests', async () => {
    const service = await open([task('one', { next: 'nap' }), { id: 'nap', kind: 'sleep', sleep_ms: 1000 }]);
    const queued = await service.start('flow');
    await service.take();
    const leased = queued;
    await pause(service, leased.runId);
    const later = await service.start('flow', {}, { startAt: { afterMs: 1000 } });
    await pause(service, later.runId);
    for (const { runId } of [leased, later]) {
      expect(must(await service.runs.cancelRun({ ...ALL, runId })).status).toBe('cancelled');
      expect((await service.detail(runId)).timers).toEqual([]);
    }
    await service.pass(60_000);
    expect(await service.runs.findStuckRuns()).toEqual([]);
    expect(service.faults).toEqual([]);
  });

  it('is listed as `paused`, is open, waits on nothing, is not stuck, and time travel shows the pause', async () => {
    const service = await open(tasks('one'));
    const { runId } = await service.start('flow');
    await pause(service, runId, 'why');
    const list = async (filter: object) =>
      must(await service.runs.listRuns({ ...ALL, limit: 10, ...filter })).items.map((run) => run.runId);
    expect(await list({ status: 'paused' })).toEqual([runId]);
    expect(await list({ waitingOn: 'worker' })).toEqual([]);
    expect(await service.runs.findStuckRuns()).toEqual([]);
    expect(await service.runs.counts()).toMatchObject({ openRuns: 1 });
    await resume(service, runId);
    const contextAt = async (atSeq: number) =>
      must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq })).context as { paused?: Json };
    expect((await contextAt(1)).paused).toBeUndefined();
    expect((await contextAt(2)).paused).toEqual({ at: service.time.now(), by: 'call', reason: 'why' });
    expect((await contextAt(3)).paused).toBeUndefined();
    await service.take();
    const { chain } = must(await service.runs.stepCause({ ...ALL, runId, stepId: 'one' }));
    expect(chain.map(({ kind }) => kind)).toEqual([
      'step.leased',
      'run.unpaused',
      'run.paused',
      'cursor.moved',
      'run.started',
    ]);
  });

  it('a jump of the wall clock while it is paused makes no sleep early', async () => {
    const service = await open([{ id: 'nap', kind: 'sleep', sleep_ms: 60_000 }]);
    const { runId } = await service.start('flow');
    await service.pass(10_000);
    await pause(service, runId);
    service.time.jumpWall(-3_600_000);
    await resume(service, runId);
    await service.pass(49_000);
    expect((await service.detail(runId)).status).toBe('waiting');
    await service.pass(1000);
    expect((await service.detail(runId)).status).toBe('succeeded');
  });
});

onEachEngine('a paused wait for an event', ({ createHarness }) => {
  const ask = (more: object = {}) => ({ id: 'ask', kind: 'wait_event', event: 'approval', key: 'k', ...more });
  const open = (more: object = {}) =>
    createHarness({
      definitions: [aDefinition('flow', [ask(more), task('then', { input: { got: '${steps.ask.output?}' } })])],
    });
  const publish = async (service: Harness, payload: Json, more: object = {}) =>
    must(await service.runs.publishEvent({ ...ALL, project: 'p', event: 'approval', key: 'k', payload, ...more }));

  it('an event that comes answers `delivered`, is kept with its payload over a restart, and acts at resume', async () => {
    const service = await open({ timeout_ms: 60_000 });
    const { runId } = await service.start('flow');
    await pause(service, runId);
    expect(await publish(service, { ok: true }, { eventId: 'e1' })).toEqual({ outcome: 'delivered', runId });
    expect(await publish(service, { ok: true }, { eventId: 'e1' })).toEqual({ outcome: 'duplicate', runId });
    expect(await service.detail(runId)).toMatchObject({ status: 'paused', cursor: 'ask', waits: [], timers: [] });
    expect(await lastKinds(service, runId, 3)).toEqual(['run.paused', 'event.delivered', 'run.resumed']);
    await service.pass(120_000);
    const again = await service.reopen();
    must(await again.resumeRun({ ...ALL, runId }));
    const [lease] = must(await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }));
    expect(lease).toMatchObject({ runId, stepId: 'then', input: { got: { ok: true } } });
  });

  it('closes its wait: the next event is parked, and a signal finds no wait', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    await pause(service, runId);
    expect((await publish(service, 1)).outcome).toBe('delivered');
    expect((await publish(service, 2)).outcome).toBe('parked');
    expect(codeOf(await service.runs.signalRun({ ...ALL, runId, event: 'approval', payload: 3 }))).toBe('conflict');
  });

  it('of a wait for any of several, where the event leads by itself is kept too', async () => {
    const any = [
      { event: 'approval', key: 'k', to: 'paid' },
      { event: 'refusal', key: 'k' },
    ];
    const service = await createHarness({
      definitions: [aDefinition('flow', [{ id: 'ask', kind: 'wait_event', any }, task('sorry'), task('paid')])],
    });
    const { runId } = await service.start('flow');
    await pause(service, runId);
    expect((await publish(service, 1)).outcome).toBe('delivered');
    expect(await service.detail(runId)).toMatchObject({ status: 'paused', cursor: 'ask', waits: [] });
    const again = await service.reopen();
    expect(must(await again.resumeRun({ ...ALL, runId }))).toMatchObject({ status: 'queued', cursor: 'paid' });
  });

  it('a signal is kept too', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    await pause(service, runId);
    const outcome = must(await service.runs.signalRun({ ...ALL, runId, event: 'approval', payload: { by: 'ada' } }));
    expect(outcome).toEqual({ outcome: 'delivered', runId });
    expect((await service.detail(runId)).status).toBe('paused');
    await resume(service, runId);
    expect((await service.take()).input).toEqual({ got: { by: 'ada' } });
  });

  it('a timeout that falls due acts at resume, unless an event came before that: what answered `delivered` counts', async () => {
    const service = await open({ timeout_ms: 60_000, on_timeout: 'fail' });
    const late = await service.start('flow');
    await pause(service, late.runId);
    await service.pass(120_000);
    expect((await service.detail(late.runId)).status).toBe('paused');
    expect(await resume(service, late.runId)).toMatchObject({ status: 'failed', error: { class: 'timeout' } });
    const lucky = await service.start('flow');
    await pause(service, lucky.runId);
    await service.pass(120_000);
    expect(await publish(service, 'at last')).toEqual({ outcome: 'delivered', runId: lucky.runId });
    expect(await resume(service, lucky.runId)).toMatchObject({ status: 'queued', cursor: 'then' });
  });

  it('a timeout that is not due yet goes on for what is left of it', async () => {
    const service = await open({ timeout_ms: 60_000, on_timeout: 'continue' });
    const { runId } = await service.start('flow');
    await service.pass(10_000);
    await pause(service, runId);
    await service.pass(10_000);
    expect((await resume(service, runId)).status).toBe('waiting');
    await service.pass(39_000);
    expect((await service.detail(runId)).status).toBe('waiting');
    await service.pass(1000);
    expect((await service.detail(runId)).status).toBe('queued');
  });

  it('a wait that was not open yet when the run was paused opens at resume, and takes what was parked meanwhile', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [task('one'), ask({ accept_parked: true }), task('then')])],
    });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await pause(service, runId);
    must(await service.complete(lease));
    expect((await publish(service, 'early')).outcome).toBe('parked');
    expect(await resume(service, runId)).toMatchObject({ status: 'queued', cursor: 'then' });
  });
});

onEachEngine('"Children are paused and resumed with it"', ({ createHarness }) => {
  const open = (more: object = {}) =>
    createHarness({
      definitions: [
        aDefinition('leaf', tasks('one', 'two')),
        aDefinition('middle', [{ id: 'kids', kind: 'child', definition: 'leaf' }]),
        aDefinition('top', [
          { id: 'each', kind: 'child', definition: 'middle', for_each: '${input.l}', max_parallel: 2, ...more },
          task('after'),
        ]),
      ],
    });
  const below = async (service: Harness, runId: string): Promise<string[]> => {
    const { children } = await service.detail(runId);
    const deeper = await Promise.all(children.map((child) => below(service, child.runId)));
    return [...children.map((child) => child.runId), ...deeper.flat()];
  };
  const statuses = async (service: Harness, runIds: readonly string[]) =>
    Promise.all(runIds.map(async (runId) => (await service.detail(runId)).status));

  it('all the way down, in the same commit', async () => {
    const service = await open();
    const { runId } = await service.start('top', { l: [1, 2] });
    const tree = await below(service, runId);
    expect(tree).toHaveLength(4);
    await pause(service, runId, 'why');
    expect(await statuses(service, tree)).toEqual(['paused', 'paused', 'paused', 'paused']);
    expect((await service.detail(tree[0] ?? '')).pause).toEqual({
      since: service.time.now(),
      byParent: true,
      reason: 'why',
    });
    expect(await service.claim('w1', 9)).toEqual([]);
    await resume(service, runId);
    expect(await statuses(service, tree)).toEqual(['waiting', 'waiting', 'queued', 'queued']);
    expect((await service.claim('w1', 9)).length).toBe(2);
  });

  it('a child that was paused by name, before or since, stays paused when its parent is resumed', async () => {
    const service = await open();
    const { runId } = await service.start('top', { l: [1, 2] });
    const [before = '', since = ''] = (await service.detail(runId)).children.map((child) => child.runId);
    await pause(service, before, 'mine');
    await pause(service, runId);
    await pause(service, since, 'mine too');
    expect((await service.detail(since)).pause).toMatchObject({ byParent: false, reason: 'mine too' });
    await resume(service, runId);
    expect(await statuses(service, [runId, before, since])).toEqual(['waiting', 'paused', 'paused']);
    await resume(service, before);
    expect(await statuses(service, [before, ...(await below(service, before))])).toEqual(['waiting', 'queued']);
  });

  it('a child that is resumed by name goes on while its parent is paused', async () => {
    const service = await open();
    const { runId } = await service.start('top', { l: [1, 2] });
    const [first = '', second = ''] = (await service.detail(runId)).children.map((child) => child.runId);
    await pause(service, runId);
    await resume(service, first);
    expect(await statuses(service, [runId, first, second])).toEqual(['paused', 'waiting', 'paused']);
    expect((await service.claim('w1', 9)).length).toBe(1);
  });

  it('one that ends while its parent is paused counts at once; what follows from it begins when that is resumed', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('one')),
        aDefinition('top', [
          { id: 'each', kind: 'child', definition: 'leaf', for_each: '${input.l}', input: '${item}', max_parallel: 1 },
          task('after', { input: '${steps.each.output}' }),
        ]),
      ],
    });
    const { runId } = await service.start('top', { l: [{ n: 1 }, { n: 2 }] });
    const first = await service.take();
    await pause(service, runId);
    must(await service.complete(first, 'one'));
    await service.pass(5000);
    expect((await service.detail(runId)).children).toMatchObject([{ status: 'succeeded' }]);
    await resume(service, runId);
    const second = await service.take();
    expect(second.input ?? second.state).toBeDefined();
    await pause(service, runId);
    must(await service.complete(second, 'two'));
    await service.pass(5000);
    expect(await service.detail(runId)).toMatchObject({ status: 'paused', cursor: 'each' });
    const again = await service.reopen();
    must(await again.resumeRun({ ...ALL, runId }));
    const [lease] = must(await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }));
    expect(lease).toMatchObject({ stepId: 'after', input: ['one', 'two'] });
  });

  it('children that were still to be started when it was paused are started when it is resumed', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('one')),
        aDefinition('top', [
          { id: 'each', kind: 'child', definition: 'leaf', for_each: '${input.l}', max_parallel: 1000 },
        ]),
      ],
    });
    // One commit starts a hundred; the next ones follow by a timer, which the pause takes off.
    const starting = service.start('top', { l: Array.from({ length: 250 }, (_, n) => n) });
    const { runId } = await starting;
    await pause(service, runId);
    await service.pass(3000);
    const open = async () => (await service.detail(runId)).children.length;
    const atPause = await open();
    expect(atPause).toBeLessThan(250);
    await service.pass(3000);
    expect(await open()).toBe(atPause);
    await resume(service, runId);
    await service.pass(3000);
    expect(await open()).toBe(250);
    expect(service.faults).toEqual([]);
  });

  it('beyond a thousand in a commit the others follow at once, and as their parent is by then', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('one')),
        aDefinition('half', [
          { id: 'each', kind: 'child', definition: 'leaf', for_each: '${input.l}', max_parallel: 1000 },
        ]),
        aDefinition('top', [
          {
            id: 'halves',
            kind: 'child',
            definition: 'half',
            for_each: '${input.halves}',
            input: '${item}',
            max_parallel: 2,
          },
        ]),
      ],
    });
    const half = { l: Array.from({ length: 550 }, (_, n) => n) };
    const { runId } = await service.start('top', { halves: [half, half] });
    await service.pass(12_000);
    const tree = await below(service, runId);
    expect(tree).toHaveLength(1102);
    const counted = async () => {
      const all = await statuses(service, tree);
      return [all.filter((status) => status === 'paused').length, all.filter((status) => status === 'queued').length];
    };
    await pause(service, runId);
    await service.pass(2000);
    expect(await counted()).toEqual([1102, 0]);
    // Resumed and paused again before those beyond the bound had their turn: they end as the parent does.
    await resume(service, runId);
    await pause(service, runId);
    await service.pass(3000);
    expect(await counted()).toEqual([1102, 0]);
    await resume(service, runId);
    await service.pass(2000);
    expect(await counted()).toEqual([0, 1100]);
    expect(service.faults).toEqual([]);
  });

  it('a paused run is cancelled with its children', async () => {
    const service = await open();
    const { runId } = await service.start('top', { l: [1, 2] });
    await pause(service, runId);
    must(await service.runs.cancelRun({ ...ALL, runId }));
    expect(new Set(await statuses(service, await below(service, runId)))).toEqual(new Set(['cancelled']));
  });
});
