import type { Clock } from '../actors/kernel/clock.ts';
import { encodeSnapshot } from '../machines/persisted.ts';
import type { Counters } from '../model/counters.ts';
import type { UnixMs } from '../model/run.ts';
import type { WatchType } from '../model/watch.ts';
import type { WatchEntriesOf, WatchEntry, WatchHead, WatchJournal } from '../store/runs/watch-journal.ts';
import type { WatchLog } from './log.ts';

/** Transitions that wait to be written: a few megabytes. Beyond them new ones are dropped. */
export const MOST_WAITING = 5_000;
/** Transitions in one commit, so that a long queue does not hold the writer of the runs file for long. */
const MOST_A_WRITE = 500;
/** How long a stop waits for the last write. */
const LAST_WRITE_MS = 1_000;

/** An actor after a change, and the transition that the change was, where it was one. */
export type WatchChange = {
  readonly type: WatchType;
  readonly id: string;
  readonly project: string;
  readonly machineVersion: number;
  readonly snapshot: { readonly value: unknown; readonly context: unknown };
  readonly version: number;
  readonly updatedAt: UnixMs;
  readonly transition?: Pick<WatchEntry, 'event' | 'at' | 'from' | 'to' | 'detail'>;
};

export type WatchRecorderOptions = {
  readonly journal: WatchJournal;
  /** What the journal held when this process began. */
  readonly heads: readonly WatchHead[];
  readonly log: WatchLog;
  readonly counters: Pick<Counters, 'watchTransitionsDropped'>;
  readonly clock: Pick<Clock, 'after'>;
};

/**
 * Writes the snapshots and transitions of monitors and SLOs, after they were decided and reported; nobody waits for the
 * write. Of each actor only the newest snapshot waits; transitions wait in order, and those that a failed write left go with
 * the next one. Readers see waiting rows as if they were written.
 */
export const createWatchRecorder = ({ journal, heads, log, counters, clock }: WatchRecorderOptions) => {
  const keyOf = ({ type, id }: { readonly type: WatchType; readonly id: string }): string => `${type}/${id}`;
  const versions = new Map(heads.map((head) => [keyOf(head), head.version]));
  const seqs = new Map(heads.map((head) => [keyOf(head), head.seq]));
  /** The newest change of each, where it is not written. */
  const changed = new Map<string, WatchChange>();
  /** Oldest first. */
  let waiting: WatchEntry[] = [];
  let droppedNow = 0;
  let isFailing = false;
  let isAsked = false;
  let writing: Promise<void> | undefined;

  const textOf = ({ machineVersion, snapshot }: WatchChange): string => encodeSnapshot(machineVersion, snapshot);

  const drop = (count: number): void => {
    counters.watchTransitionsDropped += count;
    droppedNow += count;
  };

  const failed = (error: unknown): void => {
    if (isFailing) return;
    isFailing = true;
    log.warn({ err: error }, 'the runs store does not take what monitors did; it is tried again, evaluations go on');
  };
  const succeeded = (): void => {
    if (isFailing || droppedNow > 0)
      log.info({ dropped: droppedNow }, 'the runs store takes what monitors did again; history lacks what was dropped');
    isFailing = false;
    droppedNow = 0;
  };

  /** @returns false when the store failed */
  const write = async (): Promise<boolean> => {
    const changes = [...changed];
    const entries = waiting.slice(0, MOST_A_WRITE);
    if (changes.length === 0 && entries.length === 0) return true;
    const snapshots = changes.map(([, change]) => ({
      type: change.type,
      id: change.id,
      snapshot: textOf(change),
      version: change.version,
      updatedAt: change.updatedAt,
    }));
    try {
      await journal.record(snapshots, entries);
    } catch (error) {
      failed(error);
      return false;
    }
    for (const [key, change] of changes) if (changed.get(key) === change) changed.delete(key);
    waiting = waiting.slice(entries.length);
    succeeded();
    return true;
  };

  const work = async (): Promise<void> => {
    // What changes in the same moment goes together.
    await Promise.resolve();
    let goesOn = true;
    while (goesOn && isAsked) {
      isAsked = false;
      goesOn = await write();
      if (waiting.length > 0) isAsked = true;
    }
    isAsked = false;
    writing = undefined;
  };

  /** Begins to write what waits; a write in hand goes on with it. */
  const flush = (): void => {
    isAsked = true;
    writing ??= work();
  };

  return {
    flush,
    /** What the changes of an actor are counted on from. */
    versionOf: (type: WatchType, id: string): number => versions.get(keyOf({ type, id })) ?? 0,

    /** Takes a change; a transition is written at once, a snapshot with it or with the next `flush`. */
    record: (change: WatchChange): void => {
      const { type, id, project, version, transition } = change;
      changed.set(keyOf(change), change);
      if (transition === undefined) return;
      const seq = (seqs.get(keyOf(change)) ?? 0) + 1;
      // Counted on where the entry is dropped too: the missing number tells a reader.
      seqs.set(keyOf(change), seq);
      if (waiting.length < MOST_WAITING)
        waiting.push({ type, id, seq, project, ...transition, snapshot: textOf(change), version });
      else {
        if (droppedNow === 0)
          log.warn({ waiting: waiting.length }, 'too many transitions wait; new ones are not recorded');
        drop(1);
      }
      flush();
    },

    /** Newest first, from below `before`. */
    list: async (of: WatchEntriesOf, before: number, limit: number): Promise<readonly WatchEntry[]> => {
      const unwritten = waiting
        .filter((entry) => keyOf(entry) === keyOf(of) && entry.project === of.project && entry.seq < before)
        .toReversed()
        .slice(0, limit);
      const room = limit - unwritten.length;
      if (room === 0) return unwritten;
      return [...unwritten, ...(await journal.listEntries(of, unwritten.at(-1)?.seq ?? before, room))];
    },
    find: async (of: WatchEntriesOf, seq: number): Promise<WatchEntry | undefined> =>
      waiting.find((entry) => keyOf(entry) === keyOf(of) && entry.project === of.project && entry.seq === seq) ??
      journal.findEntry(of, seq),

    /** Writes what waits, for as long as a stop has time for it. */
    close: async (): Promise<void> => {
      flush();
      let cancel = (): void => {};
      const late = new Promise<void>((resolve) => {
        cancel = clock.after(LAST_WRITE_MS, resolve);
      });
      await Promise.race([writing, late]);
      cancel();
      if (waiting.length === 0) return;
      drop(waiting.length);
      log.warn({ lost: waiting.length }, 'the stop did not wait for transitions that the runs store does not take');
    },
  };
};
export type WatchRecorder = ReturnType<typeof createWatchRecorder>;
