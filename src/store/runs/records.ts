import type { LeaseState } from '../../machines/lease.ts';
import type { Delivery } from '../../model/definition/definition.ts';
import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { RunPlaces } from './limits.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { HeldReason, RunStatus, RunUsage, UnixMs } from '../../model/run.ts';

/**
 * JSON as text, in a form that its writer owns. A store gives it back as it came. Where one looks inside, because a column would
 * cost each commit more, the field says what may be found there.
 */
export type JsonText = string;

/** What of a run never changes. */
export type RunIdentity = {
  readonly runId: string;
  readonly traceId: string;
  readonly project: string;
  /** Of the definition: the run's project, or the service. */
  readonly definitionOwner: DefinitionOwner;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly correlation: JsonText;
  /** Lifted out of the correlation for erasure. */
  readonly userId?: string;
  readonly idempotencyKey?: string;
  readonly createdAt: UnixMs;
  /** When it was to begin, where its start said so. */
  readonly startAt?: UnixMs;
  readonly deadlineAt?: UnixMs;
  /** From -100 to 100; higher is offered first. */
  readonly priority: number;
  /** The run that started this one, and where in it. */
  readonly parent?: {
    readonly runId: string;
    readonly stepId: string;
    readonly visit: number;
    readonly index: number;
  };
  /** 0 for a run that nobody's step started. */
  readonly depth: number;
  /** The ended run that was restarted as this one. It may be gone. */
  readonly restartedFrom?: RestartedFrom;
};

export type RestartedFrom = {
  readonly runId: string;
  readonly traceId: string;
  /** Where this run begins. */
  readonly stepId: string;
  /** The visit with which it begins, counted over both runs. */
  readonly visit: number;
  /** The step that was left for it: where `succeed` finds the output of the step before. */
  readonly cameFrom?: string;
};

/** What of a run changes with its transitions. Everything but the snapshot is there to be asked for. */
export type RunProgress = {
  readonly status: RunStatus;
  readonly cursor?: string;
  /**
   * The form of `machines/persisted.ts`. A store may read in it: `$.c.leaseId`, the lease of a run whose status is `running` or `paused`;
   * `$.v`, where the machine stands; and, of a run that waits, whether it has `$.c.waitKey` or `$.c.children`.
   */
  readonly snapshot: JsonText;
  /** Counts the changes; an update names the one it starts from. */
  readonly version: number;
  readonly updatedAt: UnixMs;
  readonly endedAt?: UnixMs;
  /** Set while the step can be offered: its place in the queue of its definition, lower first. `actors/run/queue-place.ts` */
  readonly queueOrder?: number;
  /** The keys that it or its step holds or waits for. Absent where there are none. */
  readonly places?: RunPlaces;
  /** Set while the run is held back, before its first step or at a task: why. */
  readonly held?: HeldReason;
  /** Why this release cannot load the run: set while it is quarantined. */
  readonly fault?: string;
  /** What of the row could not be read; it is not stored. */
  readonly damage?: string;
  /** What all runs below it spent: those that it started, and those that these started. Absent where it started none. */
  readonly descendants?: RunUsage;
};
export type RunRecord = RunIdentity & RunProgress;

/** How many runs stand, or stood, below a root run, whatever became of them. All runs of one tree have one trace. */
export type TreeSize = { readonly traceId: string; readonly descendants: number };

/** One lease. What its machine holds are columns, so that row and snapshot cannot disagree. */
export type AttemptRecord = {
  readonly leaseId: string;
  readonly runId: string;
  readonly stepId: string;
  readonly visit: number;
  readonly attempt: number;
  readonly workerId: string;
  readonly delivery: Delivery;
  readonly offeredAt: UnixMs;
  /** The version of the machine that left `state`. */
  readonly machineVersion: number;
  /** From 1, one more with each change. */
  readonly version: number;
  readonly state: LeaseState;
  readonly bodyRan: boolean;
  readonly expiresAt: UnixMs;
  readonly startedAt?: UnixMs;
  readonly endedAt?: UnixMs;
  /** Set from `started` on where the step limits the time. */
  readonly timeoutAt?: UnixMs;
  /** When its worker last extended it, by `started` or a heartbeat. */
  readonly heartbeatAt?: UnixMs;
  readonly error?: JsonText;
  readonly usage?: JsonText;
  readonly cost?: JsonText;
  readonly details?: JsonText;
};

/**
 * Consecutive journal entries that one commit made for one run. `events` are the machine events behind them, each with the
 * number of entries it made: folding them gives the snapshot at any `seq`.
 */
export type JournalRow = {
  readonly runId: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** A list, oldest first. */
  readonly entries: JsonText;
  readonly events: JsonText;
};
/** A snapshot kept beside the journal, so that a replay costs the same at the end of a long run as at its start. */
export type Checkpoint = { readonly runId: string; readonly seq: number; readonly snapshot: JsonText };

/** How a timer runs that is due after some time, whatever becomes of the wall clock. */
export type TimerCountdown = {
  /** When it is due, by the steady clock of the process that stored the row or resumed on it. */
  readonly dueAt: UnixMs;
  /** What the wall clock showed when it was set. */
  readonly setAt: UnixMs;
  /** How long it runs from then on. */
  readonly ms: number;
};

