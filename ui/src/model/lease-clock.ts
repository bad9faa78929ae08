import type { components, paths } from '../api/types.ts';
import { formatAge } from './units.ts';

type Listed = paths['/v1/api/leases']['get']['responses'][200]['content']['application/json'];
type Lease = Pick<components['schemas']['LiveLease'], 'lease_expires_at'> & { readonly status: string };

/** How long leases live in each state, in milliseconds. */
export type LeaseTimes = Pick<Listed, 'offer_ttl_ms' | 'lease_ttl_ms' | 'heartbeat_ms' | 'reclaim_window_ms'>;

const ends: Readonly<Record<string, string>> = { offered: 'lapses', running: 'orphaned', orphaned: 'reclaimed' };

/** What becomes of a lease by itself, and when. @param nowMs milliseconds since 1970 */
export const leaseClock = ({ status, lease_expires_at: at }: Lease, nowMs: number): string => {
  const end = ends[status] ?? 'ends';
  if (Date.parse(at) <= nowMs) return `${end}: due ${formatAge(at, nowMs)}`;
  return `${end} ${formatAge(at, nowMs)}${status === 'running' ? ' without a heartbeat' : ''}`;
};

/**
 * What is left of the present state of a lease.
 * @returns 1 right after a heartbeat, 0 from when it ends by itself; nothing for a state that this release does not know
 */
export const leaseLeft = (
  { status, lease_expires_at: at }: Lease,
  times: LeaseTimes,
  nowMs: number,
): number | undefined => {
  const wholes: Readonly<Record<string, number>> = {
    offered: times.offer_ttl_ms,
    running: times.lease_ttl_ms,
    orphaned: times.reclaim_window_ms,
  };
  const whole = wholes[status];
  if (whole === undefined || !(whole > 0)) return undefined;
  return Math.min(1, Math.max(0, (Date.parse(at) - nowMs) / whole));
};

/** A running lease is expiring when at least two heartbeats did not come: it is orphaned before a third could. */
export const isExpiring = ({ status, lease_expires_at: at }: Lease, times: LeaseTimes, nowMs: number): boolean =>
  status === 'running' && Date.parse(at) - nowMs <= times.lease_ttl_ms - 2 * times.heartbeat_ms;

/** The state under which a lease is shown. @param times nothing where they are not read yet */
export const stateOfLease = (lease: Lease, times: LeaseTimes | undefined, nowMs: number): string =>
  times !== undefined && isExpiring(lease, times, nowMs) ? 'expiring' : lease.status;

/** A live lease as its actor knows it; nothing of one that has ended. */
export const leaseOfActor = ({
  type,
  status,
  value,
  context,
}: Pick<components['schemas']['ActorSnapshot'], 'type' | 'status' | 'value' | 'context'>): Lease | undefined => {
  if (type !== 'lease' || status !== 'active' || typeof value !== 'string') return undefined;
  const at = typeof context === 'object' && context !== null && 'expiresAt' in context ? context.expiresAt : undefined;
  return typeof at === 'number' ? { status: value, lease_expires_at: new Date(at).toISOString() } : undefined;
};

/** The states of a live lease. `expiring` is a running one; a filter for `running` has both. */
export const leaseStates = ['offered', 'running', 'expiring', 'orphaned'] as const;

const URGENCY: Readonly<Record<string, number>> = { orphaned: 0, expiring: 1 };

/** Orphaned leases first, then those that are expiring; apart from that the order of the list. */
export const inTrouble = <T>(leases: readonly T[], stateOf: (lease: T) => string): readonly T[] =>
  leases.toSorted((a, b) => (URGENCY[stateOf(a)] ?? 2) - (URGENCY[stateOf(b)] ?? 2));

/** A worker counts as silent after this long without a call. One that waits for steps, or serves one, calls several times meanwhile. */
export const SILENT_AFTER_MS = 60_000;

/** @param lastSeenAt when it called last @param nowMs milliseconds since 1970 */
export const isSilent = (lastSeenAt: string, nowMs: number): boolean =>
  nowMs - Date.parse(lastSeenAt) > SILENT_AFTER_MS;
