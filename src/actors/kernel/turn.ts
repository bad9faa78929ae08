import type { UnixMs } from '../../model/run.ts';
import type { ChangeSet, Draws, Group } from './group.ts';
import type { Cell, Memory } from './memory.ts';
import type { Address, Message } from './message.ts';
import type { Asking, Slot, StoredSlot } from './slot.ts';

/** What the store is to be asked, and the slot that takes the answer. */
export type Wanted<L> = { readonly lookup: L; readonly slot: Slot<unknown, unknown> };

/** Memory does not hold what a turn reads. Thrown through the turn: it changes nothing, and is tried again when it is there. */
class Missing {
  readonly key: string;
  constructor(key: string) {
    this.key = key;
  }
}

/** What became of a turn: its answer, or what must be read before it can be taken. */
export type Taken<L> = { readonly answer: unknown } | { readonly missing: ReadonlyMap<string, Wanted<L>> };

/**
 * Thrown by a turn that needs what this group has changed to be committed first: it is deferred to the next group, behind
 * messages that nobody waits for. A turn may throw it only when it finds more by then: rows that the commit changed, or a
 * longer read (`Turn.deferrals`). A turn that finds the same again is deferred indefinitely.
 */
export class DeferredTurn extends Error {
  readonly first: readonly Message[];
  constructor(first: readonly Message[] = []) {
    super('what this group has changed must be committed first');
    this.first = first;
  }
}

/**
 * One message is decided, and all that follows from it in other actors. Deciding is synchronous and sees memory only; what it
 * changes is an overlay that is kept when the turn ends and dropped when it throws.
 *
 * `L` is what the store may be asked, `C` the rows that a commit takes.
 */
export interface Turn<L, C> extends Asking {
  /** The time at which the message was taken; never earlier than that of a turn before. */
  readonly at: UnixMs;
  /** The same moment by the steady clock, which goes on evenly while the other is set: what happens within so many milliseconds is counted by it. */
  readonly steadyAt: UnixMs;
  newId(): string;
  /** How many groups have deferred this message. */
  readonly deferrals: number;
  /** At least 0, below 1. */
  random(): number;
  /** The value under a key, as this turn left it, else this group, else the group in commit, else the last commit. */
  read<K, V>(slot: StoredSlot<K, V, L, C>, key: K): V;
  /** The same for several keys: what memory lacks of them is asked for together. */
  readAll<K, V>(slot: StoredSlot<K, V, L, C>, keys: readonly K[]): readonly V[];
  /** What this turn, this group or the group in commit wrote; never asks the store. */
  peek<K, V>(slot: Slot<K, V, C>, key: K): V | undefined;
  /** @param value `undefined`: it exists no more */
  write<K, V>(slot: Slot<K, V, C>, key: K, value: V): void;
  /** Memory drops it after the commit: an actor that will rest, or has ended. */
  forget<K>(slot: Slot<K, never, C>, key: K): void;
  /** Keeps a form of what was read that is cheaper to use again; no change. */
  keep<K, V>(slot: Slot<K, V, C>, key: K, value: V): void;
  /** Rows that this turn adds. Merged into the group's when the turn ends. */
  readonly rows: C;
  /** Another actor takes this in the same turn, after the messages sent before it. */
  tell(to: Address, body: unknown): void;
  /**
   * The same.
   * @returns gives what that actor replied; called when all messages of the turn are taken (`conclude`)
   */
  ask(to: Address, body: unknown): () => unknown;
  /** Runs when all messages of the turn are taken, before the turn ends: it may still write, and tells nobody any more. */
  conclude(work: () => void): void;
  /** Happens after the commit, in order, and not at all when it fails. */
  after(effect: () => void): void;
  /** Runs when all messages of the turn are taken, before the commit, so that other turns of the group see it. */
  atEnd(effect: () => void): void;
}

/**
 * One kind of actor. It loads, decides with a pure machine and says what is to be written.
 * @returns the reply; a function is called when all that the message set off was taken, and gives it then
 */
export type ActorKind<L, C> = {
  readonly type: string;
  receive(turn: Turn<L, C>, id: string, body: unknown): unknown;
};

/** Messages that one turn may set off in other actors: more is a loop, or work that belongs into rows for later commits. */
const TURN_LIMIT = 50_000;

/**
 * Takes turns, one after the other.
 * @returns decides one message and all it sets off. Nothing is left of a turn that misses something, or that throws
 */
