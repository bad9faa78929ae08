import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { MatchingRuns, RunFilter } from './run-filter.ts';
import type { HeldReason, RunStatus, UnixMs } from '../../model/run.ts';
import type { DueLimit, LimitFront, LimitLine, LimitPlace, LimitRecord } from './limits.ts';
import type {
  ActorRecord,
  AttemptRecord,
  CarriedOverTimer,
  DefinitionRecord,
  JsonText,
  KeptActorType,
  ParkedEvent,
  SeenEvent,
  StoredDocuments,
  StoredRun,
  TreeSize,
  WaitRecord,
  WorkerRecord,
} from './records.ts';

/** What a turn may ask for. Each answer is as of the last commit. */
export type Lookup =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'lease'; readonly leaseId: string }
  | { readonly kind: 'documents'; readonly runId: string; readonly steps: readonly string[] }
  /** The payloads of a run as they were when it entered its step of this number. */
  | {
      readonly kind: 'documents_at';
      readonly runId: string;
      readonly entry: number;
      /** The newest output of each step up to this visit. */
      readonly outputs: readonly (readonly [stepId: string, visit: number])[];
    }
  | {
      readonly kind: 'definition';
      readonly owner: DefinitionOwner;
      readonly id: string;
      readonly version: number;
    }
  /** The highest version that this owner stored; where it owns none of that id, the highest of the service. */
  | { readonly kind: 'latest'; readonly owner: DefinitionOwner; readonly id: string }
  | { readonly kind: 'worker'; readonly workerId: string }
  | { readonly kind: 'idempotency'; readonly project: string; readonly key: string }
  | { readonly kind: 'event_id'; readonly project: string; readonly eventId: string }
  /** The oldest open waits, but not of quarantined runs, and the oldest parked events of a name and key, at most `limit` of each. */
  | {
      readonly kind: 'event_mailbox';
      readonly project: string;
      readonly event: string;
      readonly key: string;
      readonly parkedAfter: UnixMs;
      readonly limit: number;
    }
  /** Runs that can be offered, in order, from beyond `after`. */
  | {
      readonly kind: 'runnable';
      readonly definitionOwner: DefinitionOwner;
      readonly definitionId: string;
      readonly after: QueuePlace;
      readonly limit: number;
    }
  /** Runs of a definition that are held back for this reason, but not quarantined ones, by id from beyond `after`. */
  | {
      readonly kind: 'held_runs';
      readonly definitionOwner: DefinitionOwner;
      readonly definitionId: string;
      readonly held: HeldReason;
      readonly after: string;
      readonly limit: number;
    }
  /** The definitions, by `ownedId`, of which runs are held back for this reason. */
  | { readonly kind: 'held_definitions'; readonly held: HeldReason }
  /** Runs that carry a fault, by id from beyond `after`. */
  | { readonly kind: 'quarantined'; readonly after: string; readonly limit: number }
  /** Timers that carry work over and are due, by run and name, from beyond `after`. */
  | {
      readonly kind: 'carried_over';
      readonly wall: UnixMs;
      /** By which countdowns are due. */
      readonly steady: UnixMs;
      readonly after?: Pick<CarriedOverTimer, 'runId' | 'name'>;
      readonly limit: number;
    }
  | { readonly kind: 'kept_actor'; readonly type: KeptActorType; readonly id: string }
  /** Actors of a type that carry a fault, or that were changed after a time, by id from beyond `after`. */
  | {
      readonly kind: 'kept_actors';
      readonly type: KeptActorType;
      readonly which: 'quarantined' | { readonly changedAfter: UnixMs };
      readonly after: string;
      readonly limit: number;
    }
  /** Runs that a list with these filters would hold, by id from beyond `after`. */
  | {
      readonly kind: 'matching_runs';
      readonly query: RunFilter;
      readonly after: string;
      /** Rows to look at: what is found in them is the answer. */
      readonly scan: number;
    }
  /** How many runs stand below the root of a trace. */
  | { readonly kind: 'tree_size'; readonly traceId: string }
  | { readonly kind: 'limit'; readonly limitId: string }
  /** The ids of keys in use, in no order, at most so many. */
  | { readonly kind: 'limit_ids'; readonly limit: number }
  | { readonly kind: 'limit_line'; readonly lineId: string }
  | { readonly kind: 'limit_place'; readonly order: number }
  /** The best of those who wait for a place of a key. */
  | { readonly kind: 'limit_front'; readonly limitId: string; readonly limit: number }
  /** Who holds a key, the longest first. */
  | { readonly kind: 'limit_holders'; readonly limitId: string; readonly limit: number }
  /** Keys whose actor is due, by time and id, from beyond `after`. */
  | { readonly kind: 'limits_due'; readonly steady: UnixMs; readonly after?: DueLimit; readonly limit: number }
  /** Children of a run that have not ended. */
  | { readonly kind: 'open_children'; readonly runId: string }
  /** How the children that one visit of a step started have ended, or stand. */
  | { readonly kind: 'child_results'; readonly runId: string; readonly stepId: string; readonly visit: number }
  /** The attempt of a visit before this one. */
  | {
      readonly kind: 'attempt_before';
      readonly runId: string;
      readonly stepId: string;
      readonly visit: number;
      readonly attempt: number;
    };

