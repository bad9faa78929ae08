import {
  type Changes,
  clearTimerRow,
  closeWaitRows,
  type Found,
  type Lookup,
  noChanges,
} from '../store/runs/run-store.ts';
import type { ChangeSet } from './kernel/group.ts';
import type { FollowUp as KernelFollowUp } from './kernel/kernel.ts';
import { type Asking, defineSlot, type SlotSpec, type StoredSlot } from './kernel/slot.ts';
import type { ActorKind as KernelActorKind, Turn as KernelTurn } from './kernel/turn.ts';

// The kernel as durable runs use it: their store answers its lookups and takes its rows.

export type Turn = KernelTurn<Lookup, Changes>;
export type ActorKind = KernelActorKind<Lookup, Changes>;
export type FollowUp = KernelFollowUp<Lookup>;

/**
 * A slot that the runs store answers for. `Kind` names the lookup; the slot holds what that finds, or the form that actors
 * make of it (`Live`).
 */
export const storedSlot = <K, Kind extends Lookup['kind'], Live = never>(
  spec: SlotSpec<K, Found[Kind] | Live, Changes> & {
    readonly lookup: (key: K, asking: Asking) => Lookup & { readonly kind: Kind };
  },
): StoredSlot<K, Found[Kind] | Live, Lookup, Changes> => defineSlot(spec);

type RowList = Exclude<keyof Changes, 'outboxDelivered' | 'parkedBefore' | 'parkedUntil'>;
const rowLists = Object.keys(noChanges()).filter(
  (name) => name !== 'outboxDelivered' && name !== 'parkedBefore' && name !== 'parkedUntil',
) as RowList[];

/**
 * The rows of runs, as the kernel handles them: a turn that clears or closes something removes the rows that turns before it
 * added for it.
 */
export const changeSet: ChangeSet<Changes> = {
  empty: noChanges,
  merge: (into, from) => {
    for (const timer of from.timersCleared) clearTimerRow(into, timer);
    for (const runId of from.waitsClosed) closeWaitRows(into, runId);
    for (const name of rowLists) {
      if (name === 'timersCleared' || name === 'waitsClosed') continue;
      const rows = from[name];
      if (rows.length > 0) for (const row of rows) (into[name] as unknown[]).push(row);
    }
    if (from.outboxDelivered !== undefined)
      into.outboxDelivered = Math.max(into.outboxDelivered ?? -1, from.outboxDelivered);
    if (from.parkedBefore !== undefined) into.parkedBefore = Math.max(into.parkedBefore ?? 0, from.parkedBefore);
    if (from.parkedUntil !== undefined) into.parkedUntil = from.parkedUntil;
  },
  clear: (changes) => {
    for (const name of rowLists) if (changes[name].length > 0) changes[name].length = 0;
    changes.outboxDelivered = undefined;
    changes.parkedBefore = undefined;
    changes.parkedUntil = undefined;
  },
  isEmpty: (changes) =>
    changes.outboxDelivered === undefined &&
    changes.parkedBefore === undefined &&
    changes.parkedUntil === undefined &&
    rowLists.every((name) => changes[name].length === 0),
};
