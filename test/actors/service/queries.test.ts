import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, task, tasks } from '../run-harness.ts';

onEachEngine('questions about runs', ({ createHarness }) => {
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

  it('lists runs newest-updated first, by key, a page from where the one before ended', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', tasks('one')), aDefinition('other', tasks('one'))],
    });
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      service.time.advance(1);
      ids.push((await service.start(n === 2 ? 'other' : 'flow', {}, { correlation: { user_id: `u${n % 2}` } })).runId);
    }
    const list = async (more: object = {}) => must(await service.runs.listRuns({ ...ALL, limit: 2, ...more }));
    const first = await list();
    expect(first.items.map(({ runId }) => runId)).toEqual([ids[4], ids[3]]);
    const second = await list({ after: first.next });
    const third = await list({ after: second.next });
    expect([...second.items, ...third.items].map(({ runId }) => runId)).toEqual([ids[2], ids[1], ids[0]]);
    expect(third.next).toBeUndefined();
    expect((await list({ definitionId: 'other', limit: 10 })).items.map(({ runId }) => runId)).toEqual([ids[2]]);
    expect((await list({ userId: 'u1', limit: 10 })).items.map(({ runId }) => runId)).toEqual([ids[3], ids[1]]);
    expect((await list({ status: 'succeeded' })).items).toEqual([]);
    expect((await list({ project: 'q' })).items).toEqual([]);
    expect(codeOf(await service.runs.listRuns({ reach: ['q'], project: 'p', limit: 2 }))).toBe('forbidden');
    const [newest] = (await list()).items;
    expect([newest?.waitingOn, newest?.attempt]).toEqual(['worker', undefined]);
    service.time.advance(1000);
    await service.take();
    const [taken] = (await list({ limit: 1 })).items;
    expect([taken?.runId, taken?.waitingOn, taken?.attempt]).toEqual([ids[0], undefined, 1]);
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
      { type: 'timer', id: 'main' },
      { type: 'dispatcher', id: 'main' },
      { type: 'outbox', id: 'main' },
      { type: 'run', id: runId, machine: 'run:flow@1', value: { active: { 'one-a': 'leased' } }, status: 'active' },
      { type: 'lease', id: lease.leaseId, machine: 'lease', value: 'running', status: 'active' },
    ]);
    expect(must(await service.runs.getActor({ ...ALL, type: 'lease', id: lease.leaseId }))).toMatchObject({
      value: 'running',
      machineVersion: 1,
    });
    expect(must(await service.runs.listMachines({ ...ALL, limit: 20 })).items.map(({ name }) => name)).toEqual([
      'bulk',
      'definition',
      'dispatcher',
      'lease',
      'limit',
      'monitor',
      'outbox',
      'pipeline',
      'schedule',
      'slo',
      'timer',
      'run:flow@1',
    ]);
    const { states } = must(await service.runs.getMachine({ ...ALL, name: 'run:flow@1' }));
    expect(states).toContain('active.one-a.queued');
    expect(must(await service.runs.getMachineDiagram({ ...ALL, name: 'run:flow@1' }))).toContain('stateDiagram-v2');
    expect(codeOf(await service.runs.getMachine({ ...ALL, name: 'run:nope@1' }))).toBe('not_found');
  });
});
