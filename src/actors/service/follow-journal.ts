import { hasEnded, type JournalEntry, type Run, type RunStatus } from '../../model/run.ts';
import { journalWeight } from '../../store/runs/journal-up-to.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import type { Clock } from '../kernel/clock.ts';
import type { RunChange } from '../run/host.ts';
import { Damaged } from '../run/quarantined.ts';
import { entriesOf } from '../run/replay.ts';
import type { StoredRuns } from './stored-runs.ts';

/** Calls that may wait for the end of a run at once. */
export const ENDS_AWAITED = 10_000;
/** Rows that a follower reads at once. */
const JOURNAL_PAGE = 500;
/** A follower that does not read holds a page: entries may be megabytes each. */
const JOURNAL_PAGE_BYTES = 1024 * 1024;
/** Entries that a follower keeps of what commits wrote while its reader was busy; beyond them it reads. */
const FRESH_ENTRIES = 100;

/**
 * Who follows a journal, and who waits for the end of a run. A commit hands them what it wrote, so that a follower that keeps up reads
 * nothing. One whose reader is slow holds next to nothing: it reads when its reader asks for more.
 * @param closing ends all of them
 */
export const createFollowers = (
  store: Pick<RunStore, 'journal'>,
  { recordOf }: Pick<StoredRuns, 'recordOf'>,
  clock: Pick<Clock, 'after'>,
  closing: AbortSignal,
  damaged: (damage: Damaged) => void,
) => {
  const followers = new Map<string, Set<(change: RunChange) => void>>();
  let endsAwaited = 0;
  /** What the close of the service ends. A signal goes through all its listeners for each that is added, so it has one for all of them. */
  const waiting = new Set<() => void>();
  closing.addEventListener('abort', () => {
    for (const end of waiting) end();
  });

  /** Calls back after each commit of this run, until the returned function is called. */
  const listen = (runId: string, onWake: (change: RunChange) => void): (() => void) => {
    const listeners = followers.get(runId) ?? new Set();
    followers.set(runId, listeners.add(onWake));
    return () => {
      listeners.delete(onWake);
      if (listeners.size === 0) followers.delete(runId);
    };
  };

  return {
    /** The journal of this run has grown. */
    wake: (runId: string, change: RunChange): void => {
      for (const wake of followers.get(runId) ?? []) wake(change);
    },

    /** Whether one more call may wait for the end of a run. */
    mayAwaitEnd: (): boolean => endsAwaited < ENDS_AWAITED,
    /** Calls that wait for the end of a run. */
    endsAwaited: (): number => endsAwaited,

    /**
     * Waits until the run has ended, so many milliseconds are over, `signal` aborts, or the service closes.
     * @param look gives the status of the run once its end would be noticed; absent: there is nothing to wait for
     * @returns the run as it ended, where the commit that ended it had it in memory
     */
    untilEnded: async (
      runId: string,
      waitMs: number,
      signal: AbortSignal | undefined,
      look: () => Promise<RunStatus | undefined>,
    ): Promise<Run | undefined> => {
      endsAwaited += 1;
      let ended: Run | undefined;
      let end = (): void => {};
      const over = new Promise<void>((resolve) => {
        end = resolve;
      });
      const stopListening = listen(runId, ({ status, run }) => {
        if (!hasEnded(status)) return;
        ended = run?.();
        end();
      });
      const cancelTimer = clock.after(waitMs, end);
      signal?.addEventListener('abort', end);
      waiting.add(end);
      try {
        const status = await look();
        if (status === undefined || hasEnded(status) || signal?.aborted === true || closing.aborted) return ended;
        await over;
        return ended;
      } finally {
        endsAwaited -= 1;
        stopListening();
        cancelTimer();
        signal?.removeEventListener('abort', end);
        waiting.delete(end);
      }
    },

    /** Pages of entries in committed order; ends after `run.finished`, when `signal` aborts, or when the service closes. */
    follow: async function* (
      runId: string,
      after: number,
      signal: AbortSignal,
    ): AsyncGenerator<readonly JournalEntry[], void, undefined> {
      let seen = after;
      let wake = (): void => {};
      /** What commits wrote since the last look, one after the other; absent when it was too much to keep. */
      let fresh: JournalEntry[] | undefined = [];
      const stopListening = listen(runId, ({ entries }) => {
        if (fresh !== undefined && fresh.length + entries.length <= FRESH_ENTRIES) fresh.push(...entries);
        else fresh = undefined;
        wake();
      });
      const onOver = (): void => wake();
      signal.addEventListener('abort', onOver);
      waiting.add(onOver);
      const isOver = (): boolean => signal.aborted || closing.aborted;
      /** The store holds nothing beyond what was seen but what is in memory too. */
      let isCaughtUp = false;
      try {
        while (!isOver()) {
          let entries: readonly JournalEntry[];
          if (isCaughtUp) {
            entries = fresh?.filter(({ seq }) => seq > seen) ?? [];
            if (fresh === undefined || (entries[0]?.seq ?? seen + 1) !== seen + 1) {
              isCaughtUp = false;
              continue;
            }
            fresh = [];
            if (entries.length === 0) {
              await new Promise<void>((resolve) => {
                wake = resolve;
              });
              continue;
            }
          } else {
            fresh = [];
            const rows = await store.journal(runId, seen, JOURNAL_PAGE, JOURNAL_PAGE_BYTES);
            entries = rows.flatMap(entriesOf).filter(({ seq }) => seq > seen);
            const weight = rows.reduce((sum, row) => sum + journalWeight(row), 0);
            isCaughtUp = rows.length < JOURNAL_PAGE && weight < JOURNAL_PAGE_BYTES;
            if (entries.length === 0) {
              // An end that came before wakes nobody again, and one that comes now is in memory.
              const record = await recordOf(runId);
              if (record === undefined || (hasEnded(record.status) && fresh.length === 0)) return;
              continue;
            }
          }
          yield entries;
          const last = entries.at(-1);
          if (last?.kind === 'run.finished') return;
          seen = last?.seq ?? seen;
        }
      } catch (error) {
        // The store closes with the service, and a read under way fails: that ends the stream like the close itself.
        if (closing.aborted) return;
        if (!(error instanceof Damaged)) throw error;
        damaged(error); // the stream ends here, and a page of the journal says why
      } finally {
        stopListening();
        signal.removeEventListener('abort', onOver);
        waiting.delete(onOver);
      }
    },
  };
};
export type Followers = ReturnType<typeof createFollowers>;
