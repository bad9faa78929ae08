import { expect, it } from 'vitest';
import { encodeSnapshot } from '../../../src/machines/persisted.ts';
import type { RunningRuns } from '../../../src/actors/start.ts';
import { type Changes, type LimitRecord, noChanges, type RunRecord } from '../../../src/store/runs/run-store.ts';
import { until } from '../../until.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, settled, tasks } from '../run-harness.ts';

const ada = { customer: 'ada' };
const flow = aDefinition('flow', tasks('one', 'two'), { concurrency: { key: '${input.customer}', limit: 1 } });
const runOf = async ({ store }: Harness, runId: string): Promise<RunRecord> => {
  const record = (await store.findRun(runId))?.stored.record;
  if (record === undefined) throw new Error('no run');
  return record;
};
const keyOf = async ({ store }: Harness): Promise<LimitRecord | undefined> =>
  (await store.listLimits({ reach: 'all', limit: 1 }))[0];
const write = async ({ store }: Harness, work: (changes: Changes) => void): Promise<void> => {
  const changes = noChanges();
  work(changes);
  await store.commit(changes);
};
const setSnapshot = async (service: Harness, runId: string, snapshot: string): Promise<void> => {
  const before = await runOf(service, runId);
  await write(service, ({ runsUpdated }) => {
    runsUpdated.push({ before, after: { ...before, snapshot, version: before.version + 1 } });
  });
};
const unloadable = encodeSnapshot(99, { value: 'created', context: {} });
const cancel = (runs: RunningRuns, { runId }: { readonly runId: string }) => runs.cancelRun({ ...ALL, runId });
const begun = async (runs: RunningRuns, { runId }: { readonly runId: string }) =>
  must(await runs.getRun({ ...ALL, runId })).cursor !== undefined;
const untilQuarantined = (runs: RunningRuns, count: number) =>
  until(async () => {
    await settled(runs);
    return (await runs.counts()).quarantined === count;
  });

onEachEngine('a quarantined run and its key', ({ createHarness }) => {
  /** The first holds the key, the others wait, and `spoilt` cannot be loaded by the service that is opened then. */
  const open = async (spoilt: 'holder' | 'first in line') => {
    const service = await createHarness({ definitions: [flow] });
    const holder = await service.start('flow', ada);
    const first = await service.start('flow', ada);
    const second = await service.start('flow', ada);
    const bad = spoilt === 'holder' ? holder : first;
    // A worker has its step, and will find nobody to report to.
    if (spoilt === 'holder') await service.take();
    const { snapshot } = await runOf(service, bad.runId);
    await setSnapshot(service, bad.runId, unloadable);
    const runs = await service.reopen();
    const mend = async (): Promise<RunningRuns> => {
      const { fault: _fault, ...rest } = await runOf(service, bad.runId);
      expect(_fault).toMatch(/later than/);
      await setSnapshot(service, rest.runId, snapshot);
      const again = await service.reopen();
      await untilQuarantined(again, 0);
      return again;
    };
    return { service, runs, holder, first, second, mend };
  };

  it('that waits leaves the line when its turn comes, and asks anew when it is released', async () => {
    const { service, runs, holder, first, second, mend } = await open('first in line');
    must(await cancel(runs, holder));
    await runs.tick();
    await untilQuarantined(runs, 1);
    expect(await begun(runs, second)).toBe(true);
    expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 0, lines: 0 });
    const again = await mend();
    expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 1, lines: 1 });
    must(await cancel(again, second));
    await again.tick();
    expect(await begun(again, first)).toBe(true);
    must(await cancel(again, first));
    expect(await keyOf(service)).toBeUndefined();
  });

  it('that holds it goes on holding it, its key is named, and what it left is let go when it is released and ends', async () => {
    const { service, runs, holder, first, mend } = await open('holder');
    // The first call meets it, and marks it.
    expect(codeOf(await cancel(runs, holder))).toBe('conflict');
    await untilQuarantined(runs, 1);
    service.time.advance(1000);
    expect((await runOf(service, holder.runId)).status).toBe('running');
    expect(await begun(runs, first)).toBe(false);
    const stalled = await runs.findStalledKeys(service.time.now());
    expect(stalled.map(({ limitId }) => limitId)).toEqual([(await keyOf(service))?.limitId]);
    const again = await mend();
    must(await cancel(again, holder));
    await again.tick();
    expect(await begun(again, first)).toBe(true);
  });

  it.each([
    ['is of a later version', unloadable],
    ['is no JSON', '{"v":'],
  ])(
    'whose snapshot %s, and so names no lease, is met by the deadline of its lease, and its key is named',
    async (_what, snapshot) => {
      const service = await createHarness({ definitions: [flow] });
      const holder = await service.start('flow', ada);
      await service.start('flow', ada);
      await service.take();
      await setSnapshot(service, holder.runId, snapshot);
      const runs = await service.reopen();
      for (let second = 0; second < 60; second += 1) {
        service.time.advance(1000);
        await runs.tick();
      }
      await untilQuarantined(runs, 1);
      const stalled = await runs.findStalledKeys(service.time.now());
      expect(stalled.map(({ limitId }) => limitId)).toEqual([(await keyOf(service))?.limitId]);
    },
  );

  it('that is cancelled frees the key at once, and is cancelled when it is released: never two hold it', async () => {
    const { service, runs, holder, first, second, mend } = await open('holder');
    // The first call meets it, and marks it.
    expect(codeOf(await cancel(runs, holder))).toBe('conflict');
    await untilQuarantined(runs, 1);
    for (const words of ['the key that it held is free', 'quarantined']) {
      const refused = await cancel(runs, holder);
      expect(codeOf(refused)).toBe('conflict');
      // Freed once; cancelled again, it holds nothing.
      expect(JSON.stringify(refused)).toContain(words);
      await runs.tick();
      expect(await begun(runs, first)).toBe(true);
      expect(await begun(runs, second)).toBe(false);
      expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 1 });
    }
    const again = await mend();
    expect(must(await again.getRun({ ...ALL, runId: holder.runId })).status).toBe('cancelled');
    expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 1 });
    must(await cancel(again, first));
    await again.tick();
    expect(await begun(again, second)).toBe(true);
    expect(service.faults.filter((fault) => !String(fault).includes('quarantined'))).toEqual([]);
  });

  it('is freed by no caller whose key does not reach it', async () => {
    const { service, runs, holder } = await open('holder');
    await cancel(runs, holder);
    await untilQuarantined(runs, 1);
    expect((await runs.cancelRun({ runId: holder.runId, reach: ['another'] })).ok).toBe(false);
    expect(await keyOf(service)).toMatchObject({ used: 1, waiting: 2 });
  });
});

