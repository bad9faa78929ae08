import type { LimitPlace } from '../../store/runs/run-store.ts';
import type { RunMessage } from '../run/messages.ts';
import { Unloadable } from '../../machines/persisted.ts';
import { Quarantined } from '../run/quarantined.ts';
import type { Programs } from '../run/program.ts';
import { readRun } from '../run/run-state.ts';
import { type ActorKind, storedSlot, type Turn } from '../runs-kernel.ts';
import { hasRoom, type LimitActor, type LimitHost, lineSlot, readLimit, unreadableKey } from './limit-state.ts';
import { leaveLine } from './places.ts';

/** Most runs that one message admits: the next key has its turn before this one goes on. */
const ADMITTED_AT_ONCE = 32;

/** The best of those who wait for a key, as of the last commit. */
const frontSlot = storedSlot({
  name: 'limit_front',
  lifetime: 'group',
  keyOf: ({ limitId }: { readonly limitId: string; readonly limit: number }) => limitId,
  lookup: ({ limitId, limit }) => ({ kind: 'limit_front', limitId, limit }),
});

/**
 * Brings to memory all that is about to be asked: of many runs one read. A run that cannot be loaded leaves the line, and is quarantined.
 * @returns those that can be asked
 */
const loadAll = (
  turn: Turn,
  host: LimitHost & { readonly programs: Programs },
  places: readonly LimitPlace[],
): LimitPlace[] => {
  let lacks: { readonly error: unknown } | undefined;
  const ready = places.filter((place) => {
    try {
      return readRun(turn, host.programs, place.runId) !== undefined;
    } catch (error) {
      if (!(error instanceof Quarantined)) {
        lacks ??= { error };
        return false;
      }
      if (place.lineId !== undefined) leaveLine(turn, host, place.runId, { ...place, lineId: place.lineId });
      const message: RunMessage = { kind: 'quarantine' };
      turn.tell({ type: 'run', id: place.runId }, message);
      return false;
    }
  });
  if (lacks !== undefined) throw lacks.error;
  return ready;
};

/** A key that cannot be loaded admits nobody: the first of those who wait for it is quarantined, and says why. */
const nameFirst = (turn: Turn, limitId: string): void => {
  const { places } = turn.read(frontSlot, { limitId, limit: 1 });
  for (const { runId } of places) {
    const message: RunMessage = { kind: 'quarantine', damage: unreadableKey(runId).fault };
    turn.tell({ type: 'run', id: runId }, message);
  }
};

/** Keys in use. A key is sent a message when it is due: there is a place for the first in line, or its window has moved. */
export const createLimitActors = (host: LimitHost & { readonly programs: Programs }): ActorKind => ({
  type: 'limit',
  receive: (turn, limitId) => {
    let limit: LimitActor | undefined;
    try {
      limit = readLimit(turn, host, limitId);
    } catch (error) {
      if (!(error instanceof Unloadable)) throw error;
      nameFirst(turn, limitId);
      return undefined;
    }
    if (limit === undefined || !hasRoom(limit) || limit.record.lines === 0) return undefined;
    const { record } = limit;
    const front = turn.read(frontSlot, {
      limitId,
      limit: Math.min(ADMITTED_AT_ONCE, record.limit - record.used),
    });
    // A line that this group has changed may begin elsewhere by now, or be gone.
    for (const line of front.lines)
      if (turn.peek(lineSlot, line.lineId) === undefined && turn.read(lineSlot, line.lineId) !== undefined)
        turn.write(lineSlot, line.lineId, line);
    for (const { runId, stepId } of loadAll(turn, host, front.places)) {
      const message: RunMessage = { kind: 'admit', inTurn: true, ...(stepId === undefined ? {} : { stepId }) };
      turn.tell({ type: 'run', id: runId }, message);
    }
    return undefined;
  },
});
