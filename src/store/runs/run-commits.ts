import type { OpenRunStatus, UnixMs } from '../../model/run.ts';
import type { Changes } from './changes.ts';
import type { Found, Lookup } from './lookups.ts';
import type { OutboxRow, TimerRecord } from './records.ts';

/** What a service needs to go on where the last one stopped. Nothing in it grows with the number of open runs. */
export type Resumption = {
  readonly liveLeases: readonly {
    readonly leaseId: string;
    readonly workerId: string;
    readonly expiresAt: UnixMs;
    /** When its body was declared running; absent for an offer. */
    readonly startedAt?: UnixMs;
    readonly timeoutAt?: UnixMs;
  }[];
  /**
   * The highest numbers that rows carry, 0 without any: who numbers the next rows begins beyond them. Numbers of rows that are
   * gone may be used again.
   */
  readonly highest: {
    readonly outboxNo: number;
    readonly order: number;
    /** The highest of each priority, of which there are few. */
    readonly queueOrders: readonly { readonly priority: number; readonly queueOrder: number }[];
  };
  /** Runs that have not ended, by status. */
  readonly openRuns: Readonly<Record<OpenRunStatus, number>>;
};

export type DueTimer = TimerRecord & { readonly dueAt: UnixMs };

/**
 * The part of the store that durable runs stand on. The kernel decides in memory and trusts what it holds there; it may do so
 * because of what this interface promises.
 * `test/store/runs/commits-contract.ts` and `durable-contract.ts` hold every engine to it.
 *
 * 1. **One writer.** While a store is open, nobody else commits to what it holds. A second opener is refused, or the first one is
 *    shut out: from then on each of its commits fails, also one that was under way, and changes nothing. An engine whose database
 *    takes many writers must see to that inside the transaction of each commit, not before it.
 * 2. **Whole or not at all.** Of a commit that failed no row is ever seen. A run that is not at the version of `before`, and an
 *    idempotency key or an id that is taken, fail it.
 * 3. **In order.** Commits take effect in the order of their calls, also when a caller does not wait between them. A commit that
 *    follows a failed one is tried like any other: the caller decides what must not follow.
 * 4. **Reads see commits.** `load`, `resume`, `dueTimers` and `readOutbox` answer as of all commits that were called before them
 *    and of none that was called after. The lookups of one `load` are answered from one state.
 * 5. **Durable.** A commit that resolved survives the process and the machine.
 * 6. **An outcome may be unknown.** A call that rejects with `StoreUnavailable` may have been written: complete, or not at all. The
 *    caller drops what it remembers, and `resume` answers only when no such commit can take effect any more.
 */
export interface RunCommits {
  /** Answers lookups in their order. */
  load(lookups: readonly Lookup[]): Promise<readonly Found[Lookup['kind']][]>;
  commit(changes: Changes): Promise<void>;

  /**
   * What the last service left. Every live lease lasts until `leasesUntil` from then on: workers could not reach a service that
   * was down.
   * @param restartedAt given by a process that starts: its wall clock, at which its steady clock begins. Countdowns are due by the
   * wall clock then. One that was set later than this wall clock shows runs again from here, complete
   */
  resume(leasesUntil: UnixMs, restartedAt?: UnixMs): Promise<Resumption>;
  /**
   * Timers that are due, oldest first, but for those that carry work over.
   * @param wall by which named times are due
   * @param steady by which countdowns are due
   */
  dueTimers(wall: UnixMs, limit: number, steady: UnixMs): Promise<readonly DueTimer[]>;
  /** Rows after number `after`, in order, as many as `outboxBatch` takes. */
  readOutbox(after: number, limit: number, characters?: number): Promise<readonly OutboxRow[]>;
}
