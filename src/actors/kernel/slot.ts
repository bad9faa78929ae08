import type { UnixMs } from '../../model/run.ts';

/** What a lookup may depend on beside its key: the time of the turn, and how often it was deferred. */
export type Asking = { readonly at: UnixMs; readonly deferrals: number };

/**
 * One kind of thing that memory holds: how its key is spelled, how long it is held, and what is written of it. The value that
 * a slot holds under a key has the type that the slot gives it; where the store may have none, the type has `undefined` in it.
 */
export interface Slot<K, V, C = unknown> {
  readonly name: string;
  /** Stands before every key, so that one memory serves all slots. */
  readonly prefix: string;
  /**
   * `kept`: until memory needs the room, because every turn that changes it writes it here. `group`: an excerpt of what many actors
   * change, or a note among the turns of one group; true until the next group begins.
   */
  readonly lifetime: 'kept' | 'group';
  keyOf(key: K): string;
  /** Whether later groups may use this value. One that does not last is read again. */
  lasts(value: V): boolean;
  /** About how many bytes it takes, where that is not little. */
  weigh(value: V): number;
  /** Turns what a group left under a key into rows. Called once a commit for each key that was written. */
  flush(before: V | undefined, after: V, changes: C): void;
}

/** A slot that the store answers for: what is not in memory is looked up. */
export interface StoredSlot<K, V, L, C = unknown> extends Slot<K, V, C> {
  lookup(key: K, asking: Asking): L;
}

export type SlotSpec<K, V, C> = {
  readonly name: string;
  readonly lifetime: 'kept' | 'group';
  readonly keyOf: (key: K) => string;
  readonly lasts?: (value: V) => boolean;
  readonly weigh?: (value: V) => number;
  readonly flush?: (before: V | undefined, after: V, changes: C) => void;
};

const always = (): boolean => true;
const nothing = (): number => 0;
const unwritten = (): void => {};

/** A slot that turns of one group share: the store knows nothing of it. */
export const defineNote = <K, V>(name: string, keyOf: (key: K) => string): Slot<K, V> => ({
  name,
  prefix: `${name}/`,
  lifetime: 'group',
  keyOf,
  lasts: always,
  weigh: nothing,
  flush: unwritten,
});

/** @param spec `lookup` must ask for what the slot holds: the store's answer is cast to it */
export const defineSlot = <K, V, L, C = unknown>(
  spec: SlotSpec<K, V, C> & { readonly lookup: (key: K, asking: Asking) => L },
): StoredSlot<K, V, L, C> => ({
  name: spec.name,
  prefix: `${spec.name}/`,
  lifetime: spec.lifetime,
  keyOf: spec.keyOf,
  lookup: spec.lookup,
  lasts: spec.lasts ?? always,
  weigh: spec.weigh ?? nothing,
  flush: spec.flush ?? unwritten,
});

/** The key of a slot whose things are named by one id. */
export const byId = (id: string): string => id;
