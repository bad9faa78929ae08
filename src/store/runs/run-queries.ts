import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { ProjectReach } from '../../model/scope.ts';
import type { UnixMs } from '../../model/run.ts';
import type { LimitListQuery, LimitRecord, LimitRows, WaitingPlace } from './limits.ts';
import type { MatchingRuns, RunFilter, WaitingCount } from './run-filter.ts';
import type {
  ActorRecord,
  AttemptRecord,
  Checkpoint,
  DefinitionRecord,
  JournalRow,
  JsonText,
  KeptActorType,
  ParkedEventSummary,
  RunIdentity,
  RunRecord,
  StoredDocuments,
  StoredRun,
  TimerRecord,
  WaitRecord,
  WorkerRecord,
} from './records.ts';

export type RunListQuery = RunFilter & {
  /** Rows after this place in the order newest-updated first. */
  readonly after?: { readonly updatedAt: UnixMs; readonly runId: string };
  readonly limit: number;
};
export type DefinitionListQuery = {
  /** Of these projects, and those of the service. */
  readonly reach: ProjectReach;
  readonly after?: { readonly id: string; readonly owner: DefinitionOwner };
  readonly limit: number;
};
export type WorkerListQuery = {
  /** Of these projects, and those of none. */
  readonly reach: ProjectReach;
  /** By id, ascending. */
  readonly after?: string;
  readonly limit: number;
};
export type ParkedEventQuery = {
  readonly reach: ProjectReach;
  /** Only those that were parked later. */
  readonly parkedAfter: UnixMs;
  /** Only those of a smaller order. */
  readonly before?: number;
  readonly limit: number;
};
/** A run with all that is asked about it. */
export type RunRows = {
  readonly stored: StoredRun;
  readonly documents: StoredDocuments;
  readonly attempts: readonly (AttemptRecord & { readonly output?: JsonText })[];
  readonly timers: readonly TimerRecord[];
  readonly waits: readonly WaitRecord[];
  readonly children: readonly RunRecord[];
};
export type ActorRow = {
  readonly type: 'run' | 'lease' | KeptActorType;
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
  readonly type: 'run' | 'lease' | KeptActorType;
  readonly status?: 'active' | 'done' | 'quarantined';
  /** By id, descending: the newest first. */
  readonly before?: string;
  readonly limit: number;
};

export type KeptActorQuery = {
  readonly type: KeptActorType;
  readonly reach: ProjectReach;
  /** By id, ascending. */
  readonly after?: string;
  readonly limit: number;
};

export type RunBacklog = {
  /** Timers that are due at `now` or before. */
  readonly overdueTimers: number;
  /** When the next timer is due, or was; absent when none is set. */
  readonly nextTimerAt?: UnixMs;
  readonly outboxRows: number;
};

export type QueuedRuns = {
  readonly definitionOwner: DefinitionOwner;
  readonly definitionId: string;
  readonly runs: number;
};

/**
 * What people, routes and sweeps ask. An engine may answer from a copy that is a moment behind, but the copy must hold every
 * commit that was answered before the question was asked: a client that started a run finds it. A sweep that acts on an
 * answer relies on what no longer changes, a run that has ended, or names its condition again in the commit.
 */
export interface RunQueries {
  /** A run with all that is asked about it; `undefined` when there is no such run. */
  findRun(runId: string): Promise<RunRows | undefined>;
  listRuns(query: RunListQuery): Promise<readonly RunRecord[]>;
  /** Runs that are queued, running or waiting, those that moved longest ago first. */
  openRuns(reach: ProjectReach, limit: number): Promise<readonly RunRecord[]>;
  /**
   * How many of these runs wait for each thing beside a worker. Of each thing and project so many are looked at, the newest-updated first.
   */
  countWaiting(query: Omit<RunFilter, 'waitingOn'>, most: number): Promise<readonly WaitingCount[]>;
  /** The same runs by id, from beyond `after`: what is found among the next `scan` rows. */
  matchingRuns(query: RunFilter, after: string, scan: number): Promise<MatchingRuns>;
  /**
   * Rows that hold an entry after this one, oldest first. With `maxBytes` they may end before the limit, with the row that brings them to
   * about so many bytes.
   */
  journal(runId: string, after: number, limit: number, maxBytes?: number): Promise<readonly JournalRow[]>;
  /** Rows that hold an entry of at most this one, newest first. */
  journalBefore(runId: string, seq: number, limit: number): Promise<readonly JournalRow[]>;
  /** The newest checkpoint at or before the entry. */
  checkpoint(runId: string, seq: number): Promise<Checkpoint | undefined>;
  findAttempt(leaseId: string): Promise<AttemptRecord | undefined>;

