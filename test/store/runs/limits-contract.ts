import { describe, expect, it } from 'vitest';
import { SERVICE } from '../../../src/model/definition/owner.ts';
import type { LimitLine, LimitPlace, LimitRecord } from '../../../src/store/runs/run-store.ts';
import { AT, aRun, type OpenRunStore, storesOf } from './factories.ts';

const aLimit = (limitId: string, more: Partial<LimitRecord> = {}): LimitRecord => ({
  limitId,
  kind: 'concurrency',
  project: 'p',
  definitionOwner: SERVICE,
  definitionId: 'flow',
  definitionVersion: 1,
  key: 'k',
  limit: 1,
  machineVersion: 1,
  state: 'free',
  version: 1,
  used: 0,
  waiting: 0,
  lines: 0,
  starts: [],
  steadyAt: AT,
  updatedAt: AT,
  movedAt: AT,
  ...more,
});
const aPlace = (order: number, more: Partial<LimitPlace> = {}): LimitPlace => ({
  order,
  priority: 0,
  runId: `r${order}`,
  concurrencyId: 'c',
  since: AT,
  ...more,
});
const aLine = (lineId: string, waitsOn: string, more: Partial<LimitLine> = {}): LimitLine => ({
  lineId,
  waitsOn,
  waiting: 1,
  lead: { priority: 0, order: 1 },
  ...more,
});
const orders = (places: readonly { readonly order: number }[]): number[] => places.map(({ order }) => order);

