/** The body of every step of the fixture: it does what its input says. @see ../../conformance/README.md, "The scripted body" */
import { setTimeout as sleep } from 'node:timers/promises';
import * as svc from '../src/index.ts';

export type BodyHost = {
  readonly emit: (event: object) => void;
  /** Resolves once the kit has released the name. */
  readonly gate: (name: string) => Promise<void>;
};

type Thrown = {
  readonly as: 'retryable' | 'failure' | 'plain' | 'panic';
  readonly message: string;
  readonly class?: string;
  readonly code?: string;
  readonly retry_after_ms?: number;
};
type Signal = Record<string, unknown>;
type Action = {
  readonly sleep_ms?: number;
  readonly deaf_ms?: number;
  readonly block_ms?: number;
  readonly await?: string;
  readonly emit?: unknown;
  readonly emit_context?: true;
  readonly beat?: svc.Json;
  readonly patch?: svc.JsonObject;
  readonly usage?: svc.ReportedUsage;
  readonly span?: Signal;
  readonly log?: Signal;
  readonly score?: Signal;
  readonly feedback?: Signal;
  readonly throw?: Thrown;
  readonly return?: unknown;
  readonly return_not_json?: true;
  readonly return_bytes?: number;
};

const errorOf = ({ as, message, retry_after_ms: wait, code, class: name = 'fatal' }: Thrown): Error => {
  const later = wait === undefined ? {} : { retryAfterMs: wait };
  if (as === 'retryable') return new svc.RetryableError(message, later);
  if (as === 'failure')
    return new svc.StepFailure({ class: name, message, ...later, ...(code === undefined ? {} : { code }) });
  return new Error(message);
};

const blockFor = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

const contextOf = (context: svc.StepContext, steps: svc.PriorSteps): object => ({
  run_id: context.runId,
  project: context.project,
  definition_id: context.definitionId,
  definition_version: context.definitionVersion,
  step_id: context.stepId,
  visit: context.visit,
  attempt: context.attempt,
  step_key: context.stepKey,
  state: context.state,
  steps,
  correlation: context.correlation,
  last_details: context.lastDetails,
  deadline_at: context.deadlineAt?.toISOString(),
  traceparent: context.traceparent,
});

/** Ends like the promise, or with the reason of the signal. */
const unlessCancelled = async (context: svc.StepContext, promise: Promise<void>): Promise<void> => {
  const { signal } = context;
  signal.throwIfAborted();
  const { promise: cancelled, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([promise, cancelled]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};

type Output = { readonly output: unknown };
/** @returns the output, where the action ends the script */
const act = async (
  host: BodyHost,
  context: svc.StepContext,
  steps: svc.PriorSteps,
  action: Action,
): Promise<Output | undefined> => {
  const { lease_id } = context.lease;
  if (action.sleep_ms !== undefined) await unlessCancelled(context, sleep(action.sleep_ms));
  if (action.deaf_ms !== undefined) await sleep(action.deaf_ms);
  if (action.block_ms !== undefined) blockFor(action.block_ms);
  if (action.await !== undefined) await unlessCancelled(context, host.gate(action.await));
  if ('emit' in action) host.emit({ event: 'body.emit', lease_id, value: action.emit });
  if (action.emit_context !== undefined) host.emit({ event: 'body.context', lease_id, ...contextOf(context, steps) });
  if (action.beat !== undefined) context.heartbeat(action.beat);
  if (action.patch !== undefined) context.patchState(action.patch);
  if (action.usage !== undefined) context.setUsage(action.usage);
  if (action.span !== undefined) {
    const { name, usage, output, ...more } = action.span;
    await context.span(name as string, more, (span) => {
      if (output !== undefined) span.setOutput(output);
      if (usage !== undefined) span.setUsage(usage as svc.Usage);
    });
  }
  if (action.log !== undefined)
    context.log(action.log['severity'] as svc.Severity, action.log['message'] as string, {});
  if (action.score !== undefined) {
    const { scorer_id: scorerId, ...more } = action.score;
    context.score({ scorerId, ...more } as svc.ScoreInput);
  }
  if (action.feedback !== undefined) context.feedback(action.feedback as svc.FeedbackInput);
  if (action.throw !== undefined) throw errorOf(action.throw);
  if ('return' in action) return { output: action.return };
  if (action.return_not_json !== undefined) {
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    return { output: cycle };
  }
  if (action.return_bytes !== undefined) return { output: 'x'.repeat(action.return_bytes) };
  return undefined;
};

type Script = { readonly script?: readonly Action[]; readonly attempts?: readonly (readonly Action[])[] };

export const scriptedBody =
  (host: BodyHost): svc.StepBody =>
  async (context, input: unknown, steps) => {
    const { lease_id, run_id, step_id, attempt } = context.lease;
    host.emit({ event: 'body.started', lease_id, run_id, step_id, attempt });
    context.signal.addEventListener('abort', () => {
      const { reason } = context.signal.reason as svc.StepInterrupted;
      host.emit({ event: 'body.cancelled', lease_id, reason });
    });
    try {
      const given = (Object(input) ?? {}) as Script;
      const script = given.script ?? given.attempts?.[Math.min(attempt, given.attempts.length) - 1];
      if (script === undefined) return input;
      for (const action of script) {
        // In order: one after the other.
        // oxlint-disable-next-line eslint/no-await-in-loop
        const end = await act(host, context, steps, action);
        if (end !== undefined) return end.output;
      }
      return null;
    } finally {
      host.emit({ event: 'body.ended', lease_id });
    }
  };
