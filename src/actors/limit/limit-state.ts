import {
  LIMIT_MACHINE_VERSION,
  type LimitEvent,
  limitMachine,
  limitMigrations,
  type LimitSnapshot,
} from '../../machines/limit.ts';
import { restore, Unloadable } from '../../machines/persisted.ts';
import { initialSnapshot, step } from '../../machines/transition.ts';
import type { UnixMs } from '../../model/run.ts';
import { emptyAt, roomAt, startsWithin } from '../../model/start-window.ts';
import type { Changes, LimitLine, LimitPlace, LimitRecord } from '../../store/runs/run-store.ts';
import { byId, defineNote, type Slot } from '../kernel/slot.ts';
import { Damaged } from '../run/quarantined.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';
import type { Key, KeyOwner } from './keys.ts';

/** What keys need of the service that hosts them. */
export type LimitHost = {
  /** The next number that orders waits, parked events and places; ever larger. */
  readonly nextOrder: () => number;
  /** A key was committed whose actor is due then, by the steady clock. */
  readonly limitDue: (limitId: string, project: string, dueAt: UnixMs) => void;
  /** Whether the last commit left no such key. `false` where that is not known. */
  readonly isUnused: (limitId: string) => boolean;
};

/** A key in memory: its row, whose columns brought the machine back to life. */
export type LimitActor = { readonly record: LimitRecord; readonly snapshot: LimitSnapshot };

/** Keys in use: as they are stored, or brought to life. */
const limitSlot = storedSlot<string, 'limit', LimitActor>({
  name: 'limit',
  lifetime: 'kept',
  keyOf: byId,
  lookup: (limitId) => ({ kind: 'limit', limitId }),
  weigh: (held) => (held !== undefined && 'snapshot' in held ? 8 * held.record.starts.length : 0),
  flush: (before, after, changes) => {
    if (after === undefined) {
      if (before !== undefined) changes.limitsGone.push('snapshot' in before ? before.record.limitId : before.limitId);
    } else if ('snapshot' in after)
      (before === undefined ? changes.limitsInserted : changes.limitsUpdated).push(after.record);
  },
});

/** Lines of runs that wait. */
export const lineSlot = storedSlot({
  name: 'limit_line',
  lifetime: 'kept',
  keyOf: byId,
  lookup: (lineId: string) => ({ kind: 'limit_line', lineId }),
  flush: (before: LimitLine | undefined, after: LimitLine | undefined, changes: Changes) => {
    if (after !== undefined) changes.linesSet.push(after);
    else if (before !== undefined) changes.linesGone.push(before.lineId);
  },
});

type PlaceChange = LimitPlace | { readonly gone: number };
const placeSlot: Slot<number, PlaceChange, Changes> = {
  ...defineNote<number, PlaceChange>('limit_place', String),
  flush: (_before, after, changes) => {
    if ('gone' in after) changes.placesGone.push(after.gone);
    else changes.placesSet.push(after);
  },
};
/** A place as it was last committed. */
const storedPlaceSlot = storedSlot({
  name: 'stored_limit_place',
  lifetime: 'group',
  keyOf: String,
  lookup: (order: number) => ({ kind: 'limit_place', order }),
});
/** Whether a place is still there. */
export const isThere = (turn: Turn, order: number): boolean => {
  const change = turn.peek(placeSlot, order);
  return change === undefined ? turn.read(storedPlaceSlot, order) !== undefined : !('gone' in change);
};
export const setPlace = (turn: Turn, place: LimitPlace): void => {
  turn.write(placeSlot, place.order, place);
};
export const dropPlace = (turn: Turn, order: number): void => {
  turn.write(placeSlot, order, { gone: order });
};

/** @throws Unloadable for a key that does not belong to this release's machine */
const revive = (stored: LimitRecord): LimitActor => {
  // Of a rate the starts are what counts.
  const used = stored.kind === 'rate' ? stored.starts.length : stored.used;
  const record = used === stored.used ? stored : { ...stored, used };
  const { machineVersion, state, limit, waiting, lines } = record;
  const persisted = { machineVersion, value: state, context: { limit, used, waiting, lines } };
  return { record, snapshot: restore(limitMachine, LIMIT_MACHINE_VERSION, persisted, limitMigrations) };
};

/** Why this release cannot load a key; nothing where it can. */
export const faultOfLimit = (record: LimitRecord): string | undefined => {
  try {
    revive(record);
    return undefined;
  } catch (error) {
    if (error instanceof Unloadable) return error.message;
    throw error;
  }
};

export const hasRoom = ({ record }: LimitActor): boolean => record.used < record.limit;

/** When its actor has something to do, by the steady clock. */
const dueAtOf = (
  state: LimitSnapshot['value'],
  {
    kind,
    limit,
    perMs,
    lines,
    starts,
  }: Pick<LimitRecord, 'kind' | 'limit' | 'lines' | 'starts'> & { perMs?: number | undefined },
  now: UnixMs,
): UnixMs | undefined => {
  if (state === 'admitting') return now;
  if (perMs === undefined || kind === 'concurrency') return undefined;
  return lines > 0 ? roomAt(starts, limit, perMs) : emptyAt(starts, perMs);
};

const notDue = ({ dueAt: _dueAt, ...rest }: LimitRecord): LimitRecord => rest;

