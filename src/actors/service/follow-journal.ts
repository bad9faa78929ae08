import { hasEnded, type JournalEntry } from '../../model/run.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { entriesOf } from '../run/replay.ts';
import type { StoredRuns } from './stored-runs.ts';

/** Rows that a follower reads at once. */
const JOURNAL_PAGE = 500;

/**
 * Followers of journals. They hold no entries: a commit wakes them, and they read when their own reader asks for more.
 * @param closing ends all of them
 */
export const createFollowers = (
  store: Pick<RunStore, 'journal'>,
  { recordOf }: Pick<StoredRuns, 'recordOf'>,
  closing: AbortSignal,
) => {
  const followers = new Map<string, Set<() => void>>();
  return {
    /** The journal of this run has grown. */
    wake: (runId: string): void => {
      for (const wake of followers.get(runId) ?? []) wake();
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
      const listeners = followers.get(runId) ?? new Set();
      followers.set(runId, listeners.add(onWake));
      signal.addEventListener('abort', onWake);
      closing.addEventListener('abort', onWake);
      try {
        while (!signal.aborted && !closing.aborted) {
          woken = false;
          const rows = await store.journal(runId, seen, JOURNAL_PAGE);
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
        // A service that closes takes its store away under the read in hand: that ends the journal like the close itself.
        if (!closing.aborted) throw error;
      } finally {
        listeners.delete(onWake);
        if (listeners.size === 0) followers.delete(runId);
        signal.removeEventListener('abort', onWake);
        closing.removeEventListener('abort', onWake);
      }
    },
  };
};
export type Followers = ReturnType<typeof createFollowers>;
