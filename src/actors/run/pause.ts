import type { Pause } from '../../machines/run.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { Quarantined } from './quarantined.ts';
import { isOpen, isPaused, readRun, type RunActor } from './run-state.ts';
import { advance } from './settle.ts';
import { awaitsChild } from './steps/child.ts';

const because = (reason: string | undefined): { readonly reason?: string } => (reason === undefined ? {} : { reason });

const pause = (host: RunHost, turn: Turn, run: RunActor, by: Pause['by'], reason: string | undefined): RunActor =>
  advance(host, turn, run, () => ({ type: 'run.paused', at: turn.at, by, ...because(reason) }));

/**
 * Pauses an open run by name. One that is paused stays as it is; one that only its parent's pause holds is from now on paused by
 * name too, and stays so when the parent is resumed.
 * @see Interface decisions, section 13, "Pause"
 */
export const pauseRun = (
  host: RunHost,
  turn: Turn,
  run: RunActor,
  { reason }: { readonly reason?: string },
): RunActor => (run.snapshot.context.paused?.by === 'call' ? run : pause(host, turn, run, 'call', reason));

/** Resumes a run, by whatever pause it rests; one that is not paused stays as it is. */
export const resumeRun = (host: RunHost, turn: Turn, run: RunActor, reason: string | undefined): RunActor =>
  isPaused(run) ? advance(host, turn, run, () => ({ type: 'run.unpaused', at: turn.at, ...because(reason) })) : run;

/**
 * Its parent was paused or resumed, now or in a commit before: a child does what the parent is now. One that was paused by name stays
 * paused.
 */
export const followParent = (host: RunHost, turn: Turn, run: RunActor): void => {
  const { parent } = run.record;
  if (parent === undefined || !isOpen(run)) return;
  let above: RunActor | undefined;
  try {
    above = readRun(turn, host.programs, parent.runId);
  } catch (error) {
    if (error instanceof Quarantined) return; // its own release comes later
    throw error;
  }
  // A step that gave up on its children cancels them.
  if (above === undefined || !awaitsChild(above, parent)) return;
  const { paused } = above.snapshot.context;
  if (paused !== undefined && !isPaused(run)) pause(host, turn, run, 'parent', paused.reason);
  if (paused === undefined && run.snapshot.context.paused?.by === 'parent') resumeRun(host, turn, run, undefined);
};

/** The same for a child that may be quarantined: it follows when it is released. */
export const followIfLoadable = (host: RunHost, turn: Turn, runId: string): void => {
  try {
    const run = readRun(turn, host.programs, runId);
    if (run !== undefined) followParent(host, turn, run);
  } catch (error) {
    if (!(error instanceof Quarantined)) throw error;
  }
};
