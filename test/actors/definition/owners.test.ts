import { expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.ts';
import type { ProjectReach } from '../../../src/model/scope.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, settled, tasks } from '../run-harness.ts';

/** Definitions of one id that are told apart by their step. */
const flow = (step: string, version = 1): Json => aDefinition('flow', tasks(step), { version });

const register = async (
  { runs }: Harness,
  reach: ProjectReach,
  workerId: string,
  definitions: readonly Json[],
  more: object = {},
): Promise<void> => {
  must(await runs.registerWorker({ reach, workerId, definitions, ...more }));
};
/** The step that a run stands at: it says which definition the run is pinned to. */
const startIn = async (service: Harness, project: string, more: object = {}): Promise<string | undefined> =>
  (await service.start('flow', {}, { project, ...more })).cursor;
/** The projects and steps that a worker is offered. */
const offersOf = async (service: Harness, reach: ProjectReach, workerId: string): Promise<string[]> => {
  const gone = new AbortController();
  const claimed = service.runs.claim({ reach, workerId, max: 10, waitMs: 1000 }, gone.signal);
  await settled(service.runs);
  gone.abort();
  return must(await claimed).map(({ project, stepId }) => `${project} ${stepId}`);
};

onEachEngine('the owner of a definition', ({ createHarness }) => {
  it('is the service where a top-level key stores it, whatever project the call names', async () => {
    const service = await createHarness();
    await register(service, 'all', 'w', [flow('one')], { project: 'p' });
    must(await service.runs.storeDefinitions({ ...ALL, definitions: [flow('two', 2)], project: 'p' }));
    expect([await startIn(service, 'p'), await startIn(service, 'q')]).toEqual(['two', 'two']);
    expect(await startIn(service, 'q', { definitionVersion: 1 })).toBe('one');
  });

  it('is the project of the key that stores it; a key of several projects has to name one that it reaches', async () => {
    const service = await createHarness();
    const store = (reach: ProjectReach, more: object = {}) =>
      service.runs.storeDefinitions({ reach, definitions: [flow('one')], ...more });
    const check = (reach: ProjectReach, more: object = {}) =>
      service.runs.checkDefinitions({ reach, definitions: [flow('one')], ...more });
    const worker = (reach: ProjectReach, more: object = {}) =>
      service.runs.registerWorker({ reach, workerId: 'w', definitions: [flow('one')], ...more });
    for (const call of [store, check, worker]) {
      expect(codeOf(await call(['p', 'q']))).toBe('invalid_parameter');
      expect(codeOf(await call(['p', 'q'], { project: 'r' }))).toBe('forbidden');
      expect(codeOf(await call(['p'], { project: 'r' }))).toBe('forbidden');
    }
    expect(codeOf(await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: 1 }))).toBe(
      'not_found',
    );
    must(await store(['p', 'q'], { project: 'q' }));
    expect(await startIn(service, 'q')).toBe('one');
    const inP = { project: 'p', definitionId: 'flow', input: 1 };
    expect(codeOf(await service.runs.startRun({ ...ALL, ...inP }))).toBe('not_found');
    must(await store(['p']));
    expect(await startIn(service, 'p')).toBe('one');
  });

  it('keeps the same id and version apart: two projects and the service have other content, and none is a conflict', async () => {
    const service = await createHarness();
    for (const [reach, step] of [
      ['all', 'ours'],
      [['p'], 'of-p'],
      [['q'], 'of-q'],
    ] as const) {
      const [stored] = must(await service.runs.storeDefinitions({ reach, definitions: [flow(step)] }));
      expect(stored).toEqual({ id: 'flow', version: 1, stored: 'created' });
      const [checked] = must(await service.runs.checkDefinitions({ reach, definitions: [flow(step)] }));
      expect(checked?.faults).toEqual([]);
      const other = { reach, definitions: [flow('other')] };
      expect(codeOf(await service.runs.storeDefinitions(other))).toBe('definition_conflict');
      expect(must(await service.runs.checkDefinitions(other))[0]?.faults).toHaveLength(1);
    }
    expect([await startIn(service, 'p'), await startIn(service, 'q'), await startIn(service, 'r')]).toEqual([
      'of-p',
      'of-q',
      'ours',
    ]);
  });
});

