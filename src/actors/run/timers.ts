import { placeOf, START_TIMER } from '../../machines/run.ts';
import type { CompiledStep } from '../../model/definition/compile.ts';
import type { UnixMs } from '../../model/run.ts';
import { clearTimerRow } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import { holdBack } from './admission.ts';
import { cancelRun } from './cancel.ts';
import type { RunHost } from './host.ts';
import { followParent } from './pause.ts';
import { PAUSE_TIMER } from './resting.ts';
import { pastDeadline, RUN_TIMER } from './limits.ts';
import type { RunMessage } from './messages.ts';
import { stepAt } from './program.ts';
import { isOpen, isPaused, type RunActor, standing } from './run-state.ts';
import { advance } from './settle.ts';
import { SHOW_TIMER, takeShowTimer } from './show-waits.ts';
import { CANCEL_TIMER, STEP_ENDED } from './steps/child.ts';
import type { StepWait } from './steps/step-host.ts';
import { hostOf } from './steps/step-hosts.ts';
import { countdown, type DatedTimer, namedTime, restoredCountdown } from './timer-rows.ts';
import { stepIdOf } from './work.ts';

type TimerMessage = RunMessage & { readonly kind: 'timer' };

/** A timer row is due. It goes in the turn that it causes. */
export const takeTimer = (host: RunHost, turn: Turn, run: RunActor, body: TimerMessage): void => {
  const { runId } = run.record;
  switch (body.name) {
    case RUN_TIMER:
      clearTimerRow(turn.rows, { runId, name: RUN_TIMER });
      if (isOpen(run)) advance(host, turn, run, pastDeadline);
      return;
    case START_TIMER:
      takeStartTimer(host, turn, run);
      return;
    case SHOW_TIMER:
      takeShowTimer(host, turn, run);
      return;
    case CANCEL_TIMER:
      clearTimerRow(turn.rows, { runId, name: CANCEL_TIMER });
      cancelRun(host, turn, run, STEP_ENDED);
      return;
    case PAUSE_TIMER:
      clearTimerRow(turn.rows, { runId, name: PAUSE_TIMER });
      followParent(host, turn, run);
      return;
    default:
      takeStepTimer(host, turn, run, body);
  }
};

/** The `start_at` of a run has come. Its deadline is a countdown from now on. */
const takeStartTimer = (host: RunHost, turn: Turn, run: RunActor): void => {
  const { runId, deadlineAt } = run.record;
  if (placeOf(run.snapshot.value).at !== 'scheduled' || isPaused(run)) {
    clearTimerRow(turn.rows, { runId, name: START_TIMER });
    return;
  }
  if (deadlineAt !== undefined) turn.rows.timersSet.push(countdown(turn, { runId, name: RUN_TIMER }, deadlineAt));
  advance(host, turn, run, (work) => ({ type: 'timer.due', at: turn.at, ...holdBack(work) }));
};

/** The timer of the phase in which a run stands, as a restart would have it. */
export const timerOfPhase = (
  host: RunHost,
  turn: Turn,
  { record, snapshot }: RunActor,
  dueAt: UnixMs,
  compiled: CompiledStep,
  wait: StepWait,
): DatedTimer => {
  const row = { runId: record.runId, name: wait.timer, ...stepIdOf(placeOf(snapshot.value)) };
  // The run was last written when it came into this phase.
  return wait.namesTime?.(compiled) === true
    ? namedTime(row, dueAt)
    : restoredCountdown(turn, row, dueAt, record.updatedAt);
};

const takeStepTimer = (host: RunHost, turn: Turn, run: RunActor, { name, dueAt: rowDueAt }: TimerMessage): void => {
  const { runId } = run.record;
  const place = standing(run);
  const { dueAt } = run.snapshot.context;
  const compiled = stepAt(run.program, place);
  const wait = compiled === undefined ? undefined : hostOf(compiled).wait;
  // A row that outlived its phase: nothing waits for it any more. A run that is resumed sets its timer again.
  if (isPaused(run) || place === undefined || compiled === undefined || dueAt === undefined || wait?.timer !== name) {
    clearTimerRow(turn.rows, { runId, name });
    return;
  }
  if (dueAt === null) return;
  // A timer of the present phase may have taken its name since the row was read. That one is not due yet.
  if (rowDueAt !== Math.ceil(dueAt)) {
    turn.rows.timersSet.push(timerOfPhase(host, turn, run, dueAt, compiled, wait));
    return;
  }
  if (wait.hasRoom?.(turn) === false) {
    // Nothing moves, and the row stays due.
    turn.after(() => {
      const { project, traceId } = run.record;
      host.carriedOver.addFirst({ runId, name, dueAt: rowDueAt, project, traceId });
    });
    return;
  }
  advance(host, turn, run, (work) => wait.due(work, compiled));
};
