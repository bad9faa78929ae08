import { expect, it } from 'vitest';
import type { RunningRuns } from '../../../src/actors/start.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, settled, task, tasks } from '../run-harness.ts';

// Interface decisions, section 13, "Pause": definitions. Owners are those of section 12.

onEachEngine('a paused definition', ({ createHarness }) => {
  const open = () =>
    createHarness({
      definitions: [
        aDefinition('flow', tasks('one', 'two')),
        aDefinition('flow', tasks('one', 'two'), { version: 2 }),
        aDefinition('other', tasks('one')),
        aDefinition('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 10_000 }, task('then')]),
        aDefinition('parent', [{ id: 'kids', kind: 'child', definition: 'flow' }]),
      ],
    });
  const pause = async (runs: RunningRuns, id: string, reason?: string) =>
    must(await runs.pauseDefinition({ ...ALL, id, ...(reason === undefined ? {} : { reason }) }));
  const resume = async (runs: RunningRuns, id: string) => must(await runs.resumeDefinition({ ...ALL, id }));

  it('"starts are taken and stay `queued` with `queued_reason` `definition_paused`", and begin when it is resumed', async () => {
    const service = await open();
    expect(await pause(service.runs, 'flow', 'broken prompt')).toEqual({
      owner: '',
      id: 'flow',
      pause: { since: service.time.now(), reason: 'broken prompt' },
    });
    const started = [await service.start('flow'), await service.start('flow', {}, { definitionVersion: 1 })];
    for (const { runId, status, queuedReason } of started) {
      expect([status, queuedReason]).toEqual(['queued', 'definition_paused']);
      expect(await service.detail(runId)).toMatchObject({ queuedReason: 'definition_paused', stepCount: 0 });
      expect(await service.kinds(runId)).toEqual(['run.started', 'run.held']);
    }
    expect(await service.claim('w1', 9)).toEqual([]);
    expect((await resume(service.runs, 'flow')).pause).toBeUndefined();
    await service.pass(1000);
    expect(new Set((await service.claim('w1', 9)).map(({ runId }) => runId))).toEqual(
      new Set(started.map(({ runId }) => runId)),
    );
    expect(await service.kinds(started[0]?.runId ?? '')).toEqual([
      'run.started',
      'run.held',
      'run.admitted',
      'cursor.moved',
      'step.leased',
    ]);
    expect((await service.detail(started[0]?.runId ?? '')).queuedReason).toBeUndefined();
  });

  it('"its runs get no offers", and others do; what a worker holds goes on', async () => {
    const service = await open();
    const leased = await service.start('flow');
    const lease = await service.take();
    const queued = await service.start('flow');
    const other = await service.start('other');
    await pause(service.runs, 'flow');
    expect((await service.claim('w1', 9)).map(({ runId }) => runId)).toEqual([other.runId]);
    expect((await service.detail(queued.runId)).queuedReason).toBe('definition_paused');
    must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
    expect(must(await service.complete(lease))).toEqual({ runStatus: 'queued', nextStep: 'two' });
    const named = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 60_000, runId: leased.runId });
    await settled(service.runs);
    const any = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 60_000 });
    await settled(service.runs);
    expect(service.runs.waitingClaims()).toBe(2);
    await resume(service.runs, 'flow');
    expect([must(await named), must(await any)]).toMatchObject([
      [{ runId: leased.runId, stepId: 'two' }],
      [{ runId: queued.runId, stepId: 'one' }],
    ]);
  });

  it('sleeps of its runs go on; only offers stop', async () => {
    const service = await open();
    const { runId } = await service.start('nap');
    await pause(service.runs, 'nap');
    await service.pass(10_000);
    expect(await service.detail(runId)).toMatchObject({
      status: 'queued',
      cursor: 'then',
      queuedReason: 'definition_paused',
    });
  });

  it('a run whose `start_at` comes is held, one that its parent starts too, and its deadline goes on', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', tasks('one'), { limits: { run_timeout_ms: 60_000 } }),
        aDefinition('parent', [{ id: 'kids', kind: 'child', definition: 'flow' }]),
      ],
    });
    const later = await service.start('flow', {}, { startAt: { afterMs: 5000 } });
    await pause(service.runs, 'flow');
    const { runId } = await service.start('parent');
    const [child] = (await service.detail(runId)).children;
    await service.pass(5000);
    for (const id of [later.runId, child?.runId ?? ''])
      expect(await service.detail(id)).toMatchObject({ status: 'queued', queuedReason: 'definition_paused' });
    expect((await service.kinds(later.runId)).slice(-2)).toEqual(['run.resumed', 'run.held']);
    await service.pass(55_000);
    expect(await service.detail(child?.runId ?? '')).toMatchObject({ status: 'failed', error: { class: 'limit' } });
    await resume(service.runs, 'flow');
    await service.pass(1000);
    expect((await service.claim('w1', 9)).map((lease) => lease.runId)).toEqual([later.runId]);
  });

  it('"a run paused by itself stays paused when its definition resumes"', async () => {
    const service = await open();
    await pause(service.runs, 'flow');
    const { runId } = await service.start('flow');
    const paused = must(await service.runs.pauseRun({ ...ALL, runId }));
    expect([paused.status, paused.queuedReason]).toEqual(['paused', undefined]);
    await resume(service.runs, 'flow');
    await service.pass(2000);
    expect((await service.detail(runId)).status).toBe('paused');
    const resumed = must(await service.runs.resumeRun({ ...ALL, runId }));
    expect([resumed.status, resumed.cursor]).toEqual(['queued', 'one']);
  });

  it('a held run is cancelled, and a run resumed by itself does not begin while its definition is paused', async () => {
    const service = await open();
    await pause(service.runs, 'flow');
    const { runId } = await service.start('flow');
    must(await service.runs.pauseRun({ ...ALL, runId }));
    expect(must(await service.runs.resumeRun({ ...ALL, runId }))).toMatchObject({
      status: 'queued',
      queuedReason: 'definition_paused',
    });
    expect(await service.runs.findStuckRuns()).toEqual([]);
    expect(must(await service.runs.cancelRun({ ...ALL, runId })).status).toBe('cancelled');
    await resume(service.runs, 'flow');
    await service.pass(1000);
    expect(await service.kinds(runId)).toEqual([
      'run.started',
      'run.held',
      'run.paused',
      'run.unpaused',
      'run.finished',
    ]);
    expect(service.faults).toEqual([]);
  });

  it('survives a restart, as do the runs that it holds; those of one that was resumed just before are admitted by the next service', async () => {
    const service = await open();
    await pause(service.runs, 'flow', 'why');
    const { runId } = await service.start('flow');
    const again = await service.reopen();
    expect(must(await again.getDefinition({ ...ALL, id: 'flow' })).pause).toMatchObject({ reason: 'why' });
    await again.tick();
    expect(must(await again.claim({ ...ALL, workerId: 'w1', max: 9, waitMs: 0 }))).toEqual([]);
    expect(must(await again.getRun({ ...ALL, runId })).queuedReason).toBe('definition_paused');
    // Its commit is through and nothing was admitted: as a kill would leave it.
    must(await again.resumeDefinition({ ...ALL, id: 'flow' }));
    const third = await service.reopen();
    await third.tick();
    expect(must(await third.getRun({ ...ALL, runId })).cursor).toBe('one');
  });

  it('is idempotent, in all versions at once, and an actor that one can look at', async () => {
    const service = await open();
    const first = await pause(service.runs, 'flow', 'first');
    service.time.advance(1000);
    expect(await pause(service.runs, 'flow', 'second')).toEqual(first);
    const actor = () => service.runs.getActor({ ...ALL, type: 'definition', id: 'flow@' }).then(must);
    expect(await actor()).toMatchObject({
      machine: 'definition',
      value: 'paused',
      version: 1,
      context: { reason: 'first' },
    });
    await resume(service.runs, 'flow');
    await resume(service.runs, 'flow');
    expect(await actor()).toMatchObject({ value: 'active', version: 2 });
    expect(codeOf(await service.runs.pauseDefinition({ ...ALL, id: 'nope' }))).toBe('not_found');
    expect(must(await service.runs.getMachineDiagram({ ...ALL, name: 'definition' }))).toContain(
      'active --> paused: definition.paused',
    );
  });

  it('who owns it decides who may pause it; the same id of another owner goes on', async () => {
    const service = await open();
    must(await service.runs.storeDefinitions({ reach: ['q'], definitions: [aDefinition('flow', tasks('one'))] }));
    expect(codeOf(await service.runs.pauseDefinition({ reach: ['p'], id: 'flow' }))).toBe('forbidden');
    expect(codeOf(await service.runs.pauseDefinition({ reach: ['p'], project: 'q', id: 'flow' }))).toBe('forbidden');
    expect(codeOf(await service.runs.pauseDefinition({ reach: ['p', 'q'], id: 'flow' }))).toBe('invalid_parameter');
    expect(codeOf(await service.runs.pauseDefinition({ ...ALL, project: 'p', id: 'flow' }))).toBe('forbidden');
    expect(must(await service.runs.pauseDefinition({ reach: ['q'], id: 'flow' })).owner).toBe('q');
    const inQ = must(await service.runs.startRun({ ...ALL, project: 'q', definitionId: 'flow', input: {} })).run;
    expect([inQ.queuedReason, (await service.start('flow')).cursor]).toEqual(['definition_paused', 'one']);
    expect(codeOf(await service.runs.getActor({ reach: ['p'], type: 'definition', id: 'flow@q' }))).toBe('forbidden');
    expect(must(await service.runs.resumeDefinition({ ...ALL, project: 'q', id: 'flow' })).pause).toBeUndefined();
  });

  it('many held runs are admitted a slice a commit, and stay held where it is paused again meanwhile', async () => {
    const service = await open();
    await pause(service.runs, 'flow');
    const started = await Promise.all(Array.from({ length: 450 }, () => service.start('flow')));
    const admitted = async () => {
      const runs = must(await service.runs.listRuns({ ...ALL, definitionId: 'flow', limit: 1000 })).items;
      return runs.filter(({ cursor }) => cursor === 'one').length;
    };
    expect(await admitted()).toBe(0);
    await resume(service.runs, 'flow');
    // The commit of the resume holds none of them, and each of those that follow a hundred at most.
    const some = await admitted();
    expect(some).toBeLessThan(450);
    expect(some % 100).toBe(0);
    await pause(service.runs, 'flow');
    await service.pass(1000);
    const still = await admitted();
    expect(still).toBeLessThan(450);
    await resume(service.runs, 'flow');
    await service.pass(1000);
    expect(await admitted()).toBe(started.length);
    expect(service.faults).toEqual([]);
  });
});
