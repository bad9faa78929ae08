import { afterEach, describe, expect, it } from 'vitest';
import {
  KEPT_TRANSITIONS_MS,
  type WatchEntriesOf,
  type WatchEntry,
  type WatchJournal,
  type WatchSnapshot,
} from '../../../src/store/runs/watch-journal.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';

const AT = 1_750_000_000_000;

export const aWatchEntry = (seq: number, more: Partial<WatchEntry> = {}): WatchEntry => ({
  type: 'monitor',
  id: 'errors',
  seq,
  at: AT + seq,
  project: 'shop',
  event: 'evaluation.ended',
  from: 'nominal',
  to: 'tripped',
  detail: 'error_rate is 0.5 over 100 runs of the last 5 min, reports when above 0.1',
  snapshot: `{"m":1,"v":"tripped","c":{"rule":{},"no":${seq}}}`,
  version: 2 * seq,
  ...more,
});
export const aWatchSnapshot = (version: number, more: Partial<WatchSnapshot> = {}): WatchSnapshot => ({
  type: 'monitor',
  id: 'errors',
  snapshot: '{"m":1,"v":"nominal","c":{"rule":{}}}',
  version,
  updatedAt: AT,
  ...more,
});
const ofErrors: WatchEntriesOf = { type: 'monitor', id: 'errors', project: 'shop' };

type OpenJournal = {
  readonly journal: WatchJournal;
  readonly close: () => Promise<void>;
};

/** What every engine promises. Called once an engine; `open` gives an empty journal of its own. */
export const watchJournalContract = (engine: string, open: () => Promise<OpenJournal>): void => {
  describe(`${engine}: journal of monitors and SLOs`, () => {
    let opened: OpenJournal | undefined;
    const openJournal = async (): Promise<WatchJournal> => {
      opened = await open();
      return opened.journal;
    };
    const seqs = async (journal: WatchJournal, of = ofErrors): Promise<number[]> =>
      (await journal.listEntries(of, Number.MAX_SAFE_INTEGER, 100_000)).map(({ seq }) => seq);
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });

    it('gives back an entry as it was written; the first of a start has no condition before it', async () => {
      const journal = await openJournal();
      const { from: _from, ...bare } = aWatchEntry(1, { event: 'watch.started', to: 'nominal' });
      const full = aWatchEntry(2);
      await journal.record([], [bare, full]);
      expect(await journal.listEntries(ofErrors, Number.MAX_SAFE_INTEGER, 10)).toEqual([full, bare]);
      expect(await journal.findEntry(ofErrors, 1)).toEqual(bare);
      expect(await journal.findEntry(ofErrors, 3)).toBeUndefined();
    });

    it('lists newest first, from below a number, at most so many', async () => {
      const journal = await openJournal();
      await journal.record(
        [],
        [1, 2, 3, 4, 5].map((seq) => aWatchEntry(seq)),
      );
      const page = async (before: number, limit: number) =>
        (await journal.listEntries(ofErrors, before, limit)).map(({ seq }) => seq);
      expect([await page(6, 2), await page(4, 2), await page(2, 2), await page(1, 2)]).toEqual([
        [5, 4],
        [3, 2],
        [1],
        [],
      ]);
    });

    it('tells monitors from SLOs, ids from each other, and what an id meant in another project', async () => {
      const journal = await openJournal();
      const others = [
        aWatchEntry(1, { type: 'slo' }),
        aWatchEntry(1, { id: 'errors2' }),
        aWatchEntry(1, { project: 'before' }),
      ];
      await journal.record([], [...others, aWatchEntry(2)]);
      expect(await seqs(journal)).toEqual([2]);
      expect(await journal.findEntry(ofErrors, 1)).toBeUndefined();
      for (const { type, id, project } of others)
        expect(await journal.listEntries({ type, id, project }, 99, 99)).toHaveLength(1);
    });

    it('says where the numbers of each go on: the last snapshot, and the last entry where there is one', async () => {
      const journal = await openJournal();
      expect(await journal.heads()).toEqual([]);
      await journal.record([aWatchSnapshot(7), aWatchSnapshot(3, { type: 'slo', id: 'works' })], [aWatchEntry(4)]);
      await journal.record([aWatchSnapshot(8)], []);
      expect((await journal.heads()).toSorted((a, b) => (a.type < b.type ? -1 : 1))).toEqual([
        { type: 'monitor', id: 'errors', seq: 4, version: 8 },
        { type: 'slo', id: 'works', seq: 0, version: 3 },
      ]);
    });

    it('takes the same call twice: what is there stays as it is', async () => {
      const journal = await openJournal();
      const entries = [aWatchEntry(1), aWatchEntry(2)];
      await journal.record([aWatchSnapshot(2)], entries);
      await journal.record([aWatchSnapshot(2)], [aWatchEntry(2, { detail: 'another' }), aWatchEntry(3)]);
      expect(await seqs(journal)).toEqual([3, 2, 1]);
      expect((await journal.findEntry(ofErrors, 2))?.detail).toBe(entries[1]?.detail);
    });

    it('keeps as many entries of each as it says, and not one more', async () => {
      const journal = await openJournal();
      const { keptEntries } = journal;
      const fill = Array.from({ length: keptEntries }, (_, index) => aWatchEntry(index + 1));
      await journal.record([], [...fill, aWatchEntry(1, { id: 'other' })]);
      expect((await seqs(journal)).at(-1)).toBe(1);
      await journal.record([], [aWatchEntry(keptEntries + 1)]);
      const kept = await seqs(journal);
      expect([kept.length, kept[0], kept.at(-1)]).toEqual([keptEntries, keptEntries + 1, 2]);
      expect(await seqs(journal, { ...ofErrors, id: 'other' })).toEqual([1]);
    });

    it('keeps an entry for 400 days, and the newest of each for longer', async () => {
      const journal = await openJournal();
      const other = { ...ofErrors, id: 'other' };
      await journal.record(
        [],
        [
          aWatchEntry(1, { at: AT }),
          aWatchEntry(2, { at: AT + 1 }),
          aWatchEntry(1, { id: 'other', at: AT }),
          aWatchEntry(2, { id: 'other', at: AT }),
        ],
      );
      await journal.record([], [aWatchEntry(3, { at: AT + KEPT_TRANSITIONS_MS })]);
      expect([await seqs(journal), await seqs(journal, other)]).toEqual([
        [3, 2, 1],
        [2, 1],
      ]);
      await journal.record([], [aWatchEntry(4, { at: AT + 1 + KEPT_TRANSITIONS_MS })]);
      expect([await seqs(journal), await seqs(journal, other)]).toEqual([[4, 3, 2], [2]]);
    });

    it('a snapshot alone removes nothing', async () => {
      const journal = await openJournal();
      await journal.record([], [aWatchEntry(1, { at: 0 }), aWatchEntry(2, { at: 1 })]);
      await journal.record([aWatchSnapshot(1, { updatedAt: AT })], []);
      expect(await seqs(journal)).toEqual([2, 1]);
    });
  });
};

/** What engines promise that can be away. */
export const expectUnavailable = async (journal: WatchJournal): Promise<void> => {
  await expect(journal.heads()).rejects.toThrow(StoreUnavailable);
  await expect(journal.record([aWatchSnapshot(1)], [])).rejects.toThrow(StoreUnavailable);
  await expect(journal.listEntries(ofErrors, 1, 1)).rejects.toThrow(StoreUnavailable);
  await expect(journal.findEntry(ofErrors, 1)).rejects.toThrow(StoreUnavailable);
};
