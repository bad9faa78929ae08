import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, must, task, tasks } from '../run-harness.ts';

onEachEngine('a run with `start_at`', ({ createHarness }) => {
  const open = (more: object = {}) => createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'), more)] });
  const inTenMinutes = { startAt: { afterMs: 600_000 } };

  it('is `scheduled` until then, a timer, and begins then: never early, and once', async () => {
    const service = await open();
    const at = service.time.now() + 600_000;
    const { runId, status, startAt } = await service.start('flow', {}, inTenMinutes);
    expect([status, startAt]).toEqual(['scheduled', at]);
    expect(await service.detail(runId)).toMatchObject({ timers: [{ name: 'start_at', dueAt: at }], stepCount: 0 });
    expect(await service.claim()).toEqual([]);
    await service.pass(599_000);
    service.time.advance(999);
    await service.runs.tick();
    expect((await service.detail(runId)).status).toBe('scheduled');
    service.time.advance(1);
    await service.runs.tick();
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'one', timers: [], startAt: at });
    expect((await service.claim()).map((lease) => lease.runId)).toEqual([runId]);
    await service.pass(2000);
    expect(await service.kinds(runId)).toEqual([
      'run.started',
      'run.waiting',
      'run.resumed',
      'cursor.moved',
      'step.leased',
    ]);
  });

  it('survives a restart, and one that fell due while the service was away begins at the next start', async () => {
    const service = await open();
    const { runId } = await service.start('flow', {}, inTenMinutes);
    const again = await service.reopen();
    service.time.advance(599_999);
    await again.tick();
    expect(must(await again.getRun({ ...ALL, runId })).status).toBe('scheduled');
    service.time.advance(3_600_000);
    const late = await service.reopen();
    await late.tick();
    expect(must(await late.getRun({ ...ALL, runId })).status).toBe('queued');
  });

  it('past means at once: the same journal as a run without it, in one commit', async () => {
    const service = await open();
    const plain = await service.start('flow');
    for (const startAt of [{ at: service.time.now() - 1 }, { at: service.time.now() }, { afterMs: 0 }]) {
      const { runId, status } = await service.start('flow', {}, { startAt });
      expect(status).toBe('queued');
      expect(await service.kinds(runId)).toEqual(await service.kinds(plain.runId));
    }
    expect((await service.start('flow', {}, { startAt: { at: service.time.now() + 1 } })).status).toBe('scheduled');
  });

  it('follows the wall clock, as a time that somebody named', async () => {
    const service = await open();
    const { runId } = await service.start('flow', {}, inTenMinutes);
    service.time.jumpWall(600_000);
    await service.runs.tick();
    expect((await service.detail(runId)).status).toBe('queued');
  });

  it('`run_timeout_ms` counts from then', async () => {
    const service = await open({ limits: { run_timeout_ms: 60_000 } });
    const at = service.time.now() + 600_000;
    const { runId, deadlineAt } = await service.start('flow', {}, inTenMinutes);
    expect(deadlineAt).toBe(at + 60_000);
    await service.pass(659_000);
    expect((await service.detail(runId)).status).toBe('queued');
    await service.pass(1000);
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'limit', limit: 'run_timeout_ms' },
      endedAt: at + 60_000,
      timers: [],
    });
  });

  it('the deadline of one that has begun is a countdown: a jump of the wall clock does not move it', async () => {
    const service = await open({ limits: { run_timeout_ms: 60_000 } });
    const { runId } = await service.start('flow', {}, inTenMinutes);
    await service.pass(600_000);
    service.time.jumpWall(86_400_000);
    await service.pass(59_000);
    expect((await service.detail(runId)).status).toBe('queued');
    await service.pass(1000);
    expect((await service.detail(runId)).status).toBe('failed');
  });

  it('is cancelled while it is scheduled, and does not begin afterwards', async () => {
    const service = await open({ limits: { run_timeout_ms: 60_000 } });
    const { runId } = await service.start('flow', {}, inTenMinutes);
    expect(must(await service.runs.cancelRun({ ...ALL, runId, reason: 'not needed' })).status).toBe('cancelled');
    expect(await service.detail(runId)).toMatchObject({ timers: [], stepCount: 0 });
    await service.pass(700_000);
    expect(await service.kinds(runId)).toEqual(['run.started', 'run.waiting', 'run.finished']);
    expect(service.faults).toEqual([]);
  });

  it('is listed as `scheduled` and as one that waits on a timer, is not stuck, and time travel knows the state', async () => {
    const service = await open();
    const { runId } = await service.start('flow', {}, inTenMinutes);
    await service.start('flow');
    const list = async (filter: object) =>
      must(await service.runs.listRuns({ ...ALL, limit: 10, ...filter })).items.map((run) => run.runId);
    expect(await list({ status: 'scheduled' })).toEqual([runId]);
    expect(await list({ waitingOn: 'timer' })).toEqual([runId]);
    expect(await list({ waitingOn: 'worker' })).not.toContain(runId);
    expect(await service.runs.findStuckRuns()).toEqual([]);
    expect((await service.runs.counts()).openRuns).toBe(2);
    await service.pass(600_000);
    const valueAt = async (atSeq: number) =>
      must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq })).value;
    expect([await valueAt(0), await valueAt(1), await valueAt(3)]).toEqual([
      'scheduled',
      'scheduled',
      { active: { one: 'queued' } },
    ]);
    await service.claim('w1', 2);
    const cause = must(await service.runs.stepCause({ ...ALL, runId, stepId: 'one' }));
    expect(cause.chain.map(({ kind }) => kind)).toEqual(['step.leased', 'cursor.moved', 'run.resumed', 'run.started']);
  });

  it('shows its wait in its trace', async () => {
    const service = await open();
    const at = service.time.now() + 600_000;
    await service.start('flow', {}, inTenMinutes);
    await service.pass(600_000);
    await service.runs.flushOutbox();
    const events = service.spans.at(-1)?.events ?? [];
    expect(events.map(({ name }) => name)).toEqual(['wait.opened', 'wait.ended']);
    expect(events[0]?.attributes).toMatchObject({
      kind: 'start_at',
      due_at: new Date(at).toISOString().replace('.000', ''),
    });
    expect(events[1]?.attributes).toMatchObject({ reason: 'due' });
  });
});

