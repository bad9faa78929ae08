import { expect, it } from 'vitest';
import type { BulkAction } from '../../../src/actors/bulk/messages.ts';
import type { RunFilter, RunStore } from '../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, tasks } from '../run-harness.ts';

// A call whose answer was lost is sent again under its idempotency key.

const DAY = 24 * 3_600_000;
const definitions = [aDefinition('flow', tasks('one', 'two'))];
const pause: BulkAction = { action: 'pause', reason: 'weekend' };

type Call = { key?: string; filter?: Partial<RunFilter>; work?: BulkAction; dryRun?: boolean };
/** As the route makes the call: what was asked is compared, and not what it means now. */
const ask = (
  { runs }: Pick<Harness, 'runs'>,
  { key = 'k', filter = { definitionId: 'flow' }, work = pause, dryRun = false }: Call = {},
) =>
  runs.startBulk({
    ...ALL,
    filter: { reach: ['p'], ...filter },
    work,
    dryRun,
    idempotency: { key, asked: JSON.parse(JSON.stringify({ work, filter })) },
  });
const startMany = async (harness: Harness, count: number, more: object = {}): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await harness.start('flow', {}, more)).runId);
  return ids;
};
const bulksOf = async ({ runs }: Pick<Harness, 'runs'>) =>
  must(await runs.listActors({ ...ALL, type: 'bulk', limit: 10 })).items;
const view = async ({ runs }: Pick<Harness, 'runs'>, bulkId = '') => must(await runs.getBulk({ ...ALL, bulkId }));

