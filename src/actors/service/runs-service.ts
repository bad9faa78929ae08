import type { Json, JsonObject } from '../../model/json.ts';
import type { Result } from '../../model/failure.ts';
import type { Page, Position } from '../../model/page.ts';
import type {
  Attempt,
  AttemptStatus,
  JournalEntry,
  Lease,
  ReportedUsage,
  Run,
  RunDetail,
  RunStatus,
  RunSummary,
  UnixMs,
  WaitingOn,
} from '../../model/run.ts';
import type { Fault } from '../../model/definition/fault.ts';
import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { StepError } from '../../model/definition/step-error.ts';
import type { GivenSchedule } from '../../model/schedule/parse.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { RunStart } from '../run/messages.ts';
import type { LimitKind, RunFilter, WaitingCount } from '../../store/runs/run-store.ts';
import type { BulkAction, BulkView } from '../bulk/messages.ts';
import type { PausedWork } from '../definition/paused-work.ts';
import type { IdleSchedule } from '../schedule/idle-schedules.ts';
import type { ScheduleView } from '../schedule/messages.ts';
import type { LimitRecord } from '../../store/runs/run-store.ts';

/** The projects that the caller's key reaches. A stored object outside them answers `forbidden`. */
export type Asking = { readonly reach: ProjectReach };

/** What every list takes: how many rows at the most, and where the page before ended. */
export type Paging = { readonly limit: number; readonly after?: Position };

/** What became of a definition that was to be stored. */
export type StoredDefinition = {
  readonly id: string;
  readonly version: number;
  readonly stored: 'created' | 'unchanged';
};

export type GivenDefinitions = Asking & {
  /** Definition documents as sent. */
  readonly definitions: readonly Json[];
  /** The owner, of a key of several projects. */
  readonly project?: string;
};
/** A definition, and why it would not be stored. What cannot be read of its id and version is absent. */
export type CheckedDefinition = {
  readonly id?: string;
  readonly version?: number;
  /** None: it would be stored, or is. */
  readonly faults: readonly Fault[];
};

export type RegisterWorker = Asking & {
  readonly workerId: string;
  /** Definition documents as sent; each is parsed, and one bad document refuses the whole call. */
  readonly definitions: readonly Json[];
  readonly name?: string;
  readonly version?: string;
  /** Limits the claims of this worker; of a key of several projects it names the owner of the definitions too. */
  readonly project?: string;
  readonly concurrency?: number;
};
export type Registration = {
  readonly workerId: string;
  readonly leaseTtlMs: number;
  readonly heartbeatMs: number;
  readonly definitions: readonly StoredDefinition[];
};

export type ClaimSteps = Asking & {
  readonly workerId: string;
  /** Most steps to offer, at least 1. */
  readonly max: number;
  /** How long to wait for the first; the caller has capped it. */
  readonly waitMs: number;
  readonly runId?: string;
  /** `signal` ends the waiting alone: what is being offered at that moment is the answer, and is not given back. */
  readonly collects?: true;
};

/** Names a lease and its holder, for the four worker calls. */
export type HeldLease = Asking & { readonly leaseId: string; readonly workerId: string };
export type StartedStep = HeldLease & {
  /** The report of the attempt came in the same request: the body began when the offer arrived. */
  readonly isReported?: boolean;
};
export type CompleteStep = HeldLease & {
  readonly output?: Json;
  /** Top-level keys replace those of the run's state. */
  readonly statePatch?: JsonObject;
  readonly usage?: readonly ReportedUsage[];
};
export type FailStep = HeldLease & {
  readonly error: StepError;
  /** A minimum; at most 3650 days. */
  readonly retryAfterMs?: number;
  readonly usage?: readonly ReportedUsage[];
};

export type StartRun = Asking & {
  readonly project: string;
  readonly definitionId: string;
  /** Absent: the highest stored. */
  readonly definitionVersion?: number;
  readonly input: Json;
  /** Unique in the project while the run is retained. */
  readonly idempotencyKey?: string;
  /** In wire spelling. `project` inside it is ignored. */
  readonly correlation?: JsonObject;
  /** How long to wait for its end; the caller has capped it. */
  readonly waitMs?: number;
  /** When it is to begin; at once where that is not ahead. */
  readonly startAt?: RunStart;
  /** From `MIN_PRIORITY` to `MAX_PRIORITY`; 0 where it is absent. */
  readonly priority?: number;
};

