import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Experiment, NewDataset, NewDatasetItem } from '../../../src/store/signals/evaluation.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import type { Score } from '../../../src/model/signal.ts';
import { emptyBatch } from '../../../src/model/signal.ts';
import type { OpenStore } from './opening.ts';

const T0 = 1_795_165_200_000_000_123n;
const at = (seconds: number): bigint => T0 + BigInt(seconds) * 1_000_000_000n;
const TRACE = '5b8efff798038103d269b633813fc60c';

const aDataset = (given: Partial<NewDataset> = {}): NewDataset => ({
  datasetId: 'd-1',
  name: 'refunds',
  project: 'default',
  createdAt: T0,
  ...given,
});
const anItem = (given: Partial<NewDatasetItem> = {}): NewDatasetItem => ({
  itemId: 'i-1',
  input: { question: 'where is my order?' },
  createdAt: T0,
  ...given,
});
const anExperiment = (given: Partial<Experiment> = {}): Experiment => ({
  experimentId: 'e-1',
  name: 'shorter prompt',
  project: 'default',
  createdAt: T0,
  ...given,
});
let scores = 0;
const aScore = (given: Partial<Score> = {}): Score => ({
  scoreId: `s-${scores++}`,
  traceId: TRACE,
  scorerId: 'answered',
  scorerVersion: '1',
  value: 1,
  min: 0,
  max: 1,
  source: 'offline',
  timestamp: T0,
  receivedAt: T0,
  correlation: { project: 'default' },
  experimentId: 'e-1',
  ...given,
});

