import { describe, expect, it } from 'vitest';
import { MOST_SAVED_VIEWS, type NewSavedView } from '../../../src/store/signals/saved-views.ts';
import { T0 } from './factories.ts';
import { allPages, type OpenStore, storesOf } from './opening.ts';

const aView = (given: Partial<NewSavedView> = {}): NewSavedView => ({
  viewId: 'v-1',
  name: 'failed',
  project: 'default',
  createdAt: T0,
  shows: { kind: 'page', path: '/traces?status=error' },
  ...given,
});

/** What every engine promises of saved views and boards. */
export const savedViewsContract = (engine: string, open: OpenStore): void => {
  describe(`${engine}: signal store`, () => {
    const { empty } = storesOf(open);
    const inDefault = { projects: ['default'], limit: 50 } as const;

    describe('saved views', () => {
      it('are read as they were saved, newest first, each in its project', async () => {
        const store = await empty();
        const board = aView({ viewId: 'b', createdAt: T0 + 1n, shows: { kind: 'board', views: ['v-1', 'gone'] } });
        for (const view of [aView(), board, aView({ viewId: 'x', project: 'second' })])
          expect(await store.putView(view)).toEqual(view);
        expect((await store.listViews(inDefault)).items).toEqual([board, aView()]);
        expect(await store.findView('x', 'all')).toEqual(aView({ viewId: 'x', project: 'second' }));
        expect(await store.findView('x', ['default'])).toBeUndefined();
        const paged = await allPages((after) =>
          store.listViews({ projects: 'all', limit: 1, ...(after && { after }) }),
        );
        expect(paged.map(({ viewId }) => viewId).toSorted()).toEqual(['b', 'v-1', 'x']);
      });

      it('one that is saved again replaces the older one, and keeps the time of its making', async () => {
        const store = await empty();
        await store.putView(aView({ userId: 'ann' }));
        const again = aView({ name: 'renamed', createdAt: T0 + 9n, shows: { kind: 'board', views: ['a'] } });
        expect(await store.putView(again)).toEqual({ ...again, createdAt: T0 });
        expect((await store.listViews(inDefault)).items).toEqual([{ ...again, createdAt: T0 }]);
        expect(await store.deleteViewsOfUser('ann', 'all')).toMatchObject({ deleted: 0 });
      });

      it(`a project has ${MOST_SAVED_VIEWS} at the most; those that are there may still be replaced`, async () => {
        const store = await empty();
        for (let n = 0; n < MOST_SAVED_VIEWS; n += 1)
          expect(await store.putView(aView({ viewId: `v-${n}` }))).toBeDefined();
        expect(await store.putView(aView({ viewId: 'one-more' }))).toBeUndefined();
        expect(await store.findView('one-more', 'all')).toBeUndefined();
        expect(await store.putView(aView({ viewId: 'v-7', name: 'renamed' }))).toMatchObject({ name: 'renamed' });
        expect(await store.putView(aView({ viewId: 'one-more', project: 'second' }))).toBeDefined();
      });

      it('are deleted by their id in their project, and with the person whom their path names', async () => {
        const store = await empty();
        await store.putView(aView());
        await store.putView(aView({ viewId: 'of-ann', userId: 'ann' }));
        await store.putView(aView({ viewId: 'of-ann', userId: 'ann', project: 'second' }));
        await store.putView(aView({ viewId: 'of-bob', userId: 'bob' }));
        expect((await store.deleteView('second', 'v-1')).deleted).toBe(0);
        expect((await store.deleteView('default', 'v-1')).deleted).toBe(1);
        expect((await store.deleteViewsOfUser('ann', ['default'])).deleted).toBe(1);
        expect(await store.findView('of-ann', 'all')).toMatchObject({ project: 'second' });
        expect((await store.deleteViewsOfUser('ann', 'all')).deleted).toBe(1);
        expect((await store.listViews({ projects: 'all', limit: 50 })).items.map(({ viewId }) => viewId)).toEqual([
          'of-bob',
        ]);
      });
    });
  });
};