/** What is absent is as it was in the run before. */
export type RestartRun = Asking & {
  readonly runId: string;
  /** Absent: the step that failed. */
  readonly fromStep?: string;
  /** Absent: the last. */
  readonly visit?: number;
  readonly definitionVersion?: number;
  readonly input?: Json;
  /** Top-level keys replace those of the state. */
  readonly statePatch?: JsonObject;
  readonly idempotencyKey?: string;
};

export type PublishEvent = Asking & {
  readonly project: string;
  readonly event: string;
  readonly key: string;
  readonly payload: Json;
  /** Unique in the project: a second event with it changes nothing. */
  readonly eventId?: string;
};
export type SignalRun = Asking & {
  readonly runId: string;
  readonly event: string;
  readonly payload: Json;
  readonly eventId?: string;
};
export type EventOutcome = { readonly outcome: 'delivered' | 'parked' | 'duplicate'; readonly runId?: string };

/** An event that waits for a run, without its payload. */
export type ParkedEventInfo = {
  readonly event: string;
  readonly key: string;
  readonly project: string;
  readonly eventId?: string;
  readonly parkedAt: UnixMs;
  /** From then on no run can take it. */
  readonly expiresAt: UnixMs;
  readonly payloadBytes: number;
};

export type RunQuery = Asking &
  Paging & {
    /** Absent: all projects of the reach. */
    readonly project?: string;
    readonly status?: RunStatus;
    readonly definitionId?: string;
    readonly userId?: string;
    readonly parentRunId?: string;
    readonly restartedFrom?: string;
    readonly waitingOn?: WaitingOn;
    /** Members of the correlation that must have these values, in wire spelling. */
    readonly correlation?: readonly (readonly [name: string, value: string])[];
    /** Bounds of `createdAt`: from inclusive, to exclusive. */
    readonly from?: UnixMs;
    readonly to?: UnixMs;
  };

export type JournalQuery = Asking & {
  readonly runId: string;
  /** The last `seq` seen; -1 for the start. */
  readonly after: number;
};

/** Absent `project`: the one of the key where it has one alone, else the service. */
export type NamedDefinition = Asking & { readonly project?: string };

export type DefinitionVersion = {
  readonly owner: DefinitionOwner;
  readonly id: string;
  readonly version: number;
  readonly createdAt: UnixMs;
  /** The document as it was registered. */
  readonly document: JsonObject;
};
export type DefinitionOverview = DefinitionState & {
  readonly versions: readonly {
    readonly version: number;
    readonly createdAt: UnixMs;
    readonly openRuns: number;
    /** Live workers that registered this version. */
    readonly workers: number;
  }[];
  readonly latest: JsonObject;
};

export type WorkerInfo = {
  readonly workerId: string;
  readonly name?: string;
  readonly version?: string;
  readonly project?: string;
  readonly concurrency?: number;
  /** Of the definitions. */
  readonly owner: DefinitionOwner;
  readonly definitions: readonly { readonly id: string; readonly version: number }[];
  readonly lastSeenAt: UnixMs;
  /** Live leases that it holds, of runs in reach. */
  readonly leases: number;
};
export type LeaseInfo = {
  readonly leaseId: string;
  readonly runId: string;
  readonly project: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly stepId: string;
  readonly visit: number;
  readonly attempt: number;
  readonly status: AttemptStatus;
  readonly workerId: string;
  readonly offeredAt: UnixMs;
  readonly startedAt?: UnixMs;
  /** When its worker last extended it, by `started` or a heartbeat. */
  readonly lastHeartbeatAt?: UnixMs;
  readonly leaseExpiresAt: UnixMs;
};

/** How long leases live, in milliseconds. */
export type LeaseTimes = {
  /** An offer lapses after this long without `started`. */
  readonly offerTtlMs: number;
  /** A running lease is orphaned after this long without a heartbeat. */
  readonly leaseTtlMs: number;
  /** How often workers are asked to beat. */
  readonly heartbeatMs: number;
  /** An orphaned lease is reclaimed after this long without a call of its worker. */
  readonly reclaimWindowMs: number;
};

