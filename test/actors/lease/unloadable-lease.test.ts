import { expect, it } from 'vitest';
import { LEASE_MACHINE_VERSION } from '../../../src/machines/lease.ts';
import { noChanges } from '../../../src/store/runs/run-store.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, settled, tasks } from '../run-harness.ts';

onEachEngine('a lease that this release cannot load', ({ createHarness }) => {
  const open = () => createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });

  /** Says of a stored lease that another release left it. */
  const setVersion = async (service: Harness, leaseId: string, machineVersion: number): Promise<void> => {
    const record = await service.store.findAttempt(leaseId);
    if (record === undefined) throw new Error('no lease');
    const changes = noChanges();
    changes.attemptsUpdated.push({ ...record, machineVersion });
    await service.store.commit(changes);
  };

  it('shows its version, and its run is quarantined until a release starts that can load it', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const { leaseId } = await service.take();
    const held = { ...ALL, leaseId, workerId: 'w1' };
    const shown = async (runs: typeof service.runs) =>
      must(await runs.getActor({ ...ALL, type: 'lease', id: leaseId }));
    expect(await shown(service.runs)).toMatchObject({ machineVersion: LEASE_MACHINE_VERSION, version: 2 });

    await setVersion(service, leaseId, 99);
    const unable = await service.reopen();
    expect(await shown(unable)).toMatchObject({ machineVersion: 99, value: 'running' });
    expect(codeOf(await unable.heartbeat(held))).toBe('conflict');
    await settled(unable);
    expect((await unable.counts()).quarantined).toBe(1);
    expect(must(await unable.getActor({ ...ALL, type: 'run', id: runId })).fault).toContain(
      'version 99 of machine "lease"',
    );
    // Neither its deadlines nor a call move it, and the next start that cannot load it changes nothing.
    service.time.advance(60_000);
    await unable.tick();
    expect(codeOf(await unable.cancelRun({ ...ALL, runId }))).toBe('conflict');
    const stillUnable = await service.reopen();
    await settled(stillUnable);
    expect((await stillUnable.counts()).quarantined).toBe(1);

    await setVersion(service, leaseId, LEASE_MACHINE_VERSION);
    const able = await service.reopen();
    do await settled(able);
    while ((await able.counts()).quarantined > 0);
    must(await able.complete({ ...held, output: { ok: true } }));
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'two' });
  });

  it('is met by its deadline: the run is quarantined, and no other fault is reported', async () => {
    const service = await open();
    await service.start('flow');
    const { leaseId } = await service.take();
    await setVersion(service, leaseId, 99);
    const unable = await service.reopen();
    for (let seconds = 0; seconds < 120; seconds += 30) {
      service.time.advance(30_000);
      await unable.tick();
      await settled(unable);
    }
    expect((await unable.counts()).quarantined).toBe(1);
    expect(service.faults).toEqual([]);
  });

  it('that has ended is refused by its version alone, and its run goes on', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const { leaseId } = await service.take();
    must(await service.runs.complete({ ...ALL, leaseId, workerId: 'w1', output: 1 }));
    await setVersion(service, leaseId, 99);
    const again = await service.reopen();
    expect(codeOf(await again.heartbeat({ ...ALL, leaseId, workerId: 'w1' }))).toBe('conflict');
    await settled(again);
    expect((await again.counts()).quarantined).toBe(0);
    expect((await service.detail(runId)).status).toBe('queued');
  });
});
