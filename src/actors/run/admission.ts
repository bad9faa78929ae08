import { placeOf } from '../../machines/run.ts';
import type { HeldReason } from '../../model/run.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { isPaused, type RunActor, runSlot } from './run-state.ts';
import { advance } from './settle.ts';
import { type Work, workOn } from './work.ts';

/**
 * Whether a run may enter its first step now: the one place that says so. It is asked when the run is started, when its `start_at` has
 * come, and when something that held it back may be gone. To add a reason, add its name to `HeldReason` and the question here, and
 * send `admit` to the runs that it held once it is gone.
 * @returns why not; `undefined` when nothing holds it back, and then the run begins in this turn
 */
const heldBackBy = (_work: Work): HeldReason | undefined => undefined;

/** What the event says that would bring the run to its first step. */
export const holdBack = (work: Work): { readonly held?: true } => {
  work.heldBy = heldBackBy(work);
  return work.heldBy === undefined ? {} : { held: true };
};

/** Something that held the run back may be gone: it begins, or stays where it is for the reason that now holds. */
export const admit = (host: RunHost, turn: Turn, run: RunActor): void => {
  if (placeOf(run.snapshot.value).at !== 'held' || isPaused(run)) return;
  const held = heldBackBy(workOn(host, turn, run));
  if (held === undefined) advance(host, turn, run, () => ({ type: 'run.admitted', at: turn.at }));
  else if (held !== run.record.held)
    turn.write(runSlot, run.record.runId, { ...run, record: { ...run.record, held }, changed: true });
};