export type ActorStatus = 'active' | 'done' | 'quarantined';
export type ActorSummary = {
  readonly type: string;
  readonly id: string;
  readonly machine: string;
  readonly value: Json;
  readonly status: ActorStatus;
  /** Counts the changes of this actor. */
  readonly version: number;
  readonly updatedAt: UnixMs;
};
export type ActorSnapshot = ActorSummary & {
  readonly machineVersion: number;
  /** Of a lease: the run whose step it is. */
  readonly runId?: string;
  /** Of a lease: when its worker last extended it, by `started` or a heartbeat. */
  readonly lastHeartbeatAt?: UnixMs;
  readonly context: Json;
  /** Messages to this actor that are not answered yet. */
  readonly mailbox: number;
  /** Present on an actor that this release cannot load. */
  readonly fault?: string;
};

export type MachineInfo = {
  readonly name: string;
  readonly version: number;
  readonly states: readonly string[];
  /** The project that owns the definition; absent where the service does. */
  readonly project?: string;
};
export type MachineDescription = MachineInfo & {
  /** Opens in xstate's `createMachine`. */
  readonly config: JsonObject;
};

/** What was deleted of the trace store; with `pending` its bytes go later. */
export type ErasedTraces = { readonly deleted: number; readonly pending: boolean };
export type ErasedSubject = {
  readonly runsErased: number;
  readonly runsInFlight: number;
  readonly traces: ErasedTraces;
};

/** An open run that nothing will ever move: no runnable step, live lease, timer, wait or live child. There must be none. */
export type StuckRun = { readonly runId: string; readonly project: string; readonly cursor?: string };

/** The shape of one ended run, for the monitors that read durable runs. */
export type RunShape = {
  readonly runId: string;
  readonly definitionOwner: DefinitionOwner;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly stepCount: number;
  /** The most attempts that any one step made. */
  readonly maxStepAttempts: number;
};

/** The calls of workers. */
export interface WorkerCommands {
  registerWorker(request: RegisterWorker): Promise<Result<Registration>>;
  /**
   * Holds until a step can be offered, `waitMs` is over, `signal` aborts or the service closes; then answers, maybe empty.
   * A caller that finds its client gone after the answer hands the leases to `giveBack`.
   */
  claim(request: ClaimSteps, signal?: AbortSignal): Promise<Result<readonly Lease[]>>;
  /**
   * Puts offers back into the queue whose answer never reached a worker, at no cost. An offer that was started meanwhile
   * stays.
   */
  giveBack(leaseIds: readonly string[]): Promise<void>;
  started(request: StartedStep): Promise<Result<{ runStatus: RunStatus; leaseExpiresAt: UnixMs }>>;
  heartbeat(request: HeldLease & { readonly details?: Json }): Promise<Result<{ leaseExpiresAt: UnixMs }>>;
  complete(request: CompleteStep): Promise<Result<{ runStatus: RunStatus; nextStep?: string }>>;
  fail(request: FailStep): Promise<Result<{ runStatus: RunStatus; nextStep?: string; willRetry: boolean }>>;
}

/** What moves runs from outside. */
export interface RunCommands {
  /**
   * `created` is false when the idempotency key was used before: then it is that run, as it is now. With `waitMs` it is the run as it
   * ended, or as it is when the time is over, `signal` aborts or the service closes.
   */
  startRun(request: StartRun, signal?: AbortSignal): Promise<Result<{ run: Run; created: boolean }>>;
  /** A new run that takes up an ended one at one of its steps. `created` is false when the idempotency key was used before. */
  restartRun(request: RestartRun): Promise<Result<{ run: Run; created: boolean }>>;
  cancelRun(request: Asking & { readonly runId: string; readonly reason?: string }): Promise<Result<Run>>;
  /** Idempotent; `run_terminal` of a run that has ended. Its children are paused with it. */
  pauseRun(request: Asking & { readonly runId: string; readonly reason?: string }): Promise<Result<Run>>;
  /** Idempotent; `run_terminal` of a run that has ended. Children that were paused by name stay paused. */
  resumeRun(request: Asking & { readonly runId: string; readonly reason?: string }): Promise<Result<Run>>;
  signalRun(request: SignalRun): Promise<Result<EventOutcome>>;
  publishEvent(request: PublishEvent): Promise<Result<EventOutcome>>;
}

