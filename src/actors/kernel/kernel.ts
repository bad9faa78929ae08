import type { UnixMs } from '../../model/run.ts';
import {
  type Changes,
  clearTimerRow,
  closeWaitRow,
  type Found,
  type Lookup,
  noChanges,
  type RunStore,
} from '../../store/runs/run-store.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';

/** Where a message goes: the kind of actor that takes it, and which one. */
export type Address = { readonly type: string; readonly id: string };
export type Message = Address & { readonly body: unknown };

/** What a turn found missing in memory. Thrown through the turn: it changes nothing, and is tried again when it is there. */
export class Missing {
  readonly lookups: ReadonlyMap<string, Lookup>;
  constructor(lookups: ReadonlyMap<string, Lookup>) {
    this.lookups = lookups;
  }
}

/**
 * Thrown by a turn that needs what this group has changed to be committed first: it joins the next group, after messages
 * that nobody waits for. It is for turns that find more by then: in what the commit changed, or by looking farther
 * (`Turn.postponed`). One that finds the same again is postponed for ever.
 */
export class NotInThisGroup extends Error {
  readonly before: readonly Message[];
  constructor(before: readonly Message[] = []) {
    super('what this group has changed must be committed first');
    this.before = before;
  }
}

/**
 * One message's way to its decision, and all that follows from it in other actors. Deciding is synchronous and sees memory
 * only; what it changes is an overlay that is kept when the turn ends and dropped when it throws.
 */
export interface Turn {
  /** The time at which the message was taken; never earlier than that of a turn before. */
  readonly at: UnixMs;
  newId(): string;
  /** How many groups put this message off. */
  readonly postponed: number;
  /** At least 0, below 1. */
  random(): number;
  /**
   * What is known under a key: as this turn, else this group, else the group in commit, else the last commit left it.
   * @param lookup how the store finds it when memory does not hold it
   */
  read<K extends Lookup['kind']>(key: string, lookup: Lookup & { readonly kind: K }): Found[K];
  /** What this turn, this group or the group in commit wrote, without asking the store. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- an actor knows what it wrote under its own key
  peek<T>(key: string): T | undefined;
  write(key: string, value: unknown): void;
  /** After the commit memory lets go of it: an actor that will rest, or has ended. */
  forget(key: string): void;
  /** Keeps a form of what was read that is cheaper to use again; no change. */
  keep(key: string, value: unknown): void;
  /** Rows that this turn adds. Merged into the group's when the turn ends. */
  readonly rows: Changes;
  /** Another actor takes this in the same turn, after what was told before. */
  tell(to: Address, body: unknown): void;
  /** Happens after the commit, in order, and not at all when it fails. */
  after(effect: () => void): void;
  /** Happens when the turn's messages are all taken, before the commit: what other turns of the group must see. */
  atEnd(effect: () => void): void;
}

/**
 * One kind of actor: runs, leases, monitors. It loads, decides with a pure machine and says what is to be written.
 * @returns the reply; a function is called when all that the message set off was taken, and gives it then
 */
export type ActorKind = {
  readonly type: string;
  receive(turn: Turn, id: string, body: unknown): unknown;
  /** Turns what this kind left under its keys into rows. Called once a commit for each of them. */
  readonly flush?: (key: string, before: unknown, after: unknown, changes: Changes) => void;
};

