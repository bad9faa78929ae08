import type { UnixMs } from '../../model/run.ts';
import type { Message } from './message.ts';
import { type GroupMemory, newGroupMemory } from './memory.ts';

/** What the kernel needs of the rows that turns add. Only the store knows what they mean. */
export type ChangeSet<C> = {
  readonly empty: () => C;
  /** Adds the rows of a turn to those of its group. */
  readonly merge: (into: C, from: C) => void;
  readonly clear: (changes: C) => void;
  readonly isEmpty: (changes: C) => boolean;
};

/**
 * What one message drew by chance. A turn that is tried again draws the same ids, so what it looked up under them is found.
 */
export type Draws = { readonly ids: string[]; readonly chances: number[]; deferrals: number };
export const noDraws = (): Draws => ({ ids: [], chances: [], deferrals: 0 });

/** A message, and the caller that waits for its answer. */
export type Waiting = Message & {
  readonly draws: Draws;
  readonly settle: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
};
const unawaited = (message: Message): Waiting => ({
  ...message,
  draws: noDraws(),
  settle: () => {},
  reject: () => {},
});

/** Turns that are committed together. */
export type Group<C> = {
  at: UnixMs;
  /** The same moment by the steady clock. */
  steadyAt: UnixMs;
  readonly memory: GroupMemory;
  readonly changes: C;
  readonly afters: (() => void)[];
  readonly replies: (() => void)[];
  readonly senders: Set<Waiting>;
  /** Messages that must see this group committed first. */
  readonly deferred: Waiting[];
  /** Where those send what is to be taken before them. */
  readonly sentFirst: Set<string>;
  /** Why the group can never be written: what it was decided upon was not. */
  failure: { readonly error: unknown } | undefined;
};

/** @param base the group in commit: this one starts from the memory that it leaves */
export const newGroup = <C>(changes: C, base: Group<C> | undefined): Group<C> => ({
  at: 0,
  steadyAt: 0,
  memory: newGroupMemory(base?.memory),
  changes,
  afters: [],
  replies: [],
  senders: new Set(),
  deferred: [],
  sentFirst: new Set(),
  failure: undefined,
});

/** @throws what made it impossible that the group is ever written */
export const mustStand = <C>({ failure }: Group<C>): void => {
  if (failure !== undefined) throw failure.error;
};

/** Defers a message to the next group, behind the messages that it wants taken first. Each of those is sent once. */
export const defer = <C>(group: Group<C>, message: Waiting, first: readonly Message[]): void => {
  group.senders.delete(message);
  message.draws.deferrals += 1;
  for (const one of first) {
    const address = `${one.type}/${one.id}`;
    if (group.sentFirst.has(address)) continue;
    group.sentFirst.add(address);
    group.deferred.push(unawaited(one));
  }
  group.deferred.push(message);
};

/** Turns what the group left in memory into rows, beside those that its turns added. */
export const flush = <C>({ memory, changes }: Group<C>): C => {
  for (const [key, { slot, value }] of memory.written) slot.flush(memory.before.get(key)?.value, value, changes);
  return changes;
};