export interface RunQueries {
  /** With `waitMs`: held until the run has ended, the time is over, `signal` aborts or the service closes. */
  getRun(
    request: Asking & { readonly runId: string; readonly waitMs?: number },
    signal?: AbortSignal,
  ): Promise<Result<RunDetail>>;
  /** Newest-updated first. */
  listRuns(query: RunQuery): Promise<Result<Page<RunSummary>>>;
  /** How many of the runs of a list wait for each thing beside a worker, as far as they are counted. */
  countWaitingRuns(query: Omit<RunFilter, 'waitingOn'>): Promise<Result<readonly WaitingCount[]>>;
  /** The project that owns a run, for audit rows of refused reads; absent when there is no such run. */
  projectOfRun(runId: string): Promise<string | undefined>;
  /** With `maxBytes` a page of large entries may end before its limit (`isCut`); the rest follows after `nextAfter`. */
  journal(
    query: JournalQuery & { readonly limit: number; readonly maxBytes?: number },
  ): Promise<Result<{ project: string; events: readonly JournalEntry[]; nextAfter: number; isCut?: boolean }>>;
  /**
   * Pages of new entries in committed order, from `after` on. Ends after `run.finished`, when `signal` aborts, or when the
   * service closes. A slow reader costs nothing: entries are read when it asks.
   */
  followJournal(
    query: JournalQuery,
    signal: AbortSignal,
  ): Promise<Result<{ project: string; pages: AsyncIterable<readonly JournalEntry[]> }>>;
  /** The chain of journal entries that led to the latest attempt of a step (or the one named), oldest last. */
  stepCause(
    request: Asking & {
      readonly runId: string;
      readonly stepId: string;
      readonly visit?: number;
      readonly attempt?: number;
    },
  ): Promise<Result<{ attempt?: Attempt; chain: readonly JournalEntry[] }>>;
}

/** A schedule by its project and id. */
export type NamedSchedule = Asking & { readonly project: string; readonly id: string };
/** One that this release cannot load shows why. */
export type ListedSchedule = ScheduleView | { readonly id: string; readonly project: string; readonly fault: string };

/** @see Interface decisions, section 13, "Schedules" */
export interface ScheduleCommands {
  /** `created` is false when the schedule is there already with the same content. */
  createSchedule(
    request: NamedSchedule & { readonly given: GivenSchedule },
  ): Promise<Result<{ schedule: ScheduleView; created: boolean }>>;
  /** Replaces all that the schedule was made of. */
  changeSchedule(request: NamedSchedule & { readonly given: GivenSchedule }): Promise<Result<ScheduleView>>;
  /** Runs that it started go on. */
  deleteSchedule(request: NamedSchedule): Promise<Result<undefined>>;
  pauseSchedule(request: NamedSchedule): Promise<Result<ScheduleView>>;
  resumeSchedule(request: NamedSchedule): Promise<Result<ScheduleView>>;
  /** Fires once, whatever the time. */
  triggerSchedule(request: NamedSchedule): Promise<Result<ScheduleView>>;
}

export interface ScheduleQueries {
  /** By project and id. */
  listSchedules(query: Asking & Paging): Promise<Result<Page<ListedSchedule>>>;
  getSchedule(request: NamedSchedule): Promise<Result<ScheduleView>>;
}

export type StartBulk = Asking & {
  /** Its reach is that of the runs. */
  readonly filter: RunFilter;
  readonly work: BulkAction;
  readonly dryRun: boolean;
  /** The same key again gives what it began first. */
  readonly idempotency?: {
    readonly key: string;
    /** The call as it was sent: another one under the same key is refused. */
    readonly asked: Json;
  };
};
/**
 * `bulkId` is absent where nothing was begun: a dry run, or no run that matches. `begun` is false when its idempotency key began it before:
 * then `count` and `sample` are those of that time.
 */
