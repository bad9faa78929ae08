import type Database from 'better-sqlite3';
import type { Condition, WatchType } from '../../../model/watch.ts';
import {
  KEPT_TRANSITIONS_MS,
  type WatchCause,
  type WatchEntriesOf,
  type WatchEntry,
  type WatchHead,
  type WatchSnapshot,
} from '../../runs/watch-journal.ts';

/** At a transition a minute a week of them, in about seven megabytes. */
export const KEPT_ENTRIES = 10_000;

type Row = {
  readonly type: string;
  readonly id: string;
  readonly seq: number;
  readonly at: number;
  readonly project: string;
  readonly event: string;
  readonly value_before: string | null;
  readonly value_after: string;
  readonly detail: string;
  readonly snapshot: string;
  readonly version: number;
};

const entryOf = (row: Row): WatchEntry => ({
  type: row.type as WatchType,
  id: row.id,
  seq: row.seq,
  at: row.at,
  project: row.project,
  event: row.event as WatchCause,
  ...(row.value_before === null ? {} : { from: row.value_before as Condition }),
  to: row.value_after as Condition,
  detail: row.detail,
  snapshot: row.snapshot,
  version: row.version,
});

/** Of one monitor or SLO, what is past the number that is kept. */
export const TRIM_BY_NUMBER = 'DELETE FROM watch_journal WHERE type = ? AND id = ? AND seq <= ?';
/** Of all, what is past its time. The newest of each stays: the numbers of the next start go on from it. */
export const TRIM_BY_TIME = `DELETE FROM watch_journal WHERE at < ? AND seq <
  (SELECT max(seq) FROM watch_journal AS held WHERE held.type = watch_journal.type AND held.id = watch_journal.id)`;

/** The writing half. The caller holds the transaction. */
export const watchWriterOf = (db: Database.Database) => {
  const setActor = db.prepare('INSERT OR REPLACE INTO actor VALUES (?, ?, ?, ?, ?, ?)');
  const insertEntry = db.prepare('INSERT OR IGNORE INTO watch_journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const trimByNumber = db.prepare(TRIM_BY_NUMBER);
  const trimByTime = db.prepare(TRIM_BY_TIME);
  const heads = db.prepare<[], WatchHead>(
    `SELECT type, id, version,
       coalesce((SELECT max(seq) FROM watch_journal WHERE watch_journal.type = actor.type AND watch_journal.id = actor.id), 0) AS seq
     FROM actor WHERE type IN ('monitor', 'slo')`,
  );

  return {
    heads: (): WatchHead[] => heads.all(),
    record: (snapshots: readonly WatchSnapshot[], entries: readonly WatchEntry[]): void => {
      for (const { type, id, snapshot, version, updatedAt } of snapshots)
        setActor.run(type, id, type, snapshot, version, updatedAt);
      for (const entry of entries) {
        const { type, id, seq, at, project, event, from, to, detail, snapshot, version } = entry;
        insertEntry.run(type, id, seq, at, project, event, from ?? null, to, detail, snapshot, version);
        trimByNumber.run(type, id, seq - KEPT_ENTRIES);
      }
      if (entries.length > 0) trimByTime.run(Math.max(...entries.map(({ at }) => at)) - KEPT_TRANSITIONS_MS);
    },
  };
};

/** What is asked of the journal. */
export const watchQueriesOf = (db: Database.Database) => {
  const list = db.prepare<[string, string, string, number, number], Row>(
    'SELECT * FROM watch_journal WHERE type = ? AND id = ? AND project = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
  );
  const find = db.prepare<[string, string, string, number], Row>(
    'SELECT * FROM watch_journal WHERE type = ? AND id = ? AND project = ? AND seq = ?',
  );
  return {
    listWatchEntries: ({ type, id, project }: WatchEntriesOf, before: number, limit: number): WatchEntry[] =>
      list.all(type, id, project, before, limit).map(entryOf),
    findWatchEntry: ({ type, id, project }: WatchEntriesOf, seq: number): WatchEntry | undefined => {
      const row = find.get(type, id, project, seq);
      return row === undefined ? undefined : entryOf(row);
    },
  };
};
