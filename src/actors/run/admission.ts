import { placeOf, type RunEvent, visitOf } from '../../machines/run.ts';
import type { HeldReason } from '../../model/run.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { heldData } from './journal-data.ts';
import { admitStep, giveUpPlace, mayBegin, stepIsHeld } from './keyed.ts';
import { isPaused, type RunActor, standing } from './run-state.ts';
import { settle, storeRun } from './settle.ts';
import { addEntry, type Work, workOn } from './work.ts';

/**
 * Whether a run may enter its first step now: the one place that says so. It is asked when the run is started, when its `start_at` has
 * come, and when something that held it back may be gone. To add a reason, add its name to `HeldReason` and the question here, and
 * send `admit` to the runs that it held once it is gone.
 * @returns why not; `undefined` when nothing holds it back, and then the run begins in this turn
 */
const heldBackBy = (work: Work, inTurn: boolean): HeldReason | undefined => {
  if (work.host.isDefinitionPaused(work.record)) {
    // It keeps nobody waiting: it asks for its keys anew when the definition is resumed.
    if (inTurn) giveUpPlace(work, 'run');
    return 'definition_paused';
  }
  return mayBegin(work, inTurn) ? undefined : work.heldBy;
};

/** What the event says that would bring the run to its first step. */
export const holdBack = (work: Work): { readonly held?: true } => {
  work.heldBy = heldBackBy(work, false);
  return work.heldBy === undefined ? {} : { held: true };
};

const admitted = ({ at }: Turn, { record: { restartedFrom } }: RunActor): RunEvent => ({
  type: 'run.admitted',
  at,
  ...(restartedFrom === undefined ? {} : { restartAt: restartedFrom.stepId }),
});

/**
 * Something that held the run back may be gone: it begins, or stays where it is for the reason that now holds.
 * @param inTurn it is first in the line of its keys
 */
export const admit = (host: RunHost, turn: Turn, run: RunActor, inTurn = false): void => {
  if (placeOf(run.snapshot.value).at !== 'held') return;
  const work = workOn(host, turn, run);
  if (isPaused(run)) {
    if (inTurn) leaveLine(work, run, 'run');
    return;
  }
  const held = heldBackBy(work, inTurn);
  if (held === undefined) {
    work.queue.push(admitted(turn, run));
    settle(work);
    storeRun(work, run);
    return;
  }
  stayHeld(work, run, held);
};

/** The run stays where it is, and may wait for something else from now on. */
const stayHeld = (work: Work, run: RunActor, held: HeldReason): void => {
  if (held === run.record.held && work.record === run.record) return;
  if (held !== run.record.held) noteHeld(work, held);
  work.heldBy = held;
  storeRun(work, run);
};

const noteHeld = (work: Work, held: HeldReason): void => {
  const place = placeOf(work.snapshot.value);
  addEntry(work, {
    kind: 'run.held',
    ...(place.at === 'step' ? { stepId: place.step, visit: visitOf(work.snapshot.context, place.step) } : {}),
    data: heldData(held, work.heldOn),
  });
  work.events.push([null, 1]);
};

/** A paused run keeps nobody waiting: when its turn comes it leaves the line, and asks anew when it is resumed. */
const leaveLine = (work: Work, run: RunActor, of: 'run' | 'step'): void => {
  giveUpPlace(work, of);
  if (work.record !== run.record) storeRun(work, run);
};

/**
 * The task at hand may no longer be held back.
 * @param inTurn it is first in the line of its keys; otherwise only one that stands in no line asks
 */
export const admitTask = (host: RunHost, turn: Turn, run: RunActor, stepId: string, inTurn = false): void => {
  if (standing(run)?.step !== stepId || !stepIsHeld(run)) return;
  const work = workOn(host, turn, run);
  if (isPaused(run)) {
    if (inTurn) leaveLine(work, run, 'step');
    return;
  }
  if (!inTurn && run.record.places?.step?.lineId !== undefined) return;
  const event = admitStep(work);
  if (event === undefined) {
    stayHeld(work, run, work.heldBy ?? 'concurrency_key');
    return;
  }
  work.queue.push(event);
  settle(work);
  storeRun(work, run);
};
