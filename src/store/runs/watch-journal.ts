import type { Condition, WatchEvent, WatchType } from '../../model/watch.ts';
import type { UnixMs } from '../../model/run.ts';

/** A monitor or an SLO as it last stood. Replaces what has the same address. */
export type WatchSnapshot = {
  readonly type: WatchType;
  readonly id: string;
  /** `machines/persisted.ts` */
  readonly snapshot: string;
  /** Counts the changes, over restarts too. */
  readonly version: number;
  readonly updatedAt: UnixMs;
};

/** What made an entry: an event of the machine that moved it to another condition, or a start of the service. */
export type WatchCause = 'watch.started' | WatchEvent<unknown>['type'];

/** One transition of a monitor or an SLO, with the snapshot that it left. */
export type WatchEntry = {
  readonly type: WatchType;
  readonly id: string;
  /** Counts the entries of one monitor or SLO from 1, over restarts too. A number that is missing was never written. */
  readonly seq: number;
  readonly at: UnixMs;
  /** The project that it watched then: an id may stand for another one after a change of the config file. */
  readonly project: string;
  readonly event: WatchCause;
  /** Absent for a start: nothing is read back, so nothing was before. */
  readonly from?: Condition;
  readonly to: Condition;
  /** What it had read, in a sentence. */
  readonly detail: string;
  readonly snapshot: string;
  readonly version: number;
};

/** Where the numbers of one monitor or SLO go on. */
export type WatchHead = {
  readonly type: WatchType;
  readonly id: string;
  /** Of its last entry; 0 when there is none. */
  readonly seq: number;
  readonly version: number;
};

/** Whose entries: those of one project alone, so that a key never reads what an id meant in another. */
export type WatchEntriesOf = { readonly type: WatchType; readonly id: string; readonly project: string };

/** How long transitions are kept: a year, and a month to compare it with. Of each monitor and SLO the newest stays, however old. */
export const KEPT_TRANSITIONS_MS = 400 * 24 * 60 * 60 * 1000;

/**
 * Where monitors and SLOs are written down, to be looked at. Nothing in here decides anything: a start reads the numbers alone.
 * It lives in the runs store, beside `RunStore`, and has one writer as that does. Every method rejects with `StoreUnavailable`
 * when the store fails or is away.
 */
export interface WatchJournal {
  /** Entries that are kept of one monitor or SLO, the newest. */
  readonly keptEntries: number;
  /** Of everything that was ever recorded. */
  heads(): Promise<readonly WatchHead[]>;
  /**
   * Writes snapshots and entries in one transaction, and removes what is past `keptEntries` and `KEPT_TRANSITIONS_MS`. An entry
   * that is already there stays as it is: after a failure, whose outcome is unknown, the same call may be made again.
   */
  record(snapshots: readonly WatchSnapshot[], entries: readonly WatchEntry[]): Promise<void>;
  /** Newest first, from below `before`. */
  listEntries(of: WatchEntriesOf, before: number, limit: number): Promise<readonly WatchEntry[]>;
  findEntry(of: WatchEntriesOf, seq: number): Promise<WatchEntry | undefined>;
}