export type KernelOptions = {
  readonly store: RunStore;
  readonly now: () => UnixMs;
  readonly newId: () => string;
  readonly random: () => number;
  /** Calls back soon, after the messages that are ready have been sent. */
  readonly defer: (callback: () => void) => void;
  readonly kinds: readonly ActorKind[];
  /**
   * Turns that follow from the whole group before it is committed: matching waiting claims. Asked again until it has none.
   */
  readonly follow?: (at: UnixMs) => FollowUp | undefined;
  /** The group in hand goes to its commit: what is decided from now on belongs to the next. */
  readonly sealed?: () => void;
  /** After a commit, before the next group is sealed: what the group sealed last made true. */
  readonly committed?: () => void;
  /** A commit failed: memory was dropped, and nothing in the host may run ahead of the store. */
  readonly dropped?: () => void;
  /** Runs before the next group after a failure; while it rejects, every message is answered as unavailable. */
  readonly recover?: () => Promise<void>;
  readonly onFault?: (error: unknown, message: Message) => void;
  /** Most messages that one commit takes. */
  readonly groupLimit?: number;
  /** Most keys kept in memory between groups. */
  readonly cacheLimit?: number;
  /** Whether the groups that follow may go on with what one of them holds under a key. What does not last is asked for again. */
  readonly lasts?: (key: string, value: unknown) => boolean;
  /** About how many bytes a key holds, where that is not little; and how many memory keeps between groups in all. */
  readonly weigh?: (key: string, value: unknown) => number;
  readonly cacheBytes?: number;
};

/** A turn to take before the commit, or what must be read before that can be decided. */
export type FollowUp =
  | { readonly offer: Message }
  | { readonly lookup: Lookup; readonly found: (value: unknown) => void };

/**
 * What one message drew by chance. A turn that is tried again draws the same: what it looked up by an id of its own is there.
 */
type Draws = { readonly ids: string[]; readonly chances: number[]; postponed: number };
const noDraws = (): Draws => ({ ids: [], chances: [], postponed: 0 });

type Waiting = Message & { readonly draws: Draws } & {
  readonly settle: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
};
const unawaited = (message: Message): Waiting => ({ ...message, draws: noDraws(), settle: () => {}, reject: () => {} });

type Group = {
  at: UnixMs;
  /** The group that was in commit when this one was opened: what it left is what this one starts from. Gone once sealed. */
  base: Group | undefined;
  readonly overlay: Map<string, unknown>;
  /** What stood under the keys of the overlay before. */
  readonly before: Map<string, unknown>;
  readonly loaded: Map<string, unknown>;
  readonly forgotten: Set<string>;
  readonly changes: Changes;
  readonly afters: (() => void)[];
  readonly replies: (() => void)[];
  readonly senders: Set<Waiting>;
  /** Messages that must see this group committed first. */
  readonly postponed: Waiting[];
  /** Where those send what is to be taken before them. */
  readonly sentFirst: Set<string>;
  /** Why the group can never be written: what it was decided upon was not. */
  failure: { readonly error: unknown } | undefined;
};

/** Messages that one turn may set off in other actors: more is a loop, or belongs into rows that are worked off later. */
const TURN_LIMIT = 50_000;
const defaults = { groupLimit: 256, cacheLimit: 20_000, cacheBytes: 256 * 1024 * 1024 } as const;

/** The kind under which a key is flushed: what stands before its first slash. */
const kindOf = (key: string): string => key.slice(0, key.indexOf('/'));

export type Kernel = {
  /** Hands a message over; answers after the commit of all that it changed. Rejects with StoreUnavailable, or a fault. */
  send(message: Message): Promise<unknown>;
  /** Takes a group through load, decide and commit. `send` calls this; tests may. */
  handle(messages: readonly Message[]): Promise<readonly PromiseSettledResult<unknown>[]>;
  /** Drops what memory holds: the next turns read the store again. */
  evict(): void;
  /** Resolves when every message sent so far was answered. */
  idle(): Promise<void>;
  /** Messages that wait for a group. */
  readonly backlog: () => number;
};

/**
 * The one place where actors change: a group of messages is decided against memory, written as one transaction, and only
 * then answered. While a group is in commit the next one is decided upon what it leaves, and no further one: messages join
 * it until the commit ends. A commit that fails takes the group decided upon it along; neither leaves a trace.
 */
