import type { UnixMs } from '../../model/run.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { type ChangeSet, defer, flush, type Group, mustStand, newGroup, noDraws, type Waiting } from './group.ts';
import { createMemory } from './memory.ts';
import type { Address, Message } from './message.ts';
import { type ActorKind, createTurns, DeferredTurn, type Taken, type Wanted } from './turn.ts';

/** Where the kernel reads and commits. Each read sees the commits that were called before it. */
export type KernelStore<L, C> = {
  /** Answers lookups in their order; `undefined` for what does not exist. Rejects with StoreUnavailable. */
  load(lookups: readonly L[]): Promise<readonly unknown[]>;
  /** Writes all of it or nothing. After a rejection the outcome may be unknown. */
  commit(changes: C): Promise<void>;
};

export type KernelOptions<L, C> = {
  readonly store: KernelStore<L, C>;
  readonly changes: ChangeSet<C>;
  readonly now: () => UnixMs;
  /** The clock that does not jump. */
  readonly steady: () => UnixMs;
  readonly newId: () => string;
  readonly random: () => number;
  /** Calls back soon, after the messages that are ready have been sent. */
  readonly defer: (callback: () => void) => void;
  /**
   * Calls back when what follows from the answers to several callers may have come: the group after theirs waits for that, where a commit
   * costs more than the wait. Absent: it waits for nothing.
   */
  readonly gather?: (callback: () => void) => void;
  readonly kinds: readonly ActorKind<L, C>[];
  /**
   * Turns that follow from the whole group before it is committed: matching waiting claims. Asked again until it has none.
   */
  readonly follow?: () => FollowUp<L> | undefined;
  /** The open group goes to its commit: later turns belong to the next one. */
  readonly sealed?: () => void;
  /** The group that was sealed last is committed, and the next one is not sealed yet. */
  readonly committed?: () => void;
  /** A commit failed and memory was dropped. The host must drop all that it took from the failed group, too. */
  readonly dropped?: () => void;
  /** Runs before the next group after a failure; while it rejects, every message is answered as unavailable. */
  readonly recover?: () => Promise<void>;
  readonly onFault?: (error: unknown, message: Message) => void;
  /** Most messages that one commit takes. */
  readonly groupLimit?: number;
  /** Most keys kept in memory between groups. */
  readonly cacheLimit?: number;
  /** About how many bytes of large values memory keeps between groups. */
  readonly cacheBytes?: number;
};

/** A turn to take before the commit, or what must be read before that can be decided. */
export type FollowUp<L> =
  | { readonly offer: Message }
  | { readonly lookup: L; readonly found: (value: unknown) => void };

/** So many callers are likely to come back at moments that a commit could join. One that does one thing after the other gains nothing by a wait. */
const SEVERAL = 4;

const defaults = { groupLimit: 256, cacheLimit: 20_000, cacheBytes: 256 * 1024 * 1024 } as const;

export type Kernel = {
  /** Hands a message over; answers after the commit of all that it changed. Rejects with StoreUnavailable, or a fault. */
  send(message: Message): Promise<unknown>;
  /** Sends messages that are ready together; they join one group where it has room. */
  handle(messages: readonly Message[]): Promise<readonly PromiseSettledResult<unknown>[]>;
  /** Resolves when every message sent so far was answered. */
  idle(): Promise<void>;
  /** Messages sent to this actor that are not answered yet: they wait for a group, or for its commit. */
  readonly mailbox: (address: Address) => number;
  /** Messages that wait for a group. */
  readonly backlog: () => number;
  /** Whether a message that was sent may still be undecided. */
  readonly isDeciding: () => boolean;
};

/**
 * The one place where actors change: a group of messages is decided against memory, written as one transaction, and then
 * answered. While a group is in commit, one further group is decided on the memory that it leaves; messages join that one
 * until the commit ends. A commit that fails drops both groups, and neither leaves a trace.
 */
