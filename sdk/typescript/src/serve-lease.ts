import { declare } from './declaration.ts';
import { RetryableError, StepFailure, StepInterrupted } from './errors.ts';
import { writeExactly } from './exact-json.ts';
import type { Json, Lease, ReportedUsage } from './generated/wire.ts';
import { startHeart } from './heart.ts';
import { type Answer, createLeaseCalls, type Failure, type How, type LeaseCaller } from './lease-calls.ts';
import type { Instrumentation, TraceContext } from './recorder.ts';
import { untilAnswered } from './retry.ts';
import type { StandbyHeart } from './standby-heart.ts';
import type { StepContext } from './step-context.ts';
import { createUsageTotals } from './usage.ts';
import type { StepBody } from './workflow.ts';

/** Gets what an operator should know, without payloads. */
export type Logger = {
  /** What goes as it should, such as a registration; absent: such things are not logged. */
  readonly info?: (message: string) => void;
  readonly warn: (message: string) => void;
  readonly error: (message: string) => void;
};

/** How a lease ended, as its worker saw it. `lost`: nothing can be said; the service finds out by itself. */
export type LeaseEnd = 'completed' | 'failed' | 'unservable' | 'fenced' | 'run_terminal' | 'released' | 'lost';

export type LeaseHost = LeaseCaller & {
  readonly heartbeatMs: number;
  readonly leaseTtlMs: number;
  /** Has the lease kept alive while its body blocks this thread. */
  readonly hold: StandbyHeart['hold'];
  readonly instrumentation: Instrumentation;
  readonly logger: Logger;
  /** Fires when bodies must end: the time that a stopping worker gives them is over. */
  readonly force: AbortSignal;
  /** How long a body may take to end after its signal aborted. */
  readonly settleMs: number;
};

/** @see docs/worker-protocol.md, "Heartbeat" */
const DETAILS_LIMIT_BYTES = 64 * 1024;
const MESSAGE_LIMIT_CHARACTERS = 8 * 1024;

