import { expect, it } from 'vitest';
import { createMemoryRunStore } from '../../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../../src/store/runs/run-store.ts';
import { ALL, aDefinition, createHarness, type Harness, must, settled, tasks } from '../run-harness.ts';

const flow = aDefinition('flow', tasks('one'));
const second = aDefinition('flow', tasks('one'), { version: 2 });

const register = async (service: Harness, workerId: string, definitions = [flow], more: object = {}): Promise<void> => {
  must(await service.runs.registerWorker({ ...ALL, workerId, definitions, ...more }));
};
const reasonOf = async (service: Harness, runId: string) => (await service.detail(runId)).queuedReason;
const workersOf = async (service: Harness): Promise<number[]> =>
  must(await service.runs.getDefinition({ ...ALL, id: 'flow' })).versions.map(({ workers }) => workers);

it('a worker is live for three heartbeats after its call, and no moment longer', async () => {
  const service = await createHarness({ definitions: [flow] });
  const { runId } = await service.start('flow');
  service.time.advance(30_000);
  expect([await reasonOf(service, runId), await workersOf(service)]).toEqual(['workers_busy', [1]]);
  service.time.advance(1);
  expect([await reasonOf(service, runId), await workersOf(service)]).toEqual(['no_worker', [0]]);
});

it('a worker whose claim is held is live, however long', async () => {
  const service = await createHarness({ definitions: [flow, aDefinition('other', tasks('one'))] });
  await register(service, 'w1', [aDefinition('other', tasks('one'))]);
  const { runId } = await service.start('other');
  await service.take();
  const gone = new AbortController();
  const held = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 600_000 }, gone.signal);
  await settled(service.runs);
  service.time.advance(100_000);
  const workers = async () => must(await service.runs.getDefinition({ ...ALL, id: 'other' })).versions[0]?.workers;
  expect(await workers()).toBe(1);
  expect(await reasonOf(service, runId)).toBeUndefined();
  gone.abort();
  await held;
  expect(await workers()).toBe(0);
});

it('live workers that memory does not hold are read at once, however many', async () => {
  const store = createMemoryRunStore();
  const asked: number[] = [];
  const load: RunStore['load'] = (lookups) => {
    if (lookups.some(({ kind }) => kind === 'worker')) asked.push(lookups.length);
    return store.load(lookups);
  };
  const service = await createHarness({ store: { ...store, load }, definitions: [flow] });
  const leases: { readonly leaseId: string; readonly workerId: string }[] = [];
  for (const workerId of ['w1', 'w2', 'w3']) {
    await register(service, workerId);
    await service.start('flow');
    leases.push({ ...(await service.take(workerId)), workerId });
  }
  const { runId } = await service.start('flow');
  const again = await service.reopen();
  for (const { leaseId, workerId } of leases) must(await again.heartbeat({ ...ALL, leaseId, workerId }));
  asked.length = 0;
  const reasonNow = async () => must(await again.getRun({ ...ALL, runId })).queuedReason;
  expect([await reasonNow(), await reasonNow()]).toEqual(['workers_busy', 'workers_busy']);
  expect(asked).toEqual([3]);
});

it('a worker that beats for its lease is live and busy', async () => {
  const service = await createHarness({ definitions: [flow] });
  await service.start('flow');
  const lease = await service.take();
  const { runId } = await service.start('flow');
  for (let beats = 0; beats < 6; beats += 1) {
    service.time.advance(10_000);
    must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
  }
  expect(await reasonOf(service, runId)).toBe('workers_busy');
});

it('a run has no worker when live ones hold other definitions, or serve other projects', async () => {
  const service = await createHarness({ definitions: [flow] });
  const { runId } = await service.start('flow');
  await register(service, 'w1', [aDefinition('other', tasks('one'))]);
  await register(service, 'w2', [flow], { project: 'q' });
  await register(service, 'w3', [flow], { reach: ['q'] });
  expect(await reasonOf(service, runId)).toBe('no_worker');
  await register(service, 'w4', [flow], { project: 'p' });
  expect(await reasonOf(service, runId)).toBe('workers_busy');
});

it('a version is missing when those that hold the definition did not register it', async () => {
  const service = await createHarness({ definitions: [flow] });
  const { runId } = await service.start('flow');
  await register(service, 'w1', [second]);
  expect(await reasonOf(service, runId)).toBe('version_missing');
  await register(service, 'w2', [flow]);
  expect(await reasonOf(service, runId)).toBe('workers_busy');
});

it('or when they refused it, until they register again', async () => {
  const service = await createHarness({ definitions: [flow] });
  const { runId } = await service.start('flow');
  must(await service.fail(await service.take(), 'unservable'));
  expect(await reasonOf(service, runId)).toBe('version_missing');
  await register(service, 'w1');
  expect(await reasonOf(service, runId)).toBe('workers_busy');
});

it('a run that is not queued has no reason, and lists say the reason of each that is', async () => {
  const service = await createHarness({ definitions: [flow, aDefinition('lonely', tasks('one'))] });
  await register(service, 'w1', [flow]);
  const running = await service.start('flow');
  await service.take();
  const queued = await service.start('flow');
  const lonely = await service.start('lonely');
  const { items } = must(await service.runs.listRuns({ ...ALL, limit: 10 }));
  expect(new Map(items.map((run) => [run.runId, run.queuedReason]))).toEqual(
    new Map([
      [running.runId, undefined],
      [queued.runId, 'workers_busy'],
      [lonely.runId, 'no_worker'],
    ]),
  );
});

it('after a restart a worker is live from its first call on', async () => {
  const service = await createHarness({ definitions: [flow] });
  const again = await service.reopen();
  expect(must(await again.getDefinition({ ...ALL, id: 'flow' })).versions[0]?.workers).toBe(0);
  must(await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 0 }, AbortSignal.abort()));
  expect(must(await again.getDefinition({ ...ALL, id: 'flow' })).versions[0]?.workers).toBe(1);
});
