import type { LeaseState } from '../../machines/lease.ts';
import type { Delivery } from '../../model/definition/definition.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { RunStatus, UnixMs } from '../../model/run.ts';

/** JSON as text. The store never looks inside. */
export type JsonText = string;

/** What of a run never changes. */
export type RunIdentity = {
  readonly runId: string;
  readonly traceId: string;
  readonly project: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly correlation: JsonText;
  /** Lifted out of the correlation for erasure. */
  readonly userId?: string;
  readonly idempotencyKey?: string;
  readonly createdAt: UnixMs;
  readonly deadlineAt?: UnixMs;
  /** The run that started this one, and where in it. */
  readonly parent?: {
    readonly runId: string;
    readonly stepId: string;
    readonly visit: number;
    readonly index: number;
  };
  /** 0 for a run that nobody's step started. */
  readonly depth: number;
};

/** What of a run changes with its transitions. Everything but the snapshot is there to be asked for. */
export type RunProgress = {
  readonly status: RunStatus;
  readonly cursor?: string;
  /** `machines/persisted.ts` */
  readonly snapshot: JsonText;
  /** Counts the changes; an update names the one it starts from. */
  readonly version: number;
  readonly updatedAt: UnixMs;
  readonly endedAt?: UnixMs;
  /** Set while the step can be offered: its place in the queue of its definition, lower first. */
  readonly queueOrder?: number;
  /** Why this release cannot load the run. */
  readonly fault?: string;
};
export type RunRecord = RunIdentity & RunProgress;

/** One lease. The state of its machine is a column, so that row and snapshot cannot disagree. */
export type AttemptRecord = {
  readonly leaseId: string;
  readonly runId: string;
  readonly stepId: string;
  readonly visit: number;
  readonly attempt: number;
  readonly workerId: string;
  readonly delivery: Delivery;
  readonly offeredAt: UnixMs;
  readonly state: LeaseState;
  readonly bodyRan: boolean;
  readonly expiresAt: UnixMs;
  readonly startedAt?: UnixMs;
  readonly endedAt?: UnixMs;
  /** Set from `started` on where the step limits the time. */
  readonly timeoutAt?: UnixMs;
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
  readonly entries: JsonText;
  readonly events: JsonText;
};
/** A snapshot kept beside the journal, so that looking back costs the same at the end of a long run as at its start. */
export type Checkpoint = { readonly runId: string; readonly seq: number; readonly snapshot: JsonText };

export type TimerRecord = {
  readonly runId: string;
  readonly name: string;
  /** Absent: never due. */
  readonly dueAt?: UnixMs;
  readonly stepId?: string;
};

export type WaitRecord = {
  readonly runId: string;
  readonly project: string;
  readonly event: string;
  readonly key: string;
  readonly stepId: string;
  readonly since: UnixMs;
  /** Orders waits that opened in the same millisecond. */
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
  readonly definitions: readonly { readonly id: string; readonly version: number }[];
  /** As it was last written down: the service knows it more exactly while it runs. */
  readonly lastSeenAt: UnixMs;
  /** What the key reached that registered it. Absent where an earlier release wrote the row. */
  readonly registeredBy?: ProjectReach;
};

export type OutboxRow = { readonly no: number; readonly runId: string; readonly span: JsonText };

/** An actor of a kind without tables of its own. */
export type ActorRecord = {
  readonly type: string;
  readonly id: string;
  readonly machine: string;
  readonly snapshot: JsonText;
  readonly version: number;
  readonly updatedAt: UnixMs;
};

/**
 * All that one group of turns decided. Written as one transaction or not at all. What is cleared or closed goes before what
 * is set or opened, so what a group both sets and clears again must leave no row: `clearTimerRow` and `closeWaitRow` see to it.
 */