onEachEngine('priority', ({ createHarness }) => {
  const open = () =>
    createHarness({
      definitions: [
        aDefinition('flow', tasks('one', 'two')),
        aDefinition('other', tasks('one')),
        aDefinition('parent', [{ id: 'kids', kind: 'child', definition: 'flow' }, task('after')]),
      ],
    });

  it('higher is offered first, age breaks ties, over definitions and over a restart', async () => {
    const service = await open();
    const begin = async (definitionId: string, priority?: number) => {
      const { runId } = await service.start(definitionId, {}, priority === undefined ? {} : { priority });
      service.time.advance(10);
      return runId;
    };
    const low = await begin('flow', -100);
    const plain = await begin('flow');
    const high = await begin('other', 100);
    const alsoHigh = await begin('flow', 100);
    const alsoPlain = await begin('other', 0);
    const order = [high, alsoHigh, plain, alsoPlain, low];
    expect((await service.claim('w1', 2)).map(({ runId }) => runId)).toEqual(order.slice(0, 2));
    const again = await service.reopen();
    const left = must(await again.claim({ ...ALL, workerId: 'w1', max: 9, waitMs: 1000 }));
    expect(left.map(({ runId }) => runId)).toEqual(order.slice(2));
  });

  it('a step gains one point for each minute that it waits', async () => {
    const service = await open();
    const old = await service.start('flow', {}, { priority: 0 });
    service.time.advance(5 * 60_000);
    const younger = await service.start('flow', {}, { priority: 4 });
    const first = await service.start('flow', {}, { priority: 6 });
    expect((await service.claim('w1', 9)).map(({ runId }) => runId)).toEqual([first.runId, old.runId, younger.runId]);
  });

  it('each step of a run waits anew: what it gained at one step it does not keep for the next', async () => {
    const service = await open();
    const patient = await service.start('flow');
    service.time.advance(10 * 60_000);
    const lease = await service.take();
    expect(lease.runId).toBe(patient.runId);
    const higher = await service.start('flow', {}, { priority: 1 });
    must(await service.complete(lease));
    expect((await service.claim('w1', 9)).map(({ runId }) => runId)).toEqual([higher.runId, patient.runId]);
  });

  it('children inherit it', async () => {
    const service = await open();
    const { runId } = await service.start('parent', {}, { priority: 7 });
    const [child] = (await service.detail(runId)).children;
    expect((await service.detail(child?.runId ?? '')).priority).toBe(7);
    expect((await service.detail((await service.start('flow')).runId)).priority).toBe(0);
  });

  it('a restart does not put what joins from then on behind a low priority that waits', async () => {
    const service = await open();
    await service.start('other', {}, { priority: -100 });
    const again = await service.reopen();
    const start = async (definitionId: string) =>
      must(await again.startRun({ ...ALL, project: 'p', definitionId, input: {} })).run.runId;
    const older = await start('flow');
    service.time.advance(10);
    const younger = await start('other');
    service.time.advance(60_000);
    const claimed = must(await again.claim({ ...ALL, workerId: 'w1', max: 2, waitMs: 1000 }));
    expect(claimed.map(({ runId }) => runId)).toEqual([older, younger]);
  });
});