export type StartedBulk = {
  readonly bulkId?: string;
  readonly begun: boolean;
  readonly count: number;
  readonly sample: readonly string[];
};

/** @see Interface decisions, section 13, "Many at once" */
export interface BulkCommands {
  /** Counts the runs that match, and begins to do it to each; `reach` is that of the caller. */
  startBulk(request: StartBulk): Promise<Result<StartedBulk>>;
  getBulk(request: Asking & { readonly bulkId: string }): Promise<Result<BulkView>>;
  /** What is done stays done. */
  stopBulk(request: Asking & { readonly bulkId: string }): Promise<Result<BulkView>>;
}

export interface EventQueries {
  /** Events that no run has taken yet and that one still may, newest first. */
  listParkedEvents(query: Asking & Paging): Promise<Result<Page<ParkedEventInfo>>>;
}

export interface DefinitionCommands {
  /** Stores all of them, or none: one bad document refuses the whole call. */
  storeDefinitions(request: GivenDefinitions): Promise<Result<readonly StoredDefinition[]>>;
  /** Idempotent. Starts of it are taken and stay queued, and its runs get no offers. `forbidden` where the service owns it and the key does not. */
  pauseDefinition(request: PausedDefinition): Promise<Result<DefinitionState>>;
  /** Idempotent. Runs that were paused by name stay paused. */
  resumeDefinition(request: PausedDefinition): Promise<Result<DefinitionState>>;
  /** Stores nothing, and says of each what is wrong with it. */
  checkDefinitions(request: GivenDefinitions): Promise<Result<readonly CheckedDefinition[]>>;
}

/** A definition as far as pauses go. */
export type DefinitionState = {
  readonly owner: DefinitionOwner;
  readonly id: string;
  readonly pause?: { readonly since: UnixMs; readonly reason?: string };
};
/** `project`: the owner; absent, that of the key where it has one alone, else the service. */
export type PausedDefinition = NamedDefinition & { readonly id: string; readonly reason?: string };

export interface DefinitionQueries {
  /** By id and owner, the latest version of each: of the projects in reach, and of the service. */
  listDefinitions(query: Asking & Paging): Promise<Result<Page<DefinitionVersion>>>;
  getDefinition(request: NamedDefinition & { readonly id: string }): Promise<Result<DefinitionOverview>>;
  /** Where the project has no such version, that of the service. */
  getDefinitionVersion(
    request: NamedDefinition & { readonly id: string; readonly version: number },
  ): Promise<Result<DefinitionVersion>>;
}

export interface WorkerQueries {
  /** By id: those of the projects in reach, and those of none. */
  listWorkers(query: Asking & Paging): Promise<Result<Page<WorkerInfo>>>;
  /** Live leases, oldest first. */
  listLeases(
    query: Asking & Paging & { readonly project?: string },
  ): Promise<Result<Page<LeaseInfo> & { readonly times: LeaseTimes }>>;
}

/** A run whose step is open for longer than is usual. */
export type StalledRun = RunSummary & {
  readonly enteredAt: UnixMs;
  /** What 95 of 100 finished visits of the step took at most. */
  readonly usualMs: number;
  /** How many finished visits were looked at. */
  readonly visits: number;
};

export interface StalledRunQueries {
  /**
   * Those that moved longest ago first. @param query.runId only this run
   * @returns `isCut` where not all open runs were looked at, or not all that were found are in it
   */
  listStalledRuns(
    query: Asking & { readonly runId?: string; readonly limit: number },
  ): Promise<Result<{ readonly runs: readonly StalledRun[]; readonly isCut: boolean }>>;
}

/** A concurrency or rate key in use. */
export type LimitInfo = {
  readonly limitId: string;
  readonly kind: LimitKind;
  readonly project: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  /** The task whose key it is; absent for a key of the run itself. */
  readonly stepId?: string;
  readonly key: string;
  readonly limit: number;
  readonly perMs?: number;
  /** Holders; of a rate, the starts that count now. */
  readonly used: number;
  readonly waiting: number;
  readonly movedAt: UnixMs;
  /** When a rate next has room; absent where it has. */
  readonly nextAt?: UnixMs;
};
export type LimitPlaceInfo = {
  readonly runId: string;
  readonly stepId?: string;
  readonly priority: number;
  readonly since: UnixMs;
};
export type LimitDetail = LimitInfo & {
  readonly holders: readonly LimitPlaceInfo[];
  readonly line: readonly LimitPlaceInfo[];
};

