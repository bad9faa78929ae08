import { expect, it } from 'vitest';
import type { Changes } from '../../../src/store/runs/run-store.ts';
import { until } from '../../until.ts';
import { onEachEngine } from '../engines.ts';
import { aDefinition, createHarness as createOn, type Harness, must, settled, task } from '../run-harness.ts';

const items = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const each = (definition: string, count: number, more: object = {}) => ({
  id: 'sub',
  kind: 'child',
  definition,
  for_each: items(count),
  max_parallel: 1000,
  ...more,
});

onEachEngine('how many runs may stand below a root', ({ createHarness, open }) => {
  const leaf = aDefinition('leaf', [task('work')]);
  const quick = aDefinition('quick', [{ id: 'done', kind: 'succeed' }]);
  const sizeOf = async ({ store }: Pick<Harness, 'store'>, traceId: string): Promise<unknown> =>
    (await store.load([{ kind: 'tree_size', traceId }]))[0];

  it('as many as the bound, and not one more: the step that would start it fails with class limit', async () => {
    const service = await createHarness({
      maxDescendants: 3,
      definitions: [leaf, aDefinition('three', [each('leaf', 3)]), aDefinition('four', [each('leaf', 4)])],
    });
    const three = await service.start('three');
    expect(await service.detail(three.runId)).toMatchObject({ status: 'waiting' });
    expect((await service.detail(three.runId)).children).toHaveLength(3);
    const four = await service.start('four');
    const refused = await service.detail(four.runId);
    expect(refused).toMatchObject({ status: 'failed', children: [] });
    expect(refused.error).toEqual({
      class: 'limit',
      limit: 'descendants',
      message: 'the root run has 0 descendants and would have 4, at most 3 are allowed (--max-descendants)',
      stepId: 'sub',
    });
    const [failed] = (await service.journal(four.runId)).filter(({ kind }) => kind === 'step.failed');
    expect(failed?.data['error'] ?? failed?.data).toMatchObject({ class: 'limit', limit: 'descendants' });
    expect(service.faults).toEqual([]);
  });

  it('`on_error` decides: the run goes on where it takes class limit', async () => {
    const service = await createHarness({
      maxDescendants: 3,
      definitions: [
        leaf,
        aDefinition('flow', [
          { ...each('leaf', 4), on_error: [{ class: 'limit', to: 'fewer' }] },
          { ...each('leaf', 3), id: 'fewer' },
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    expect(await service.detail(runId)).toMatchObject({ status: 'waiting', cursor: 'fewer' });
    expect((await service.detail(runId)).children).toHaveLength(3);
  });

  it.each([
    ['at the bound all of them start', 0, 0],
    ['one over it, the branch whose runs do not fit fails and the others go on', 1, 1],
  ])('51 children with 20 each: %s', async (_, over, failed) => {
    const service = await createHarness({
      maxDescendants: 51 + 51 * 20 - over,
      definitions: [
        leaf,
        aDefinition('branch', [each('leaf', 20)]),
        aDefinition('flow', [{ ...each('branch', 51), on_item_error: 'collect' }]),
      ],
    });
    const { runId, traceId } = await service.start('flow');
    await settled(service.runs);
    const { children, status } = await service.detail(runId);
    expect(status).toBe('waiting');
    expect(children.filter((one) => one.status === 'waiting')).toHaveLength(51 - failed);
    expect(children.filter((one) => one.error?.limit === 'descendants')).toHaveLength(failed);
    expect(await sizeOf(service, traceId)).toEqual({ traceId, descendants: 51 + (51 - failed) * 20 });
    expect(service.faults).toEqual([]);
  });

  it('counts the runs below runs, those that have ended too, and what turns of one commit start', async () => {
    const service = await createHarness({
      maxDescendants: 9,
      definitions: [
        quick,
        aDefinition('branch', [each('quick', 2), task('rest')]),
        aDefinition('flow', [
          { ...each('branch', 3), on_item_error: 'collect' },
          { ...each('quick', 1), id: 'more' },
        ]),
      ],
    });
    const { runId, traceId } = await service.start('flow');
    expect(await sizeOf(service, traceId)).toEqual({ traceId, descendants: 3 + 3 * 2 });
    for (const lease of await service.claim('w1', 3)) {
      must(await service.runs.started({ reach: 'all', leaseId: lease.leaseId, workerId: 'w1' }));
      must(await service.complete(lease));
    }
    const detail = await service.detail(runId);
    expect(detail).toMatchObject({ status: 'failed' });
    expect(detail.error).toMatchObject({ limit: 'descendants', stepId: 'more' });
    // Another root has a count of its own.
    const other = await service.start('flow');
    expect(await sizeOf(service, other.traceId)).toEqual({ traceId: other.traceId, descendants: 9 });
  });

  it('the child that would go beyond fails as its own step does; its parent hears of it as of any failure', async () => {
    const service = await createHarness({
      maxDescendants: 5,
      definitions: [
        leaf,
        aDefinition('branch', [each('leaf', 2)]),
        aDefinition('flow', [{ ...each('branch', 2), on_item_error: 'collect' }]),
      ],
    });
    const { runId } = await service.start('flow');
    const { children, status } = await service.detail(runId);
    expect(status).toBe('waiting');
    expect(children.map((one) => one.status)).toEqual(['waiting', 'failed']);
    expect(children[1]?.error).toMatchObject({ class: 'limit', limit: 'descendants' });
  });

  it('one row a commit, however many turns of it start runs; the next service goes on from it', async () => {
    const sizes: Changes['treeSizes'][number][][] = [];
    const store = await open();
    const watched = {
      ...store,
      commit: (changes: Changes) => {
        sizes.push([...changes.treeSizes]);
        return store.commit(changes);
      },
    };
    const definitions = [leaf, aDefinition('branch', [each('leaf', 4)]), aDefinition('flow', [each('branch', 40)])];
    const service = await createOn({ store: watched, maxDescendants: 200, definitions });
    const { runId, traceId } = await service.start('flow');
    await until(async () => {
      await settled(service.runs);
      return sizes.flat().at(-1)?.descendants === 200;
    });
    expect(Math.max(...sizes.map(({ length }) => length))).toBe(1);
    expect(sizes.flat().at(-1)).toEqual({ traceId, descendants: 200 });
    expect((await service.detail(runId)).children).toHaveLength(40);
    const [branch] = (await service.detail(runId)).children;
    const next = await service.reopen({ store, maxDescendants: 200 });
    await settled(next);
    expect((await service.detail(branch?.runId ?? '')).children).toHaveLength(4);
    expect(await sizeOf({ store }, traceId)).toEqual({ traceId, descendants: 200 });
  });
});

onEachEngine('a run that starts itself without end', ({ createHarness }) => {
  it('ends by itself at the bound: no more runs than that, none of them open, and no fault', async () => {
    const service = await createHarness({
      maxDescendants: 1000,
      definitions: [aDefinition('bomb', [each('bomb', 50)])],
    });
    const { runId, traceId } = await service.start('bomb');
    await until(async () => {
      await settled(service.runs);
      return (await service.runs.counts()).openRuns === 0;
    });
    expect((await service.detail(runId)).status).toBe('failed');
    expect((await service.runs.counts()).openRuns).toBe(0);
    const [size] = await service.store.load([{ kind: 'tree_size', traceId }]);
    expect(size).toEqual({ traceId, descendants: 1000 });
    expect(service.faults).toEqual([]);
  });

  it('and grows while it is cancelled ends at once, long before the bound', async () => {
    const service = await createHarness({
      maxDescendants: 50_000,
      definitions: [aDefinition('bomb', [each('bomb', 50)])],
    });
    const { runId, traceId } = await service.start('bomb');
    await until(async () => (await service.runs.counts()).openRuns > 500);
    must(await service.runs.cancelRun({ reach: 'all', runId }));
    await until(async () => (await service.runs.counts()).openRuns === 0);
    await settled(service.runs);
    expect(await service.detail(runId)).toMatchObject({ status: 'cancelled', timers: [] });
    const [size] = await service.store.load([{ kind: 'tree_size', traceId }]);
    expect((size as { descendants: number }).descendants).toBeLessThan(25_000);
    expect((await service.runs.counts()).openRuns).toBe(0);
    expect(service.faults).toEqual([]);
  });
});