export type Changes = {
  readonly runsInserted: RunRecord[];
  /** Each starts from `version - 1`; another version in the store fails the whole commit. */
  readonly runsUpdated: { readonly record: RunRecord; readonly queueOrderChanged: boolean }[];
  readonly attemptsInserted: AttemptRecord[];
  readonly attemptsUpdated: AttemptRecord[];
  readonly journal: JournalRow[];
  readonly checkpoints: Checkpoint[];
  /** Replaces what has the same name. */
  readonly documents: { readonly runId: string; readonly name: DocumentName; readonly body: JsonText }[];
  readonly outputs: {
    readonly runId: string;
    readonly stepId: string;
    readonly visit: number;
    readonly body: JsonText;
  }[];
  readonly timersSet: TimerRecord[];
  readonly timersCleared: { readonly runId: string; readonly name: string }[];
  readonly waitsOpened: WaitRecord[];
  readonly waitsClosed: string[];
  readonly parked: ParkedEvent[];
  readonly unparked: number[];
  readonly eventsSeen: SeenEvent[];
  readonly definitions: DefinitionRecord[];
  readonly workers: WorkerRecord[];
  /** Workers that were heard of since their row was written; one that is not registered any more stays so. */
  readonly workersSeen: { readonly workerId: string; readonly at: UnixMs }[];
  /** Workers that go, unless they were heard of at `before` or later. */
  readonly workersForgotten: { readonly workerId: string; readonly before: UnixMs }[];
  readonly outbox: OutboxRow[];
  /** Rows up to this number were delivered. */
  outboxDelivered: number | undefined;
  readonly actors: ActorRecord[];
  /** Runs that go with all that is theirs. */
  readonly erased: string[];
  /** Parked events before this time are gone. */
  parkedBefore: UnixMs | undefined;
};

/** Singletons, and `state/<key>`: one row a top-level key, so that a patch writes only what it changes. */
export type DocumentName = 'input' | 'output' | 'event' | `state/${string}`;

export const noChanges = (): Changes => ({
  runsInserted: [],
  runsUpdated: [],
  attemptsInserted: [],
  attemptsUpdated: [],
  journal: [],
  checkpoints: [],
  documents: [],
  outputs: [],
  timersSet: [],
  timersCleared: [],
  waitsOpened: [],
  waitsClosed: [],
  parked: [],
  unparked: [],
  eventsSeen: [],
  definitions: [],
  workers: [],
  workersSeen: [],
  workersForgotten: [],
  outbox: [],
  outboxDelivered: undefined,
  actors: [],
  erased: [],
  parkedBefore: undefined,
});

const dropLast = <T>(rows: T[], isIt: (row: T) => boolean): void => {
  const at = rows.findLastIndex(isIt);
  if (at !== -1) rows.splice(at, 1);
};

/** Clears a timer, be it in the store or among these changes. */
export const clearTimerRow = (changes: Changes, timer: { readonly runId: string; readonly name: string }): void => {
  dropLast(changes.timersSet, ({ runId, name }) => runId === timer.runId && name === timer.name);
  changes.timersCleared.push(timer);
};

/** Closes the wait of a run, be it in the store or among these changes. */
export const closeWaitRow = (changes: Changes, runId: string): void => {
  dropLast(changes.waitsOpened, (wait) => wait.runId === runId);
  changes.waitsClosed.push(runId);
};

/** What a turn may ask for. Each answer is as of the last commit. */
export type Lookup =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'lease'; readonly leaseId: string }
  | { readonly kind: 'documents'; readonly runId: string; readonly steps: readonly string[] }
  | { readonly kind: 'definition'; readonly id: string; readonly version: number }
  /** The highest stored version. */
  | { readonly kind: 'latest'; readonly id: string }
  | { readonly kind: 'worker'; readonly workerId: string }
  | { readonly kind: 'idempotency'; readonly project: string; readonly key: string }
  | { readonly kind: 'event_id'; readonly project: string; readonly eventId: string }
  /** The oldest open waits, but not of runs that were set aside, and the oldest parked events of a name and key, at most `limit` of each. */
  | {
      readonly kind: 'meeting';
      readonly project: string;
      readonly event: string;
      readonly key: string;
      readonly parkedAfter: UnixMs;
      readonly limit: number;
    }
  /** Runs that can be offered, in order, from beyond `after`. */
  | { readonly kind: 'runnable'; readonly definitionId: string; readonly after: number; readonly limit: number }
  /** Runs that were set aside, by id from beyond `after`. */
  | { readonly kind: 'set_aside'; readonly after: string; readonly limit: number }
  /** Children that one visit of a step started, by index: those that are open, or the outputs of all. */
  | { readonly kind: 'open_children'; readonly runId: string }
  | { readonly kind: 'child_outputs'; readonly runId: string; readonly stepId: string; readonly visit: number }
  /** The attempt of a visit before this one. */
  | {
      readonly kind: 'attempt_before';
      readonly runId: string;
      readonly stepId: string;
      readonly visit: number;
      readonly attempt: number;
    };

