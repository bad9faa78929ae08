import { expect, it } from 'vitest';
import type { RunFilter, RunStore } from '../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { ALL, aDefinition, type Harness, must, tasks } from '../run-harness.ts';
import { onEachEngine } from '../engines.ts';

// Interface decisions, section 13, "Many at once" and "Restart".

const definitions = [aDefinition('flow', tasks('one', 'two'))];
const restart = ({ runs }: Pick<Harness, 'runs'>, filter: Partial<RunFilter> = {}) =>
  runs.startBulk({ ...ALL, filter: { reach: ['p'], ...filter }, work: { action: 'restart' }, dryRun: false });
const begun = async (harness: Pick<Harness, 'runs'>, filter: Partial<RunFilter> = {}) => {
  const { bulkId = '', count } = must(await restart(harness, filter));
  return { bulkId, count };
};
const bulk = async ({ runs }: Pick<Harness, 'runs'>, bulkId: string) => must(await runs.getBulk({ ...ALL, bulkId }));
/** Runs that failed at their second step. */
const failed = async (harness: Harness, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    ids.push((await harness.start('flow', { n })).runId);
    must(await harness.complete(await harness.take(), 'first'));
    must(await harness.fail(await harness.take(), 'fatal'));
  }
  return ids;
};
const restartsOf = async ({ runs }: Pick<Harness, 'runs'>, runId: string) =>
  must(await runs.listRuns({ ...ALL, restartedFrom: runId, limit: 100 })).items;

onEachEngine('a restart of many runs', ({ createHarness }) => {
  it('takes up each run that failed at the step that failed, once', async () => {
    const harness = await createHarness({ definitions });
    const ids = await failed(harness, 12);
    const { bulkId, count } = await begun(harness, { status: 'failed' });
    expect(count).toBe(12);
    harness.time.advance(1);
    await harness.runs.tick();
    expect(await bulk(harness, bulkId)).toMatchObject({ action: 'restart', status: 'done', done: 12, refused: 0 });
    for (const runId of ids) {
      const [run, ...others] = await restartsOf(harness, runId);
      expect([run?.status, run?.cursor, others]).toEqual(['queued', 'two', []]);
      expect((await harness.detail(runId)).status).toBe('failed');
    }
    expect(harness.faults).toEqual([]);
  });

  it('counts as refused what goes on, and what ended at no step that failed', async () => {
    const harness = await createHarness({ definitions });
    const [first = ''] = await failed(harness, 1);
    await harness.start('flow');
    const cancelled = await harness.start('flow');
    must(await harness.runs.cancelRun({ ...ALL, runId: cancelled.runId }));
    harness.time.advance(1);
    const { bulkId, count } = await begun(harness);
    expect(count).toBe(3);
    await harness.runs.tick();
    expect(await bulk(harness, bulkId)).toMatchObject({ status: 'done', done: 1, refused: 2 });
    expect(await restartsOf(harness, first)).toHaveLength(1);
  });

  it('goes on over several slices, and does not restart what it restarted', async () => {
    const harness = await createHarness({ definitions });
    await failed(harness, 110);
    const { bulkId } = await begun(harness, { definitionId: 'flow' });
    // No time passes: its own restarts were made before the bound of the filter.
    await harness.runs.tick();
    expect(await bulk(harness, bulkId)).toMatchObject({ status: 'done', count: 110, done: 110, refused: 0 });
    expect(must(await harness.runs.listRuns({ ...ALL, limit: 1000 })).items).toHaveLength(220);
  });

  it('that was cut off in the middle of a slice repeats nothing, and counts right', async () => {
    let stopAt = Number.POSITIVE_INFINITY;
    let restarts = 0;
    const harness = await createHarness({ definitions });
    const ids = await failed(harness, 20);
    const { store } = harness;
    const failing: RunStore = {
      ...store,
      commit: async (changes, ...more) => {
        restarts += changes.runsInserted.length;
        if (restarts > stopAt) throw new StoreUnavailable('the power went');
        return store.commit(changes, ...more);
      },
    };
    const cut = await harness.reopen({ store: failing });
    const { bulkId } = await begun({ runs: cut }, { status: 'failed' });
    stopAt = 10;
    await cut.tick();
    expect((await bulk({ runs: cut }, bulkId)).status).toBe('running');
    const started = must(await cut.listRuns({ ...ALL, reach: ['p'], limit: 1000 })).items.length - 20;
    expect(started).toBeGreaterThan(0);
    expect(started).toBeLessThan(20);
    const next = await harness.reopen();
    await next.tick();
    await next.tick();
    expect(await bulk({ runs: next }, bulkId)).toMatchObject({ status: 'done', done: 20, refused: 0 });
    for (const runId of ids) expect(await restartsOf({ runs: next }, runId)).toHaveLength(1);
  });

  it('that is stopped has counted all that it restarted', async () => {
    const harness = await createHarness({ definitions });
    const ids = await failed(harness, 30);
    const { bulkId } = await begun(harness, { status: 'failed' });
    const stopped = must(await harness.runs.stopBulk({ ...ALL, bulkId }));
    await harness.runs.tick();
    const made = (await Promise.all(ids.map((runId) => restartsOf(harness, runId)))).flat();
    expect(stopped).toMatchObject({ status: 'stopped', done: made.length, refused: 0 });
    expect(made.length).toBeLessThan(30);
    expect(await bulk(harness, bulkId)).toEqual(stopped);
  });
});
