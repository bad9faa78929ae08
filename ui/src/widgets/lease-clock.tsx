import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../api/client.ts';
import { leaseClock, leaseLeft, type LeaseTimes, stateOfLease } from '../model/lease-clock.ts';
import { lookOf } from '../model/status.ts';
import { formatAge } from '../model/units.ts';
import css from './lease-clock.module.css';
import { useNow } from './now.ts';
import { StatusMark } from './status-mark.tsx';

/** As much of a lease as its clock needs. */
type Lease = Parameters<typeof leaseClock>[0];
type ClockProps = { readonly lease: Lease; readonly times: LeaseTimes | undefined };

/** How long leases live, which every list of leases says; nothing until it is read. @param isAsked false where there is no lease to show */
export const useLeaseTimes = (isAsked = true): LeaseTimes | undefined =>
  useQuery({
    queryKey: ['leases', 'times'],
    enabled: isAsked,
    // They change with a restart of the service alone.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => ask(api.GET('/v1/api/leases', { params: { query: { limit: 1 } }, signal })),
  }).data;

/** The words beside it say the same. */
const Ring = ({ share, color }: { readonly share: number; readonly color: string }) => (
  <svg aria-hidden className={css['ring']} viewBox="0 0 16 16" style={{ color: `var(--${color})` }}>
    <circle className={css['whole']} cx="8" cy="8" r="6" />
    <circle cx="8" cy="8" r="6" pathLength="1" strokeDasharray={`${share} 1`} transform="rotate(-90 8 8)" />
  </svg>
);

/** A ring that empties until the state of a lease ends by itself, and what becomes of it then. */
export const LeaseClock = ({ lease, times }: ClockProps) => {
  const now = useNow();
  const left = times === undefined ? undefined : leaseLeft(lease, times, now);
  return (
    <span className={css['clock']}>
      {left !== undefined && <Ring share={left} color={lookOf(stateOfLease(lease, times, now)).color} />}
      {leaseClock(lease, now)}
    </span>
  );
};

/** `running` becomes `expiring` when heartbeats did not come. */
export const LeaseState = ({ lease, times }: ClockProps) => <StatusMark state={stateOfLease(lease, times, useNow())} />;

/** When the worker of a lease last extended it. */
export const LastHeartbeat = ({ at }: { readonly at: string | undefined }) => {
  const now = useNow();
  return <>{formatAge(at, now)}</>;
};
