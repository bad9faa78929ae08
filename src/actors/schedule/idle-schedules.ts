import { Unloadable } from '../../machines/persisted.ts';
import { FIRINGS_KEPT, type ScheduleSnapshot } from '../../machines/schedule.ts';
import type { UnixMs } from '../../model/run.ts';
import type { FiringRecord, SkipReason } from '../../model/schedule/schedule.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { scheduleIdOf } from './schedule-name.ts';
import { reviveSchedule } from './schedule-state.ts';

/** Why a schedule that is active starts no runs. */
export type Idleness =
  /** It was due then, and has neither started a run nor skipped one. */
  | { readonly kind: 'never_fired'; readonly dueAt: UnixMs }
  /** Its last nominal times were all skipped, the newest one for this reason. */
  | { readonly kind: 'skipping'; readonly skipped: number; readonly since: UnixMs; readonly reason: SkipReason };
export type IdleSchedule = { readonly id: string; readonly project: string; readonly idle: Idleness };

/** A timer that is so late was not merely delayed by load. */
const OVERDUE_MS = 60_000;
/** Nominal times in a row without a run. */
const SKIPS_IN_A_ROW = 3;
/** Rows that one question brings. */
const PAGE = 500;

/** A trigger, a pause and a time that has its run already say nothing about whether the schedule works. */
const counts = (firing: FiringRecord): boolean =>
  firing.triggerId === undefined &&
  (firing.outcome === 'started' || (firing.reason !== 'paused' && firing.reason !== 'already_started'));

/**
 * Whether an active schedule starts no runs.
 * @returns `undefined` where it starts them, or nothing can be said yet. Where runs of it overlap, that is its work for as long as the
 *   firings that are remembered hold one that started a run.
 */
export const idlenessOf = ({ value, context }: ScheduleSnapshot, now: UnixMs): Idleness | undefined => {
  if (value !== 'active') return undefined;
  const { dueAt, started, skipped, firings } = context;
  if (started + skipped === 0)
    return dueAt !== undefined && dueAt + OVERDUE_MS <= now ? { kind: 'never_fired', dueAt } : undefined;
  const nominal = firings.filter(counts);
  const row = nominal.slice(nominal.findLastIndex(({ outcome }) => outcome === 'started') + 1);
  const newest = row.at(-1);
  const [oldest] = row;
  if (newest?.outcome !== 'skipped' || oldest === undefined) return undefined;
  const isOverlap = row.every((firing) => firing.outcome === 'skipped' && firing.reason === 'overlap');
  return row.length < (isOverlap ? FIRINGS_KEPT : SKIPS_IN_A_ROW)
    ? undefined
    : { kind: 'skipping', skipped: row.length, since: oldest.nominalAt, reason: newest.reason };
};

/** Active schedules that start no runs, by id, at most `limit`. One that cannot be loaded is none of them: it is quarantined. */
export const findIdleSchedules = async (
  store: Pick<RunStore, 'listKeptActors'>,
  now: UnixMs,
  limit: number,
): Promise<readonly IdleSchedule[]> => {
  const found: IdleSchedule[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const records = await store.listKeptActors({ type: 'schedule', reach: 'all', after, limit: PAGE });
    for (const record of records) {
      let snapshot: ScheduleSnapshot;
      try {
        ({ snapshot } = reviveSchedule(record));
      } catch (error) {
        if (error instanceof Unloadable) continue;
        throw error;
      }
      const idle = idlenessOf(snapshot, now);
      if (idle !== undefined) found.push({ id: scheduleIdOf(record.id), project: record.project, idle });
      if (found.length >= limit) return found;
    }
    after = records.length < PAGE ? undefined : records.at(-1)?.id;
  }
  return found;
};
