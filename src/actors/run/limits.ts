import { placeOf, type RunEvent } from '../../machines/run.ts';
import { addUsage, moneyOf, type RunError } from '../../model/run.ts';
import { stepIdOf, type Work } from './work.ts';

/** The timer that ends a run at its deadline. */
export const RUN_TIMER = 'run_timeout';

/** @see Interface decisions, "9. Durable runs": a limit that is passed ends the run, and names itself */
const passed = (work: Work, limit: NonNullable<RunError['limit']>, message: string): RunEvent => ({
  type: 'run.failed',
  at: work.turn.at,
  error: { class: 'limit', limit, message, ...stepIdOf(placeOf(work.snapshot.value)) },
});

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

/**
 * The event that ends a run at its cost limit, which bounds it together with all runs below it. Checked wherever the run would go on,
 * and whenever one of those has spent something.
 */
export const overBudget = (work: Work): RunEvent | undefined => {
  const { maxCostUsd } = work.program.definition.limits;
  if (maxCostUsd === undefined) return undefined;
  const { descendants } = work.record;
  const { usage } = work.snapshot.context;
  const cost = moneyOf(descendants === undefined ? usage : addUsage(usage, descendants));
  if (cost === undefined || cost < maxCostUsd) return undefined;
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
