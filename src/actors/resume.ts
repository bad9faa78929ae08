import type { UnixMs } from '../model/run.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import type { LeaseWatch } from './lease/deadlines.ts';
import type { createRunCounts } from './run-counts.ts';
import { queueTimeOf } from './run/queue-place.ts';

/** Far more than a service can give away in a millisecond. */
const ORDERS_A_MS = 1000;

/**
 * Numbers by which rows are ordered: rows of the outbox, and waits, parked events and places of keys.
 *
 * A step that was admitted under a rate keeps its order and has no row, so the rows do not say which orders were given away. Orders
 * therefore begin at the wall clock, above those of the process before, and one that comes back is checked.
 */
export const createNumbers = () => {
  let outboxNo = 1;
  let order = 1;
  return {
    nextOutboxNo: (): number => outboxNo++,
    nextOrder: (): number => order++,
    /** No later order is as high: one that was given away earlier, perhaps before the clock was set back, stands in a row again. */
    orderIsBack: (back: number): void => {
      order = Math.max(order, back + 1);
    },
    /** A process begins. */
    beginAt: (now: UnixMs): void => {
      order = Math.max(order, now * ORDERS_A_MS);
    },
    /** Goes on above what the store holds. */
    reach: (highest: { readonly outboxNo: number; readonly order: number }): void => {
      outboxNo = Math.max(outboxNo, highest.outboxNo + 1);
      order = Math.max(order, highest.order + 1);
    },
  };
};

/**
 * Reads the numbers and the deadlines of live leases from the store, at the start and after a commit that failed. Their workers
 * could not reach a service that was down, so each lives for one ttl. At the start, what was to last some time is due by the wall clock;
 * where that now stands before the moment at which it was set, it lasts that long from now.
 * @throws StoreUnavailable
 */
export const createResume = (host: {
  readonly store: Pick<RunStore, 'resume'>;
  readonly now: () => UnixMs;
  readonly queueTimes: { reach(time: number): void };
  readonly numbers: ReturnType<typeof createNumbers>;
  readonly leases: Pick<LeaseWatch, 'restart'>;
  readonly counts: Pick<ReturnType<typeof createRunCounts>, 'restart'>;
  readonly leaseTtlMs: number;
}) => {
  const { store, now, numbers, leases, leaseTtlMs } = host;
  const resume = async (starts: boolean): Promise<void> => {
    const at = now();
    const left = await store.resume(at + leaseTtlMs, ...(starts ? [at] : []));
    for (const { priority, queueOrder } of left.highest.queueOrders)
      host.queueTimes.reach(queueTimeOf(queueOrder, priority));
    numbers.reach(left.highest);
    if (starts) numbers.beginAt(at);
    host.counts.restart(left.openRuns);
    leases.restart(
      left.liveLeases.map(({ leaseId, workerId, expiresAt, startedAt, timeoutAt }) => ({
        leaseId,
        workerId,
        expiresAt,
        expiresInMs: leaseTtlMs,
        ...(timeoutAt === undefined ? {} : { timeoutInMs: timeoutAt - Math.max(at, startedAt ?? at) }),
      })),
    );
  };
  return {
    /** Once, before anything else. */
    start: (): Promise<void> => resume(true),
    /** After a commit that failed. */
    recover: (): Promise<void> => resume(false),
  };
};