export type StoredRun = { readonly record: RunRecord; readonly nextSeq: number };
export type StoredDocuments = {
  readonly input: JsonText;
  readonly output?: JsonText;
  readonly event?: JsonText;
  readonly state: readonly (readonly [key: string, body: JsonText])[];
  /** The newest output of each step asked for that has one. */
  readonly steps: readonly (readonly [stepId: string, body: JsonText])[];
};
export type Meeting = {
  readonly waits: readonly WaitRecord[];
  readonly moreWaits: boolean;
  readonly parked: readonly ParkedEvent[];
  readonly moreParked: boolean;
};
export type Runnable = {
  readonly runId: string;
  readonly order: number;
  readonly project: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
};

/** The answer to a lookup, by its kind. Absent things are `undefined`. */
export type Found = {
  run: StoredRun | undefined;
  lease: AttemptRecord | undefined;
  documents: StoredDocuments | undefined;
  definition: DefinitionRecord | undefined;
  latest: DefinitionRecord | undefined;
  worker: WorkerRecord | undefined;
  idempotency: string | undefined;
  event_id: SeenEvent | undefined;
  meeting: Meeting;
  runnable: readonly Runnable[];
  set_aside: readonly string[];
  open_children: readonly string[];
  child_outputs: readonly (readonly [index: number, body: JsonText | undefined])[];
  attempt_before: AttemptRecord | undefined;
};

/** What a service needs to go on where the last one stopped. Nothing in it grows with the number of open runs. */
export type Resumption = {
  readonly liveLeases: readonly {
    readonly leaseId: string;
    readonly workerId: string;
    readonly expiresAt: UnixMs;
    readonly timeoutAt?: UnixMs;
  }[];
  /** The first numbers that were never used. */
  readonly nextOutboxNo: number;
  readonly nextOrder: number;
  /** The latest time that any row carries: the clock must not go back behind it. */
  readonly latestAt: UnixMs;
};

export type RunListQuery = {
  readonly reach: ProjectReach;
  readonly status?: RunStatus;
  readonly definitionId?: string;
  readonly userId?: string;
  readonly from?: UnixMs;
  readonly to?: UnixMs;
  /** Rows after this place in the order newest-updated first. */
  readonly after?: { readonly updatedAt: UnixMs; readonly runId: string };
  readonly limit: number;
};
export type WorkerListQuery = {
  /** Of these projects, and those of none. */
  readonly reach: ProjectReach;
  /** By id, ascending. */
  readonly after?: string;
  readonly limit: number;
};
export type RunRows = {
  readonly stored: StoredRun;
  readonly documents: StoredDocuments;
  readonly attempts: readonly (AttemptRecord & { readonly output?: JsonText })[];
  readonly timers: readonly TimerRecord[];
  readonly waits: readonly WaitRecord[];
  readonly children: readonly RunRecord[];
};
export type ActorRow = {
  readonly type: 'run' | 'lease';
  readonly id: string;
  readonly project: string;
  readonly machine: string;
  readonly value: JsonText;
  readonly status: 'active' | 'done' | 'quarantined';
  readonly version: number;
  readonly updatedAt: UnixMs;
};
export type ActorListQuery = {
  readonly reach: ProjectReach;
  readonly type: 'run' | 'lease';
  readonly status?: 'active' | 'done' | 'quarantined';
  /** By id, descending: the newest first. */
  readonly before?: string;
  readonly limit: number;
};

