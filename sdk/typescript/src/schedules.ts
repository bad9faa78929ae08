import type { Json, Overlap, CatchUp, RunCorrelation } from './generated/wire.ts';
import type { BodyOf } from './operation.ts';

/** Cron times in a time zone, or a time each so many milliseconds. */
export type ScheduleTimes =
  | {
      /** Five fields, or six with seconds before them. */
      readonly cron: string;
      /** A name of the IANA database. Absent: `UTC`. */
      readonly timezone?: string;
      readonly everyMs?: never;
    }
  | {
      /** At least 1000; counted from `startsAt`, else from the creation. */
      readonly everyMs: number;
      readonly cron?: never;
      readonly timezone?: never;
    };

/** What a schedule is made of. */
export type ScheduleOptions = ScheduleTimes & {
  /** Its highest version is started. */
  readonly definitionId: string;
  /** Absent: `{}`. */
  readonly input?: Json;
  readonly correlation?: RunCorrelation;
  /** Of its runs: from -100 to 100. */
  readonly priority?: number;
  /** What a time does while a run of the schedule is open. Absent: `skip`. */
  readonly overlap?: Overlap;
  /** Which missed times still fire. Absent: `last`. */
  readonly catchUp?: CatchUp;
  /** How old a missed time may be that `all` still fires. Absent: an hour. */
  readonly catchUpWindowMs?: number;
  /** Each time fires up to so much later. */
  readonly jitterMs?: number;
  /** RFC 3339: no time is before. */
  readonly startsAt?: string;
  /** RFC 3339: every time is before. */
  readonly endsAt?: string;
};

/** The body of a schedule, in wire spelling. */
export const scheduleBody = (schedule: ScheduleOptions): BodyOf<'changeSchedule'> => ({
  definition_id: schedule.definitionId,
  input: schedule.input,
  correlation: schedule.correlation,
  priority: schedule.priority,
  cron: schedule.cron,
  timezone: schedule.timezone,
  every_ms: schedule.everyMs,
  overlap: schedule.overlap,
  catch_up: schedule.catchUp,
  catch_up_window_ms: schedule.catchUpWindowMs,
  jitter_ms: schedule.jitterMs,
  starts_at: schedule.startsAt,
  ends_at: schedule.endsAt,
});
