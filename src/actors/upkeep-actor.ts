import type { UnixMs } from '../model/run.ts';
import type { ActorKind, Turn } from './runs-kernel.ts';
import { PARKED_LIFETIME_MS } from './event/event-mailbox.ts';
import { documentsSlot } from './run/run-documents.ts';
import { runSlot } from './run/run-state.ts';

export type UpkeepMessage =
  /** Nothing changes; claims that wait are looked at. */
  | { readonly kind: 'match' }
  /** Spans up to this number are in the trace store. */
  | { readonly kind: 'delivered'; readonly upTo: number }
  | { readonly kind: 'erase'; readonly runIds: readonly string[] }
  | { readonly kind: 'expire_parked' }
  /** Writes down when workers were last seen. */
  | { readonly kind: 'workers_seen'; readonly seen: readonly { readonly workerId: string; readonly at: UnixMs }[] }
  /** Removes workers that were silent for long, where they are still silent when the turn comes. */
  | {
      readonly kind: 'forget_workers';
      readonly workerIds: readonly string[];
      readonly before: UnixMs;
      readonly isSilent: (workerId: string) => boolean;
    }
  /** A timer that met a run which cannot be loaded, its own or another's, is looked at again later. */
  | {
      readonly kind: 'defer_timer';
      readonly runId: string;
      readonly name: string;
      readonly because: string;
      readonly dueAt: UnixMs;
      /** For how long, by the steady clock, and until when. */
      readonly ms: number;
      readonly steadyUntil: UnixMs;
    };

const isQuarantined = (turn: Turn, runId: string): boolean => turn.read(runSlot, runId)?.record.fault !== undefined;

/** Changes that belong to no run, lease or project, taken through the same commits as all others. */
export const upkeepActor: ActorKind = {
  type: 'upkeep',
  receive: (turn, _id, message) => {
    const body = message as UpkeepMessage;
    switch (body.kind) {
      case 'match':
        return undefined;
      case 'delivered':
        turn.rows.outboxDelivered = body.upTo;
        return undefined;
      case 'erase':
        for (const runId of body.runIds) {
          turn.rows.erased.push(runId);
          turn.write(runSlot, runId, undefined);
          turn.write(documentsSlot, { runId, visits: {} }, undefined);
        }
        return undefined;
      case 'expire_parked':
        turn.rows.parkedBefore = turn.at - PARKED_LIFETIME_MS;
        turn.rows.parkedUntil = turn.at;
        return undefined;
      case 'workers_seen':
        turn.rows.workersSeen.push(...body.seen);
        return undefined;
      case 'forget_workers':
        for (const workerId of body.workerIds)
          if (body.isSilent(workerId)) turn.rows.workersForgotten.push({ workerId, before: body.before });
        return undefined;
      case 'defer_timer':
        // The run may have been released since, and its timers with it.
        if (isQuarantined(turn, body.because))
          turn.rows.timersSet.push({
            runId: body.runId,
            name: body.name,
            dueAt: body.dueAt,
            countdown: { dueAt: body.steadyUntil, setAt: turn.at, ms: body.ms },
          });
        return undefined;
      default:
        return body satisfies never;
    }
  },
};