/** The waits under one name and key, and the events that came before anyone waited for them. */
export type EventMailbox = {
  readonly waits: readonly WaitRecord[];
  readonly moreWaits: boolean;
  readonly parked: readonly ParkedEvent[];
  readonly moreParked: boolean;
};
/** Where a run stands in the queue of its definition: many have the same order, so the id decides among them. */
export type QueuePlace = { readonly order: number; readonly runId: string };

/** A run that can be offered, and its place in the queue of its definition. */
export type Runnable = {
  readonly runId: string;
  readonly order: number;
  readonly project: string;
  readonly definitionOwner: DefinitionOwner;
  readonly definitionId: string;
  readonly definitionVersion: number;
};

/** Payloads as they were once. The output of the run is none of them. */
export type PastDocuments = Omit<StoredDocuments, 'output'> & {
  /** An earlier release wrote some of them, and nothing says in which step. */
  readonly ageUnknown?: true;
};

/** How a child has ended, or stands. */
export type ChildResult = {
  readonly index: number;
  readonly runId: string;
  readonly status: RunStatus;
  readonly output?: JsonText;
  /** Of a failed child alone: its error is in it. */
  readonly snapshot?: JsonText;
};

/** The answer to a lookup, by its kind. Absent things are `undefined`. */
export type Found = {
  run: StoredRun | undefined;
  lease: AttemptRecord | undefined;
  documents: StoredDocuments | undefined;
  documents_at: PastDocuments | undefined;
  definition: DefinitionRecord | undefined;
  latest: DefinitionRecord | undefined;
  worker: WorkerRecord | undefined;
  idempotency: string | undefined;
  event_id: SeenEvent | undefined;
  event_mailbox: EventMailbox;
  runnable: readonly Runnable[];
  held_runs: readonly string[];
  held_definitions: readonly string[];
  quarantined: readonly string[];
  carried_over: readonly CarriedOverTimer[];
  kept_actor: ActorRecord | undefined;
  kept_actors: readonly ActorRecord[];
  matching_runs: MatchingRuns;
  tree_size: TreeSize;
  limit: LimitRecord | undefined;
  limit_ids: readonly string[];
  limit_line: LimitLine | undefined;
  limit_place: LimitPlace | undefined;
  limit_front: LimitFront;
  limit_holders: readonly LimitPlace[];
  limits_due: readonly DueLimit[];
  open_children: readonly string[];
  child_results: readonly ChildResult[];
  attempt_before: AttemptRecord | undefined;
};
