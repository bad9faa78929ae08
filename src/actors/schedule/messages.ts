import type { UnixMs } from '../../model/run.ts';
import type { GivenSchedule } from '../../model/schedule/parse.ts';
import type { Firing, FiringRecord, ScheduleSpec } from '../../model/schedule/schedule.ts';
import type { TimerMessage } from '../timer-message.ts';

/** What a schedule takes. Its id is that of `scheduleActorId`. */
export type ScheduleMessage =
  | { readonly kind: 'create'; readonly project: string; readonly given: GivenSchedule }
  | { readonly kind: 'change'; readonly given: GivenSchedule }
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume' }
  | { readonly kind: 'trigger' }
  | { readonly kind: 'delete' }
  | TimerMessage
  /** From a run that has ended, in the commit that ends it. */
  | { readonly kind: 'run_ended'; readonly runId: string }
  /** A start may be able to load it again. */
  | { readonly kind: 'release' }
  /** The wall clock was set back: what was planned by it may lie years ahead. */
  | { readonly kind: 'clock_set' };

export type ScheduleStatus = 'active' | 'paused' | 'ended';

/** A schedule as callers see it. */
export type ScheduleView = {
  readonly id: string;
  readonly project: string;
  readonly spec: ScheduleSpec;
  readonly status: ScheduleStatus;
  readonly createdAt: UnixMs;
  readonly updatedAt: UnixMs;
  readonly pausedAt?: UnixMs;
  readonly nextTimes: readonly UnixMs[];
  /** Newest first. */
  readonly firings: readonly FiringRecord[];
  readonly started: number;
  readonly skipped: number;
  readonly running: readonly string[];
  readonly waiting?: Firing;
};
