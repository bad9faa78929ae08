import type { LeaseState } from '../../machines/lease.ts';
import type { JournalEntry } from '../../model/run.ts';

/** As much of a lease as is known of its past: when it expired then is not kept. */
export type PastLease = { readonly state: LeaseState; readonly bodyRan: boolean };

/** Before its run offered it. */
export const notIssued: PastLease = { state: 'unissued', bodyRan: false };

/**
 * A lease after one more entry of the journal of its run. Heartbeats stand in no journal: an orphan that one revived stays an orphan here
 * until its next entry.
 * @param ended where the lease is now, which its last entry brought it to
 */
export const afterEntry = (
  before: PastLease,
  entry: JournalEntry,
  { leaseId, ended }: { readonly leaseId: string; readonly ended: LeaseState },
): PastLease => {
  // The end of a run cancels its leases, and writes one entry for all of them.
  if (entry.kind === 'run.finished' && before.state !== 'unissued' && ended === 'cancelled')
    return { ...before, state: ended };
  if (entry.leaseId !== leaseId) return before;
  switch (entry.kind) {
    case 'step.leased':
      return { state: 'offered', bodyRan: false };
    case 'step.started':
      return { state: 'running', bodyRan: true };
    case 'step.orphaned':
      return { ...before, state: 'orphaned' };
    case 'step.finished':
    case 'step.failed':
    case 'step.requeued':
      return { ...before, state: ended };
    default:
      return before;
  }
};
