import { formatAge } from './units.ts';

type Lease = { readonly status: string; readonly lease_expires_at: string };

const ends: Readonly<Record<string, string>> = { offered: 'lapses', running: 'orphaned', orphaned: 'reclaimed' };

/** What becomes of a lease by itself, and when. @param nowMs milliseconds since 1970 */
export const leaseClock = ({ status, lease_expires_at: at }: Lease, nowMs: number): string => {
  const end = ends[status] ?? 'ends';
  if (Date.parse(at) <= nowMs) return `${end}: due ${formatAge(at, nowMs)}`;
  return `${end} ${formatAge(at, nowMs)}${status === 'running' ? ' without a heartbeat' : ''}`;
};

/** The states of a live lease. */
export const leaseStates = ['offered', 'running', 'orphaned'] as const;

/** Orphaned leases first; apart from that the order of the list. */
export const inTrouble = <T extends { readonly status: string }>(leases: readonly T[]): readonly T[] =>
  leases.toSorted((a, b) => Number(b.status === 'orphaned') - Number(a.status === 'orphaned'));

/** A worker counts as silent after this long without a call. One that waits for steps, or serves one, calls several times meanwhile. */
export const SILENT_AFTER_MS = 60_000;

/** @param lastSeenAt when it called last @param nowMs milliseconds since 1970 */
export const isSilent = (lastSeenAt: string, nowMs: number): boolean =>
  nowMs - Date.parse(lastSeenAt) > SILENT_AFTER_MS;