onEachEngine('a key whose row this release cannot load', ({ createHarness }) => {
  const spoilt = async (spoil: (record: LimitRecord, changes: Changes) => void) => {
    const service = await createHarness({ definitions: [flow] });
    const holder = await service.start('flow', ada);
    const waits = await service.start('flow', ada);
    const other = await service.start('flow', { customer: 'bob' });
    const record = (await service.store.listLimits({ reach: 'all', limit: 9 })).find(({ key }) => key === 'ada');
    if (record === undefined) throw new Error('no key');
    await write(service, (changes) => spoil(record, changes));
    return { runs: await service.reopen(), service, holder, waits, other };
  };

  it.each([
    ['of a state that is not there', { state: 'nowhere' as never }],
    ['of a later version', { machineVersion: 99 }],
  ])(
    '%s: its holder is quarantined where it would give it back, no call fails, and no other run stands still',
    async (_what, more) => {
      const { runs, service, holder, waits, other } = await spoilt((record, { limitsUpdated }) => {
        limitsUpdated.push({ ...record, ...more, version: record.version + 1 });
      });
      expect(codeOf(await cancel(runs, holder))).toBe('conflict');
      expect(codeOf(await cancel(runs, waits))).toBe('conflict');
      await untilQuarantined(runs, 2);
      expect(await runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: ada })).toMatchObject({
        ok: false,
        failure: { code: 'conflict' },
      });
      expect(must(await runs.getRun({ ...ALL, runId: holder.runId })).fault).toMatch(
        /a key that it needs cannot be read/,
      );
      must(await cancel(runs, other));
      expect(
        codeOf(await runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: { customer: 'bob' } })),
      ).toBe('ok');
      expect(service.faults.filter((fault) => !String(fault).includes('quarantined'))).toEqual([]);
    },
  );

  it('is shown as quarantined, alone and in lists, and the others as active', async () => {
    const { runs, service } = await spoilt((record, { limitsUpdated }) => {
      limitsUpdated.push({ ...record, machineVersion: 99, version: record.version + 1 });
    });
    const bad = (await service.store.listLimits({ reach: 'all', limit: 9 })).find(({ key }) => key === 'ada');
    const limits = { ...ALL, type: 'limit', limit: 10 } as const;
    const listed = async (status?: 'active' | 'quarantined') =>
      must(await runs.listActors({ ...limits, ...(status === undefined ? {} : { status }) })).items.map(
        (one) => [one.id === bad?.limitId, one.status] as const,
      );
    expect(await listed()).toEqual(
      expect.arrayContaining([
        [true, 'quarantined'],
        [false, 'active'],
      ]),
    );
    expect(await listed('active')).toEqual([[false, 'active']]);
    expect(await listed('quarantined')).toEqual([[true, 'quarantined']]);
    const shown = must(await runs.getActor({ ...ALL, type: 'limit', id: bad?.limitId ?? '' }));
    expect(shown).toMatchObject({ status: 'quarantined', machineVersion: 99 });
    expect(shown.fault).toMatch(/version 99 of machine "limit"/);
  });

  it('and that is due: the first in line is quarantined, and says why', async () => {
    const { runs, service, waits } = await spoilt((record, { limitsUpdated }) => {
      limitsUpdated.push({ ...record, used: 0, state: 'nowhere' as never, dueAt: 0, version: record.version + 1 });
    });
    await runs.tick();
    await untilQuarantined(runs, 1);
    expect(must(await runs.getRun({ ...ALL, runId: waits.runId })).fault).toMatch(/a key that it needs cannot be read/);
    await runs.tick();
    expect(service.faults).toEqual([]);
  });

  it('that is gone: its holder and those who wait are quarantined, and no call fails', async () => {
    const { runs, service, holder, waits } = await spoilt(({ limitId }, { limitsGone }) => {
      limitsGone.push(limitId);
    });
    expect(codeOf(await cancel(runs, holder))).toBe('conflict');
    expect(codeOf(await cancel(runs, waits))).toBe('conflict');
    await untilQuarantined(runs, 2);
    expect(service.faults.filter((fault) => !String(fault).includes('quarantined'))).toEqual([]);
  });
});
