import type { Delivery } from '../../model/definition/definition.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import type { ReportedUsage, UnixMs } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';

/** A call of the worker that says it holds the lease. */
export type HolderCall = { readonly workerId: string; readonly reach: ProjectReach };
/** What a worker calls. */
export type WorkerCall =
  /** Reported: together with the end of the attempt, which began when its offer arrived. */
  | (HolderCall & { readonly kind: 'started'; readonly isReported?: boolean })
  | (HolderCall & { readonly kind: 'heartbeat'; readonly details?: Json })
  | (HolderCall & {
      readonly kind: 'complete';
      readonly output?: Json;
      readonly statePatch?: JsonObject;
      readonly usage?: readonly ReportedUsage[];
    })
  | (HolderCall & {
      readonly kind: 'fail';
      readonly error: StepError;
      readonly retryAfterMs?: number;
      readonly usage?: readonly ReportedUsage[];
    });

/** What a lease takes. */
export type LeaseMessage =
  | {
      readonly kind: 'offered';
      readonly runId: string;
      readonly stepId: string;
      readonly visit: number;
      readonly attempt: number;
      readonly workerId: string;
      readonly delivery: Delivery;
      readonly lapsesAt: UnixMs;
    }
  | WorkerCall
  /** From the watch: the end of the present state as the watch knew it. A lease that was extended meanwhile goes on. */
  | { readonly kind: 'deadline'; readonly dueAt: UnixMs }
  /** From the watch: the step's `timeout_ms` is over. */
  | { readonly kind: 'timeout' }
  /** The claimer went away before it had the offer. */
  | { readonly kind: 'give_back' }
  /** The run ended. */
  | { readonly kind: 'cancel' };

/** How a live lease stands, for the code that watches its deadlines. */
export type WatchedLease = {
  readonly leaseId: string;
  readonly workerId: string;
  readonly expiresAt: UnixMs;
  /** From now, on a clock that does not jump. Absent where its end stays as it is. */
  readonly expiresInMs?: number;
  /** Given where the time of the body is limited from now on. */
  readonly timeoutInMs?: number;
};
