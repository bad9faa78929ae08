import { createHash } from 'node:crypto';
import type { UnixMs } from '../run.ts';
import type { ScheduleSpec, SkipReason } from './schedule.ts';
import type { Timetable } from './timetable.ts';

/** A time that fires at most so much later than it was due is not missed: a look each second, a commit, a quick restart. */
export const GRACE_MS = 10_000;
/** Times that one look considers, and missed times that fire at the most. Older ones are passed over. */
export const MOST_TIMES = 100;

/** When a nominal time fires: it is deferred by up to `jitterMs`, each time by the same. */
export const dueTimeOfNominal = (seed: string, nominalAt: UnixMs, jitterMs: number): UnixMs =>
  jitterMs === 0
    ? nominalAt
    : nominalAt + (createHash('sha256').update(`${seed}/${nominalAt}`).digest().readUInt32BE(0) % (jitterMs + 1));

export type PlannedTime = { readonly nominalAt: UnixMs; readonly skip?: SkipReason };
export type FiringPlan = {
  /** What is due, in order: to fire, or to skip for a reason. */
  readonly due: readonly PlannedTime[];
  /** The next time; absent when none will ever come. */
  readonly nextAt?: UnixMs;
};

/** The latest times up to now, and the first one after it. Mostly one alone is due: looking for the one after it is cheaper than looking back. */
const reachedTimes = (
  timetable: Timetable,
  from: UnixMs,
  now: UnixMs,
): { readonly reached: readonly UnixMs[]; readonly next: UnixMs | undefined } => {
  if (from > now) return { reached: [], next: from };
  const second = timetable.next(from);
  return second === undefined || second > now
    ? { reached: [from], next: second }
    : { reached: timetable.latest(from, now, MOST_TIMES), next: timetable.next(now) };
};

/**
 * What becomes of the times of a schedule that are due by now. Bounded however far the clock went: only the latest are looked at.
 * @param from the first time that was not dealt with
 * @param look.graceMs how late a time may be that was not missed
 * @param look.missedBecause the reason of missed times that do not fire
 */
export const planFirings = (
  timetable: Timetable,
  { catchUp, catchUpWindowMs, jitterMs }: Pick<ScheduleSpec, 'catchUp' | 'catchUpWindowMs' | 'jitterMs'>,
  dueAtOf: (nominalAt: UnixMs) => UnixMs,
  from: UnixMs,
  now: UnixMs,
  look: { readonly graceMs: number; readonly missedBecause: 'missed' | 'paused' } = {
    graceMs: GRACE_MS,
    missedBecause: 'missed',
  },
): FiringPlan => {
  const { reached, next } = reachedTimes(timetable, from, now);
  const ahead = reached.findIndex((at) => dueAtOf(at) > now);
  const times = ahead === -1 ? reached : reached.slice(0, ahead);
  const nextAt = ahead === -1 ? next : reached[ahead];
  const isMissed = (at: UnixMs): boolean => now - (at + jitterMs) > look.graceMs;
  const lastMissed = times.findLastIndex(isMissed);
  const skipOf = (at: UnixMs, index: number): SkipReason | undefined => {
    if (!isMissed(at)) return undefined;
    switch (catchUp) {
      case 'none':
        return look.missedBecause;
      case 'last':
        return index === lastMissed && index === times.length - 1 ? undefined : look.missedBecause;
      case 'all':
        return at < now - catchUpWindowMs ? 'catch_up_window' : undefined;
      default:
        return catchUp satisfies never;
    }
  };
  return {
    due: times.map((nominalAt, index) => {
      const skip = skipOf(nominalAt, index);
      return { nominalAt, ...(skip === undefined ? {} : { skip }) };
    }),
    ...(nextAt === undefined ? {} : { nextAt }),
  };
};
