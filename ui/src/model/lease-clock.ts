import { formatAge } from './units.ts';

type Lease = { readonly status: string; readonly lease_expires_at: string };

const ends: Readonly<Record<string, string>> = { offered: 'lapses', running: 'orphaned', orphaned: 'reclaimed' };

/** What becomes of a lease by itself, and when. @param nowMs milliseconds since 1970 */
export const leaseClock = ({ status, lease_expires_at: at }: Lease, nowMs: number): string => {
  const end = ends[status] ?? 'ends';
  if (Date.parse(at) <= nowMs) return `${end}: due ${formatAge(at, nowMs)}`;
  return `${end} ${formatAge(at, nowMs)}${status === 'running' ? ' without a heartbeat' : ''}`;
};
