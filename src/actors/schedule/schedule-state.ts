import {
  SCHEDULE_MACHINE_VERSION,
  scheduleMachine,
  scheduleMigrations,
  type ScheduleSnapshot,
} from '../../machines/schedule.ts';
import { decodeSnapshot, encodeSnapshot, restore, Unloadable } from '../../machines/persisted.ts';
import type { UnixMs } from '../../model/run.ts';
import type { ScheduleSpec } from '../../model/schedule/schedule.ts';
import { timesAfter, timetableOf } from '../../model/schedule/timetable.ts';
import type { ActorRecord } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';
import type { ScheduleView } from './messages.ts';
import { scheduleIdOf } from './schedule-name.ts';

/** A schedule in memory: its row, what it was made of, and its snapshot brought to life. */
export type ScheduleActor = {
  /** Set by the flush, which numbers the change. */
  record: ActorRecord;
  readonly spec: ScheduleSpec;
  readonly snapshot: ScheduleSnapshot;
  /** It was made in this group: where one of its name stood before, that one goes first. */
  isNew: boolean;
};

const isLive = (value: ActorRecord | ScheduleActor): value is ScheduleActor => 'spec' in value;

/** Next times that are shown. */
const TIMES_SHOWN = 10;

/** Schedules: as they are stored, or brought to life. */
export const scheduleSlot = storedSlot<string, 'kept_actor', ScheduleActor>({
  name: 'schedule',
  lifetime: 'kept',
  keyOf: byId,
  lookup: (id) => ({ kind: 'kept_actor', type: 'schedule', id }),
  flush: (before, after, changes) => {
    const previous = before === undefined ? undefined : isLive(before) ? before.record : before;
    const type = 'schedule';
    if (after === undefined) {
      if (previous !== undefined) changes.actorsRemoved.push({ type, id: previous.id });
      return;
    }
    if (!isLive(after)) {
      if (previous !== undefined) changes.actorsUpdated.push({ before: previous, after });
      return;
    }
    const replaces = after.isNew && previous !== undefined;
    const record: ActorRecord = {
      ...after.record,
      snapshot: encodeSnapshot(SCHEDULE_MACHINE_VERSION, after.snapshot),
      version: replaces ? 1 : (previous?.version ?? 0) + 1,
    };
    after.record = record;
    after.isNew = false;
    if (replaces) changes.actorsRemoved.push({ type, id: previous.id });
    if (replaces || previous === undefined) changes.actorsInserted.push(record);
    else changes.actorsUpdated.push({ before: previous, after: record });
  },
});

/** Whether the slot holds a schedule that was made in this group. */
export const wasMadeInGroup = (value: ActorRecord | ScheduleActor | undefined): boolean =>
  value !== undefined && isLive(value) && value.isNew;

/** The row by itself, read or not. */
export const recordOf = (value: ActorRecord | ScheduleActor): ActorRecord => (isLive(value) ? value.record : value);

/** @throws Unloadable when it is quarantined, or this release cannot load it; the message holds no part of the row */
export const reviveSchedule = (record: ActorRecord): ScheduleActor => {
  if (record.fault !== undefined) throw new Unloadable(`schedule ${record.id} is quarantined: ${record.fault}`);
  let spec: ScheduleSpec;
  try {
    spec = JSON.parse(record.document) as ScheduleSpec;
  } catch {
    throw new Unloadable(`schedule ${record.id} cannot be read: the row is damaged`);
  }
  const snapshot = restore(
    scheduleMachine,
    SCHEDULE_MACHINE_VERSION,
    decodeSnapshot(record.snapshot),
    scheduleMigrations,
  );
  return { record, spec, snapshot, isNew: false };
};

/** @throws Unloadable; `undefined` when there is no such schedule */
export const readSchedule = (turn: Turn, id: string): ScheduleActor | undefined => {
  const found = turn.read(scheduleSlot, id);
  if (found === undefined || isLive(found)) return found;
  const actor = reviveSchedule(found);
  turn.keep(scheduleSlot, id, actor);
  return actor;
};

/** @param now times are shown from here on; one that is paused or has ended fires at none */
export const scheduleView = ({ record, spec, snapshot }: ScheduleActor, now: UnixMs): ScheduleView => {
  const { context, value } = snapshot;
  // A time that was reached and waits for its jitter is still to come.
  const from = context.nextAt === undefined ? now : Math.min(now, context.nextAt - 1);
  return {
    id: scheduleIdOf(record.id),
    project: record.project,
    spec,
    status: value,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    ...(context.pausedAt === undefined ? {} : { pausedAt: context.pausedAt }),
    nextTimes: value === 'active' ? timesAfter(timetableOf(spec, record.createdAt), from, TIMES_SHOWN) : [],
    firings: context.firings.toReversed(),
    started: context.started,
    skipped: context.skipped,
    running: context.running,
    ...(context.waiting === undefined ? {} : { waiting: context.waiting }),
  };
};
