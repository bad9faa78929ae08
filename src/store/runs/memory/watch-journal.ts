import {
  KEPT_TRANSITIONS_MS,
  type WatchEntriesOf,
  type WatchEntry,
  type WatchJournal,
  type WatchSnapshot,
} from '../watch-journal.ts';

/** As many as there are evaluations in memory: a journal that ends with the process is no archive. */
const KEPT_ENTRIES = 1_000;

/** What of one monitor or SLO is held; its entries by number, oldest first. */
type Shelf = { snapshot: WatchSnapshot | undefined; readonly entries: WatchEntry[] };

/** The journal of monitors and SLOs in memory, for `--runs-data off` and for tests. */
export const createMemoryWatchJournal = (): WatchJournal => {
  const shelves = new Map<string, Shelf>();
  const shelfOf = ({ type, id }: Pick<WatchEntry, 'type' | 'id'>): Shelf => {
    const key = `${type}/${id}`;
    const known = shelves.get(key);
    if (known !== undefined) return known;
    const made: Shelf = { snapshot: undefined, entries: [] };
    shelves.set(key, made);
    return made;
  };
  const entriesOf = (of: WatchEntriesOf): readonly WatchEntry[] =>
    (shelves.get(`${of.type}/${of.id}`)?.entries ?? []).filter(({ project }) => project === of.project);

  const trim = ({ entries }: Shelf, oldestAt: number): void => {
    const oldestSeq = (entries.at(-1)?.seq ?? 0) - KEPT_ENTRIES + 1;
    const isPast = ({ seq, at }: WatchEntry): boolean => seq < oldestSeq || at < oldestAt;
    const past = entries.findIndex((entry, index) => index === entries.length - 1 || !isPast(entry));
    if (past > 0) entries.splice(0, past);
  };

  return {
    keptEntries: KEPT_ENTRIES,
    heads: async () =>
      [...shelves.values()].flatMap(({ snapshot, entries }) =>
        snapshot === undefined
          ? []
          : [{ type: snapshot.type, id: snapshot.id, seq: entries.at(-1)?.seq ?? 0, version: snapshot.version }],
      ),
    record: async (snapshots, entries) => {
      for (const snapshot of snapshots) shelfOf(snapshot).snapshot = snapshot;
      for (const entry of entries) {
        const held = shelfOf(entry).entries;
        if (!held.some(({ seq }) => seq === entry.seq)) held.push(entry);
      }
      if (entries.length === 0) return;
      const oldestAt = Math.max(...entries.map(({ at }) => at)) - KEPT_TRANSITIONS_MS;
      for (const shelf of shelves.values()) trim(shelf, oldestAt);
    },
    listEntries: async (of, before, limit) =>
      entriesOf(of)
        .filter(({ seq }) => seq < before)
        .toReversed()
        .slice(0, limit),
    findEntry: async (of, seq) => entriesOf(of).find((entry) => entry.seq === seq),
  };
};