/** What every engine promises of keys in use. */
export const limitsContract = (engine: string, open: OpenRunStore): void => {
  describe(`${engine}: keys in use`, () => {
    const opened = storesOf(open);

    it('gives back a key, a line and a place as they were written, changed and gone', async () => {
      const { commit, find } = await opened();
      const bare = aLimit('c');
      const full = aLimit('r', {
        kind: 'rate',
        stepId: 's',
        perMs: 1000,
        starts: [AT - 500, AT - 500, AT - 3, AT],
        dueAt: AT + 501,
        state: 'admitting',
      });
      const line = aLine('l', 'c', { lead: { priority: -7, order: 3 } });
      const places = [
        aPlace(1),
        aPlace(2, { stepId: 's', rateId: 'r', lineId: 'l', priority: 100 }),
        { order: 3, priority: -100, runId: 'x', rateId: 'r', lineId: 'r', since: AT },
      ];
      await commit((changes) => {
        changes.limitsInserted.push(bare, full);
        changes.linesSet.push(line);
        changes.placesSet.push(...places);
      });
      expect(await find({ kind: 'limit', limitId: 'c' })).toEqual(bare);
      expect(await find({ kind: 'limit', limitId: 'r' })).toEqual(full);
      expect(await find({ kind: 'limit_line', lineId: 'l' })).toEqual(line);
      for (const place of places) expect(await find({ kind: 'limit_place', order: place.order })).toEqual(place);
      const changed = {
        ...full,
        version: 2,
        used: 3,
        waiting: 2,
        lines: 1,
        starts: [AT + 9],
        steadyAt: AT + 9,
        limit: 5,
      };
      await commit((changes) => {
        changes.limitsUpdated.push(changed);
        changes.limitsGone.push('c');
        changes.linesGone.push('l');
        changes.placesGone.push(1);
        changes.placesSet.push(aPlace(2));
      });
      expect(await find({ kind: 'limit', limitId: 'r' })).toEqual(changed);
      expect(await find({ kind: 'limit', limitId: 'c' })).toBeUndefined();
      expect(await find({ kind: 'limit_line', lineId: 'l' })).toBeUndefined();
      expect(await find({ kind: 'limit_place', order: 1 })).toBeUndefined();
      expect(await find({ kind: 'limit_place', order: 2 })).toEqual(aPlace(2));
    });

    it('gives the ids of the keys in use, as many as are asked for', async () => {
      const { commit, find } = await opened();
      const ids = async (limit: number) => ((await find({ kind: 'limit_ids', limit })) as string[]).toSorted();
      expect(await ids(9)).toEqual([]);
      await commit((changes) => changes.limitsInserted.push(aLimit('a'), aLimit('b'), aLimit('c')));
      expect(await ids(9)).toEqual(['a', 'b', 'c']);
      expect(await ids(2)).toHaveLength(2);
      await commit((changes) => changes.limitsGone.push('b'));
      expect(await ids(9)).toEqual(['a', 'c']);
    });

    it('takes no place that is that of another run, and nothing else of that commit', async () => {
      const { commit, find } = await opened();
      await commit((changes) => changes.placesSet.push(aPlace(1, { lineId: 'c' })));
      const again = aPlace(1, { lineId: 'd', priority: 4, stepId: 's' });
      await commit((changes) => changes.placesSet.push(again));
      expect(await find({ kind: 'limit_place', order: 1 })).toEqual(again);
      await expect(
        commit((changes) => {
          changes.limitsInserted.push(aLimit('c'));
          changes.placesSet.push(aPlace(1, { runId: 'another' }));
        }),
      ).rejects.toThrow(/place 1 is that of (?:another run|run r1)/);
      expect(await find({ kind: 'limit_place', order: 1 })).toEqual(again);
      expect(await find({ kind: 'limit', limitId: 'c' })).toBeUndefined();
    });

    it('gives the first in line by priority, then by age, and not those who hold the key', async () => {
      const { commit, find } = await opened();
      await commit((changes) => {
        changes.limitsInserted.push(aLimit('c'));
        changes.linesSet.push(aLine('c', 'c', { lead: { priority: 9, order: 5 } }));
        changes.placesSet.push(
          aPlace(1),
          aPlace(3, { lineId: 'c' }),
          aPlace(2, { lineId: 'c' }),
          aPlace(5, { lineId: 'c', priority: 9 }),
          aPlace(4, { lineId: 'c', priority: -1 }),
        );
      });
      const front = (limit: number) => find({ kind: 'limit_front', limitId: 'c', limit });
      expect(await front(9)).toMatchObject({ places: [{ order: 5 }, { order: 2 }, { order: 3 }, { order: 4 }] });
      expect(await front(2)).toMatchObject({
        places: [{ order: 5 }, { order: 2 }],
        lines: [],
      });
      expect(await find({ kind: 'limit_front', limitId: 'other', limit: 9 })).toEqual({ places: [], lines: [] });
    });

    it('gives the best of all lines that wait for one key, and says where a line truly begins', async () => {
      const { commit, find } = await opened();
      // The lead of the second line has left: it begins behind the first.
      await commit((changes) => {
        changes.linesSet.push(
          aLine('one', 'c', { lead: { priority: 0, order: 10 } }),
          aLine('two', 'c', { lead: { priority: 5, order: 1 } }),
          aLine('elsewhere', 'r', { lead: { priority: 9, order: 2 } }),
        );
        changes.placesSet.push(
          aPlace(10, { lineId: 'one', rateId: 'r1' }),
          aPlace(11, { lineId: 'two', rateId: 'r2' }),
          aPlace(2, { lineId: 'elsewhere', rateId: 'r', priority: 9 }),
        );
      });
      const front = (await find({ kind: 'limit_front', limitId: 'c', limit: 1 })) as { places: []; lines: LimitLine[] };
      expect(orders(front.places)).toEqual([10]);
      expect(front.lines).toEqual([aLine('two', 'c', { lead: { priority: 0, order: 11 } })]);
    });

    it('looks through as many lines as it takes, and no further', async () => {
      const { commit, find } = await opened();
      const lines = Array.from({ length: 100 }, (_, at) => at + 1);
      await commit((changes) => {
        for (const order of lines) {
          changes.linesSet.push(aLine(`l${order}`, 'c', { lead: { priority: 0, order } }));
          changes.placesSet.push(aPlace(order, { lineId: `l${order}`, rateId: `r${order}` }));
        }
      });
      const front = async (limit: number) =>
        orders(((await find({ kind: 'limit_front', limitId: 'c', limit })) as { places: LimitPlace[] }).places);
      expect(await front(1)).toEqual([1]);
      expect(await front(70)).toEqual(lines.slice(0, 70));
      expect(await front(200)).toEqual(lines);
    });

    it('gives those who hold a key, the longest first', async () => {
      const { commit, find } = await opened();
      await commit((changes) =>
        changes.placesSet.push(aPlace(7), aPlace(3), aPlace(5, { lineId: 'c' }), aPlace(4, { concurrencyId: 'd' })),
      );
      expect(await find({ kind: 'limit_holders', limitId: 'c', limit: 9 })).toMatchObject([{ order: 3 }, { order: 7 }]);
      expect(await find({ kind: 'limit_holders', limitId: 'c', limit: 1 })).toMatchObject([{ order: 3 }]);
    });

    it('gives the keys whose actor is due, by time and id, a page at a time', async () => {
      const { commit, find } = await opened();
      await commit((changes) =>
        changes.limitsInserted.push(
          aLimit('b', { dueAt: 10 }),
          aLimit('a', { dueAt: 10 }),
          aLimit('c', { dueAt: 9 }),
          aLimit('d', { dueAt: 11 }),
          aLimit('e'),
        ),
      );
      const due = { kind: 'limits_due', steady: 10 } as const;
      const page = [
        { limitId: 'c', project: 'p', dueAt: 9 },
        { limitId: 'a', project: 'p', dueAt: 10 },
      ];
      expect(await find({ ...due, limit: 2 })).toEqual(page);
      expect(
        await find({
          ...due,
          limit: 9,
          ...(page[1] === undefined ? {} : { ...(page[1] === undefined ? {} : { after: page[1] }) }),
        }),
      ).toEqual([{ limitId: 'b', project: 'p', dueAt: 10 }]);
    });

    it('numbers go on above every place', async () => {
      const { store, commit } = await opened();
      await commit((changes) => changes.placesSet.push(aPlace(41)));
      expect((await store.resume(AT)).highest.order).toBe(41);
    });

    it('a start counts starts and deadlines on by the wall clock', async () => {
      const { store, commit, find } = await opened();
      const rate = aLimit('r', {
        kind: 'rate',
        perMs: 100,
        starts: [490, 500],
        steadyAt: 500,
        updatedAt: AT,
        dueAt: 601,
      });
      await commit((changes) =>
        changes.limitsInserted.push(rate, aLimit('c', { state: 'admitting', dueAt: 500, steadyAt: 500 })),
      );
      await store.resume(AT, AT + 40);
      expect(await find({ kind: 'limit', limitId: 'r' })).toMatchObject({ starts: [AT - 10, AT], dueAt: AT + 101 });
      expect(await find({ kind: 'limit', limitId: 'c' })).toMatchObject({ dueAt: AT });
      // Once more, with nothing written in between: nothing moves.
      await store.resume(AT, AT + 50);
      expect(await find({ kind: 'limit', limitId: 'r' })).toMatchObject({ starts: [AT - 10, AT], dueAt: AT + 101 });
    });

    it('a start whose wall clock stands before what was written counts from there, complete', async () => {
      const { store, commit, find } = await opened();
      const rate = aLimit('r', {
        kind: 'rate',
        perMs: 100,
        starts: [490, 500],
        steadyAt: 500,
        updatedAt: AT,
        dueAt: 601,
      });
      await commit((changes) => changes.limitsInserted.push(rate));
      await store.resume(AT, 7000);
      expect(await find({ kind: 'limit', limitId: 'r' })).toMatchObject({ starts: [6990, 7000], dueAt: 7101 });
      // The failure of a commit is no start.
      await store.resume(AT);
      expect(await find({ kind: 'limit', limitId: 'r' })).toMatchObject({ starts: [6990, 7000], dueAt: 7101 });
    });

    it('lists keys of the projects asked for, by id, a page at a time', async () => {
      const { store, commit } = await opened();
      await commit((changes) =>
        changes.limitsInserted.push(
          aLimit('b'),
          aLimit('c', { project: 'q' }),
          aLimit('a'),
          aLimit('d', { project: 'z' }),
        ),
      );
      const ids = async (...query: Parameters<typeof store.listLimits>) =>
        (await store.listLimits(...query)).map(({ limitId }) => limitId);
      expect(await ids({ reach: 'all', limit: 9 })).toEqual(['a', 'b', 'c', 'd']);
      expect(await ids({ reach: ['p', 'q'], limit: 2 })).toEqual(['a', 'b']);
      expect(await ids({ reach: ['p', 'q'], after: 'b', limit: 2 })).toEqual(['c']);
      expect(await ids({ reach: [], limit: 2 })).toEqual([]);
    });

    it('lists only the keys for which somebody waits, where that is asked', async () => {
      const { store, commit } = await opened();
      await commit((changes) =>
        changes.limitsInserted.push(
          aLimit('a', { waiting: 1 }),
          aLimit('b'),
          aLimit('c', { waiting: 2, project: 'q' }),
          aLimit('d', { waiting: 1 }),
        ),
      );
      const ids = async (query: object) =>
        (await store.listLimits({ reach: 'all', limit: 9, isWaitedFor: true, ...query })).map(({ limitId }) => limitId);
      expect(await ids({})).toEqual(['a', 'c', 'd']);
      expect(await ids({ reach: ['p'] })).toEqual(['a', 'd']);
      expect(await ids({ after: 'a', limit: 1 })).toEqual(['c']);
      expect(await ids({ reach: [] })).toEqual([]);
    });

    it('shows who holds a key and who waits for it, over all lines, and where somebody stands', async () => {
      const { store, commit } = await opened();
      await commit((changes) => {
        changes.limitsInserted.push(aLimit('c', { used: 1 }), aLimit('r', { kind: 'rate', perMs: 1 }));
        changes.linesSet.push(aLine('c', 'c', { waiting: 2 }), aLine('both', 'r', { waiting: 2 }));
        changes.placesSet.push(
          aPlace(1),
          aPlace(2, { lineId: 'c' }),
          aPlace(3, { lineId: 'both', rateId: 'r' }),
          aPlace(4, { lineId: 'c' }),
          aPlace(5, { lineId: 'both', rateId: 'r', priority: 1 }),
        );
      });
      const found = await store.findLimit('c', 9);
      expect(found?.record.limitId).toBe('c');
      expect(orders(found?.holders ?? [])).toEqual([1]);
      expect(orders(found?.line ?? [])).toEqual([5, 2, 3, 4]);
      expect(orders((await store.findLimit('c', 2))?.line ?? [])).toEqual([5, 2]);
      expect(orders((await store.findLimit('r', 9))?.line ?? [])).toEqual([5, 3]);
      expect(await store.findLimit('x', 9)).toBeUndefined();
      expect(await store.whereWaits(4, 9)).toMatchObject({
        record: { limitId: 'c' },
        position: 4,
        holders: [{ order: 1 }],
      });
      expect(await store.whereWaits(2, 9)).toMatchObject({ position: 2 });
      expect(await store.whereWaits(3, 9)).toMatchObject({ record: { limitId: 'r' }, position: 2, holders: [] });
      expect(await store.whereWaits(1, 9)).toBeUndefined();
      expect(await store.whereWaits(99, 9)).toBeUndefined();
    });

    it('names the keys for which runs wait and of which nothing moved since, no holder either', async () => {
      const { store, commit, put } = await opened();
      await put(
        aRun('r1', { updatedAt: 5 }),
        aRun('r2', { updatedAt: 11 }),
        aRun('r3', { updatedAt: 5, status: 'running' }),
        aRun('r4', { updatedAt: 5, status: 'running', fault: 'cannot be loaded' }),
      );
      await commit((changes) => {
        for (const [order, limitId] of [
          [1, 'a'],
          [2, 'holder moved'],
          [3, 'holder is out'],
          [4, 'c: holder is quarantined'],
        ] as const) {
          if (order > 1) changes.limitsInserted.push(aLimit(limitId, { waiting: 1, movedAt: 3 }));
          changes.placesSet.push(aPlace(order, { concurrencyId: limitId }));
        }
        changes.limitsInserted.push(aLimit('rate', { kind: 'rate', perMs: 1, waiting: 1, movedAt: 3 }));
      });
      await commit((changes) =>
        changes.limitsInserted.push(
          aLimit('b', { waiting: 1, movedAt: 10 }),
          aLimit('a', { waiting: 1, movedAt: 9 }),
          aLimit('moves', { waiting: 1, movedAt: 11 }),
          aLimit('free', { movedAt: 1 }),
        ),
      );
      expect((await store.stalledLimits(11, 9)).map(({ limitId }) => limitId)).toEqual([
        'c: holder is quarantined',
        'a',
        'b',
      ]);
      expect(await store.stalledLimits(11, 1)).toHaveLength(1);
    });
  });
};