onEachEngine('a start', ({ createHarness }) => {
  it('takes the highest version of its project, or the one named, where the project owns the id', async () => {
    const service = await createHarness({ definitions: [flow('ours', 7)] });
    must(await service.runs.storeDefinitions({ reach: ['p'], definitions: [flow('one', 1), flow('two', 2)] }));
    expect(await startIn(service, 'p')).toBe('two');
    expect(await startIn(service, 'p', { definitionVersion: 1 })).toBe('one');
    const named = { ...ALL, project: 'p', definitionId: 'flow', definitionVersion: 7, input: 1 };
    expect(codeOf(await service.runs.startRun(named))).toBe('not_found');
    expect(await startIn(service, 'q', { definitionVersion: 7 })).toBe('ours');
  });

  it('takes what is newest, also where others were looked up before', async () => {
    const service = await createHarness({ definitions: [flow('ours')] });
    expect(await startIn(service, 'p')).toBe('ours');
    must(await service.runs.storeDefinitions({ ...ALL, definitions: [flow('ours-2', 2)] }));
    expect(await startIn(service, 'p')).toBe('ours-2');
    must(await service.runs.storeDefinitions({ reach: ['p'], definitions: [flow('own')] }));
    expect(await startIn(service, 'p')).toBe('own');
    must(await service.runs.storeDefinitions({ ...ALL, definitions: [flow('ours-3', 3)] }));
    expect([await startIn(service, 'p'), await startIn(service, 'q')]).toEqual(['own', 'ours-3']);
    must(await service.runs.storeDefinitions({ reach: ['p'], definitions: [flow('own-2', 2)] }));
    expect(await startIn(service, 'p')).toBe('own-2');
  });

  it('in one commit with the definition takes it', async () => {
    const service = await createHarness({ definitions: [flow('ours')] });
    const [, own] = await Promise.all([
      service.runs.storeDefinitions({ reach: ['p'], definitions: [flow('own')] }),
      startIn(service, 'p'),
      startIn(service, 'q'),
    ]);
    expect(own).toBe('own');
  });

  it('stays pinned to the definition of its owner, over a restart too', async () => {
    const service = await createHarness({ definitions: [flow('ours')] });
    const before = await service.start('flow');
    await register(service, ['p'], 'own', [flow('own')]);
    const after = await service.start('flow');
    const again = await service.reopen();
    const stepOf = async (runId: string) => must(await again.getRun({ ...ALL, runId })).cursor;
    expect([await stepOf(before.runId), await stepOf(after.runId)]).toEqual(['ours', 'own']);
    const snapshot = async (runId: string) =>
      must(await again.getActor({ ...ALL, type: 'run', id: runId, atSeq: 0 })).machine;
    expect(await snapshot(after.runId)).toBe('run:flow@1');
  });

  it('of a child step takes the definition that the project of the run means', async () => {
    const parent = aDefinition('parent', [{ id: 'sub', kind: 'child', definition: 'flow' }]);
    const service = await createHarness({ definitions: [parent, flow('ours')] });
    must(await service.runs.storeDefinitions({ reach: ['p'], definitions: [flow('own')] }));
    must(await service.runs.storeDefinitions({ reach: ['q'], definitions: [aDefinition('only', tasks('of-q'))] }));
    const childOf = async (project: string) => {
      const { runId } = await service.start('parent', {}, { project });
      const [child] = must(await service.runs.listRuns({ ...ALL, parentRunId: runId, limit: 9 })).items;
      return child?.cursor;
    };
    expect([await childOf('p'), await childOf('q')]).toEqual(['own', 'ours']);
    const stranger = aDefinition('stranger', [{ id: 'sub', kind: 'child', definition: 'only' }]);
    must(await service.runs.storeDefinitions({ ...ALL, definitions: [stranger] }));
    const { runId } = await service.start('stranger', {}, { project: 'p' });
    expect((await service.detail(runId)).error?.message).toContain('definition only is not registered');
  });
});

onEachEngine('a worker', ({ createHarness }) => {
  it('is offered steps of the very definitions that it registered: those of the service, or those of its project', async () => {
    const service = await createHarness();
    await register(service, 'all', 'ours', [flow('ours')]);
    await register(service, ['p'], 'own', [flow('own')]);
    await register(service, ['q'], 'other', [flow('other')], { project: 'q' });
    await register(service, ['r'], 'third', [flow('third')]);
    for (const project of ['p', 'q', 's']) await startIn(service, project);
    expect(await offersOf(service, ['r'], 'third')).toEqual([]);
    expect(await offersOf(service, 'all', 'own')).toEqual(['p own']);
    expect(await offersOf(service, 'all', 'ours')).toEqual(['s ours']);
    expect(await offersOf(service, ['q'], 'other')).toEqual(['q other']);
  });

  it('of a project gets no step of the service, not of a run in its project either', async () => {
    const service = await createHarness({ definitions: [flow('ours')] });
    const { runId } = await service.start('flow');
    await register(service, ['p'], 'own', [flow('own')]);
    expect(await offersOf(service, ['p'], 'own')).toEqual([]);
    expect(must(await service.runs.claim({ reach: ['p'], workerId: 'own', max: 1, waitMs: 0, runId }))).toEqual([]);
    expect(await offersOf(service, 'all', 'w1')).toEqual(['p ours']);
  });

  it('finds steps that memory does not hold by their owner, after a restart', async () => {
    const service = await createHarness({ definitions: [flow('ours')] });
    await register(service, ['p'], 'own', [flow('own')]);
    for (const project of ['p', 'q']) await startIn(service, project);
    const again = await service.reopen();
    const stepsOf = async (workerId: string) =>
      must(await again.claim({ ...ALL, workerId, max: 9, waitMs: 0 })).map(({ stepId }) => stepId);
    expect([await stepsOf('own'), await stepsOf('w1')]).toEqual([['own'], ['ours']]);
  });

  it('of another owner is none that a run could wait for', async () => {
    const service = await createHarness();
    must(await service.runs.storeDefinitions({ reach: ['p'], definitions: [flow('own')] }));
    await register(service, 'all', 'ours', [flow('ours')]);
    const { runId } = await service.start('flow');
    expect((await service.detail(runId)).queuedReason).toBe('no_worker');
    await register(service, ['p'], 'own', [flow('own-2', 2)]);
    expect((await service.detail(runId)).queuedReason).toBe('version_missing');
    await register(service, ['p'], 'own', [flow('own')]);
    expect((await service.detail(runId)).queuedReason).toBe('workers_busy');
  });
});
