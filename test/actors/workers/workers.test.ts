import { SERVICE } from '../../../src/model/definition/owner.ts';
import { expect, it } from 'vitest';
import { WORKER_RETENTION_MS, WORKER_SEEN_MS } from '../../../src/actors/workers/registry.ts';
import { noChanges } from '../../../src/store/runs/run-store.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, tasks } from '../run-harness.ts';

/** How often the service looks for what is past its time. */
const SWEEP_MS = 60_000;

onEachEngine('registering', ({ createHarness }) => {
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
    expect(codeOf(await service.runs.getDefinition({ ...ALL, id: 'new' }))).toBe('not_found');
    expect(must(await service.runs.getDefinition({ ...ALL, id: 'flow' }))).toMatchObject({
      versions: [{ version: 1, openRuns: 0, workers: 1 }],
      latest: { id: 'flow' },
    });
    expect(must(await service.runs.getDefinitionVersion({ ...ALL, id: 'flow', version: 1 })).document).toEqual(one);
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

onEachEngine('workers', ({ createHarness }) => {
  const flow = aDefinition('flow', tasks('one'));

  const ids = async (service: Awaited<ReturnType<typeof createHarness>>) =>
    must(await service.runs.listWorkers({ ...ALL, limit: 50 })).items.map(({ workerId }) => workerId);

  it('one that was not seen for 30 days is registered no more, and may register again', async () => {
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
    const second = must(await service.runs.listWorkers({ ...ALL, limit: 2, after: first.next ?? [] }));
    expect(second.items.map(({ workerId }) => workerId)).toEqual(['c']);
    expect(second.next).toBeUndefined();
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
      // A key of several projects has to name one.
      return codeOf(await as(next, next !== 'all' && next.length > 1 ? { project: 'p' } : {}));
    };
    expect(await replaced('all', undefined, 'all')).toBe('ok');
    expect(await replaced('all', undefined, ['p'])).toBe('forbidden');
    expect(await replaced(['p'], undefined, ['p'])).toBe('ok');
    expect(await replaced(['p'], undefined, ['q'])).toBe('forbidden');
    expect(await replaced(['p'], undefined, ['q', 'p'])).toBe('ok');
    expect(await replaced(['p', 'q'], 'p', ['p'])).toBe('ok');
    expect(await replaced(['p', 'q'], 'q', ['p'])).toBe('forbidden');
    expect(await replaced(['p'], undefined, 'all')).toBe('ok');
    expect(await replaced('all', 'p', ['p'])).toBe('ok');
    expect(await replaced('all', 'p', ['q'])).toBe('forbidden');
    // Those that come at once are distinguished as well.
    const together = await Promise.all(
      [['p'], ['q']].map((reach) => service.runs.registerWorker({ reach, workerId: 'w', definitions: [flow] })),
    );
    expect(together.map(codeOf)).toEqual(['ok', 'forbidden']);
  });

  it('a worker that an earlier release registered may be replaced', async () => {
    const service = await createHarness();
    const { registeredBy: _, ...row } = {
      workerId: 'w',
      owner: SERVICE,
      definitions: [],
      lastSeenAt: 1,
      registeredBy: 'all',
    };
    await service.store.commit({ ...noChanges(), workers: [row] });
    const as = (reach: readonly string[]) => service.runs.registerWorker({ reach, workerId: 'w', definitions: [flow] });
    expect(codeOf(await as(['p']))).toBe('ok');
    expect(codeOf(await as(['q']))).toBe('forbidden');
  });

  it('one that an earlier release let a key of several projects register is replaced by a key that reaches them all', async () => {
    const service = await createHarness();
    const row = { workerId: 'w', owner: SERVICE, definitions: [], lastSeenAt: 1, registeredBy: ['p', 'q'] };
    await service.store.commit({ ...noChanges(), workers: [row] });
    const as = (reach: readonly string[]) =>
      service.runs.registerWorker({ reach, workerId: 'w', definitions: [flow], project: 'p' });
    expect(codeOf(await as(['p']))).toBe('forbidden');
    expect(codeOf(await as(['p', 'q']))).toBe('ok');
  });
});