export const createTurns = <L, C>(host: {
  readonly kinds: readonly ActorKind<L, C>[];
  readonly memory: Memory;
  readonly changes: ChangeSet<C>;
  readonly newId: () => string;
  readonly random: () => number;
}) => {
  const { memory, changes } = host;
  const kinds = new Map(host.kinds.map((kind) => [kind.type, kind]));
  // Turns follow each other, so one overlay serves them all: it is emptied when a turn ends, however it ends.
  const overlay = new Map<string, Cell>();
  const rows = changes.empty();

  const decide = (group: Group<C>, message: Message, draws: Draws): Taken<L> => {
    let missing: Map<string, Wanted<L>> | undefined;
    let idsDrawn = 0;
    let chancesDrawn = 0;
    const afters: (() => void)[] = [];
    const ends: (() => void)[] = [];
    const sent: (Message & { reply?: unknown })[] = [];
    const conclusions: (() => void)[] = [];
    const forgotten: string[] = [];
    const turn: Turn<L, C> = {
      at: group.at,
      steadyAt: group.steadyAt,
      deferrals: draws.deferrals,
      newId: () => (draws.ids[idsDrawn++] ??= host.newId()),
      random: () => (draws.chances[chancesDrawn++] ??= host.random()),
      read: <K, V>(slot: StoredSlot<K, V, L, C>, key: K): V => {
        const at = slot.prefix + slot.keyOf(key);
        const cell = overlay.get(at) ?? memory.find(group.memory, at);
        if (cell !== undefined) return valueIn(slot, cell);
        missing ??= new Map();
        missing.set(at, { slot, lookup: slot.lookup(key, turn) });
        throw new Missing(at);
      },
      readAll: <K, V>(slot: StoredSlot<K, V, L, C>, keys: readonly K[]): readonly V[] => {
        const values: V[] = [];
        let lacking: Missing | undefined;
        for (const key of keys)
          try {
            values.push(turn.read(slot, key));
          } catch (error) {
            if (!(error instanceof Missing)) throw error;
            lacking = error;
          }
        if (lacking !== undefined) throw lacking;
        return values;
      },
      peek: <K, V>(slot: Slot<K, V, C>, key: K): V | undefined => {
        const at = slot.prefix + slot.keyOf(key);
        const cell = overlay.get(at) ?? memory.findWritten(group.memory, at);
        return cell === undefined ? undefined : valueIn(slot, cell);
      },
      write: (slot, key, value) => {
        overlay.set(slot.prefix + slot.keyOf(key), { slot, value });
      },
      keep: (slot, key, value) => {
        const at = slot.prefix + slot.keyOf(key);
        const { written, loaded } = group.memory;
        const holder = overlay.has(at) ? overlay : written.has(at) ? written : loaded;
        holder.set(at, { slot, value });
      },
      forget: (slot, key) => {
        forgotten.push(slot.prefix + slot.keyOf(key));
      },
      rows,
      tell: (to, body) => {
        sent.push({ type: to.type, id: to.id, body });
      },
      ask: (to, body) => {
        const asked: Message & { reply?: unknown } = { type: to.type, id: to.id, body };
        sent.push(asked);
        return () => finalOf(asked.reply);
      },
      conclude: (work) => {
        conclusions.push(work);
      },
      after: (effect) => {
        afters.push(effect);
      },
      atEnd: (effect) => {
        ends.push(effect);
      },
    };
    const receive = ({ type, id, body }: Message): unknown => {
      const kind = kinds.get(type);
      if (kind === undefined) throw new Error(`no actors of type "${type}"`);
      return kind.receive(turn, id, body);
    };
    let answer: unknown;
    try {
      const reply = receive(message);
      for (let next = 0; next < sent.length; next += 1) {
        if (next >= TURN_LIMIT) throw new Error(`one message set off more than ${TURN_LIMIT} others`);
        try {
          const message = sent[next] as (typeof sent)[number];
          message.reply = receive(message);
        } catch (error) {
          // An actor that lacks something does not stop the others from saying what they lack: one load then serves them all.
          if (!(error instanceof Missing)) throw error;
        }
      }
      if (missing !== undefined) return { missing };
      for (const work of conclusions) work();
      answer = finalOf(reply);
    } catch (error) {
      // A fault beside something missing may come from the gap: the next try decides.
      if (missing !== undefined) return { missing };
      throw error;
    }
    memory.merge(group.memory, overlay);
    changes.merge(group.changes, rows);
    for (const key of forgotten) group.memory.forgotten.add(key);
    for (const effect of afters) group.afters.push(effect);
    for (const effect of ends) effect();
    return { answer };
  };

  return (group: Group<C>, message: Message, draws: Draws): Taken<L> => {
    try {
      return decide(group, message, draws);
    } finally {
      overlay.clear();
      changes.clear(rows);
    }
  };
};

/** A reply that is a function gives itself when all messages of the turn are taken. */
const finalOf = (reply: unknown): unknown => (typeof reply === 'function' ? (reply as () => unknown)() : reply);

/** The value of a cell. The only cast: a cell is made with the slot whose value it holds. */
const valueIn = <K, V, C>(slot: Slot<K, V, C>, cell: Cell): V => {
  if (cell.slot !== slot) throw new Error(`two slots are called "${slot.name}"`);
  return cell.value as V;
};
