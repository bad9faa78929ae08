import type { Clock } from '../kernel/clock.ts';
import type { Message } from '../kernel/message.ts';
import type { LeaseMessage, WatchedLease } from './messages.ts';

type Watched = {
  readonly workerId: string;
  readonly expiresAt: number;
  readonly expires: number;
  readonly timeout: number | undefined;
};

/**
 * The deadlines of live leases, on the monotonic clock, so that setting the machine's clock expires nothing. The rows hold
 * wall time, which counts only after a restart.
 */
export const createLeaseWatch = (clock: Clock) => {
  const leases = new Map<string, Watched>();
  return {
    watch: (lease: WatchedLease): void => {
      const now = clock.monotonic();
      const before = leases.get(lease.leaseId);
      leases.set(lease.leaseId, {
        workerId: lease.workerId,
        expiresAt: lease.expiresAt,
        expires:
          lease.expiresInMs === undefined && before !== undefined ? before.expires : now + (lease.expiresInMs ?? 0),
        timeout: lease.timeoutInMs === undefined ? before?.timeout : now + lease.timeoutInMs,
      });
    },
    /**
     * These leases live, and no others. What is known of a timeout stands: it was counted without the wall clock.
     */
    restart: (live: readonly (WatchedLease & { readonly expiresInMs: number })[]): void => {
      const now = clock.monotonic();
      const known = new Map(leases);
      leases.clear();
      for (const { leaseId, workerId, expiresAt, expiresInMs, timeoutInMs } of live)
        leases.set(leaseId, {
          workerId,
          expiresAt,
          expires: now + expiresInMs,
          timeout: known.get(leaseId)?.timeout ?? (timeoutInMs === undefined ? undefined : now + timeoutInMs),
        });
    },
    unwatch: (leaseId: string): void => {
      leases.delete(leaseId);
    },
    /** Defers a lease whose run cannot be loaded: it is due again later, and does not fill the log meanwhile. */
    defer: (leaseId: string, ms: number): void => {
      const lease = leases.get(leaseId);
      if (lease !== undefined) leases.set(leaseId, { ...lease, expires: clock.monotonic() + ms, timeout: undefined });
    },
    /** Messages for the leases that are past a deadline. */
    due: (): Message[] => {
      const now = clock.monotonic();
      const messages: Message[] = [];
      for (const [id, lease] of leases) {
        let body: LeaseMessage | undefined;
        if (lease.timeout !== undefined && lease.timeout <= now) body = { kind: 'timeout' };
        else if (lease.expires <= now) body = { kind: 'deadline', dueAt: lease.expiresAt };
        if (body !== undefined) messages.push({ type: 'lease', id, body });
      }
      return messages;
    },
    /** How many leases each worker holds; those that hold none are left out. */
    held: (): ReadonlyMap<string, number> => {
      const held = new Map<string, number>();
      for (const { workerId } of leases.values()) held.set(workerId, (held.get(workerId) ?? 0) + 1);
      return held;
    },
    size: (): number => leases.size,
  };
};
export type LeaseWatch = ReturnType<typeof createLeaseWatch>;
