import { Cron } from 'croner';
import type { UnixMs } from '../run.ts';
import type { ScheduleSpec } from './schedule.ts';
import { highestLocalUpTo, instantOfLocal } from './zone.ts';

/** The nominal times of a schedule. */
export type Timetable = {
  /** The first that is later; `undefined` when none will ever come. */
  readonly next: (after: UnixMs) => UnixMs | undefined;
  /** The last ones from `from` up to `upTo`, both included, at most `limit`, ascending. */
  readonly latest: (from: UnixMs, upTo: UnixMs, limit: number) => readonly UnixMs[];
};

const SECOND_MS = 1000;

/** An expression that was read, and what it was asked last: of schedules that share it, all ask the same when they fire together. */
type Pattern = {
  readonly cron: Cron;
  last?: { readonly zone: string; readonly after: UnixMs; readonly at: UnixMs | undefined };
};

/** Reading an expression takes longer than asking it for a time, and most schedules share theirs with others. Each takes 80 KB: the library keeps a list of years. */
const PATTERNS_KEPT = 100;
const patterns = new Map<string, Pattern>();
/** @throws Error when it cannot be read */
const patternOf = (expression: string): Pattern => {
  const known = patterns.get(expression);
  if (known !== undefined) return known;
  // An offset is added; a zone by name, also that of UTC, is asked for in ten times the time.
  const pattern: Pattern = { cron: new Cron(expression, { utcOffset: 0, mode: '5-or-6-parts' }) };
  for (const oldest of patterns.keys()) {
    if (patterns.size < PATTERNS_KEPT) break;
    patterns.delete(oldest);
  }
  patterns.set(expression, pattern);
  return pattern;
};

/**
 * Times of a cron expression. The library is asked for times of a calendar without a time zone, written as if they were UTC; the zone
 * is applied here, because daylight saving is our own rule: a local time that does not exist is the first instant after the gap, one
 * that exists twice is its first.
 * @throws Error when the expression cannot be read
 * @see Interface decisions, section 13, "Schedules"
 */
const cronTimes = (expression: string, zone: string): Timetable => {
  const pattern = patternOf(expression);
  const { cron } = pattern;
  const nextOf = (after: UnixMs): UnixMs | undefined => {
    const local = cron.nextRun(new Date(highestLocalUpTo(after, zone)));
    return local === null ? undefined : instantOfLocal(local.getTime(), zone).at;
  };
  return {
    next: (after) => {
      if (pattern.last?.after !== after || pattern.last.zone !== zone)
        pattern.last = { zone, after, at: nextOf(after) };
      return pattern.last.at;
    },
    latest: (from, upTo, limit) => {
      const found: UnixMs[] = [];
      // The library looks before a time and knows whole seconds.
      let before = (Math.floor(highestLocalUpTo(upTo, zone) / SECOND_MS) + 1) * SECOND_MS;
      while (found.length < limit) {
        const [local] = cron.previousRuns(1, new Date(before));
        if (local === undefined) break;
        const { at, gapFrom } = instantOfLocal(local.getTime(), zone);
        if (at < from) break;
        if (at !== found.at(-1)) found.push(at);
        // All times of a gap are the same instant: the next look is before it.
        before = gapFrom ?? local.getTime();
      }
      return found.toReversed();
    },
  };
};

/** Every so often from `first` on: counted, so that it does not drift. */
const everyTimes = (everyMs: number, first: UnixMs): Timetable => ({
  next: (after) => (after < first ? first : first + (Math.floor((after - first) / everyMs) + 1) * everyMs),
  latest: (from, upTo, limit) => {
    const last = Math.floor((upTo - first) / everyMs);
    const earliest = Math.max(0, Math.ceil((from - first) / everyMs), last - limit + 1);
    return Array.from({ length: Math.max(0, last - earliest + 1) }, (_, index) => first + (earliest + index) * everyMs);
  },
});

/**
 * When a schedule fires.
 * @param createdAt from which `every` is counted where the schedule names no start
 * @throws Error when its cron expression cannot be read
 */
export const timetableOf = (
  { timing, startsAt, endsAt }: Pick<ScheduleSpec, 'timing' | 'startsAt' | 'endsAt'>,
  createdAt: UnixMs,
): Timetable => {
  const times =
    timing.kind === 'cron'
      ? cronTimes(timing.cron, timing.timezone)
      : everyTimes(timing.everyMs, startsAt ?? createdAt + timing.everyMs);
  const isOver = (at: UnixMs): boolean => endsAt !== undefined && at >= endsAt;
  return {
    next: (after) => {
      const at = times.next(startsAt === undefined ? after : Math.max(after, startsAt - 1));
      return at === undefined || isOver(at) ? undefined : at;
    },
    latest: (from, upTo, limit) =>
      times.latest(
        startsAt === undefined ? from : Math.max(from, startsAt),
        endsAt === undefined ? upTo : Math.min(upTo, endsAt - 1),
        limit,
      ),
  };
};

/** The first `count` times after a moment. */
export const timesAfter = (timetable: Timetable, after: UnixMs, count: number): readonly UnixMs[] => {
  const times: UnixMs[] = [];
  for (let at = timetable.next(after); at !== undefined && times.length < count; at = timetable.next(at))
    times.push(at);
  return times;
};