export const createKernel = (options: KernelOptions): Kernel => {
  const { store } = options;
  const groupLimit = options.groupLimit ?? defaults.groupLimit;
  const cacheLimit = options.cacheLimit ?? defaults.cacheLimit;
  const kinds = new Map(options.kinds.map((kind) => [kind.type, kind]));
  const cacheBytes = options.cacheBytes ?? defaults.cacheBytes;
  const weigh = options.weigh ?? (() => 0);
  const lastsByKind = options.lasts ?? (() => true);
  const lasts = (key: string, value: unknown): boolean =>
    value !== ABSENT && value !== GONE && !isShortLived(key) && lastsByKind(key, value);
  const cache = new Map<string, unknown>();
  let cachedBytes = 0;
  let queue: Waiting[] = [];
  /** The group that is being decided; messages join it. */
  let open: Group | undefined;
  /** The group that the store has in hand. */
  let committing: Group | undefined;
  let landing: Promise<void> = Promise.resolve();
  let deciding = false;
  let scheduled = false;
  let damaged = false;
  let idlers: (() => void)[] = [];

  // Turns follow each other, so one overlay serves them all: it is emptied when a turn ends, however it ends.
  const scratch = { overlay: new Map<string, unknown>(), rows: noChanges() };

  /**
   * What a group starts from. The store answers as of the commit in hand, so what that takes away, or found absent, is asked
   * for again, and so is what does not last.
   */
  const inherited = ({ base }: Group, key: string): unknown => {
    if (base !== undefined) {
      const changed = base.overlay.get(key);
      if (changed !== undefined) return lasts(key, changed) ? changed : undefined;
      const loaded = base.loaded.get(key);
      if (loaded !== undefined && lasts(key, loaded)) return loaded;
    }
    return cache.get(key);
  };

  const lookUp = (group: Group, key: string): unknown =>
    group.overlay.get(key) ?? group.loaded.get(key) ?? inherited(group, key);

  const peekAt = (group: Group, key: string): unknown => {
    const own = group.overlay.get(key);
    if (own !== undefined || group.base === undefined) return own;
    const changed = group.base.overlay.get(key);
    return changed !== undefined && lasts(key, changed) ? changed : undefined;
  };

  /** Decides one message and all it sets off. Throws what the turn throws; then nothing of it is left. */
  const takeTurn = (group: Group, message: Message, draws: Draws): (() => unknown) => {
    try {
      return decideTurn(group, message, draws);
    } finally {
      scratch.overlay.clear();
      for (const name of listNames) if (scratch.rows[name].length > 0) scratch.rows[name].length = 0;
      scratch.rows.outboxDelivered = undefined;
      scratch.rows.parkedBefore = undefined;
    }
  };

  const decideTurn = (group: Group, message: Message, draws: Draws): (() => unknown) => {
    let idsDrawn = 0;
    let chancesDrawn = 0;
    const { overlay, rows } = scratch;
    const afters: (() => void)[] = [];
    const ends: (() => void)[] = [];
    const told: Message[] = [];
    const forgotten: string[] = [];
    const turn: Turn = {
      at: group.at,
      newId: () => (draws.ids[idsDrawn++] ??= options.newId()),
      postponed: draws.postponed,
      random: () => (draws.chances[chancesDrawn++] ??= options.random()),
      read: <K extends Lookup['kind']>(key: string, lookup: Lookup & { readonly kind: K }): Found[K] => {
        let value = overlay.get(key);
        if (value === undefined) value = lookUp(group, key);
        if (value === undefined) throw new Missing(new Map([[key, lookup]]));
        return (value === ABSENT || value === GONE ? undefined : value) as Found[K];
      },
      // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as the interface has it
      peek: <T>(key: string) => (overlay.get(key) ?? peekAt(group, key)) as T | undefined,
      write: (key, value) => {
        overlay.set(key, value);
      },
      keep: (key, value) => {
        if (overlay.has(key)) overlay.set(key, value);
        else if (group.overlay.has(key)) group.overlay.set(key, value);
        else group.loaded.set(key, value);
      },
      forget: (key) => {
        forgotten.push(key);
      },
      rows,
      tell: (to, body) => {
        told.push({ type: to.type, id: to.id, body });
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
    const reply = receive(message);
    // An actor that lacks something does not stop the others from saying what they lack: one load then serves them all.
    let missing: Map<string, Lookup> | undefined;
    for (let next = 0; next < told.length; next += 1) {
      if (next >= TURN_LIMIT) throw new Error(`one message set off more than ${TURN_LIMIT} others`);
      try {
        receive(told[next] as Message);
      } catch (error) {
        if (!(error instanceof Missing)) {
          if (missing !== undefined) break; // it saw an overlay with holes; the next try will tell
          throw error;
        }
        missing = new Map([...(missing ?? []), ...error.lookups]);
      }
    }
    if (missing !== undefined) throw new Missing(missing);
    const answer = typeof reply === 'function' ? (reply as () => unknown)() : reply;
    for (const [key, value] of overlay) {
      if (!group.overlay.has(key)) group.before.set(key, group.loaded.get(key) ?? inherited(group, key));
      group.overlay.set(key, value);
    }
    mergeRows(group.changes, rows);
    for (const key of forgotten) group.forgotten.add(key);
    for (const effect of afters) group.afters.push(effect);
    for (const effect of ends) effect();
    return () => answer;
  };

  /** @throws what made it impossible that the group is ever written */
  const mustStand = ({ failure }: Group): void => {
    if (failure !== undefined) throw failure.error;
  };

  const load = async (group: Group, missing: ReadonlyMap<string, Lookup>): Promise<void> => {
    const keys = [...missing.keys()];
    // What was just read cannot be missing again: a turn that says so would be tried for ever.
    const repeated = keys.find((key) => group.loaded.has(key));
    if (repeated !== undefined) throw new Error(`a turn asks again for ${repeated}, which was read in its group`);
    const found = await store.load([...missing.values()]);
    mustStand(group);
    keys.forEach((key, index) => group.loaded.set(key, found[index] ?? ABSENT));
  };

  /** Those that nothing put off in this group sends already. */
  const firstOf = (group: Group, messages: readonly Message[]): readonly Message[] =>
    messages.filter(({ type, id }) => {
      const address = `${type}/${id}`;
      if (group.sentFirst.has(address)) return false;
      group.sentFirst.add(address);
      return true;
    });

  const decide = async (group: Group, messages: readonly Waiting[]): Promise<void> => {
    let untaken = messages;
    while (untaken.length > 0) {
      const missing = new Map<string, Lookup>();
      const again: Waiting[] = [];
      for (const message of untaken) {
        try {
          const answer = takeTurn(group, message, message.draws);
          group.replies.push(() => {
            message.settle(answer());
          });
        } catch (error) {
          if (error instanceof Missing) {
            // Of two lookups of one thing the first counts: what was put off looks farther, and comes first.
            for (const [key, lookup] of error.lookups) if (!missing.has(key)) missing.set(key, lookup);
            again.push(message);
          } else if (error instanceof NotInThisGroup) {
            group.senders.delete(message);
            message.draws.postponed += 1;
            group.postponed.push(...firstOf(group, error.before).map(unawaited), message);
          }
          // A fault is an answer too: what it was met upon may yet turn out never to have been.
          else
            group.replies.push(() => {
              options.onFault?.(error, message);
              message.reject(error);
            });
        }
      }
      if (missing.size > 0) await load(group, missing);
      untaken = again;
    }
  };

  const followUp = async (group: Group): Promise<void> => {
    for (let next = options.follow?.(group.at); next !== undefined; next = options.follow?.(group.at)) {
      if ('lookup' in next) {
        const [value] = await store.load([next.lookup]);
        mustStand(group);
        next.found(value);
        continue;
      }
      const message = next.offer;
      const draws = noDraws();
      let taken = false;
      while (!taken) {
        taken = true;
        try {
          takeTurn(group, message, draws);
        } catch (error) {
          if (error instanceof Missing) {
            await load(group, error.lookups);
            taken = false;
          } else
            group.afters.push(() => {
              options.onFault?.(error, message);
            });
        }
      }
    }
  };

  const flush = (group: Group): Changes => {
    for (const [key, value] of group.overlay) {
      const before = group.before.get(key);
      kinds.get(kindOf(key))?.flush?.(key, before === ABSENT ? undefined : before, value, group.changes);
    }
    return group.changes;
  };

  const uncache = (key: string): void => {
    if (!cache.has(key)) return;
    cachedBytes -= weigh(key, cache.get(key));
    cache.delete(key);
  };
  const enter = (key: string, value: unknown): void => {
    uncache(key);
    if (!lasts(key, value)) return;
    cache.set(key, value);
    cachedBytes += weigh(key, value);
  };

  const remember = (group: Group): void => {
    for (const [key, value] of group.loaded) enter(key, value);
    for (const [key, value] of group.overlay) enter(key, value);
    for (const key of group.forgotten) uncache(key);
    // A Map keeps the order of insertion, so the keys longest unchanged go first.
    if (cache.size > cacheLimit || cachedBytes > cacheBytes)
      for (const key of cache.keys()) {
        if (cache.size <= cacheLimit && cachedBytes <= cacheBytes) break;
        uncache(key);
      }
  };

  const drop = (): void => {
    damaged = true;
    cache.clear();
    cachedBytes = 0;
    options.dropped?.();
  };

  const openGroup = (): Group => ({
    at: options.now(),
    base: committing,
    overlay: new Map(),
    before: new Map(),
    loaded: new Map(),
    forgotten: new Set(),
    changes: noChanges(),
    afters: [],
    replies: [],
    senders: new Set(),
    postponed: [],
    sentFirst: new Set(),
    failure: undefined,
  });

  const refuse = (messages: Iterable<Waiting>, error: unknown): void => {
    for (const message of messages) message.reject(asUnavailable(error));
  };

  /** Gives up a group that was not sealed. What was postponed in it has changed nothing, and is taken again. */
  const giveUp = (group: Group, error: unknown): void => {
    open = undefined;
    queue = [...group.postponed, ...queue];
    refuse(group.senders, error);
  };

  const reportFault = (error: unknown): void => {
    options.onFault?.(error, { type: 'group', id: '', body: undefined });
  };

  const failed = (group: Group, error: unknown): void => {
    committing = undefined;
    drop();
    reportFault(error);
    refuse(group.senders, error);
    if (open !== undefined) {
      open.failure = { error };
      // One that is being decided finds out when what it waits for has come.
      if (!deciding) giveUp(open, error);
    }
    wake();
  };

  const landed = (group: Group): void => {
    committing = undefined;
    remember(group);
    for (const effect of group.afters) effect();
    for (const reply of group.replies) reply();
    options.committed?.();
    wake();
  };

  const commit = async (group: Group, changes: Changes): Promise<void> => {
    try {
      await store.commit(changes);
    } catch (error) {
      failed(group, error);
      return;
    }
    landed(group);
  };

  /** Hands the open group to the store, unless that has one in hand: then it stays open. */
  const seal = (): void => {
    const group = open;
    if (group === undefined || committing !== undefined) return;
    if (group.failure !== undefined) {
      giveUp(group, group.failure.error);
      return;
    }
    open = undefined;
    committing = group;
    queue = group.postponed.length === 0 ? queue : [...group.postponed, ...queue];
    let changes: Changes;
    try {
      changes = flush(group);
    } catch (error) {
      failed(group, error);
      return;
    }
    group.base = undefined;
    options.sealed?.();
    if (!hasChanges(changes)) {
      landed(group);
      return;
    }
    landing = commit(group, changes);
  };

  const mayTake = (): boolean => queue.length > 0 && (open === undefined || open.senders.size < groupLimit);

  /** Decides what waits, as much as the open group takes. */
  const takeQueue = async (): Promise<void> => {
    while (mayTake()) {
      if (damaged) {
        try {
          await options.recover?.();
          damaged = false;
        } catch (error) {
          refuse(queue.splice(0, groupLimit), error);
          continue;
        }
      }
      const group = (open ??= openGroup());
      group.at = options.now();
      const messages = queue.splice(0, groupLimit - group.senders.size);
      for (const message of messages) group.senders.add(message);
      try {
        await decide(group, messages);
        mustStand(group);
        await followUp(group);
        mustStand(group);
      } catch (error) {
        giveUp(group, error);
        if (group.failure !== undefined) continue; // dropped with the group in commit
        // The host has seen turns that will never be; the commit in hand knows nothing of them, and ends first.
        await landing;
        drop();
        reportFault(error);
      }
    }
  };

  const pump = async (): Promise<void> => {
    deciding = true;
    await takeQueue();
    deciding = false;
    seal();
    if (mayTake()) wake();
    rest();
  };

  const isIdle = (): boolean =>
    queue.length === 0 && open === undefined && committing === undefined && !deciding && !scheduled;

  const rest = (): void => {
    if (!isIdle()) return;
    const waiting = idlers;
    idlers = [];
    for (const resolve of waiting) resolve();
  };

  const wake = (): void => {
    if (deciding || scheduled) return;
    scheduled = true;
    options.defer(() => {
      scheduled = false;
      void pump();
    });
  };

  const send = (message: Message): Promise<unknown> =>
    new Promise((settle, reject) => {
      queue.push({ ...message, draws: noDraws(), settle, reject });
      wake();
    });

  return {
    send,
    handle: (messages) => Promise.allSettled(messages.map(send)),
    evict: () => {
      cache.clear();
      cachedBytes = 0;
    },
    idle: () =>
      isIdle()
        ? Promise.resolve()
        : new Promise((resolve) => {
            idlers.push(resolve);
          }),
    backlog: () => queue.length,
  };
};

/** Known not to exist: a lookup that found nothing is not repeated within the group. */
const ABSENT = Symbol('absent');
/** Written under a key that memory is to forget. */
export const GONE = Symbol('gone');

/** Keys that begin so hold excerpts of what many actors change: true for one group only. */
const isShortLived = (key: string): boolean => key.startsWith('once/');

const asUnavailable = (error: unknown): unknown =>
  error instanceof StoreUnavailable
    ? error
    : new StoreUnavailable('the runs store failed while a group was decided or committed', { cause: error });

const listNames = Object.keys(noChanges()).filter(
  (name) => name !== 'outboxDelivered' && name !== 'parkedBefore',
) as Exclude<keyof Changes, 'outboxDelivered' | 'parkedBefore'>[];

const mergeRows = (into: Changes, rows: Changes): void => {
  for (const timer of rows.timersCleared) clearTimerRow(into, timer);
  for (const runId of rows.waitsClosed) closeWaitRow(into, runId);
  for (const name of listNames) {
    if (name === 'timersCleared' || name === 'waitsClosed') continue;
    const from = rows[name];
    if (from.length > 0) for (const row of from) (into[name] as unknown[]).push(row);
  }
  if (rows.outboxDelivered !== undefined)
    into.outboxDelivered = Math.max(into.outboxDelivered ?? -1, rows.outboxDelivered);
  if (rows.parkedBefore !== undefined) into.parkedBefore = Math.max(into.parkedBefore ?? 0, rows.parkedBefore);
};

const hasChanges = (changes: Changes): boolean =>
  changes.outboxDelivered !== undefined ||
  changes.parkedBefore !== undefined ||
  listNames.some((name) => changes[name].length > 0);
