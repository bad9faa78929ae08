import type { RunsService, StartedStep } from '../../actors/service/runs-service.ts';
import { reservedClasses } from '../../model/definition/step-error.ts';
import { Refusal } from '../../model/failure.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import { instantToWire } from '../codec/instant.ts';
import { usageOfWire } from '../codec/lease.ts';
import type { RefusalLog } from '../answer/refusal-log.ts';
import type { BodyOf, OperationId } from '../contract/contract.ts';
import { given } from '../lists/listing.ts';
import { RUN_BODY_BYTES } from './runs.ts';
import { valueOf } from './runs-deps.ts';

/** Calls that bring next to nothing, heartbeats with their details included. */
export const SMALL_BODY_BYTES = 1024 * 1024;
/** What a heartbeat may leave for the next attempt, as JSON. @see Interface decisions, "Worker protocol" */
const DETAILS_BYTES = 64 * 1024;

/** Classes that only the service gives; `unservable` a worker may send. @see Interface decisions, "Fine print" */
const isReserved = (name: string): boolean =>
  name !== 'unservable' && (reservedClasses as readonly string[]).includes(name);

/** One of the calls that the holder of a lease makes on it. */
export type LeaseCall = {
  /** How paths spell it. */
  readonly verb: 'started' | 'heartbeat' | 'complete' | 'fail';
  readonly operationId: OperationId;
  /** Bound of its body. */
  readonly maxBodyBytes: number;
  /**
   * Makes the call.
   * @param lease of a start also whether its report came with it
   * @param body as the schema of the operation has checked it
   * @returns the body of the answer
   * @throws Refusal
   */
  readonly make: (lease: StartedStep, body: unknown) => Promise<object>;
};

/** Where a call on a lease is made by itself; in a batch it is counted under the same path. */
export const leaseCallPath = (verb: LeaseCall['verb']): string => `/v1/api/steps/:lease/${verb}`;

/** The same calls, of which refusals are counted: a worker that reports too late is seen without its logs. */
export const countRefusals = (
  calls: Record<LeaseCall['verb'], LeaseCall>,
  refusals: Pick<RefusalLog, 'note'>,
): Record<LeaseCall['verb'], LeaseCall> => {
  const counted = (call: LeaseCall): LeaseCall => ({
    ...call,
    make: async (lease, body) => {
      try {
        return await call.make(lease, body);
      } catch (error) {
        if (error instanceof Refusal) refusals.note(leaseCallPath(call.verb), error.failure);
        throw error;
      }
    },
  });
  return {
    started: counted(calls.started),
    heartbeat: counted(calls.heartbeat),
    complete: counted(calls.complete),
    fail: counted(calls.fail),
  };
};

/** The four calls on a lease, in the order in which the life of a lease brings them. @see Interface specification, "Worker protocol" */
export const leaseCalls = (
  runs: Pick<RunsService, 'started' | 'heartbeat' | 'complete' | 'fail'>,
): Record<LeaseCall['verb'], LeaseCall> => ({
  started: {
    verb: 'started',
    operationId: 'startStep',
    maxBodyBytes: SMALL_BODY_BYTES,
    make: async (lease) => {
      const { runStatus, leaseExpiresAt } = valueOf(await runs.started(lease));
      return { run_status: runStatus, lease_expires_at: instantToWire(leaseExpiresAt) };
    },
  },
  heartbeat: {
    verb: 'heartbeat',
    operationId: 'beatStep',
    maxBodyBytes: SMALL_BODY_BYTES,
    make: async (lease, body) => {
      const { details } = body as BodyOf<'beatStep'>;
      const bytes = details === undefined ? 0 : Buffer.byteLength(JSON.stringify(details));
      if (bytes > DETAILS_BYTES)
        throw new Refusal({
          code: 'payload_too_large',
          message: `\`details\` of ${bytes} bytes are too large: they hold at most ${DETAILS_BYTES} bytes as JSON; keep a reference in them`,
          field: 'details',
        });
      const { leaseExpiresAt } = valueOf(
        await runs.heartbeat({ ...lease, ...given({ details: details as Json | undefined }) }),
      );
      return { lease_expires_at: instantToWire(leaseExpiresAt) };
    },
  },
  complete: {
    verb: 'complete',
    operationId: 'completeStep',
    maxBodyBytes: RUN_BODY_BYTES,
    make: async (lease, body) => {
      const { output, state_patch, usage } = body as BodyOf<'completeStep'>;
      const { runStatus, nextStep } = valueOf(
        await runs.complete({
          ...lease,
          ...given({ output: output as Json | undefined, statePatch: state_patch as JsonObject | undefined }),
          ...usageOfWire(usage),
        }),
      );
      return { run_status: runStatus, next_step: nextStep };
    },
  },
  fail: {
    verb: 'fail',
    operationId: 'failStep',
    maxBodyBytes: RUN_BODY_BYTES,
    make: async (lease, body) => {
      const { error, retry_after_ms, usage } = body as BodyOf<'failStep'>;
      if (isReserved(error.class))
        throw new Refusal({
          code: 'invalid_parameter',
          message: `the class "${error.class}" is given by the service alone; send retryable, rate_limited, fatal, unservable, or a name of your own`,
          field: 'error.class',
        });
      const { runStatus, nextStep, willRetry } = valueOf(
        await runs.fail({ ...lease, error, ...given({ retryAfterMs: retry_after_ms }), ...usageOfWire(usage) }),
      );
      return { run_status: runStatus, next_step: nextStep, will_retry: willRetry };
    },
  },
});
