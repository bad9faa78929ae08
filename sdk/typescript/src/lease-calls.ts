import { ServiceError } from './errors.ts';
import { writeExactly } from './exact-json.ts';
import type { Lease, ReportedUsage, StepFailure as ReportedFailure } from './generated/wire.ts';
import { type RetryPolicy, untilAnswered, withRetries } from './retry.ts';
import { isOver } from './run-status.ts';
import type { StepCalls, StepVerb } from './step-calls.ts';

type Refusal = 'already_applied' | 'fenced' | 'run_terminal' | 'not_started';
const refusals: ReadonlySet<string> = new Set<Refusal>(['already_applied', 'fenced', 'run_terminal', 'not_started']);

export type Answer =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly reason: Refusal }
  /** Refused for another reason than the state of the lease: a bug, a key, a body that is too large. */
  | { readonly kind: 'rejected'; readonly error: ServiceError }
  | { readonly kind: 'unanswered' };

/** How long to try one call: until it is answered, or until the signal. `cut` breaks off a call on its way, too. */
export type How = {
  readonly signal?: AbortSignal;
  readonly cut?: AbortSignal;
  readonly policy?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly onSent?: () => void;
};
const once: RetryPolicy = { ...untilAnswered, attempts: 1 };

export type Failure = Pick<ReportedFailure, 'error' | 'retry_after_ms'>;

/** Who makes the calls of a lease. */
export type LeaseCaller = {
  readonly calls: StepCalls;
  readonly workerId: string;
  /** Called when an answer says that the run of a lease has ended. */
  readonly onRunEnd: (runId: string) => void;
};

/** The four worker calls of one lease. */
export const createLeaseCalls = ({ calls, workerId, onRunEnd }: LeaseCaller, lease: Lease) => {
  const { lease_id: leaseId } = lease;
  /** A report said that the slot is free. A second one must not have it claimed again. */
  let hasFreed = false;
  const freesSlot = (verb: StepVerb): boolean => {
    if (hasFreed || (verb !== 'complete' && verb !== 'fail')) return false;
    hasFreed = true;
    return true;
  };
  const call = async (verb: StepVerb, body: string, how: How): Promise<Answer> => {
    const timeout = how.timeoutMs === undefined ? {} : { timeoutMs: how.timeoutMs };
    try {
      const answer = await withRetries(
        how.policy ?? untilAnswered,
        // The signal ends the waiting between tries. A call on its way is let go on: it may be the one that lands, and a
        // listener on each would cost more than the call.
        () =>
          calls.make({
            verb,
            leaseId,
            body,
            signal: how.cut,
            onSent: how.onSent,
            freesSlot: freesSlot(verb),
            ...timeout,
          }),
        how.signal,
      );
      if (answer.run_status !== undefined && isOver(answer.run_status)) onRunEnd(lease.run_id);
      return { kind: 'taken' };
    } catch (error) {
      // A fault of the service says nothing about the report; the step must not fail for it.
      if (!(error instanceof ServiceError) || error.status >= 500 || error.retryable) return { kind: 'unanswered' };
      if (error.code === 'run_terminal') onRunEnd(lease.run_id);
      if (error.status === 409 && refusals.has(error.code)) return { kind: 'refused', reason: error.code as Refusal };
      return { kind: 'rejected', error };
    }
  };
  /** @throws TypeError on what is not JSON */
  const bodyOf = (fields: object): string => writeExactly({ worker_id: workerId, ...fields });

  return {
    started: (how: How) => call('started', bodyOf({}), how),
    /** One try. @param details JSON text: written when the body gave it, so that a later change of the object does not show */
    heartbeat: (details: string | undefined, how: How) =>
      call(
        'heartbeat',
        details === undefined ? bodyOf({}) : `{"worker_id":${JSON.stringify(workerId)},"details":${details}}`,
        { ...how, policy: once },
      ),
    complete: (body: string, how: How) => call('complete', body, how),
    fail: (failure: Failure, usage: readonly ReportedUsage[], how: How) =>
      call('fail', bodyOf({ ...failure, ...(usage.length === 0 ? {} : { usage }) }), how),
    bodyOf,
  };
};

export type LeaseCalls = ReturnType<typeof createLeaseCalls>;
