import type { UnixMs } from '../../model/run.ts';
import type { TimerRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';

export type DatedTimer = TimerRecord & { readonly dueAt: UnixMs };
type Unset = Pick<TimerRecord, 'runId' | 'name' | 'stepId'>;
type Clocks = Pick<Turn, 'at' | 'steadyAt'>;

/** Due when the wall clock shows this time, whatever becomes of it until then. */
export const namedTime = (timer: Unset, dueAt: UnixMs): DatedTimer => ({ ...timer, dueAt: Math.ceil(dueAt) });

/** Due after the time from now until `dueAt`, whatever becomes of the wall clock. */
export const countdown = (turn: Clocks, timer: Unset, dueAt: UnixMs): DatedTimer => {
  const ms = Math.max(0, Math.ceil(dueAt) - turn.at);
  return { ...namedTime(timer, dueAt), countdown: { dueAt: turn.steadyAt + ms, setAt: turn.at, ms } };
};

/**
 * A countdown whose row is lost: due by the wall clock, as over a restart. Where the wall clock now stands before the moment at which
 * it was set, it runs again, complete.
 * @param setAt what the wall clock showed then
 */
export const restoredCountdown = (turn: Clocks, timer: Unset, dueAt: UnixMs, setAt: UnixMs): DatedTimer => {
  const ms = Math.max(0, Math.ceil(dueAt) - setAt);
  const from = Math.min(setAt, turn.at);
  return {
    ...namedTime(timer, dueAt),
    countdown: { dueAt: turn.steadyAt + from + ms - turn.at, setAt: from, ms },
  };
};
