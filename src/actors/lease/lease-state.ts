import { LEASE_MACHINE_VERSION, leaseMachine, leaseMigrations, type LeaseSnapshot } from '../../machines/lease.ts';
import { restore, Unloadable } from '../../machines/persisted.ts';
import type { AttemptRecord } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';
import { Quarantined } from '../run/quarantined.ts';

/** A lease in memory: its row, whose columns brought the machine back to life. */
export type LeaseActor = { readonly record: AttemptRecord; readonly snapshot: LeaseSnapshot };

/** @throws Unloadable for a lease that does not belong to this release's machine */
const reviveLease = ({ machineVersion, state, delivery, bodyRan, expiresAt }: AttemptRecord): LeaseSnapshot =>
  restore(
    leaseMachine,
    LEASE_MACHINE_VERSION,
    { machineVersion, value: state, context: { delivery, bodyRan, expiresAt } },
    leaseMigrations,
  );

/** Leases: as they are stored, or brought to life. */
export const leaseSlot = storedSlot<string, 'lease', LeaseActor>({
  name: 'lease',
  lifetime: 'kept',
  keyOf: byId,
  lookup: (leaseId) => ({ kind: 'lease', leaseId }),
  flush: (before, after, changes) => {
    if (after === undefined || !('snapshot' in after)) return;
    (before === undefined ? changes.attemptsInserted : changes.attemptsUpdated).push(after.record);
  },
});

/** @throws Quarantined when this release cannot load it: its run cannot go on without it */
export const readLease = (turn: Turn, leaseId: string): LeaseActor | undefined => {
  const found = turn.read(leaseSlot, leaseId);
  if (found === undefined || 'snapshot' in found) return found;
  try {
    const actor = { record: found, snapshot: reviveLease(found) };
    turn.keep(leaseSlot, leaseId, actor);
    return actor;
  } catch (cause) {
    if (cause instanceof Unloadable)
      throw new Quarantined(found.runId, `lease ${leaseId}: ${cause.message}`, { cause });
    throw cause;
  }
};