  /** By id and owner, the highest version of each. */
  listDefinitions(query: DefinitionListQuery): Promise<readonly DefinitionRecord[]>;
  /** Ascending, each with the number of its open runs in these projects. */
  definitionVersions(
    owner: DefinitionOwner,
    id: string,
    reach: ProjectReach,
  ): Promise<readonly (DefinitionRecord & { readonly openRuns: number })[]>;
  listWorkers(query: WorkerListQuery): Promise<readonly WorkerRecord[]>;
  /** Ids of workers whose row says that they were last seen before, those silent longest first. */
  silentWorkers(before: UnixMs, limit: number): Promise<readonly string[]>;
  /** By lease id, ascending. */
  listLiveLeases(
    reach: ProjectReach,
    after: string | undefined,
    limit: number,
  ): Promise<readonly (AttemptRecord & Pick<RunIdentity, 'project' | 'definitionId' | 'definitionVersion'>)[]>;
  /** How many live leases of runs of these projects each worker holds; those that hold none are left out. */
  leasesHeld(reach: ProjectReach): Promise<ReadonlyMap<string, number>>;
  /** Keys in use, by id, ascending. */
  listLimits(query: LimitListQuery): Promise<readonly LimitRecord[]>;
  /** A key in use. @param shown most holders, and most of its line */
  findLimit(limitId: string, shown: number): Promise<LimitRows | undefined>;
  /** Where a place stands that waits; `undefined` once it does not. @param shown most holders */
  whereWaits(order: number, shown: number): Promise<WaitingPlace | undefined>;
  /**
   * Keys of a concurrency for which runs wait, of which no place was taken or freed since, and none of whose holders has moved since or is
   * with a worker; those that stand longest first.
   */
  stalledLimits(movedBefore: UnixMs, limit: number): Promise<readonly LimitRecord[]>;
  listActors(query: ActorListQuery): Promise<readonly ActorRow[]>;
  /** By id, ascending. */
  listKeptActors(query: KeptActorQuery): Promise<readonly ActorRecord[]>;
  /** By order, descending: the newest first. */
  listParkedEvents(query: ParkedEventQuery): Promise<readonly ParkedEventSummary[]>;

  /** Finished root runs of a person with all their descendants, and how many of that person are unfinished. */
  subjectRuns(
    userId: string,
    reach: ProjectReach,
    limit: number,
  ): Promise<{ finished: readonly { readonly runId: string; readonly traceId: string }[]; inFlight: number }>;
  /** Root runs of a project that ended before, with all their descendants. */
  finishedRuns(project: string, before: UnixMs, limit: number): Promise<readonly string[]>;
  /** Open runs that no row will ever move; quarantined ones are none of them. */
  stuckRuns(limit: number): Promise<readonly Pick<RunRecord, 'runId' | 'project' | 'cursor'>[]>;
  /** Runs of a project that ended in a half-open window, the latest first, with the most attempts that one of their steps took. */
  runShapes(
    project: string,
    from: UnixMs,
    to: UnixMs,
    limit: number,
  ): Promise<
    readonly (Pick<RunRecord, 'runId' | 'definitionOwner' | 'definitionId' | 'definitionVersion' | 'snapshot'> & {
      readonly maxStepAttempts: number;
    })[]
  >;
  /** What waits for the service to move it: timers by their time, and rows of the outbox. */
  backlog(wall: UnixMs, steady: UnixMs): Promise<RunBacklog>;
  /** Runs that wait for a worker, by definition id and owner, at most `limit` definitions; of all projects, or of certain ones. */
  queuedRuns(reach: ProjectReach, limit: number): Promise<readonly QueuedRuns[]>;
  counts(): Promise<{ definitionVersions: number; openRuns: number; quarantined: number }>;
}
