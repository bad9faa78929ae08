import { clearTimerRow } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import { cancelRun } from './cancel.ts';
import type { RunHost } from './host.ts';
import { pastDeadline, RUN_TIMER } from './limits.ts';
import type { RunMessage } from './messages.ts';
import { stepAt } from './program.ts';
import { type RunActor, standing } from './run-state.ts';
import { advance } from './settle.ts';
import { SHOW_TIMER, takeShowTimer } from './show-waits.ts';
import { CANCEL_TIMER, STEP_ENDED } from './steps/child.ts';
import { hostOf } from './steps/step-hosts.ts';
import { stepIdOf } from './work.ts';

type TimerMessage = RunMessage & { readonly kind: 'timer' };

/** A timer row is due. It goes in the turn that it causes. */
export const takeTimer = (host: RunHost, turn: Turn, run: RunActor, body: TimerMessage): void => {
  const { runId } = run.record;
  switch (body.name) {
    case RUN_TIMER:
      clearTimerRow(turn.rows, { runId, name: RUN_TIMER });
      if (standing(run) !== undefined) advance(host, turn, run, pastDeadline);
      return;
    case SHOW_TIMER:
      takeShowTimer(host, turn, run);
      return;
    case CANCEL_TIMER:
      clearTimerRow(turn.rows, { runId, name: CANCEL_TIMER });
      cancelRun(host, turn, run, STEP_ENDED);
      return;
    default:
      takeStepTimer(host, turn, run, body);
  }
};

const takeStepTimer = (host: RunHost, turn: Turn, run: RunActor, { name, dueAt: rowDueAt }: TimerMessage): void => {
  const { runId } = run.record;
  const place = standing(run);
  const { dueAt } = run.snapshot.context;
  const compiled = stepAt(run.program, place);
  const wait = compiled === undefined ? undefined : hostOf(compiled).wait;
  // A row that outlived its phase: nothing waits for it any more. A timer of the present phase may have taken its name since
  // the row was read; that one is due no sooner, and its row stays. The row of a deferred timer is due later than the timer
  // itself.
  if (place === undefined || compiled === undefined || dueAt === undefined || wait?.timer !== name) {
    clearTimerRow(turn.rows, { runId, name });
    return;
  }
  if (dueAt === null) return;
  if (rowDueAt < Math.ceil(dueAt)) {
    turn.rows.timersSet.push({ runId, name, dueAt: Math.ceil(dueAt), ...stepIdOf(place) });
    return;
  }
  if (dueAt > turn.at) return;
  if (wait.hasRoom?.(turn) === false) {
    // Nothing moves, and the row stays due.
    turn.after(() => {
      host.due({ runId, name, dueAt: rowDueAt });
    });
    return;
  }
  advance(host, turn, run, (work) => wait.due(work, compiled));
};
