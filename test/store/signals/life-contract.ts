import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { aLog, aPoint, aScore, aSpan, aUnit, inDefault, T0, traceIdOf, traces } from './factories.ts';
import { type OpenStore, storesOf } from './opening.ts';

/** What every engine promises of cursors and the life of a store. */
export const lifeContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty, holding } = storesOf(open);

    describe('positions', () => {
      it.each([
        ['of another list', ['a name', 'x']],
        ['that is no whole number', [1.5, 1.5]],
        ['beyond every time', ['9999999999999999999', 1]],
        ['that is too long', ['1', 2, 3, 4]],
        ['that is empty', []],
      ])('a position %s fails no list: a cursor comes back from a client', async (_title, after) => {
        const store = await holding({ spans: [aSpan()], logs: [aLog()], metrics: [aPoint()], scores: [aScore()] });
        const paging = { ...inDefault, after };
        const dataset = { project: 'default', datasetId: 'd', name: 'd', createdAt: T0 };
        await store.putDataset(dataset);
        const pages = await Promise.all([
          ...(['start_time', 'duration', 'cost'] as const).map((sort) => store.listTraces(traces({ after, sort }))),
          store.listSpans({ ...paging, order: 'asc', payloads: false }),
          store.listLogs({ ...paging, order: 'asc' }),
          store.listMetricNames(paging),
          store.listScores(paging),
          store.listAspectNotes(paging),
          store.listRollUps({ ...paging, of: 'user' }),
          store.listRollUps({ ...paging, of: 'user', sort: 'cost' }),
          store.listRollUps({ ...paging, of: 'user', sort: 'first_seen', order: 'asc' }),
          store.listProjects(paging),
          store.listAudit(paging),
          store.listDatasets(paging),
          store.listItems(dataset, { limit: 1, after }),
        ]);
        for (const { items } of pages) expect(items).toBeInstanceOf(Array);
      });
    });

    describe('life', () => {
      it('answers a ping', async () => {
        await expect((await empty()).ping()).resolves.toBeUndefined();
      });
      it('writes a probe span, reads it back and deletes it; nothing of it is in any list', async () => {
        const store = await holding({ spans: [aSpan()] });
        expect(await store.probe()).toEqual({ kind: 'survived' });
        const all = { projects: 'all', limit: 10 } as const;
        expect((await store.listSpans({ ...all, order: 'asc', payloads: false })).items).toHaveLength(1);
        expect((await store.listTraces(traces({ projects: 'all' }))).items).toHaveLength(1);
        expect((await store.listProjects(all)).items).toHaveLength(1);
        await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(2) })] }));
        expect(await store.probe()).toEqual({ kind: 'survived' });
      });
      it('commits what was taken, then refuses writes and reads', async () => {
        const store = await empty();
        const taken = Array.from({ length: 20 }, (_, i) =>
          store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(i) })] })),
        );
        await store.close();
        expect(await Promise.all(taken)).toEqual(Array(20).fill('written'));
        await expect(store.write(aUnit({}))).rejects.toBeInstanceOf(StoreUnavailable);
        await expect(store.listTraces(traces())).rejects.toBeInstanceOf(StoreUnavailable);
        await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
        await store.close();
      });
    });
  });
};