/** The first of the rows: at most `limit`, and none after those that together hold `characters`. */
export const outboxBatch = (
  rows: Iterable<OutboxRow>,
  limit: number,
  characters: number = Number.POSITIVE_INFINITY,
): OutboxRow[] => {
  const batch: OutboxRow[] = [];
  let held = 0;
  for (const row of rows) {
    if (batch.length >= limit || held >= characters) break;
    batch.push(row);
    held += row.span.length;
  }
  return batch;
};

/**
 * Where durable runs live. Every method rejects with `StoreUnavailable` when the store fails or is away: then the outcome
 * of a commit is unknown. A commit that resolved is durable (fsynced) and is seen by every later read.
 */
export interface RunStore {
  readonly kind: string;

  /** Answers lookups in their order, as of the commits that were called before. */
  load(lookups: readonly Lookup[]): Promise<readonly Found[Lookup['kind']][]>;
  commit(changes: Changes): Promise<void>;

  /**
   * What the last service left. Gives every live lease until `leasesUntil` at least: workers could not reach a service that
   * was down.
   */
  resume(leasesUntil: UnixMs): Promise<Resumption>;
  /** Timers that are due, oldest first. */
  dueTimers(now: UnixMs, limit: number): Promise<readonly (TimerRecord & { readonly dueAt: UnixMs })[]>;
  /** Rows after number `after`, in order, as many as `outboxBatch` takes. */
  readOutbox(after: number, limit: number, characters?: number): Promise<readonly OutboxRow[]>;

  /** A run with all that is asked about it; `undefined` when there is no such run. */
  findRun(runId: string): Promise<RunRows | undefined>;
  listRuns(query: RunListQuery): Promise<readonly RunRecord[]>;
  /** Rows that hold an entry after this one, oldest first. */
  journal(runId: string, after: number, limit: number): Promise<readonly JournalRow[]>;
  /** Rows that hold an entry of at most this one, newest first. */
  journalBefore(runId: string, seq: number, limit: number): Promise<readonly JournalRow[]>;
  /** The newest checkpoint at or before the entry. */
  checkpoint(runId: string, seq: number): Promise<Checkpoint | undefined>;
  findAttempt(leaseId: string): Promise<AttemptRecord | undefined>;

  /** By id, the highest version of each. */
  listDefinitions(after: string | undefined, limit: number): Promise<readonly DefinitionRecord[]>;
  /** Ascending, each with the number of its open runs and of the workers that registered it. */
  definitionVersions(
    id: string,
  ): Promise<readonly (DefinitionRecord & { readonly openRuns: number; readonly workers: number })[]>;
  listWorkers(query: WorkerListQuery): Promise<readonly WorkerRecord[]>;
  /** Ids of workers whose row says that they were last heard of before, those silent longest first. */
  silentWorkers(before: UnixMs, limit: number): Promise<readonly string[]>;
  /** By lease id, ascending. */
  listLiveLeases(
    reach: ProjectReach,
    after: string | undefined,
    limit: number,
  ): Promise<readonly (AttemptRecord & Pick<RunIdentity, 'project' | 'definitionId' | 'definitionVersion'>)[]>;
  listActors(query: ActorListQuery): Promise<readonly ActorRow[]>;

  /** Finished root runs of a person with all their descendants, and how many of that person are unfinished. */
  subjectRuns(
    userId: string,
    reach: ProjectReach,
    limit: number,
  ): Promise<{ finished: readonly { readonly runId: string; readonly traceId: string }[]; inFlight: number }>;
  /** Root runs of a project that ended before, with all their descendants. */
  finishedRuns(project: string, before: UnixMs, limit: number): Promise<readonly string[]>;
  /** Open runs that no row will ever move. */
  stuckRuns(limit: number): Promise<readonly Pick<RunRecord, 'runId' | 'project' | 'cursor'>[]>;
  runShapes(
    project: string,
    from: UnixMs,
    to: UnixMs,
    limit: number,
  ): Promise<
    readonly (Pick<RunRecord, 'runId' | 'definitionId' | 'definitionVersion' | 'snapshot'> & {
      readonly maxStepAttempts: number;
    })[]
  >;
  counts(): Promise<{ definitionVersions: number; openRuns: number; quarantined: number }>;

  ping(): Promise<void>;
  close(): Promise<void>;
}
