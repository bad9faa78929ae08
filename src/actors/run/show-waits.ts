import { placeOf } from '../../machines/run.ts';
import { hasEnded, type UnixMs } from '../../model/run.ts';
import { clearTimerRow } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { isOpen, type RunActor } from './run-state.ts';
import { countdown } from './timer-rows.ts';
import { addRootSpan, type Work } from './work.ts';

/**
 * The span of a run shows its waits while it goes on. Each time it is sent it replaces itself, with its input and with all earlier
 * events. So it is sent at each of the first waits. A run with more of them, a loop that polls, is shown at certain moments of
 * its life: sixteen each time its age doubles, so some hundreds in years, and never later than a sixteenth of its age.
 */
const SHOWN_AT_ONCE = 32;
const MOMENTS_EACH_DOUBLING = 16;
const LEAST_BETWEEN_MS = 1024;

/** The timer of the next such moment. */
export const SHOW_TIMER = 'show_waits';

/**
 * The next moment, as a function of the age alone: however often it is asked for, and after a restart, it is the same. Steps are powers
 * of two, so that the moments of a greater age are among those of a smaller one.
 */
export const nextShowing = (createdAt: UnixMs, at: UnixMs): UnixMs => {
  const age = Math.max(1, at - createdAt);
  const step = Math.max(LEAST_BETWEEN_MS, 2 ** Math.floor(Math.log2(age)) / MOMENTS_EACH_DOUBLING);
  return createdAt + (Math.floor(age / step) + 1) * step;
};

const isWaiting = (run: Pick<RunActor, 'snapshot'>): boolean => {
  const place = placeOf(run.snapshot.value);
  return place.at === 'scheduled' || (place.at === 'step' && (place.phase === 'waiting' || place.phase === 'backoff'));
};

/** A wait was opened, or is over: the span of the run is to say so. The end of the run sends it in any case. */
export const showWaits = (work: Work, before: Pick<RunActor, 'snapshot'> | undefined): void => {
  const { turn, runId, record } = work;
  if (hasEnded(record.status)) return;
  const { waits = 0 } = work.snapshot.context;
  const hasOpened = waits !== (before?.snapshot.context.waits ?? 0);
  const hasClosed = before !== undefined && isWaiting(before) && !isWaiting(work);
  if (!hasOpened && !hasClosed) return;
  if (waits <= SHOWN_AT_ONCE) addRootSpan(work);
  else
    turn.rows.timersSet.push(countdown(work.turn, { runId, name: SHOW_TIMER }, nextShowing(record.createdAt, turn.at)));
};

/** The moment has come. */
export const takeShowTimer = (host: RunHost, turn: Turn, run: RunActor): void => {
  const { runId } = run.record;
  clearTimerRow(turn.rows, { runId, name: SHOW_TIMER });
  if (isOpen(run)) addRootSpan({ host, turn, runId });
};

/** The run has ended: the span that is sent now is complete. */
export const endShowing = (work: Work): void => {
  const { waits = 0 } = work.snapshot.context;
  if (waits > SHOWN_AT_ONCE) clearTimerRow(work.turn.rows, { runId: work.runId, name: SHOW_TIMER });
};