export const createKernel = <L, C>(options: KernelOptions<L, C>): Kernel => {
  const { store } = options;
  const groupLimit = options.groupLimit ?? defaults.groupLimit;
  const memory = createMemory({
    keys: options.cacheLimit ?? defaults.cacheLimit,
    bytes: options.cacheBytes ?? defaults.cacheBytes,
  });
  const takeTurn = createTurns({ ...options, memory });
  let queue: Waiting[] = [];
  /** The group that is being decided; messages join it. */
  let open: Group<C> | undefined;
  /** The group that the store has in hand. */
  let committing: Group<C> | undefined;
  let landing: Promise<void> = Promise.resolve();
  let deciding = false;
  let scheduled = false;
  let damaged = false;
  let idlers: (() => void)[] = [];

  const load = async (group: Group<C>, missing: ReadonlyMap<string, Wanted<L>>): Promise<void> => {
    const { loaded } = group.memory;
    const wanted = [...missing];
    // What was just read cannot be missing again. Without this check such a turn would be tried without end.
    const repeated = wanted.find(([key]) => loaded.has(key));
    if (repeated !== undefined) throw new Error(`a turn asks again for ${repeated[0]}, which was read in its group`);
    const found = await store.load(wanted.map(([, { lookup }]) => lookup));
    mustStand(group);
    wanted.forEach(([key, { slot }], index) => loaded.set(key, { slot, value: found[index] }));
  };

  /** @returns what it lacks; nothing when it was decided, deferred or has failed */
  const decideOne = (group: Group<C>, message: Waiting): ReadonlyMap<string, Wanted<L>> | undefined => {
    let taken: Taken<L>;
    try {
      taken = takeTurn(group, message, message.draws);
    } catch (error) {
      if (error instanceof DeferredTurn) defer(group, message, error.first);
      // A fault waits for the commit like an answer: the group in commit, on which it was found, may still fail.
      else
        group.replies.push(() => {
          options.onFault?.(error, message);
          message.reject(error);
        });
      return undefined;
    }
    if ('missing' in taken) return taken.missing;
    const { answer } = taken;
    group.replies.push(() => {
      message.settle(answer);
    });
    return undefined;
  };

  const decide = async (group: Group<C>, messages: readonly Waiting[]): Promise<void> => {
    let untaken = messages;
    while (untaken.length > 0) {
      const missing = new Map<string, Wanted<L>>();
      const again: Waiting[] = [];
      for (const message of untaken) {
        const lacks = decideOne(group, message);
        if (lacks === undefined) continue;
        // Of two lookups with one key the first counts: deferred turns come first, and read more.
        for (const [key, wanted] of lacks) if (!missing.has(key)) missing.set(key, wanted);
        again.push(message);
      }
      if (missing.size > 0) await load(group, missing);
      untaken = again;
    }
  };

  /** Takes a turn that nobody waits for: a fault is reported after the commit of the others. */
  const takeOffer = async (group: Group<C>, message: Message): Promise<void> => {
    const draws = noDraws();
    for (;;) {
      let taken: Taken<L>;
      try {
        taken = takeTurn(group, message, draws);
      } catch (error) {
        group.afters.push(() => {
          options.onFault?.(error, message);
        });
        return;
      }
      if (!('missing' in taken)) return;
      await load(group, taken.missing);
    }
  };

  const followUp = async (group: Group<C>): Promise<void> => {
    for (let next = options.follow?.(); next !== undefined; next = options.follow?.()) {
      if ('lookup' in next) {
        const [value] = await store.load([next.lookup]);
        mustStand(group);
        next.found(value);
        continue;
      }
      await takeOffer(group, next.offer);
    }
  };

  const drop = (): void => {
    damaged = true;
    memory.clear();
    options.dropped?.();
  };

  const refuse = (messages: Iterable<Waiting>, error: unknown): void => {
    for (const message of messages) message.reject(asUnavailable(error));
  };

  /** Gives up a group that was not sealed. Its deferred messages have changed nothing and are taken again. */
  const giveUp = (group: Group<C>, error: unknown): void => {
    open = undefined;
    queue = [...group.deferred, ...queue];
    refuse(group.senders, error);
  };

  const reportFault = (error: unknown): void => {
    options.onFault?.(error, { type: 'group', id: '', body: undefined });
  };

  const failed = (group: Group<C>, error: unknown): void => {
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

  /** What is written is written: an effect that throws is a fault to report, and neither an answer nor a later group waits. */
  const safely = (effect: () => void): void => {
    try {
      effect();
    } catch (error) {
      reportFault(error);
    }
  };

  const landed = (group: Group<C>): void => {
    committing = undefined;
    memory.remember(group.memory);
    for (const effect of group.afters) safely(effect);
    for (const reply of group.replies) safely(reply);
    safely(() => options.committed?.());
    wake(group.senders.size >= SEVERAL ? options.gather : undefined);
  };

  const commit = async (group: Group<C>, changes: C): Promise<void> => {
    try {
      await store.commit(changes);
    } catch (error) {
      failed(group, error);
      return;
    }
    landed(group);
  };

  /** Hands the open group to the store. While another group is in commit, it stays open. */
  const seal = (): void => {
    const group = open;
    if (group === undefined || committing !== undefined) return;
    if (group.failure !== undefined) {
      giveUp(group, group.failure.error);
      return;
    }
    open = undefined;
    committing = group;
    queue = group.deferred.length === 0 ? queue : [...group.deferred, ...queue];
    let changes: C;
    try {
      changes = flush(group);
    } catch (error) {
      failed(group, error);
      return;
    }
    group.memory.base = undefined;
    options.sealed?.();
    if (options.changes.isEmpty(changes)) {
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
      const group = (open ??= newGroup(options.changes.empty(), committing));
      group.at = options.now();
      group.steadyAt = options.steady();
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
        // The host has seen turns that will not be committed. The commit under way is not affected, and ends first.
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

  const wake = (callBack = options.defer): void => {
    if (deciding || scheduled) return;
    scheduled = true;
    callBack(() => {
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
    idle: () =>
      isIdle()
        ? Promise.resolve()
        : new Promise((resolve) => {
            idlers.push(resolve);
          }),
    mailbox: ({ type, id }) => {
      const unanswered = new Set(queue);
      for (const group of [open, committing])
        for (const message of [...(group?.senders ?? []), ...(group?.deferred ?? [])]) unanswered.add(message);
      return [...unanswered].filter((message) => message.type === type && message.id === id).length;
    },
    backlog: () => queue.length,
    isDeciding: () => deciding || queue.length > 0,
  };
};

const asUnavailable = (error: unknown): unknown =>
  error instanceof StoreUnavailable
    ? error
    : new StoreUnavailable('the store failed while a group was decided or committed', { cause: error });
