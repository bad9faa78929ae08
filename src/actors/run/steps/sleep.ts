import type { SleepStep } from '../../../model/definition/definition.ts';
import { renderAsText } from '../../../model/definition/template.ts';
import { MAX_UNIX_NANO, millisFromUnixNano, parseTimestamp, unixNanoFromMillis } from '../../../model/time.ts';
import { failStep, scope } from '../work.ts';
import type { StepHost } from './step-host.ts';

/** Rests until a time. @see Interface decisions, "9. Durable runs" */
export const sleepHost: StepHost<SleepStep> = {
  open: (work, { step, sleepUntil }) => {
    const { at } = work.turn;
    if (sleepUntil === undefined) return { type: 'step.opened', at, dueAt: at + (step.sleepMs ?? 0) };
    const until = renderAsText(sleepUntil, scope(work));
    if (!until.ok) return failStep(work, until.error);
    const nanos = parseTimestamp(until.value);
    if (nanos === undefined)
      return failStep(work, {
        class: 'expression',
        message: `sleep_until of step ${step.id} is not an RFC 3339 timestamp such as 2031-01-31T12:00:00Z`,
      });
    if (nanos > MAX_UNIX_NANO) return { type: 'step.opened', at, dueAt: null };
    const millis = millisFromUnixNano(nanos);
    return { type: 'step.opened', at, dueAt: unixNanoFromMillis(millis) < nanos ? millis + 1 : millis };
  },
  wait: {
    timer: 'sleep',
    reason: 'sleep',
    namesTime: ({ sleepUntil }) => sleepUntil !== undefined,
    due: ({ turn }) => ({ type: 'timer.due', at: turn.at }),
  },
};
