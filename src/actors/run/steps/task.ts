import { type RunEvent, visitOf } from '../../../machines/run.ts';
import type { TaskStep } from '../../../model/definition/definition.ts';
import { render } from '../../../model/definition/template.ts';
import type { Json } from '../../../model/json.ts';
import type { Lease } from '../../../model/run.ts';
import type { LeaseMessage } from '../../lease/messages.ts';
import { storedSlot } from '../../runs-kernel.ts';
import type { RunMessage } from '../messages.ts';
import { spanIdOf } from '../run-spans.ts';
import { type RunActor, standing } from '../run-state.ts';
import { compiledAt, documentsOf, failStep, patchState, scope, setOutput, type Work } from '../work.ts';
import type { EffectHost, StepHost } from './step-host.ts';
import { parseStored } from '../quarantined.ts';
import { readCorrelation } from '../run-documents.ts';

/** From its lease: how an attempt ended. */
type LeaseReport = Extract<RunMessage, { readonly leaseId: string }>;

/** The wait until the next try, before chance: doubled, or what the definition says, for each failure so far. */
export const backoffMs = (retry: TaskStep['retry'], failures: number, random: number): number => {
  const ceiling = Math.min(retry.maxBackoffMs, retry.backoffMs * retry.multiplier ** failures);
  return retry.jitter === 'full' ? ceiling * random : ceiling;
};

/** The same for every attempt of a visit, another for each visit: a loop pays twice only if it means to. */
const visitKeyOf = (runId: string, stepId: string, visit: number): string => `${runId}:${stepId}:${visit}`;

/** The attempt of a visit before this one. */
const attemptBeforeSlot = storedSlot({
  name: 'attempt_before',
  lifetime: 'group',
  keyOf: ({ runId, stepId, visit, attempt }: AttemptKey) => `${runId}/${stepId}/${visit}/${attempt}`,
  lookup: (key) => ({ kind: 'attempt_before', ...key }),
});
type AttemptKey = {
  readonly runId: string;
  readonly stepId: string;
  readonly visit: number;
  readonly attempt: number;
};

/** What the attempt before this one said last of itself. */
const lastDetailsOf = (work: Work, stepId: string, visit: number, attempt: number): string | undefined => {
  if (attempt === 1) return undefined;
  const { turn, runId } = work;
  return turn.read(attemptBeforeSlot, { runId, stepId, visit, attempt })?.details;
};

/** The step goes to a worker that asked for it. The worker has its lease when the turn is over. */
export const offerTask = (work: Work, { workerId, offerTtlMs, granted }: RunMessage & { kind: 'offer' }): RunEvent => {
  const { turn, runId, record } = work;
  const lapsesAt = turn.at + offerTtlMs;
  const { step, input: template } = compiledAt(work);
  if (step.kind !== 'task') throw new Error(`step ${step.id} of run ${runId} is queued and no task`);
  const documents = documentsOf(work);
  const visit = visitOf(work.snapshot.context, step.id);
  const attempt = work.snapshot.context.attempt + 1;
  const lastDetails = lastDetailsOf(work, step.id, visit, attempt);
  const input = template === undefined ? undefined : render(template, scope(work));
  if (input?.ok === false)
    throw new Error(`the input of step ${step.id} could be rendered when it opened, and cannot now`);
  const leaseId = turn.newId();
  const offered: LeaseMessage = {
    kind: 'offered',
    runId,
    stepId: step.id,
    visit,
    attempt,
    workerId,
    delivery: step.delivery,
    lapsesAt,
  };
  turn.tell({ type: 'lease', id: leaseId }, offered);
  const lease: Lease = {
    leaseId,
    runId,
    project: record.project,
    definitionId: record.definitionId,
    definitionVersion: record.definitionVersion,
    stepId: step.id,
    visit,
    attempt,
    delivery: step.delivery,
    ...(input?.value === undefined ? {} : { input: input.value }),
    steps: documents.steps,
    state: documents.state,
    correlation: readCorrelation(record),
    stepKey: visitKeyOf(runId, step.id, visit),
    traceId: record.traceId,
    spanId: spanIdOf(leaseId),
    leaseExpiresAt: lapsesAt,
    ...(record.deadlineAt === undefined ? {} : { deadlineAt: record.deadlineAt }),
    ...(lastDetails === undefined
      ? {}
      : { lastDetails: parseStored<Json>(runId, lastDetails, 'the last details of a step') }),
  };
  turn.atEnd(() => {
    granted(lease);
  });
  return { type: 'step.offered', at: turn.at, leaseId, workerId };
};

export const holdsLease = (run: RunActor, leaseId: string): boolean =>
  standing(run)?.phase === 'leased' && run.snapshot.context.leaseId === leaseId;

const failed = (work: Work, body: RunMessage & { kind: 'failed' }): RunEvent => {
  const { turn } = work;
  const { step } = compiledAt(work);
  if (step.kind !== 'task') throw new Error(`run ${work.runId} is at no task`);
  const { class: errorClass } = body.error;
  const least = body.retryAfterMs ?? 0;
  // A rate limit without a time is waited for like a first failure.
  const wait =
    errorClass === 'rate_limited'
      ? (body.retryAfterMs ?? step.retry.backoffMs)
      : Math.max(least, backoffMs(step.retry, work.snapshot.context.failures, turn.random()));
  return {
    type: 'step.failed',
    at: turn.at,
    error: body.error,
    leaseId: body.leaseId,
    bodyRan: body.bodyRan,
    retryAt: Math.ceil(turn.at + wait),
    ...(body.usage === undefined ? {} : { usage: body.usage }),
  };
};

/** The lease of the step has ended. */
export const takeReport = (work: Work, body: LeaseReport): RunEvent => {
  const { at } = work.turn;
  switch (body.kind) {
    case 'completed':
      if (body.statePatch !== undefined) patchState(work, body.statePatch);
      setOutput(work, compiledAt(work).step.id, body.output);
      return {
        type: 'step.completed',
        at,
        leaseId: body.leaseId,
        ...(body.usage === undefined ? {} : { usage: body.usage }),
      };
    case 'failed':
      return failed(work, body);
    case 'lapsed':
      return { type: 'step.lapsed', at, leaseId: body.leaseId };
    case 'orphaned':
      return {
        type: 'step.orphaned',
        at,
        leaseId: body.leaseId,
        bodyRan: body.bodyRan,
        error: { class: 'orphaned', message: 'the worker fell silent and its lease was reclaimed' },
      };
    default:
      return body satisfies never;
  }
};

const dropLease: EffectHost = ({ turn }, { from, before }) => {
  if (from.at !== 'step' || from.phase !== 'leased' || before.leaseId === undefined) return;
  const message: LeaseMessage = { kind: 'cancel' };
  turn.tell({ type: 'lease', id: before.leaseId }, message);
};

/** A step that a worker serves: offered, leased, tried again. The lease itself is an actor of its own. */
export const taskHost: StepHost<TaskStep> = {
  open: (work, { input }) => {
    // Rendered only to find errors: the input that the worker gets is rendered with its lease.
    const rendered = input === undefined ? undefined : render(input, scope(work));
    return rendered?.ok === false ? failStep(work, rendered.error) : { type: 'step.opened', at: work.turn.at };
  },
  wait: {
    timer: 'backoff',
    reason: 'backoff',
    due: ({ turn }) => ({ type: 'timer.due', at: turn.at }),
  },
  effects: { dropLease },
};