/** What a thrown value says of itself; a body may throw anything. */
const wordsOf = (error: unknown): string => {
  if (typeof error === 'string') return error;
  if (typeof error === 'number' || typeof error === 'boolean' || typeof error === 'bigint') return String(error);
  if (typeof error !== 'object' || error === null) return '';
  const { message, name } = error as { readonly message?: unknown; readonly name?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  return error instanceof Error && typeof name === 'string' ? name : '';
};

const messageOf = (error: unknown): string => {
  const text = wordsOf(error);
  return (text === '' ? 'the body failed' : text).slice(0, MESSAGE_LIMIT_CHARACTERS);
};

/**
 * Not the fault of the step: `rate_limited` is the class that spends no budget, here with no wait. A body that may run only
 * once is over, whatever its class.
 */
const givenBack: Failure = {
  error: { class: 'rate_limited', code: 'worker_stopping', message: 'the worker stopped while the step ran' },
  retry_after_ms: 0,
};

/** What a body that raised an error means by it. The message travels; the stack never does. */
const failureOf = (error: unknown): Failure => {
  const wait = error instanceof StepFailure || error instanceof RetryableError ? error.retryAfterMs : undefined;
  // A whole number of milliseconds, and no shorter than was asked.
  const later = wait === undefined ? {} : { retry_after_ms: Math.ceil(wait) };
  const message = messageOf(error);
  if (error instanceof RetryableError) return { error: { class: 'retryable', message }, ...later };
  if (!(error instanceof StepFailure)) return { error: { class: 'fatal', message } };
  const code = error.code === undefined ? {} : { code: error.code };
  const words = error.problem === undefined ? message : `${message} (${error.problem})`;
  return { error: { class: error.errorClass, ...code, message: words.slice(0, MESSAGE_LIMIT_CHARACTERS) }, ...later };
};

/**
 * Lives one lease, from its offer to its end: declares it started, keeps it alive while the body runs, reports what came of
 * it. Does what the protocol asks on each of the four refusals. Never throws.
 * @param body absent when this worker does not hold the definition, the version or the step: the lease goes back
 * @see Interface specification, "Worker protocol"
 */
export const serveLease = async (host: LeaseHost, lease: Lease, body: StepBody | undefined): Promise<LeaseEnd> => {
  const { instrumentation, logger } = host;
  const calls = createLeaseCalls(host, lease);
  const name = `${lease.definition_id}@${lease.definition_version}/${lease.step_id} of run ${lease.run_id}`;

  /** What an answer means for the lease, when being taken means `taken`. */
  const settle = (answer: Answer, taken: LeaseEnd): LeaseEnd => {
    if (answer.kind === 'taken') return taken;
    if (answer.kind === 'unanswered') return 'lost';
    if (answer.kind === 'rejected') {
      logger.error(`${name}: the service refused a call: ${answer.error.code}: ${answer.error.message}`);
      return 'lost';
    }
    switch (answer.reason) {
      // Our own earlier report landed, and its answer was lost.
      case 'already_applied':
        return taken;
      case 'fenced':
      case 'run_terminal':
        return answer.reason;
      case 'not_started':
        logger.error(`${name}: the service never saw it started: a bug in this library, please report it`);
        return 'lost';
      default:
        return answer.reason satisfies never;
    }
  };

  if (body === undefined) {
    logger.warn(`${name}: this worker does not hold that step; another may serve it`);
    const held = `${lease.definition_id} version ${lease.definition_version}, step ${lease.step_id}`;
    const message = `worker ${host.workerId} does not hold ${held}`;
    const answer = await calls.fail({ error: { class: 'unservable', message } }, [], { signal: host.force });
    return settle(answer, 'unservable');
  }

  /**
   * Whether the body may begin before its declaration is answered, so that what it gives may travel with that. Not where it may run once
   * only, and not in a second attempt: in the first it may have ended its process before that declared it.
   */
  const mayBeEarly = lease.delivery === 'at_least_once' && lease.attempt === 1 && !host.force.aborted;
  let held = mayBeEarly ? host.hold(lease.lease_id) : undefined;
  // Nor where no other thread would declare it while it blocks this one.
  const isEarly = held !== undefined;
  const letGo = (): void => {
    held?.release();
    held = undefined;
  };

  const interruption = new AbortController();
  const interrupt = (reason: StepInterrupted['reason']): void => {
    if (!interruption.signal.aborted) interruption.abort(new StepInterrupted(reason));
  };
  const interruptedBy = (): StepInterrupted['reason'] | undefined =>
    interruption.signal.aborted ? (interruption.signal.reason as StepInterrupted).reason : undefined;

  const declaration = declare(calls.started, {
    isEarly,
    forMs: host.leaseTtlMs,
    onSent: () => held?.beat(),
    onRefusal: (answer) => {
      letGo();
      interrupt(answer.kind === 'refused' && answer.reason === 'run_terminal' ? 'run_terminal' : 'fenced');
    },
  });

  const reportFailure = async (failure: Failure, usage: readonly ReportedUsage[], how: How): Promise<LeaseEnd> => {
    const answer = await declaration.report(() => calls.fail(failure, usage, how));
    if (answer.kind !== 'rejected') return settle(answer, 'failed');
    // A class that the service keeps for itself, a wait over its bound: the step fails, and says why.
    const message = `${failure.error.message} (reported as fatal: ${answer.error.message})`;
    const plain = { class: 'fatal', code: 'invalid_failure', message: message.slice(0, MESSAGE_LIMIT_CHARACTERS) };
    return settle(await calls.fail({ error: plain }, [], how), 'failed');
  };

  // A body that does not listen holds its slot until it ends; only a worker that must stop leaves it behind.
  let settleTimer: NodeJS.Timeout | undefined;
  let leaveBehind = (): void => {};
  const leftBehind = new Promise<undefined>((resolve) => {
    leaveBehind = () => resolve(undefined);
  });
  // A worker that stops lets a last report go out, but does not wait for its answer without end.
  const lastly: How = { policy: { ...untilAnswered, forMs: host.settleMs } };
  const onForce = (): void => {
    declaration.stop();
    interrupt('stopping');
    settleTimer = setTimeout(leaveBehind, host.settleMs);
  };
  host.force.addEventListener('abort', onForce, { once: true });

  let stopHeart = (): void => {};
  type Outcome = { readonly ok: true; readonly output: unknown } | { readonly ok: false; readonly error: unknown };
  try {
    if (!isEarly) {
      const started = await declaration.answer;
      // Without its word that the body may run, the body does not run: its own earlier report is no such word either.
      if (started.kind !== 'taken') return settle(started, 'lost');
      // The time of bodies was over before this one began: it must not.
      if (host.force.aborted) return settle(await calls.fail(givenBack, [], lastly), 'released');
      held = host.hold(lease.lease_id);
      held?.beat();
    }
    // Given up in time for another one, over another connection, before the lease is over.
    const beatTimeoutMs = Math.ceil(Math.max(host.heartbeatMs, host.leaseTtlMs / 3));
    const heart = startHeart(host.heartbeatMs, async (details, signal) => {
      held?.beat();
      const answer = await calls.heartbeat(details, { cut: signal, timeoutMs: beatTimeoutMs });
      if (answer.kind === 'unanswered') return 'sooner';
      if (answer.kind !== 'refused' || answer.reason === 'not_started') return 'again';
      // Fenced: another lease ended this one. Run over: a cancel, above all. Either way the work is of no more use.
      if (answer.reason !== 'already_applied') interrupt(answer.reason);
      letGo();
      return 'over';
    });

    const usage = createUsageTotals();
    let usageSet: readonly ReportedUsage[] | undefined;
    let hasModelSpan = false;
    let patch: Record<string, Json> | undefined;
    const trace: TraceContext = {
      traceId: lease.trace_id,
      spanId: lease.span_id,
      correlation: { ...lease.correlation, project: lease.project, run_id: lease.run_id },
      onModelSpan: (model, counts) => {
        hasModelSpan = true;
        if (counts !== undefined) usage.add(model, counts);
      },
    };
    const context: StepContext = {
      runId: lease.run_id,
      project: lease.project,
      definitionId: lease.definition_id,
      definitionVersion: lease.definition_version,
      stepId: lease.step_id,
      visit: lease.visit,
      attempt: lease.attempt,
      stepKey: lease.step_key,
      state: lease.state,
      correlation: lease.correlation,
      lastDetails: lease.last_details,
      deadlineAt: lease.deadline_at === undefined ? undefined : new Date(lease.deadline_at),
      lease,
      signal: interruption.signal,
      heartbeat: (details) => {
        const text = writeExactly(details);
        const bytes = Buffer.byteLength(text);
        if (bytes > DETAILS_LIMIT_BYTES)
          throw new RangeError(`heartbeat details have ${bytes} bytes as JSON, more than ${DETAILS_LIMIT_BYTES}`);
        heart.tell(text);
      },
      patchState: (more) => {
        patch = { ...patch, ...more };
      },
      setUsage: (value) => {
        usageSet = Array.isArray(value) ? (value as readonly ReportedUsage[]) : [value as ReportedUsage];
      },
      span: instrumentation.span,
      log: (severity, message, attributes) =>
        instrumentation.log(severity, message, {
          logger: lease.definition_id,
          ...(attributes === undefined ? {} : { attributes }),
        }),
      score: instrumentation.score,
      feedback: instrumentation.feedback,
      traceparent: `00-${lease.trace_id}-${lease.span_id}-01`,
    };

    stopHeart = heart.stop;
    const running = instrumentation
      .under(trace, async () => body(context, lease.input, lease.steps))
      .then(
        (output): Outcome => ({ ok: true, output }),
        (error: unknown): Outcome => ({ ok: false, error }),
      );
    const outcome = await Promise.race([running, leftBehind]);
    if (outcome === undefined) {
      logger.warn(`${name}: its body did not end in time; the service gives the step to another worker`);
      return 'lost';
    }
    const refusal = declaration.refusal();
    if (refusal !== undefined) return settle(refusal, 'lost');
    const reason = interruptedBy();
    if (reason === 'fenced' || reason === 'run_terminal') return reason;

    // Tokens of spans are on the spans. Usage that is reported by hand, beside no model span, would be in no trace: the service is asked
    // for a span of it.
    const reported =
      usageSet === undefined
        ? usage.list()
        : hasModelSpan
          ? usageSet
          : usageSet.map((entry) => ({ record: true, ...entry }));
    const how: How = reason === 'stopping' ? lastly : { signal: interruption.signal };

    if (!outcome.ok) {
      // The mark for the next attempt goes first: after the report nobody takes it.
      await heart.flush(reason === 'stopping' ? host.settleMs : host.leaseTtlMs);
      const meant = outcome.error instanceof StepFailure || outcome.error instanceof RetryableError;
      if (reason !== 'stopping' || meant) return await reportFailure(failureOf(outcome.error), reported, how);
      return settle(await declaration.report(() => calls.fail(givenBack, reported, how)), 'released');
    }

    let result: string;
    try {
      result = calls.bodyOf({
        output: outcome.output,
        ...(patch === undefined ? {} : { state_patch: patch }),
        ...(reported.length === 0 ? {} : { usage: reported }),
      });
    } catch (error) {
      const message = `the output of step ${lease.step_id} is not JSON: ${messageOf(error)}`;
      return await reportFailure({ error: { class: 'fatal', code: 'invalid_output', message } }, reported, how);
    }
    const answer = await declaration.report(() => calls.complete(result, how));
    if (answer.kind === 'rejected') {
      const message = `the service refused the output of step ${lease.step_id}: ${answer.error.message}`;
      return await reportFailure({ error: { class: 'fatal', code: answer.error.code, message } }, reported, how);
    }
    // A heartbeat may have learned of the end while the report was on its way.
    const meanwhile = interruptedBy();
    if (answer.kind === 'unanswered' && meanwhile !== undefined && meanwhile !== 'stopping') return meanwhile;
    return settle(answer, 'completed');
  } catch (error) {
    logger.error(`${name}: ${messageOf(error)}`);
    return 'lost';
  } finally {
    stopHeart();
    letGo();
    declaration.stop();
    clearTimeout(settleTimer);
    host.force.removeEventListener('abort', onForce);
  }
};
