import { LEASE_MACHINE_VERSION, leaseMachine, leaseMigrations, type LeaseSnapshot } from '../../machines/lease.ts';
import { restore, Unloadable } from '../../machines/persisted.ts';
import type { AttemptRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../kernel/kernel.ts';
import { leaseKey, Quarantined } from '../run/run-state.ts';

/** A lease in memory: its row, whose columns brought the machine back to life. */
export type LeaseActor = { readonly record: AttemptRecord; readonly snapshot: LeaseSnapshot };

/** @throws Unloadable for a lease that does not belong to this release's machine */
export const reviveLease = ({ machineVersion, state, delivery, bodyRan, expiresAt }: AttemptRecord): LeaseSnapshot =>
  restore(
    leaseMachine,
    LEASE_MACHINE_VERSION,
    { machineVersion, value: state, context: { delivery, bodyRan, expiresAt } },
    leaseMigrations,
  );

/** @throws Quarantined when this release cannot load it: its run cannot go on without it */
export const readLease = (turn: Turn, leaseId: string): LeaseActor | undefined => {
  const key = leaseKey(leaseId);
  const found = turn.read(key, { kind: 'lease', leaseId }) as AttemptRecord | LeaseActor | undefined;
  if (found === undefined || 'snapshot' in found) return found;
  try {
    const actor = { record: found, snapshot: reviveLease(found) };
    turn.keep(key, actor);
    return actor;
  } catch (cause) {
    if (cause instanceof Unloadable)
      throw new Quarantined(found.runId, `lease ${leaseId}: ${cause.message}`, { cause });
    throw cause;
  }
};
