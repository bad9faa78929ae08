import type { Json, JsonObject } from '../json.ts';
import type { UnixMs } from '../run.ts';

/** What a firing does while a run of the schedule is open. `queue`: one waits, later ones are skipped. */
export const overlaps = ['skip', 'queue', 'allow', 'cancel_running'] as const;
export type Overlap = (typeof overlaps)[number];
/** Which of the times that were missed still fire. */
export const catchUps = ['none', 'last', 'all'] as const;
export type CatchUp = (typeof catchUps)[number];

/** When a schedule fires: at the times of a cron expression in a time zone, or so often from a moment on. */
export type Timing =
  | { readonly kind: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly kind: 'every'; readonly everyMs: number };

/** What a schedule was made of. Times are instants; local times are those of the time zone. */
export type ScheduleSpec = {
  readonly definitionId: string;
  readonly input: Json;
  /** In wire spelling. */
  readonly correlation: JsonObject;
  readonly priority?: number;
  readonly timing: Timing;
  readonly overlap: Overlap;
  readonly catchUp: CatchUp;
  /** How old a missed time may be that `all` still fires. */
  readonly catchUpWindowMs: number;
  /** A firing comes up to so much later than its nominal time. */
  readonly jitterMs: number;
  /** No nominal time is before. */
  readonly startsAt?: UnixMs;
  /** Every nominal time is before. */
  readonly endsAt?: UnixMs;
};

/** Why a nominal time, or a trigger, started no run. */
export const skipReasons = [
  /** The service was away, or the clock jumped over it. */
  'missed',
  'paused',
  /** Missed, and older than `catch_up_window_ms`. */
  'catch_up_window',
  'overlap',
  'definition_unknown',
  /** The input does not meet the schema of the definition. */
  'input_invalid',
  /** A run has its idempotency key already. */
  'already_started',
  /** The definition's key is at its limit, and refuses. */
  'limit_reached',
  /** The start was refused otherwise. */
  'refused',
] as const;
export type SkipReason = (typeof skipReasons)[number];

/** A firing that is to come: a nominal time, or a trigger by its id. */
export type Firing = { readonly nominalAt: UnixMs; readonly triggerId?: string };
/** What became of one. */
export type FiringRecord = Firing &
  (
    | { readonly outcome: 'started'; readonly firedAt: UnixMs; readonly runId: string }
    | { readonly outcome: 'skipped'; readonly at: UnixMs; readonly reason: SkipReason; readonly runId?: string }
  );