export type TimerRecord = {
  /** The run; of the names in `actorTimerNames`, the actor of that type. */
  readonly runId: string;
  readonly name: string;
  /** By the wall clock. Absent: never due. With a countdown it only says which timer of its name this is. */
  readonly dueAt?: UnixMs;
  readonly stepId?: string;
  readonly countdown?: TimerCountdown;
};

/** Actors that are rows of their own, and no runs or leases. */
export const keptActorTypes = ['schedule', 'bulk', 'definition'] as const;
export type KeptActorType = (typeof keptActorTypes)[number];

/**
 * An actor with a row of its own. What it was made of is apart from its snapshot, so that a change of the snapshot does not write
 * it again.
 */
export type ActorRecord = {
  readonly type: KeptActorType;
  readonly id: string;
  readonly project: string;
  readonly document: JsonText;
  /** The form of `machines/persisted.ts`. */
  readonly snapshot: JsonText;
  readonly status: 'active' | 'done';
  /** Counts the changes; an update names the one it starts from. */
  readonly version: number;
  readonly createdAt: UnixMs;
  readonly updatedAt: UnixMs;
  /** Why this release cannot load it: set while it is quarantined. */
  readonly fault?: string;
};

/** Timers that bear the name of a type belong to the actor of that type which has their `runId`. */
export const actorTimerNames: readonly string[] = keptActorTypes;
/** The actor that takes the message of a timer. */
export const addresseeOf = ({ runId, name }: { readonly runId: string; readonly name: string }) => ({
  type: actorTimerNames.includes(name) ? name : 'run',
  id: runId,
});

/**
 * Timers by which one commit leaves work to the next: they follow it at once, so those who look for deadlines do not look at them.
 * However many there are, they hold up no deadline.
 */
export const carriedOverNames = ['cancel', 'children', 'pause'] as const;
export type CarriedOverName = (typeof carriedOverNames)[number];
/** Such a timer, with the tree of runs that it belongs to: all runs of one tree have one trace. */
export type CarriedOverTimer = {
  readonly runId: string;
  readonly name: string;
  readonly dueAt: UnixMs;
  readonly project: string;
  readonly traceId: string;
};

/** A run that waits for any of several events has one for each. */
export type WaitRecord = {
  readonly runId: string;
  readonly project: string;
  readonly event: string;
  readonly key: string;
  readonly stepId: string;
  readonly since: UnixMs;
  /** Orders waits that opened in the same millisecond, and those of one run. Each has one of its own. */
  readonly order: number;
  readonly deadlineAt?: UnixMs;
};

export type ParkedEvent = {
  readonly order: number;
  readonly project: string;
  readonly event: string;
  readonly key: string;
  readonly payload: JsonText;
  readonly at: UnixMs;
  /** What its sender named it by: the run that takes it is noted under this id. */
  readonly eventId?: string;
};

/** A parked event as lists show it: how large its payload is, and not what it says. */
export type ParkedEventSummary = Omit<ParkedEvent, 'payload'> & {
  /** Of the payload as JSON in UTF-8. */
  readonly payloadBytes: number;
};

/**
 * An `event_id` that was seen. With the run that took its event it is known for as long as that run; without one it goes
 * when its parked event does.
 */
export type SeenEvent = {
  readonly project: string;
  readonly eventId: string;
  /** When it was seen; once a run took its event, when that was. */
  readonly at: UnixMs;
  readonly runId?: string;
};

export type DefinitionRecord = {
  readonly owner: DefinitionOwner;
  readonly id: string;
  readonly version: number;
  readonly document: JsonText;
  readonly hash: string;
  readonly createdAt: UnixMs;
};

export type WorkerRecord = {
  readonly workerId: string;
  readonly name?: string;
  readonly version?: string;
  readonly project?: string;
  readonly concurrency?: number;
  /** Of the definitions. */
  readonly owner: DefinitionOwner;
  readonly definitions: readonly { readonly id: string; readonly version: number }[];
  /** As it was last written down: the service knows it more exactly while it runs. */
  readonly lastSeenAt: UnixMs;
  /** What the key reached that registered it. Absent where an earlier release wrote the row. */
  readonly registeredBy?: ProjectReach;
};

export type OutboxRow = { readonly no: number; readonly runId: string; readonly span: JsonText };

/** Singletons, and `state/<key>`: one row a top-level key, so that a patch writes only what it changes. */
export type DocumentName = 'input' | 'output' | 'event' | `state/${string}`;

export type StoredRun = { readonly record: RunRecord; readonly nextSeq: number };
export type StoredDocuments = {
  readonly input: JsonText;
  readonly output?: JsonText;
  readonly event?: JsonText;
  readonly state: readonly (readonly [key: string, body: JsonText])[];
  /** The newest output of each step asked for that has one. */
  readonly steps: readonly (readonly [stepId: string, body: JsonText])[];
};

/** When a timer is due by its own clock: a countdown by the steady one, another by the wall clock. */
export const dueTimeOf = ({ dueAt, countdown }: Pick<TimerRecord, 'dueAt' | 'countdown'>): number =>
  countdown?.dueAt ?? dueAt ?? Number.POSITIVE_INFINITY;
