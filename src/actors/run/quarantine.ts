import { placeOf, START_TIMER } from '../../machines/run.ts';
import { clearTimerRow, type RunRecord, type StoredRun } from '../../store/runs/run-store.ts';
import type { Result } from '../../model/failure.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import { DeferredTurn } from '../kernel/turn.ts';
import type { Turn } from '../runs-kernel.ts';
import { readLease } from '../lease/lease-state.ts';
import { cancelRun } from './cancel.ts';
import { admit, admitTask } from './admission.ts';
import type { RunHost } from './host.ts';
import { RUN_TIMER } from './limits.ts';
import type { RunMessage } from './messages.ts';
import { readCorrelation, readDocuments } from './run-documents.ts';
import { freeHeld, placesLeft, stepIsHeld, wasFreed } from './keyed.ts';
import { isOfferable, offerSoon, queueOrderOf } from './queue-place.ts';
import { stepAt } from './program.ts';
import { Quarantined } from './quarantined.ts';
import { bringToLife, readRun, type RunActor, runSlot } from './run-state.ts';
import { awaitsChild, CANCEL_TIMER, STEP_ENDED } from './steps/child.ts';
import { hostOf } from './steps/step-hosts.ts';
import { namedTime, restoredCountdown } from './timer-rows.ts';
import { timerOfPhase } from './timers.ts';

/** @throws Quarantined when this release cannot load the lease under which the run's step is out */
const readHeldLease = (turn: Turn, { snapshot }: RunActor): void => {
  const { leaseId } = snapshot.context;
  if (leaseId !== undefined) readLease(turn, leaseId);
};

/** @throws Quarantined when this release cannot load it, or a row that it needs to go on is damaged */
const readRest = (turn: Turn, run: RunActor): void => {
  readHeldLease(turn, run);
  readCorrelation(run.record);
  readDocuments(turn, run);
};

/**
 * Marks a run that cannot be loaded, it or its lease, or of which something is damaged.
 * @param damage what a read met: another row than those that a run needs to go on may be damaged
 */
export const quarantine = (host: RunHost, turn: Turn, runId: string, damage?: string): void => {
  let run: RunActor | undefined;
  try {
    run = readRun(turn, host.programs, runId);
    if (run !== undefined) {
      readRest(turn, run);
      if (damage !== undefined) throw new Quarantined(runId, damage);
    }
    return; // Released, or erased, since somebody met it.
  } catch (error) {
    if (!(error instanceof Quarantined)) throw error;
    const stored = turn.read(runSlot, runId);
    if (stored === undefined || stored.record.fault !== undefined) return;
    // The lease cannot be loaded, and this group changed the run: that change is written first.
    if (run?.changed === true || run?.pending !== undefined) throw new DeferredTurn();
    const { queueOrder: _queueOrder, ...rest } = stored.record;
    const record = { ...rest, fault: error.fault, version: rest.version + 1 };
    turn.rows.runsUpdated.push({ before: stored.record, after: record });
    turn.write(runSlot, runId, { record, nextSeq: stored.nextSeq } satisfies StoredRun);
    turn.after(() => host.quarantined(runId, error.fault));
  }
};

const CANCELLED_MEANWHILE = 'it was cancelled while it was quarantined';

/**
 * A call cancels a run that is quarantined. Nothing can end it, so the call is refused; but a key that it holds is freed, and others go on.
 * When a release can load it, it is cancelled.
 */
export const cancelQuarantined = (
  host: RunHost,
  turn: Turn,
  error: Quarantined,
  reach: ProjectReach,
): Result<never> => {
  const { record } = turn.read(runSlot, error.runId) ?? {};
  // One that nobody has met yet is marked first.
  if (record?.fault === undefined || !reaches(reach, record.project) || !freeHeld(turn, host, record)) throw error;
  const message = `${error.message}; the key that it held is free from now on, and it is cancelled once a release can load it`;
  return { ok: false, failure: { code: 'conflict', message } };
};

/** True for a child whose step ended while it was quarantined: the timer that would end it was deferred. */
const wasLeftBehind = (host: RunHost, turn: Turn, { parent }: RunRecord): boolean => {
  if (parent === undefined) return false;
  try {
    const run = readRun(turn, host.programs, parent.runId);
    return run !== undefined && !awaitsChild(run, parent);
  } catch (error) {
    if (error instanceof Quarantined) return false; // its own release, or the timer, comes later
    throw error;
  }
};

/** Releases a quarantined run that this release can load: it goes on where it stood. */
export const release = (host: RunHost, turn: Turn, runId: string): void => {
  const stored = turn.read(runSlot, runId);
  if (stored === undefined || 'snapshot' in stored || stored.record.fault === undefined) return;
  // What its descendants spent was counted in this group: that change is written first.
  if (turn.peek(runSlot, runId) !== undefined) throw new DeferredTurn();
  const { fault: _fault, ...withoutFault } = stored.record;
  let revived: RunActor;
  try {
    revived = bringToLife(turn, host.programs, { ...stored, record: withoutFault });
    readRest(turn, revived);
  } catch (error) {
    if (error instanceof Quarantined) return;
    throw error;
  }
  const { context } = revived.snapshot;
  const place = placeOf(revived.snapshot.value);
  const queueOrder = isOfferable(revived.snapshot)
    ? queueOrderOf(context, withoutFault.priority, revived, host.queueTime())
    : undefined;
  const record = { ...placesLeft(turn, withoutFault), ...(queueOrder === undefined ? {} : { queueOrder }) };
  const run: RunActor = { ...revived, record, changed: true };
  turn.write(runSlot, runId, run);
  offerSoon(host, turn, record);
  if (place.at === 'end') return;
  if (wasFreed(turn, withoutFault)) {
    cancelRun(host, turn, run, CANCELLED_MEANWHILE);
    return;
  }
  if (wasLeftBehind(host, turn, record)) {
    clearTimerRow(turn.rows, { runId, name: CANCEL_TIMER });
    cancelRun(host, turn, run, STEP_ENDED);
    return;
  }
  const compiled = stepAt(run.program, place);
  const wait = compiled === undefined ? undefined : hostOf(compiled).wait;
  const isPaused = context.paused !== undefined;
  // Timers that came due meanwhile were deferred.
  if (!isPaused && compiled !== undefined && wait !== undefined && typeof context.dueAt === 'number')
    turn.rows.timersSet.push(timerOfPhase(host, turn, run, context.dueAt, compiled, wait));
  if (!isPaused && place.at === 'scheduled' && typeof context.dueAt === 'number')
    turn.rows.timersSet.push(namedTime({ runId, name: START_TIMER }, context.dueAt));
  if (record.deadlineAt !== undefined) {
    const timer = { runId, name: RUN_TIMER };
    turn.rows.timersSet.push(
      place.at === 'scheduled'
        ? namedTime(timer, record.deadlineAt)
        : restoredCountdown(turn, timer, record.deadlineAt, record.createdAt),
    );
  }
  // What held it back may have gone meanwhile.
  if (place.at === 'held') admit(host, turn, run);
  if (stepIsHeld(run) && run.record.places?.step === undefined) admitTask(host, turn, run, run.record.cursor ?? '');
  if (compiled !== undefined) wait?.released?.(host, turn, run, compiled.step);
  if (record.parent !== undefined) {
    // Its parent may have been paused or resumed meanwhile.
    const follow: RunMessage = { kind: 'follow' };
    turn.tell({ type: 'run', id: runId }, follow);
  }
};
