import { describe, expect, it } from 'vitest';
import type { BulkAction } from '../../../src/actors/bulk/messages.ts';
import type { RunFilter } from '../../../src/store/runs/run-store.ts';
import { ALL, aDefinition, codeOf, type Harness, must, task } from '../run-harness.ts';
import { onEachEngine } from '../engines.ts';

const HOUR = 3_600_000;
const definitions = [
  aDefinition('flow', [task('one')]),
  aDefinition('ask', [{ id: 'wait', kind: 'wait_event', event: 'go' }]),
];
const cancel: BulkAction = { action: 'cancel', reason: 'all of them' };
const start = (
  { runs }: Pick<Harness, 'runs'>,
  filter: Partial<RunFilter>,
  work: BulkAction = cancel,
  dryRun = false,
) => runs.startBulk({ ...ALL, filter: { reach: ['p'], ...filter }, work, dryRun });
const startMany = async (harness: Harness, definition: string, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await harness.start(definition)).runId);
  return ids;
};
const statusesOf = async ({ runs }: Pick<Harness, 'runs'>): Promise<Record<string, number>> => {
  const { items } = must(await runs.listRuns({ ...ALL, reach: ['p', 'q'], limit: 1000 }));
  return Object.fromEntries([...Map.groupBy(items, ({ status }) => status)].map(([status, of]) => [status, of.length]));
};

onEachEngine('actions on many runs', ({ createHarness }) => {
  it('say how many runs match and which, and begin nothing on a dry run or without a match', async () => {
    const harness = await createHarness({ definitions });
    const ids = await startMany(harness, 'flow', 12);
    const dry = must(await start(harness, { definitionId: 'flow' }, cancel, true));
    expect(dry).toEqual({ begun: false, count: 12, sample: ids.slice(0, 10) });
    expect(must(await start(harness, { definitionId: 'nobody' }))).toEqual({ begun: false, count: 0, sample: [] });
    await harness.runs.tick();
    expect(await statusesOf(harness)).toEqual({ queued: 12 });
    expect(must(await harness.runs.listActors({ ...ALL, type: 'bulk', limit: 10 })).items).toEqual([]);
  });

  it('do it to each run that matches, and to no other, over several commits', async () => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 'flow', 250);
    await startMany(harness, 'ask', 5);
    await harness.start('flow', {}, { project: 'q' });
    const { bulkId = '', count } = must(await start(harness, { definitionId: 'flow' }));
    expect(count).toBe(250);
    harness.time.advance(1);
    await startMany(harness, 'flow', 1);
    await harness.runs.tick();
    expect(await statusesOf(harness)).toEqual({ cancelled: 250, waiting: 5, queued: 2 });
    expect(must(await harness.runs.getBulk({ ...ALL, bulkId }))).toMatchObject({
      action: 'cancel',
      status: 'done',
      count: 250,
      done: 250,
      refused: 0,
      endedAt: expect.any(Number),
    });
    expect(harness.faults).toEqual([]);
  });

  it('count the runs that do not take it', async () => {
    const harness = await createHarness({ definitions });
    const [first = ''] = await startMany(harness, 'flow', 3);
    must(await harness.runs.cancelRun({ ...ALL, runId: first }));
    const { bulkId = '' } = must(await start(harness, {}));
    await harness.runs.tick();
    expect(must(await harness.runs.getBulk({ ...ALL, bulkId }))).toMatchObject({ count: 3, done: 2, refused: 1 });
  });

  it('signal: each run that waits for the event gets it once, whatever restarts between', async () => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 'ask', 3);
    await startMany(harness, 'flow', 2);
    const signal: BulkAction = { action: 'signal', event: 'go', payload: { n: 1 } };
    const { bulkId = '' } = must(await start(harness, {}, signal));
    await harness.runs.tick();
    expect(await statusesOf(harness)).toEqual({ succeeded: 3, queued: 2 });
    expect(must(await harness.runs.getBulk({ ...ALL, bulkId }))).toMatchObject({ done: 3, refused: 2 });
  });

  it('pause and resume: runs that have ended refuse', async () => {
    const harness = await createHarness({ definitions });
    const [first = ''] = await startMany(harness, 'flow', 3);
    must(await harness.runs.cancelRun({ ...ALL, runId: first }));
    for (const [action, status] of [
      ['pause', 'paused'],
      ['resume', 'queued'],
    ] as const) {
      const { bulkId = '' } = must(await start(harness, {}, { action }));
      await harness.runs.tick();
      expect(await statusesOf(harness)).toEqual({ cancelled: 1, [status]: 2 });
      expect(must(await harness.runs.getBulk({ ...ALL, bulkId }))).toMatchObject({ action, done: 2, refused: 1 });
    }
  });

  it('go on after a restart where they stood', async () => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 'flow', 250);
    const { bulkId = '' } = must(await start(harness, {}));
    const reopened = await harness.reopen();
    await reopened.tick();
    await reopened.tick();
    expect(await statusesOf({ runs: reopened })).toEqual({ cancelled: 250 });
    expect(must(await reopened.getBulk({ ...ALL, bulkId }))).toMatchObject({ status: 'done', refused: 0 });
  });

  it('a call stops them; what has ended is kept for a day', async () => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 'flow', 3);
    const { bulkId = '' } = must(await start(harness, {}));
    const stopped = must(await harness.runs.stopBulk({ ...ALL, bulkId }));
    expect(['stopped', 'done']).toContain(stopped.status);
    await harness.runs.tick();
    expect(must(await harness.runs.stopBulk({ ...ALL, bulkId })).status).toBe(stopped.status);
    harness.time.advance(24 * HOUR - 1000);
    await harness.runs.tick();
    expect(codeOf(await harness.runs.getBulk({ ...ALL, bulkId }))).toBe('ok');
    harness.time.advance(1000);
    await harness.runs.tick();
    expect(codeOf(await harness.runs.getBulk({ ...ALL, bulkId }))).toBe('not_found');
  });

  describe('of one project', () => {
    it('are not those of another: neither seen nor stopped by its key', async () => {
      const harness = await createHarness({ definitions });
      await startMany(harness, 'flow', 1);
      const { bulkId = '' } = must(await start(harness, {}));
      for (const call of ['getBulk', 'stopBulk'] as const)
        expect(codeOf(await harness.runs[call]({ reach: ['q'], bulkId }))).toBe('forbidden');
      expect(codeOf(await harness.runs.getBulk({ reach: ['p', 'q'], bulkId }))).toBe('ok');
      const { items } = must(await harness.runs.listActors({ reach: ['p'], type: 'bulk', limit: 10 }));
      expect(items).toMatchObject([{ id: bulkId, machine: 'bulk' }]);
    });

    it('are seen by keys that reach all of their projects', async () => {
      const harness = await createHarness({ definitions });
      await startMany(harness, 'flow', 1);
      const { bulkId = '' } = must(await start(harness, { reach: ['p', 'q'] }));
      expect(codeOf(await harness.runs.getBulk({ reach: ['p'], bulkId }))).toBe('forbidden');
      expect(codeOf(await harness.runs.getBulk({ reach: ['p', 'q'], bulkId }))).toBe('ok');
      expect(codeOf(await harness.runs.getBulk({ ...ALL, bulkId }))).toBe('ok');
    });
  });
});
