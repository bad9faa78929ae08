import { hasEnded, type JournalEntry, type RunStatus } from '../../model/run.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import type { Clock } from '../kernel/clock.ts';
import { entriesOf } from '../run/replay.ts';
import type { StoredRuns } from './stored-runs.ts';

/** Calls that may wait for the end of a run at once. */
export const ENDS_AWAITED = 10_000;
/** Rows that a follower reads at once. */
const JOURNAL_PAGE = 500;
/** A follower that does not read holds a page: entries may be megabytes each. */
const JOURNAL_PAGE_BYTES = 1024 * 1024;

/**
 * Who follows a journal, and who waits for the end of a run. They hold no entries: a commit wakes them, and a follower reads when
 * its own reader asks for more.
 * @param closing ends all of them
 */
export const createFollowers = (
  store: Pick<RunStore, 'journal'>,
  { recordOf }: Pick<StoredRuns, 'recordOf'>,
  clock: Pick<Clock, 'after'>,
  closing: AbortSignal,
) => {
  const followers = new Map<string, Set<(status: RunStatus) => void>>();
  let endsAwaited = 0;

  /** Calls back after each commit of this run, until the returned function is called. */
  const listen = (runId: string, onWake: (status: RunStatus) => void): (() => void) => {
    const listeners = followers.get(runId) ?? new Set();
    followers.set(runId, listeners.add(onWake));
    return () => {
      listeners.delete(onWake);
      if (listeners.size === 0) followers.delete(runId);
    };
  };

  return {
    /** The journal of this run has grown; this is its status now. */
    wake: (runId: string, status: RunStatus): void => {
      for (const wake of followers.get(runId) ?? []) wake(status);
    },

    /** Whether one more call may wait for the end of a run. */
    mayAwaitEnd: (): boolean => endsAwaited < ENDS_AWAITED,
    /** Calls that wait for the end of a run. */
    endsAwaited: (): number => endsAwaited,

    /** Waits until the run has ended or is no more, so many milliseconds are over, `signal` aborts, or the service closes. */
    untilEnded: async (runId: string, waitMs: number, signal: AbortSignal | undefined): Promise<void> => {
      endsAwaited += 1;
      let end = (): void => {};
      const over = new Promise<void>((resolve) => {
        end = resolve;
      });
      const stopListening = listen(runId, (status) => {
        if (hasEnded(status)) end();
      });
      const cancelTimer = clock.after(waitMs, end);
      signal?.addEventListener('abort', end);
      closing.addEventListener('abort', end);
      try {
        // Read after the listener is in place: an end between the two is not missed.
        const record = await recordOf(runId);
        if (record === undefined || hasEnded(record.status) || signal?.aborted === true || closing.aborted) return;
        await over;
      } finally {
        endsAwaited -= 1;
        stopListening();
        cancelTimer();
        signal?.removeEventListener('abort', end);
        closing.removeEventListener('abort', end);
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
      let woken = false;
      const onWake = (): void => {
        woken = true;
        wake();
      };
      const stopListening = listen(runId, onWake);
      signal.addEventListener('abort', onWake);
      closing.addEventListener('abort', onWake);
      try {
        while (!signal.aborted && !closing.aborted) {
          woken = false;
          const rows = await store.journal(runId, seen, JOURNAL_PAGE, JOURNAL_PAGE_BYTES);
          const entries = rows.flatMap(entriesOf).filter(({ seq }) => seq > seen);
          const last = entries.at(-1);
          if (last !== undefined) {
            yield entries;
            seen = last.seq;
            if (last.kind === 'run.finished') return;
            continue;
          }
          const record = await recordOf(runId);
          if (record === undefined || (hasEnded(record.status) && !woken)) return;
          if (!woken)
            await new Promise<void>((resolve) => {
              wake = resolve;
              if (woken || signal.aborted || closing.aborted) resolve();
            });
        }
      } catch (error) {
        // The store closes with the service, and a read under way fails: that ends the stream like the close itself.
        if (!closing.aborted) throw error;
      } finally {
        stopListening();
        signal.removeEventListener('abort', onWake);
        closing.removeEventListener('abort', onWake);
      }
    },
  };
};
export type Followers = ReturnType<typeof createFollowers>;
