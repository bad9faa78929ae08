import type { UnixMs } from '../model/run.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import type { createServiceClock } from './kernel/clock.ts';
import type { LeaseWatch } from './lease/deadlines.ts';

/** Numbers by which rows are ordered: rows of the outbox, and places in the queue of runnable steps. */
export const createNumbers = () => {
  let outboxNo = 1;
  let order = 1;
  return {
    nextOutboxNo: (): number => outboxNo++,
    nextOrder: (): number => order++,
    /** Goes on above what the store holds. */
    reach: (highest: { readonly outboxNo: number; readonly order: number }): void => {
      outboxNo = Math.max(outboxNo, highest.outboxNo + 1);
      order = Math.max(order, highest.order + 1);
    },
  };
};

/**
 * Reads the time, the numbers and the deadlines of live leases from the store, at the start and after a commit that failed.
 * Their workers could not reach a service that was down, so each lives for one ttl at least.
 * @throws StoreUnavailable
 */
export const createResume =
  (host: {
    readonly store: Pick<RunStore, 'resume'>;
    readonly clock: ReturnType<typeof createServiceClock>;
    readonly numbers: ReturnType<typeof createNumbers>;
    readonly leases: Pick<LeaseWatch, 'clear' | 'watch'>;
    readonly leaseTtlMs: number;
  }) =>
  async (): Promise<void> => {
    const { store, clock, numbers, leases, leaseTtlMs } = host;
    const at: UnixMs = clock.now();
    const left = await store.resume(at + leaseTtlMs);
    clock.reach(left.latestAt);
    numbers.reach(left.highest);
    leases.clear();
    for (const { leaseId, workerId, expiresAt, timeoutAt } of left.liveLeases)
      leases.watch({
        leaseId,
        workerId,
        expiresAt,
        expiresInMs: leaseTtlMs,
        ...(timeoutAt === undefined ? {} : { timeoutInMs: timeoutAt - at }),
      });
  };
