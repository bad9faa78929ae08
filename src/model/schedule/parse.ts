import type { Result } from '../failure.ts';
import type { Json, JsonObject } from '../json.ts';
import type { UnixMs } from '../run.ts';
import type { CatchUp, Overlap, ScheduleSpec, Timing } from './schedule.ts';
import { type Timetable, timesAfter, timetableOf } from './timetable.ts';
import { zoneNamed } from './zone.ts';

/** A schedule as a caller gives it. */
export type GivenSchedule = {
  readonly definitionId: string;
  readonly input?: Json;
  readonly correlation?: JsonObject;
  readonly priority?: number;
  readonly cron?: string;
  readonly timezone?: string;
  readonly everyMs?: number;
  readonly overlap?: Overlap;
  readonly catchUp?: CatchUp;
  readonly catchUpWindowMs?: number;
  readonly jitterMs?: number;
  readonly startsAt?: UnixMs;
  readonly endsAt?: UnixMs;
};

/** @see Interface decisions, section 13, "Schedules" */
const defaults = {
  timezone: 'UTC',
  overlap: 'skip',
  catchUp: 'last',
  catchUpWindowMs: 3_600_000,
  jitterMs: 0,
} as const;
const MIN_EVERY_MS = 1000;
/** Times over which jitter is compared with the gaps between them. */
const GAPS_LOOKED_AT = 20;

const refused = (field: string, message: string): Extract<Result<never>, { ok: false }> => ({
  ok: false,
  failure: { code: 'invalid_body', message, field },
});

const FIELDS = 'five fields (minute, hour, day of month, month, day of week), or six with seconds before them';

const timingOf = ({ cron, timezone, everyMs }: GivenSchedule): Result<Timing> => {
  if (cron !== undefined && everyMs !== undefined)
    return refused('every_ms', 'a schedule has `cron` or `every_ms`, not both: leave one of them out');
  const zone = zoneNamed(timezone ?? defaults.timezone);
  if (zone === undefined)
    return refused(
      'timezone',
      `there is no time zone ${JSON.stringify(timezone)}: give a name of the IANA database, such as Europe/Berlin`,
    );
  // A count from a moment on is the same in every zone; a client that always names one is served.
  if (everyMs !== undefined) {
    if (everyMs < MIN_EVERY_MS)
      return refused(
        'every_ms',
        `every_ms is ${everyMs}, less than ${MIN_EVERY_MS}: a schedule fires once a second at most`,
      );
    return { ok: true, value: { kind: 'every', everyMs } };
  }
  if (cron === undefined)
    return refused('cron', `a schedule needs \`cron\` (${FIELDS}) or \`every_ms\` (at least ${MIN_EVERY_MS})`);
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6)
    return refused('cron', `cron ${JSON.stringify(cron)} has ${fields.length} fields: it takes ${FIELDS}`);
  return { ok: true, value: { kind: 'cron', cron: fields.join(' '), timezone: zone } };
};

/** The words of the library about an expression, without its prefix. */
const reasonOf = (error: unknown): string => (error as Error).message.replace(/^CronPattern: /, '');

const tableOf = (spec: ScheduleSpec, createdAt: UnixMs): Result<Timetable> => {
  try {
    return { ok: true, value: timetableOf(spec, createdAt) };
  } catch (error) {
    const { timing } = spec;
    return refused(
      'cron',
      `cron ${JSON.stringify(timing.kind === 'cron' ? timing.cron : '')} cannot be read: ${reasonOf(error)}; it takes ${FIELDS}`,
    );
  }
};

/**
 * Reads a schedule.
 * @returns `invalid_body` that names the member, its value and the way out
 */
export const parseSchedule = (given: GivenSchedule): Result<ScheduleSpec> => {
  const timing = timingOf(given);
  if (!timing.ok) return timing;
  const { startsAt, endsAt } = given;
  if (startsAt !== undefined && endsAt !== undefined && endsAt <= startsAt)
    return refused('ends_at', 'ends_at is not after starts_at: no time lies between them');
  const spec: ScheduleSpec = {
    definitionId: given.definitionId,
    input: given.input ?? {},
    correlation: given.correlation ?? {},
    ...(given.priority === undefined ? {} : { priority: given.priority }),
    timing: timing.value,
    overlap: given.overlap ?? defaults.overlap,
    catchUp: given.catchUp ?? defaults.catchUp,
    catchUpWindowMs: given.catchUpWindowMs ?? defaults.catchUpWindowMs,
    jitterMs: given.jitterMs ?? defaults.jitterMs,
    ...(startsAt === undefined ? {} : { startsAt }),
    ...(endsAt === undefined ? {} : { endsAt }),
  };
  const table = tableOf(spec, 0);
  return table.ok ? { ok: true, value: spec } : table;
};

/**
 * Refuses a schedule that will never fire, and one whose firings would overtake each other.
 * @param now a time after this must come
 * @returns the first time
 */
export const firstTimeOf = (spec: ScheduleSpec, createdAt: UnixMs, now: UnixMs): Result<UnixMs> => {
  const { timing, endsAt } = spec;
  const table = tableOf(spec, createdAt);
  if (!table.ok) return table;
  const times = timesAfter(table.value, now, spec.jitterMs === 0 ? 1 : GAPS_LOOKED_AT);
  const [first] = times;
  if (first === undefined)
    return endsAt === undefined
      ? refused(
          'cron',
          `cron ${JSON.stringify(timing.kind === 'cron' ? timing.cron : '')} never fires: no date meets all of its fields`,
        )
      : refused(
          'ends_at',
          'no time of this schedule lies between now (or starts_at) and ends_at: give a later ends_at',
        );
  const shortest = Math.min(...times.slice(1).map((at, index) => at - (times[index] ?? at)));
  if (spec.jitterMs > shortest)
    return refused(
      'jitter_ms',
      `jitter_ms is ${spec.jitterMs}, more than the ${shortest} ms between two times of this schedule: firings would overtake each other`,
    );
  return { ok: true, value: first };
};