onEachEngine('an action on many runs that is sent again', ({ createHarness }) => {
  it('with the same key and body begins nothing, and is answered with the action, count and sample of then', async () => {
    const harness = await createHarness({ definitions });
    const ids = await startMany(harness, 3);
    const first = must(await ask(harness));
    expect(first).toEqual({ bulkId: expect.any(String), begun: true, count: 3, sample: ids });
    await harness.runs.tick();
    harness.time.advance(60_000);
    // One more would match now.
    await startMany(harness, 1);
    expect(must(await ask(harness))).toEqual({ ...first, begun: false });
    expect(must(await ask(harness, { dryRun: true }))).toEqual({ ...first, begun: false });
    expect(await bulksOf(harness)).toHaveLength(1);
    expect(await view(harness, first.bulkId)).toMatchObject({ status: 'done', count: 3, done: 3 });
  });

  it('is found where no run matches any more', async () => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 2);
    const call: Call = { work: { action: 'cancel' }, filter: { status: 'queued' } };
    const { bulkId } = must(await ask(harness, call));
    await harness.runs.tick();
    expect(must(await ask(harness, call))).toMatchObject({ bulkId, begun: false, count: 2 });
  });

  it('twice at once begins once', async () => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 3);
    const both = (await Promise.all([ask(harness), ask(harness)])).map(must);
    expect(both.filter(({ begun }) => begun)).toHaveLength(1);
    expect(both[0]).toEqual({ ...both[1], begun: both[0]?.begun });
    expect(await bulksOf(harness)).toHaveLength(1);
  });

  it.each<[string, Call]>([
    ['another action', { work: { action: 'cancel', reason: 'weekend' } }],
    ['another reason', { work: { action: 'pause' } }],
    ['another filter', { filter: { definitionId: 'flow', status: 'queued' } }],
    ['another body on a dry run', { work: { action: 'cancel' }, dryRun: true }],
  ])('with %s under its key is refused, and changes nothing', async (_, other) => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 1);
    const { bulkId = '' } = must(await ask(harness));
    const refused = await ask(harness, other);
    expect(refused).toMatchObject({ ok: false, failure: { code: 'conflict', field: 'idempotency_key' } });
    expect(await bulksOf(harness)).toMatchObject([{ id: bulkId }]);
  });

  it('under another key, or on the runs of another project, is another action', async () => {
    const harness = await createHarness({ definitions });
    await startMany(harness, 1);
    await startMany(harness, 1, { project: 'q' });
    const begun = [
      must(await ask(harness)),
      must(await ask(harness, { key: 'other' })),
      must(await ask(harness, { filter: { definitionId: 'flow', reach: ['q'] } })),
      must(await ask(harness, { filter: { definitionId: 'flow', reach: ['q', 'p'] } })),
      must(await ask(harness, { filter: { definitionId: 'flow', reach: 'all' } })),
    ];
    expect(begun.map((one) => [one.begun, one.count])).toEqual([
      [true, 1],
      [true, 1],
      [true, 1],
      [true, 2],
      [true, 2],
    ]);
    expect(new Set(begun.map(({ bulkId }) => bulkId)).size).toBe(5);
  });

  it('leaves the key free where nothing was begun: no run matched, or it was a dry run', async () => {
    const harness = await createHarness({ definitions });
    expect(must(await ask(harness))).toEqual({ begun: false, count: 0, sample: [] });
    await startMany(harness, 1);
    expect(must(await ask(harness, { dryRun: true }))).toMatchObject({ begun: false, count: 1 });
    expect(must(await ask(harness, { work: { action: 'cancel' } }))).toMatchObject({ begun: true, count: 1 });
  });

  it('after a kill before its commit begins, and after a kill behind its commit is the one that goes on', async () => {
    const harness = await createHarness({ definitions });
    const { store } = harness;
    const ids = await startMany(harness, 250);
    let isBefore = true;
    const dying: RunStore = {
      ...store,
      commit: async (changes, ...more) => {
        if (changes.actorsInserted.length === 0) return store.commit(changes, ...more);
        if (!isBefore) await store.commit(changes, ...more);
        throw new StoreUnavailable('the service was killed');
      },
    };
    expect(codeOf(await ask({ runs: await harness.reopen({ store: dying }) }))).toBe('store_unavailable');
    expect(await bulksOf(harness)).toEqual([]);
    isBefore = false;
    expect(codeOf(await ask({ runs: await harness.reopen({ store: dying }) }))).toBe('store_unavailable');
    const runs = await harness.reopen();
    const again = must(await ask({ runs }));
    expect(again).toMatchObject({ begun: false, count: 250, sample: ids.slice(0, 10) });
    await runs.tick();
    await runs.tick();
    expect(await view({ runs }, again.bulkId)).toMatchObject({ status: 'done', done: 250, refused: 0 });
    expect(await bulksOf({ runs })).toHaveLength(1);

    // No second pause is behind it, which would take what is resumed now.
    const resumed = must(await ask({ runs }, { key: 'resume', work: { action: 'resume' } }));
    await runs.tick();
    await runs.tick();
    expect(await view({ runs }, resumed.bulkId)).toMatchObject({ status: 'done', done: 250 });
    must(await ask({ runs }));
    await (await harness.reopen()).tick();
    const { items } = must(await runs.listRuns({ ...ALL, reach: ['p'], status: 'paused', limit: 10 }));
    expect(items).toEqual([]);
  });

  it('a day after its end is a new one, and takes every run anew', async () => {
    const harness = await createHarness({ definitions });
    const [runId = ''] = await startMany(harness, 1);
    must(await harness.fail(await harness.take(), 'fatal'));
    const call: Call = { work: { action: 'restart' }, filter: { status: 'failed' } };
    harness.time.advance(1);
    const first = must(await ask(harness, call));
    await harness.runs.tick();
    harness.time.advance(DAY - 1000);
    await harness.runs.tick();
    expect(must(await ask(harness, call)).begun).toBe(false);
    harness.time.advance(1000);
    await harness.runs.tick();
    const second = must(await ask(harness, call));
    await harness.runs.tick();
    expect([first.begun, second.begun]).toEqual([true, true]);
    expect(await view(harness, second.bulkId)).toMatchObject({ status: 'done', done: 1, refused: 0 });
    const { items } = must(await harness.runs.listRuns({ ...ALL, restartedFrom: runId, limit: 10 }));
    expect(items).toHaveLength(2);
  });
});
