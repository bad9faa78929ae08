import type { RestartPoint, UsageDelta } from '../../machines/run.ts';
import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import type { Json, JsonObject } from '../../model/json.ts';
import type { JournalEntry, Lease, Run, RunError, RunUsage, UnixMs } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { RestartedFrom, RunIdentity } from '../../store/runs/run-store.ts';
import type { Keys } from '../limit/keys.ts';
import type { TimerMessage } from '../timer-message.ts';
import type { RunDocuments } from './run-documents.ts';

/** What a run takes. */
export type RunMessage =
  | {
      readonly kind: 'start';
      readonly project: string;
      readonly definitionOwner: DefinitionOwner;
      readonly definitionId: string;
      readonly definitionVersion: number;
      readonly input: Json;
      readonly correlation: JsonObject;
      readonly idempotencyKey?: string;
      readonly parent?: RunIdentity['parent'];
      readonly traceId?: string;
      readonly depth: number;
      readonly priority: number;
      readonly startAt?: UnixMs;
      readonly restart?: RestartedStart;
      /** The keys of the run, where its start was judged by them: what they read does not change in the turn. */
      readonly keys?: Keys;
      /** Why the run fails at once: it is there to say so. */
      readonly refusal?: StepError;
    }
  /**
   * What held the run back may be gone. `inTurn`: it is first in the line of its keys, and one of them has room; `stepId` where it is
   * its task that waits.
   */
  | { readonly kind: 'admit'; readonly inTurn?: true; readonly stepId?: string }
  /** A waiting claim takes the step. Stale when the run is not queued any more. */
  | {
      readonly kind: 'offer';
      readonly workerId: string;
      /** The offer lapses so long after its turn. */
      readonly offerTtlMs: number;
      readonly granted: (lease: Lease) => void;
      readonly stale: () => void;
    }
  /** From its lease: how the attempt ended. */
  | {
      readonly kind: 'completed';
      readonly leaseId: string;
      readonly output?: Json;
      readonly statePatch?: JsonObject;
      readonly usage?: UsageDelta;
    }
  | {
      readonly kind: 'failed';
      readonly leaseId: string;
      readonly error: StepError;
      readonly bodyRan: boolean;
      readonly retryAfterMs?: number;
      readonly usage?: UsageDelta;
    }
  | { readonly kind: 'lapsed'; readonly leaseId: string }
  | { readonly kind: 'orphaned'; readonly leaseId: string; readonly bodyRan: boolean }
  | { readonly kind: 'note'; readonly entry: Omit<JournalEntry, 'seq'> }
  | TimerMessage
  | { readonly kind: 'deliver'; readonly event: string; readonly key: string; readonly payload: Json }
  | {
      readonly kind: 'child';
      readonly runId: string;
      readonly stepId: string;
      readonly visit: number;
      readonly index: number;
      readonly status: 'succeeded' | 'failed' | 'cancelled';
      readonly output?: Json;
      readonly error?: RunError;
    }
  /** From a child: it, or a run below it, spent this. */
  | { readonly kind: 'spent'; readonly usage: RunUsage }
  | { readonly kind: 'cancel'; readonly reason?: string; readonly reach?: ProjectReach }
  | { readonly kind: 'pause'; readonly reason?: string; readonly reach?: ProjectReach }
  | { readonly kind: 'resume'; readonly reason?: string; readonly reach?: ProjectReach }
  /** The parent was paused or resumed: a child compares itself with what the parent is now. */
  | { readonly kind: 'follow' }
  | { readonly kind: 'quarantine'; readonly damage?: string }
  | { readonly kind: 'release' };

/** What the actor takes that starts runs. */
export type StartMessage = {
  readonly definitionId: string;
  readonly definitionVersion?: number;
  readonly input: Json;
  readonly idempotencyKey?: string;
  readonly correlation: JsonObject;
  readonly startAt?: RunStart;
  readonly priority?: number;
};
/** With what a restarted run begins. */
export type RestartedStart = {
  readonly from: RestartedFrom;
  readonly point: RestartPoint;
  /** The number of the step, by entries, from which the run before is taken up. */
  readonly entry: number;
  /** As they were when the run before entered that step, and with what the caller changed in them. */
  readonly documents: RunDocuments;
  /** Whether the caller gave another input. */
  readonly hasOwnInput: boolean;
  readonly statePatch: JsonObject;
};

/** What the actor takes that restarts runs: an ended run, and where in it. */
export type RestartMessage = Pick<RestartedStart, 'from' | 'point' | 'entry'> & {
  /** Something may have written state or events since: what is of unknown age is of no use then. */
  readonly wroteSince: boolean;
  readonly definitionVersion?: number;
  readonly input?: Json;
  readonly statePatch?: JsonObject;
  readonly idempotencyKey?: string;
};

/** When a run is to begin: at a time, or so long after it was started. */
export type RunStart = { readonly at: UnixMs } | { readonly afterMs: number };
/** A run that was started before under the same key is named, and read by the caller: it may have ended long ago. */
export type Started = { readonly run: Run } | { readonly existing: string };