/** What every engine promises about datasets and experiments. `open` gives an empty store. */
export const evaluationContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: datasets and experiments`, () => {
    let store: SignalStore;
    let remove: () => Promise<void>;
    beforeEach(async () => {
      ({ store, remove } = await open());
    });
    afterEach(() => remove());
    const writeScores = (...list: Score[]) => store.write({ batch: { ...emptyBatch, scores: list } });

    describe('a dataset', () => {
      it('is found by its id and by its name, complete, and counts its cases', async () => {
        const dataset = aDataset({ description: 'what went wrong in May' });
        expect(await store.putDataset(dataset)).toEqual({ ...dataset, itemCount: 0 });
        await store.putItems(dataset, [anItem(), anItem({ itemId: 'i-2' })]);
        const stored = { ...dataset, itemCount: 2 };
        expect(await store.findDataset('d-1', 'all', [])).toEqual(stored);
        expect(await store.findDataset('refunds', [], ['default'])).toEqual(stored);
        expect(await store.findDataset('refunds', 'all', [])).toBeUndefined();
        expect(await store.findDataset('d-1', ['other'], ['other'])).toBeUndefined();
      });

      it('is found by id before another is found by name', async () => {
        await store.putDataset(aDataset({ datasetId: 'a', name: 'b' }));
        await store.putDataset(aDataset({ datasetId: 'b', name: 'c' }));
        expect((await store.findDataset('b', 'all', 'all'))?.name).toBe('c');
      });

      it('is replaced by one with the same id, and keeps its cases and the time of its making', async () => {
        await store.putDataset(aDataset({ description: 'first' }));
        await store.putItems(aDataset(), [anItem()]);
        const replaced = await store.putDataset(aDataset({ name: 'returns', createdAt: at(60) }));
        expect(replaced).toEqual({ ...aDataset({ name: 'returns' }), itemCount: 1 });
        expect(await store.findDataset('refunds', 'all', 'all')).toBeUndefined();
      });

      it('is not stored under a name that another dataset of the project has', async () => {
        await store.putDataset(aDataset());
        expect(await store.putDataset(aDataset({ datasetId: 'd-2' }))).toBeUndefined();
        expect((await store.listDatasets({ projects: 'all', limit: 10 })).items).toHaveLength(1);
        expect(await store.putDataset(aDataset({ datasetId: 'd-2', project: 'other' }))).toMatchObject({
          project: 'other',
        });
      });

      it('of another project may have the same id', async () => {
        await store.putDataset(aDataset());
        await store.putDataset(aDataset({ project: 'other', name: 'theirs' }));
        expect((await store.findDataset('d-1', ['other'], []))?.name).toBe('theirs');
        expect((await store.findDataset('d-1', ['default'], []))?.name).toBe('refunds');
      });

      it('is deleted with its cases, and only once', async () => {
        await store.putDataset(aDataset());
        await store.putItems(aDataset(), [anItem({ sourceTraceId: TRACE, expected: 'x' })]);
        expect((await store.deleteDataset(aDataset())).deleted).toBe(1);
        expect(await store.findDataset('d-1', 'all', 'all')).toBeUndefined();
        expect((await store.listItems(aDataset(), { limit: 10 })).items).toEqual([]);
        expect(await store.findExpected(TRACE, 'default')).toBeUndefined();
        expect((await store.deleteDataset(aDataset())).deleted).toBe(0);
      });

      it('is listed newest first, page by page, within reach and window', async () => {
        for (let i = 0; i < 5; i++)
          await store.putDataset(aDataset({ datasetId: `d-${i}`, name: `n-${i}`, createdAt: at(i) }));
        await store.putDataset(aDataset({ datasetId: 'far', project: 'other', createdAt: at(9) }));
        const names: string[] = [];
        let after: readonly (string | number)[] | undefined;
        do {
          const page = await store.listDatasets({ projects: ['default'], limit: 2, ...(after && { after }) });
          names.push(...page.items.map(({ name }) => name));
          after = page.next;
        } while (after !== undefined);
        expect(names).toEqual(['n-4', 'n-3', 'n-2', 'n-1', 'n-0']);
        const window = await store.listDatasets({ projects: 'all', limit: 10, from: at(1), to: at(3) });
        expect(window.items.map(({ name }) => name)).toEqual(['n-2', 'n-1']);
      });
    });

    describe('a case', () => {
      beforeEach(async () => {
        await store.putDataset(aDataset());
      });

      it('is kept whole: any JSON in, any JSON expected', async () => {
        const item = anItem({
          input: [1, 'two', { three: null }],
          expected: false,
          metadata: JSON.parse('{"__proto__": {"a": 1}}'),
          sourceTraceId: TRACE,
        });
        expect(await store.putItems(aDataset(), [item])).toBe('written');
        const stored = await store.findItem(aDataset(), 'i-1');
        expect(JSON.stringify(stored?.metadata)).toBe('{"__proto__":{"a":1}}');
        expect({ ...stored, metadata: item.metadata }).toEqual({ ...item, datasetId: 'd-1' });
      });

      it('is not stored where there is no dataset', async () => {
        expect(await store.putItems(aDataset({ datasetId: 'none' }), [anItem()])).toBe('no_dataset');
        expect(await store.putItems(aDataset({ project: 'other' }), [anItem()])).toBe('no_dataset');
        expect((await store.listItems(aDataset(), { limit: 10 })).items).toEqual([]);
      });

      it('is replaced by one with the same id, and keeps its place and the time of its making', async () => {
        await store.putItems(aDataset(), [anItem(), anItem({ itemId: 'i-2', createdAt: at(1) })]);
        await store.putItems(aDataset(), [anItem({ input: 'new', expected: 'more', createdAt: at(99) })]);
        const { items } = await store.listItems(aDataset(), { limit: 10 });
        expect(items.map(({ itemId, input, createdAt }) => [itemId, input, createdAt])).toEqual([
          ['i-1', 'new', T0],
          ['i-2', anItem().input, at(1)],
        ]);
      });

      it('is listed in the order of making, and an insert while paging neither skips nor repeats', async () => {
        const items = Array.from({ length: 5 }, (_, i) => anItem({ itemId: `i-${i}`, createdAt: at(i >> 1) }));
        await store.putItems(aDataset(), items);
        const first = await store.listItems(aDataset(), { limit: 2 });
        await store.putItems(aDataset(), [anItem({ itemId: 'late', createdAt: at(50) })]);
        const second = await store.listItems(aDataset(), { limit: 9, ...(first.next && { after: first.next }) });
        expect([...first.items, ...second.items].map(({ itemId }) => itemId)).toEqual([
          ...items.map(({ itemId }) => itemId),
          'late',
        ]);
        expect(second.next).toBeUndefined();
      });

      it('is deleted alone, and only once', async () => {
        await store.putItems(aDataset(), [anItem(), anItem({ itemId: 'i-2' })]);
        expect((await store.deleteItem(aDataset(), 'i-1')).deleted).toBe(1);
        expect((await store.deleteItem(aDataset(), 'i-1')).deleted).toBe(0);
        expect((await store.listItems(aDataset(), { limit: 10 })).items.map(({ itemId }) => itemId)).toEqual(['i-2']);
      });

      it('gives the expected answer of its run: the newest that has one, of the same project', async () => {
        await store.putDataset(aDataset({ datasetId: 'd-2', name: 'second' }));
        await store.putDataset(aDataset({ project: 'other' }));
        const captured = (itemId: string, expected: NewDatasetItem['expected'], seconds: number) =>
          anItem({
            itemId,
            sourceTraceId: TRACE,
            createdAt: at(seconds),
            ...(expected === undefined ? {} : { expected }),
          });
        expect(await store.findExpected(TRACE, 'default')).toBeUndefined();
        await store.putItems(aDataset(), [captured('i-1', 'older', 1)]);
        await store.putItems(aDataset({ datasetId: 'd-2' }), [captured('i-2', { newer: [1] }, 2)]);
        await store.putItems(aDataset(), [captured('i-3', undefined, 3)]);
        await store.putItems(aDataset({ project: 'other' }), [captured('i-4', 'theirs', 4)]);
        expect(await store.findExpected(TRACE, 'default')).toEqual({ newer: [1] });
        expect(await store.findExpected(TRACE, 'other')).toBe('theirs');
      });
    });

    describe('an experiment', () => {
      it('is kept complete, and replaced by one with the same id', async () => {
        const experiment = anExperiment({ datasetId: 'd-1', serviceVersion: '2.0.0', metadata: { prompt: 'v7' } });
        expect(await store.putExperiment(experiment)).toEqual(experiment);
        expect(await store.findExperiment('e-1', 'all')).toEqual(experiment);
        expect(await store.findExperiment('e-1', ['other'])).toBeUndefined();
        expect(await store.putExperiment(anExperiment({ name: 'again', createdAt: at(5) }))).toEqual(
          anExperiment({ name: 'again' }),
        );
        expect(await store.findExperiment('e-1', 'all')).toEqual(anExperiment({ name: 'again' }));
      });

      it('is listed newest first', async () => {
        for (let i = 0; i < 3; i++)
          await store.putExperiment(anExperiment({ experimentId: `e-${i}`, createdAt: at(i) }));
        const page = await store.listExperiments({ projects: ['default'], limit: 2 });
        expect(page.items.map(({ experimentId }) => experimentId)).toEqual(['e-2', 'e-1']);
        const rest = await store.listExperiments({
          projects: ['default'],
          limit: 2,
          ...(page.next && { after: page.next }),
        });
        expect(rest.items.map(({ experimentId }) => experimentId)).toEqual(['e-0']);
      });
    });

    describe('the statistics of an experiment', () => {
      it('hold count, mean and deviation for each scorer and version apart', async () => {
        await writeScores(
          ...[2, 4, 4, 4, 5, 5, 7, 9].map((value) =>
            aScore({ scorerId: 'grade', scorerVersion: 'm-1', value, max: 10 }),
          ),
          aScore({ scorerId: 'grade', scorerVersion: 'm-2', value: 3, max: 10 }),
          aScore({ scorerId: 'grade', scorerVersion: undefined as never, value: 8, max: 10 }),
          aScore({ experimentId: 'e-2', value: 0 }),
          aScore({ correlation: { project: 'other' }, value: 0 }),
        );
        const found = await store.scoreStatistics('e-1', ['default']);
        expect(found).toEqual([
          { scorerId: 'grade', count: 1, mean: 8 },
          { scorerId: 'grade', scorerVersion: 'm-1', count: 8, mean: 5, stddev: expect.closeTo(2.138089935, 9) },
          { scorerId: 'grade', scorerVersion: 'm-2', count: 1, mean: 3 },
        ]);
        expect(await store.scoreStatistics('none', 'all')).toEqual([]);
      });

      it('keep the digits of a narrow spread around a large mean', async () => {
        await writeScores(...[1e9, 1e9 + 1, 1e9 + 2].map((value) => aScore({ value, max: 2e9 })));
        expect((await store.scoreStatistics('e-1', 'all'))[0]?.stddev).toBeCloseTo(1, 9);
      });

      it('are numbers where sums and squares have none; a deviation without a number is absent', async () => {
        const huge = { min: -Number.MAX_VALUE, max: Number.MAX_VALUE };
        await writeScores(
          ...[1e308, 1e308, 1e308, 1e308].map((value) => aScore({ ...huge, scorerId: 'alike', value })),
          ...[1e308, 1e308, 1e308, -1e308].map((value) => aScore({ ...huge, scorerId: 'apart', value })),
        );
        expect(await store.scoreStatistics('e-1', 'all')).toEqual([
          expect.objectContaining({ scorerId: 'alike', count: 4, mean: 1e308 }),
          { scorerId: 'apart', scorerVersion: '1', count: 4, mean: 0.5e308 },
        ]);
      });

      it('count a score that was sent again once', async () => {
        await writeScores(aScore({ scoreId: 'one', value: 0 }));
        await writeScores(aScore({ scoreId: 'one', value: 1 }));
        expect(await store.scoreStatistics('e-1', 'all')).toEqual([
          { scorerId: 'answered', scorerVersion: '1', count: 1, mean: 1 },
        ]);
      });
    });
  });
};
