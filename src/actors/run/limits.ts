import { placeOf, type RunEvent, totalOf } from '../../machines/run.ts';
import { addUsage, moneyOf, type RunError, type RunUsage } from '../../model/run.ts';
import { compiledAt, stepIdOf, type Work } from './work.ts';

/** The timer that ends a run at its deadline. */
export const RUN_TIMER = 'run_timeout';

/** @see Interface decisions, "9. Durable runs": a limit that is passed ends the run, and names itself */
const passed = (
  work: Work,
  limit: NonNullable<RunError['limit']>,
  message: string,
  of: { readonly stepId?: string } = stepIdOf(placeOf(work.snapshot.value)),
): RunEvent => ({ type: 'run.failed', at: work.turn.at, error: { class: 'limit', limit, message, ...of } });

/** The money of a usage, where it has reached a limit. */
const reached = (usage: RunUsage, maxCostUsd: number | undefined): number | undefined => {
  if (maxCostUsd === undefined) return undefined;
  const cost = moneyOf(usage);
  return cost === undefined || cost < maxCostUsd ? undefined : cost;
};

/** What ends the run where it has entered more steps than it may. */
export const tooManySteps = (work: Work): RunEvent | undefined => {
  const { stepCount } = work.snapshot.context;
  const { maxSteps } = work.program.definition.limits;
  if (stepCount <= maxSteps) return undefined;
  return passed(
    work,
    'max_steps',
    `the run would enter its step number ${stepCount}, its limit max_steps is ${maxSteps}`,
  );
};

/** What ends the run where the task at hand would begin one attempt more than it may, in all its visits. */
export const tooManyAttempts = (work: Work): RunEvent | undefined => {
  const { step } = compiledAt(work);
  const most = step.kind === 'task' ? step.limits?.maxAttemptsTotal : undefined;
  if (most === undefined) return undefined;
  const { attempts } = totalOf(work.snapshot.context, step.id);
  if (attempts < most) return undefined;
  return passed(
    work,
    'max_attempts_total',
    `step ${step.id} would begin its attempt number ${attempts + 1}, its limit max_attempts_total is ${most}`,
  );
};

/** What ends the run where one of its tasks has reached its own cost limit: the one that did, wherever the run stands now. */
const taskOverBudget = (work: Work): RunEvent | undefined => {
  const { context } = work.snapshot;
  for (const stepId of Object.keys(context.totals ?? {})) {
    const step = work.program.compiled.steps.get(stepId)?.step;
    const maxCostUsd = step?.kind === 'task' ? step.limits?.maxCostUsd : undefined;
    const cost = reached(totalOf(context, stepId).usage, maxCostUsd);
    if (cost === undefined) continue;
    const message = `step ${stepId} cost ${cost} USD, its limit max_cost_usd is ${maxCostUsd}`;
    return passed(work, 'max_cost_usd', message, { stepId });
  }
  return undefined;
};

/**
 * The event that ends a run at a cost limit: its own, which bounds it together with all runs below it, or that of one of its tasks.
 * Checked wherever the run would go on, and whenever a run below it has spent something.
 */
export const overBudget = (work: Work): RunEvent | undefined => {
  const { maxCostUsd } = work.program.definition.limits;
  const { descendants } = work.record;
  const { usage } = work.snapshot.context;
  const cost = reached(descendants === undefined ? usage : addUsage(usage, descendants), maxCostUsd);
  if (cost === undefined) return taskOverBudget(work);
  const who = descendants === undefined ? 'the run' : 'the run and its descendants';
  return passed(work, 'max_cost_usd', `${who} cost ${cost} USD, its limit max_cost_usd is ${maxCostUsd}`);
};

/** What ends the run at its deadline. */
export const pastDeadline = (work: Work): RunEvent =>
  passed(
    work,
    'run_timeout_ms',
    `the run is older than its limit run_timeout_ms of ${work.program.definition.limits.runTimeoutMs} ms`,
  );
