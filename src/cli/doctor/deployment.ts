import type { PausedWork } from '../../actors/definition/paused-work.ts';
import type { ClockJump } from '../../actors/kernel/clock.ts';
import type { IdleSchedule } from '../../actors/schedule/idle-schedules.ts';
import type { ScopeDescription } from '../../http/access/auth.ts';
import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { UnixMs } from '../../model/run.ts';
import type { UnixNano } from '../../model/time.ts';
import type { ProjectSummary } from '../../store/signals/query.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';
import type { LimitRecord } from '../../store/runs/run-store.ts';
import type { Settings } from '../settings.ts';
import type { Finding } from './finding.ts';

/** What the checks ask of stored signals. */
export type SignalReads = Pick<SignalStore, 'listProjects' | 'listSpans' | 'listScores'>;

/** What the checks ask of durable runs. */
export type RunReads = {
  readonly counts: () => Promise<{ definitionVersions: number; openRuns: number; quarantined: number }>;
  readonly stuckRuns: () => Promise<readonly { readonly runId: string; readonly project: string }[]>;
  /** Keys for which runs wait, and of which nothing has moved since. */
  readonly stalledKeys: (movedBefore: UnixMs) => Promise<readonly StalledKey[]>;
  /** Active schedules that never fired though they were due, or that skip all of their times. */
  readonly idleSchedules: (now: UnixMs) => Promise<readonly IdleSchedule[]>;
  /** Paused definitions of which runs are queued. */
  readonly pausedWork: () => Promise<readonly PausedWork[]>;
  /** Versions of definitions that open runs are pinned to. */
  readonly pinnedVersions: () => Promise<readonly PinnedVersion[]>;
  readonly workers: () => Promise<readonly RegisteredWorker[]>;
  /** When the run that changed last did so, by the clock of that time; absent without runs. */
  readonly newestChange: () => Promise<UnixMs | undefined>;
};
export type StalledKey = Pick<LimitRecord, 'limitId' | 'project' | 'definitionId' | 'stepId' | 'waiting' | 'movedAt'>;
export type PinnedVersion = {
  readonly owner: DefinitionOwner;
  readonly id: string;
  readonly version: number;
  readonly openRuns: number;
};
export type RegisteredWorker = {
  /** Of the definitions. */
  readonly owner: DefinitionOwner;
  readonly definitions: readonly { readonly id: string; readonly version: number }[];
  /** When it last called; only the running service knows. */
  readonly lastSeenAt?: UnixMs;
};

/** A store as it was found: what was said about it, and how to ask it, or why it cannot be asked. */
export type Examined<Reads> = { readonly findings: readonly Finding[] } & (
  | { readonly reads: Reads }
  | { readonly unread: string }
);

/** A sampling fraction in the config file with which no start succeeds. */
export type RefusedSample = { readonly project: string; readonly sample: number };

/** One deployment under examination: its configuration, its stores, and the moment. */
export type Deployment = {
  readonly settings: Settings;
  readonly refusedSamples: readonly RefusedSample[];
  readonly scopes: readonly ScopeDescription[];
  readonly signals: Examined<SignalReads>;
  readonly runs: Examined<RunReads>;
  /** Contacts nothing but storage. */
  readonly offline: boolean;
  /** Days of history that activity, clock and pricing read. */
  readonly windowDays: number;
  readonly now: UnixNano;
  /** How the machine's clock was set since the service started; only the running service knows. */
  readonly clockJumps?: { readonly count: number; readonly last: readonly ClockJump[] };
};

/** A deployment with what several checks share, read once. */
export type Look = Deployment & {
  /** Where the window begins. */
  readonly from: UnixNano;
  readonly projects: (reads: SignalReads) => Promise<readonly ProjectSummary[]>;
};

export const NANOS_PER_SECOND = 1_000_000_000n;
export const NANOS_PER_DAY = 86_400n * NANOS_PER_SECOND;
