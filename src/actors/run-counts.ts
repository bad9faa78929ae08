import { hasEnded, type OpenRunStatus, openRunStatuses, type RunStatus } from '../model/run.ts';
import type { Changes } from '../store/runs/run-store.ts';

export type RunCounts = {
  /** Runs that have not ended, now. */
  readonly open: Readonly<Record<OpenRunStatus, number>>;
  /** Runs that have ended since the process started. */
  readonly ended: Readonly<Record<EndedRunStatus, number>>;
};
export type EndedRunStatus = Exclude<RunStatus, OpenRunStatus>;

/**
 * How many runs there are in each status. The store is asked at the start, and after a commit that failed; from then on each commit
 * counts, so that a look at the numbers reads no row.
 */
export const createRunCounts = () => {
  const counts: Record<RunStatus, number> = {
    scheduled: 0,
    queued: 0,
    running: 0,
    waiting: 0,
    paused: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
  };
  return {
    /** @param open what the store counts */
    restart: (open: RunCounts['open']): void => {
      for (const status of openRunStatuses) counts[status] = open[status];
    },
    committed: ({ runsInserted, runsUpdated }: Pick<Changes, 'runsInserted' | 'runsUpdated'>): void => {
      for (const { status } of runsInserted) counts[status] += 1;
      for (const { before, after } of runsUpdated) {
        if (before.status === after.status) continue;
        // An end is counted for good.
        if (!hasEnded(before.status)) counts[before.status] -= 1;
        counts[after.status] += 1;
      }
    },
    add: ({ open, ended }: RunCounts): void => {
      for (const status of openRunStatuses) counts[status] += open[status];
      counts.succeeded += ended.succeeded;
      counts.failed += ended.failed;
      counts.cancelled += ended.cancelled;
    },
    read: (): RunCounts => {
      const { succeeded, failed, cancelled, ...open } = counts;
      return { open, ended: { succeeded, failed, cancelled } };
    },
  };
};

/** Of several kernels. */
export const joinedCounts = (counts: readonly RunCounts[]): RunCounts => {
  const { read, add } = createRunCounts();
  for (const one of counts) add(one);
  return read();
};
