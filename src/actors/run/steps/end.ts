import type { RunEvent } from '../../../machines/run.ts';
import type { FailStep, SucceedStep } from '../../../model/definition/definition.ts';
import { render, renderAsText } from '../../../model/definition/template.ts';
import type { RunError } from '../../../model/run.ts';
import { succeedWith } from '../ending.ts';
import { outputOf, scope } from '../work.ts';
import type { StepHost } from './step-host.ts';

/** Ends the run as succeeded; without a template, its output is that of the step before. */
export const succeedHost: StepHost<SucceedStep> = {
  open: (work, { output }) =>
    succeedWith(
      work,
      output === undefined ? { ok: true, value: outputOf(work, work.cameFrom) } : render(output, scope(work)),
    ),
};

/** Ends the run as failed. */
export const failHost: StepHost<FailStep> = {
  open: (work, { step, message: template }): RunEvent => {
    const message =
      template === undefined
        ? { ok: true as const, value: `the run reached step ${step.id}` }
        : renderAsText(template, scope(work));
    const error: RunError = message.ok
      ? {
          class: 'fatal',
          message: message.value,
          stepId: step.id,
          ...(step.code === undefined ? {} : { code: step.code }),
        }
      : { ...message.error, stepId: step.id };
    return { type: 'run.failed', at: work.turn.at, error };
  },
};
