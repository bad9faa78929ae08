import { placeOf, START_TIMER } from '../../machines/run.ts';
import { type CarriedOverName, clearTimerRow } from '../../store/runs/run-store.ts';
import { defineNote } from '../kernel/slot.ts';
import type { RunMessage } from './messages.ts';
import { openChildrenOf, startChildren } from './steps/child.ts';
import type { EffectHost } from './steps/step-host.ts';
import { hostOf } from './steps/step-hosts.ts';
import { namedTime, restoredCountdown } from './timer-rows.ts';
import { carryOver, compiledAt, stepIdOf, type Work } from './work.ts';

/** The timer by which a child compares itself with its parent, where the commit of the parent could not take it too. */
export const PAUSE_TIMER = 'pause' satisfies CarriedOverName;

/** Most children that one commit pauses or resumes. Those beyond follow at once, as with a cancel. */
const CHILDREN_PAUSED_IN_A_GROUP = 1000;
/** How many the group in hand has. */
const pausedInGroup = defineNote<undefined, number>('children_paused', () => '');

/** Children are paused and resumed with their parent. Each asks for itself what the parent is, so no order of messages misleads it. */
const tellChildren = (work: Work): void => {
  const { turn } = work;
  let paused = turn.peek(pausedInGroup, undefined) ?? 0;
  for (const runId of openChildrenOf(work)) {
    paused += 1;
    const message: RunMessage = { kind: 'follow' };
    if (paused <= CHILDREN_PAUSED_IN_A_GROUP) turn.tell({ type: 'run', id: runId }, message);
    else carryOver(work, { runId, name: PAUSE_TIMER }, turn.at);
  }
  turn.write(pausedInGroup, undefined, paused);
};

/** The timer of the place where the run stands, and whether it stands with children. */
const restsAt = (work: Work) => {
  const place = placeOf(work.snapshot.value);
  if (place.at === 'scheduled') return { timer: START_TIMER, hasChildren: false };
  if (place.at !== 'step' || (place.phase !== 'waiting' && place.phase !== 'backoff')) return undefined;
  const compiled = compiledAt(work);
  const { wait } = hostOf(compiled);
  return wait === undefined ? undefined : { timer: wait.timer, wait, hasChildren: compiled.step.kind === 'child' };
};

/** The run was paused: its timer is taken off; when it was due stays in its context. */
export const rest: EffectHost = (work, { before }) => {
  const at = restsAt(work);
  if (at === undefined || before.paused !== undefined) return;
  if (work.snapshot.context.dueAt !== undefined) clearTimerRow(work.turn.rows, { runId: work.runId, name: at.timer });
  if (at.hasChildren) tellChildren(work);
};

/**
 * The run was resumed: its timer is set again, and one that fell due meanwhile acts in this turn. What was to last some time goes on by the
 * wall clock, as over a restart.
 */
export const setTimersAgain: EffectHost = (work, moment, params) => {
  const { turn, runId } = work;
  const place = placeOf(work.snapshot.value);
  if (place.at === 'held' || (place.at === 'step' && place.phase === 'held')) {
    const admit: RunMessage = { kind: 'admit', ...stepIdOf(place) };
    turn.tell({ type: 'run', id: runId }, admit);
    return;
  }
  const at = restsAt(work);
  if (at === undefined) return;
  if (at.hasChildren) {
    tellChildren(work);
    startChildren(work, moment, params);
    return;
  }
  const { dueAt } = work.snapshot.context;
  if (dueAt === undefined) return;
  const row = { runId, name: at.timer, ...stepIdOf(placeOf(work.snapshot.value)) };
  if (dueAt === null) {
    turn.rows.timersSet.push(row);
    return;
  }
  const isNamed = at.wait === undefined || at.wait.namesTime?.(compiledAt(work)) === true;
  const timer = isNamed
    ? namedTime(row, dueAt)
    : restoredCountdown(turn, row, dueAt, moment.before.paused?.at ?? turn.at);
  const isDue = timer.countdown === undefined ? timer.dueAt <= turn.at : timer.countdown.dueAt <= turn.steadyAt;
  if (!isDue) {
    turn.rows.timersSet.push(timer);
    return;
  }
  const due: RunMessage = { kind: 'timer', name: timer.name, dueAt: timer.dueAt };
  turn.tell({ type: 'run', id: runId }, due);
};