/**
 * Moves a key by an event, and writes what became of it. Each run that has keys comes here four times and more: a record is copied once, and
 * no property is taken out of it, which costs a multiple of that, unless it must be.
 * @param more what of its row changes with the event
 */
export const changeLimit = (
  turn: Turn,
  host: LimitHost,
  { record: before, snapshot }: LimitActor,
  event: LimitEvent,
  more: Partial<Pick<LimitRecord, 'starts' | 'perMs' | 'definitionVersion'>> = {},
): LimitActor => {
  const { next } = step(limitMachine, snapshot, event);
  const { limit, used, waiting, lines } = next.context;
  const state = next.value;
  const { limitId, project, kind } = before;
  const { perMs = before.perMs, starts = before.starts } = more;
  const dueAt = dueAtOf(state, { kind, limit, perMs, lines, starts }, turn.steadyAt);
  const moves = event.type === 'place.taken' || event.type === 'place.freed';
  const record: LimitRecord = {
    ...(dueAt === undefined && before.dueAt !== undefined ? notDue(before) : before),
    ...more,
    limit,
    used,
    waiting,
    lines,
    version: before.version + 1,
    machineVersion: LIMIT_MACHINE_VERSION,
    state: state === 'full' || state === 'admitting' ? state : 'free',
    steadyAt: turn.steadyAt,
    updatedAt: turn.at,
    movedAt: moves ? turn.at : before.movedAt,
    ...(dueAt === undefined ? undefined : { dueAt }),
  };
  const limitActor = { record, snapshot: next };
  turn.write(limitSlot, limitId, state === 'gone' ? undefined : limitActor);
  if (dueAt !== undefined && lines > 0)
    turn.after(() => {
      host.limitDue(limitId, project, dueAt);
    });
  return limitActor;
};

/** A key as it stands now: starts that have left the window are off. `undefined` where nobody uses it. */
export const readLimit = (turn: Turn, host: LimitHost, limitId: string): LimitActor | undefined => {
  // Where the last commit left none, only a turn since then can have brought it into use.
  const found = host.isUnused(limitId) ? turn.peek(limitSlot, limitId) : turn.read(limitSlot, limitId);
  if (found === undefined) return undefined;
  let limit: LimitActor;
  if ('snapshot' in found) limit = found;
  else {
    limit = revive(found);
    turn.keep(limitSlot, limitId, limit);
  }
  const { kind, perMs, starts } = limit.record;
  if (kind === 'concurrency' || perMs === undefined) return limit;
  const left = startsWithin(starts, perMs, turn.steadyAt);
  if (left === starts) return limit;
  const pruned = changeLimit(turn, host, limit, { type: 'place.freed', used: left.length }, { starts: left });
  return pruned.snapshot.value === 'gone' ? undefined : pruned;
};

/** What a run meets whose key, or line, is not as the service left it: it cannot go on, and is named. */
export const unreadableKey = (runId: string): Damaged =>
  new Damaged(runId, 'a key that it needs', 'its row is damaged, missing, or of a later release');

/** Runs work on keys for a run. @throws Damaged where the row of a key does not belong to this release */
export const forRun = <T>(runId: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (error instanceof Unloadable) throw unreadableKey(runId);
    throw error;
  }
};

/** A key that a run holds, or waits for. @throws Damaged where it cannot be loaded */
export const readKeyOf = (turn: Turn, host: LimitHost, runId: string, limitId: string): LimitActor => {
  const limit = forRun(runId, () => readLimit(turn, host, limitId));
  if (limit === undefined) throw unreadableKey(runId);
  return limit;
};

const unused = initialSnapshot(limitMachine);

/** A key that comes into use. */
const firstUse = (turn: Turn, host: LimitHost, owner: KeyOwner, key: Key, definitionVersion: number): LimitActor => {
  const { limitId, kind, limit, perMs } = key;
  const { project, definitionOwner, definitionId, stepId } = owner;
  const record: LimitRecord = {
    limitId,
    kind,
    project,
    definitionOwner,
    definitionId,
    definitionVersion,
    ...(stepId === undefined ? {} : { stepId }),
    key: key.key,
    limit,
    ...(perMs === undefined ? {} : { perMs }),
    machineVersion: LIMIT_MACHINE_VERSION,
    state: 'free',
    version: 0,
    used: 0,
    waiting: 0,
    lines: 0,
    starts: [],
    steadyAt: turn.steadyAt,
    updatedAt: turn.at,
    movedAt: turn.at,
  };
  const event: LimitEvent = { type: 'limit.set', limit };
  return { record, snapshot: step(limitMachine, unused, event).next };
};

/** A key that somebody asks for. The limit of the newest version that was seen in use counts. */
export const useLimit = (
  turn: Turn,
  host: LimitHost,
  owner: KeyOwner,
  key: Key,
  definitionVersion: number,
): LimitActor => {
  const limit = readLimit(turn, host, key.limitId);
  if (limit === undefined) return firstUse(turn, host, owner, key, definitionVersion);
  const { record } = limit;
  const isNewer = definitionVersion > record.definitionVersion;
  if (!isNewer || (record.limit === key.limit && record.perMs === key.perMs)) return limit;
  return changeLimit(
    turn,
    host,
    limit,
    { type: 'limit.set', limit: key.limit },
    { definitionVersion, ...(key.perMs === undefined ? {} : { perMs: key.perMs }) },
  );
};