export interface LimitQueries {
  /** By id. */
  listLimits(query: Asking & Paging & { readonly isWaitedFor?: true }): Promise<Result<Page<LimitInfo>>>;
  getLimit(request: Asking & { readonly limitId: string }): Promise<Result<LimitDetail>>;
}

/** Actors, as debugging sees them. @see Interface decisions, "10. Actors and machines, for debugging" */
export interface ActorDirectory {
  listActors(
    query: Asking & Paging & { readonly type?: string; readonly status?: ActorStatus },
  ): Promise<Result<Page<ActorSummary>>>;
  getActor(
    request: Asking & { readonly type: string; readonly id: string; readonly atSeq?: number },
  ): Promise<Result<ActorSnapshot>>;
}

/** The statecharts by which actors decide. */
export interface MachineDirectory {
  /** The service's own, then by definition id what the latest version of each compiles to. */
  listMachines(query: Asking & Paging): Promise<Result<Page<MachineInfo>>>;
  /** One of the service's own by its name, or `run:<definition>@<version>`. */
  getMachine(request: NamedDefinition & { readonly name: string }): Promise<Result<MachineDescription>>;
  /** A Mermaid `stateDiagram-v2`. */
  getMachineDiagram(request: NamedDefinition & { readonly name: string }): Promise<Result<string>>;
}

/** What is done with runs that have ended, and what monitors, SLOs and `doctor` ask about all of them. */
export interface RunAdministration {
  /**
   * Erases the finished runs of a person. Their traces go first: when something fails between, the runs are still there to
   * be found by the next call.
   * @param eraseTraces deletes these from the trace store; all their spans have been sent there before
   */
  eraseSubject(
    request: Asking & { readonly userId: string },
    eraseTraces: (traceIds: readonly string[]) => Promise<ErasedTraces>,
  ): Promise<Result<ErasedSubject>>;
  /** Removes up to `limit` runs of the project whose root ended before the boundary, with all that is theirs. */
  trimFinishedRuns(project: string, before: UnixMs, limit: number): Promise<number>;
  findStuckRuns(): Promise<readonly StuckRun[]>;
  /** Keys for which runs wait, and of which nothing has moved since. */
  findStalledKeys(movedBefore: UnixMs): Promise<readonly LimitRecord[]>;
  /** Active schedules that never fired though they were due, or that skip all of their times. */
  findIdleSchedules(now: UnixMs): Promise<readonly IdleSchedule[]>;
  /** Paused definitions of which runs are queued. */
  findPausedWork(): Promise<readonly PausedWork[]>;
  /** Ended runs of a window, newest first, at most `limit`. */
  listRunShapes(project: string, from: UnixMs, to: UnixMs, limit: number): Promise<readonly RunShape[]>;
  counts(): Promise<{ definitionVersions: number; openRuns: number; quarantined: number }>;
}

/**
 * Durable runs, one method an endpoint. Arguments were validated at the door; what is expected to be refused comes back as
 * a failure; every change is answered after its commit. A store that fails answers `store_unavailable`: the outcome is
 * unknown, and a repeat is safe for every call but a start or a bulk action without an idempotency key, and an event without an
 * `eventId`.
 * @see Interface decisions, "9. Durable runs" and "10. Actors and machines"
 */
export interface RunsService
  extends WorkerCommands,
    RunCommands,
    RunQueries,
    EventQueries,
    BulkCommands,
    ScheduleCommands,
    ScheduleQueries,
    DefinitionCommands,
    DefinitionQueries,
    WorkerQueries,
    LimitQueries,
    StalledRunQueries,
    ActorDirectory,
    MachineDirectory,
    RunAdministration {
  /** One trivial read of the store. */
  ping(): Promise<void>;
  /** Answers held claims at once, ends journal streams, commits the messages that were taken, closes the store. */
  close(): Promise<void>;
}
