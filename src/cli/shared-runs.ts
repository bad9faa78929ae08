import { randomUUID } from 'node:crypto';
import type { ActorSource } from '../actors/service/actor-directory.ts';
import { type Clock, systemClock } from '../actors/kernel/clock.ts';
import type { RunningRuns } from '../actors/start.ts';
import type { Peers } from '../http/relay.ts';
import type { UnixMs } from '../model/run.ts';
import type { Ownership } from '../store/runs/ownership.ts';
import type { RunQueries } from '../store/runs/run-queries.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';

/** How long an ownership of the runs lasts without a renewal, in milliseconds. After an owner died, the runs stand still for that long. */
export const OWNED_MS = 10_000;
/** An owner that could not renew its ownership for so long stops answering, in milliseconds. */
export const CERTAIN_MS = 8_000;
/** How often an owner renews its ownership, and another service asks for it, in milliseconds. */
export const RENEW_MS = 2_000;
/** The same after an attempt that failed, and while this service waits for the one that it handed the runs over to. */
const RETRY_MS = 500;
/** A clock of the previous owner that is further ahead than this was wrong, and this service does not follow it. */
const FOLLOWED_MS = 10_000;

/** All runs are one shard in this release. */
export const SHARD = 0;

/** The runs of a database, as this half needs them. */
export type SharedStore = {
  readonly queries: RunQueries;
  /** What a kernel asks, as of the last commit. */
  readonly load: RunStore['load'];
  readonly ownership: Ownership;
  readonly own: (owned: { readonly shard: number; readonly epoch: number }, fenced?: () => void) => RunStore;
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export type SharedRuns = {
  /** The runs: those that this service moves while it owns them, and else those that it only reads. */
  readonly runs: RunningRuns;
  readonly peers: Pick<Peers, 'isOwner' | 'ownerAddress' | 'onOwnerChange'>;
  /**
   * Begins to ask for the runs, and returns when it was asked for the first time.
   * @param address where other services reach this one; empty where they do not
   */
  readonly begin: (address: string) => Promise<void>;
  /**
   * Gives the runs back after what is under way, so that another service has them while this one still stops. From now on it takes
   * them no more, and knows who owns them.
   */
  readonly handOver: () => Promise<void>;
};

export type SharedRunsOptions = {
  readonly store: SharedStore;
  /**
   * Starts the durable half on a store. `ticks` is off for one that only reads. `isHeld` says whether the runs are certainly still this
   * service's: what it writes beside their database, which no fence guards, must not come later than what their next owner writes.
   */
  readonly startRuns: (
    store: RunStore,
    how: { readonly clock: Clock; readonly ticks: boolean; readonly isHeld?: () => boolean },
  ) => Promise<RunningRuns>;
  readonly clock?: Clock;
  /** Called when this service got the runs, and when it lost them. */
  readonly changed?: (owns: boolean) => void;
  readonly onFault?: (error: unknown) => void;
};

/** The store of a service that moves no run. */
const readingStore = ({ queries, load, ping }: Pick<SharedStore, 'queries' | 'load' | 'ping'>): RunStore => {
  const refuse = (): Promise<never> => Promise.reject(new StoreUnavailable('another service owns the runs'));
  return {
    kind: 'postgres',
    ...queries,
    ping,
    load,
    commit: refuse,
    resume: () =>
      Promise.resolve({
        liveLeases: [],
        highest: { outboxNo: 0, order: 0, queueOrders: [] },
        openRuns: { scheduled: 0, queued: 0, running: 0, waiting: 0, paused: 0 },
      }),
    dueTimers: () => Promise.resolve([]),
    readOutbox: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
};

/** A clock that goes on from where that of another owner stood, where it stood a little ahead. */
const clockFrom = (clock: Clock, latestAt: UnixMs): Clock => {
  const ahead = latestAt - clock.wall();
  if (ahead <= 0 || ahead > FOLLOWED_MS) return clock;
  const until = clock.monotonic() + ahead;
  // It stands still for as long as it was ahead: a clock that is set later is followed as ever.
  return { ...clock, wall: () => (clock.monotonic() < until ? Math.max(latestAt, clock.wall()) : clock.wall()) };
};

/** Every method leads to the runs of the moment. */
const leadingTo = (current: () => RunningRuns): RunningRuns => {
  const lead = <T extends object>(now: () => T): T =>
    Object.fromEntries(
      Object.entries(now()).map(([name, held]) => [
        name,
        typeof held === 'function'
          ? (...args: readonly unknown[]): unknown =>
              (now() as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>)[name]?.(...args)
          : held,
      ]),
    ) as T;
  return {
    ...lead(current),
    actors: current().actors.map((_, place): ActorSource => lead(() => current().actors[place] as ActorSource)),
  };
};

/** The kernel of the runs, while this service owns them. */
type Owned = { readonly epoch: number; running?: RunningRuns };

/**
 * Runs in a database that several services have open. One of them owns the runs and moves them; another takes them over when that one did
 * not renew in time. Each ownership has a number, by which the database refuses what the owner before still commits.
 */
export const shareRuns = async ({
  store,
  startRuns,
  clock = systemClock,
  changed = () => {},
  onFault = () => {},
}: SharedRunsOptions): Promise<SharedRuns> => {
  const { ownership } = store;
  const owner = randomUUID();
  const reader = await startRuns(readingStore(store), { clock, ticks: false });
  let address = '';
  let owned: Owned | undefined;
  let certainUntil = Number.NEGATIVE_INFINITY;
  let other: { readonly address: string; readonly until: number } | undefined;
  let ownerChanged = (): void => {};
  /** Whose runs these were when it was last said. An owner that starts again is another, also at the address that it had. */
  let announced: string | undefined;
  /** A takeover of this service failed since its last look. */
  let standsBack = false;
  let isStopped = false;
  let handing: Promise<void> | undefined;
  let cancel = (): void => {};
  let looking: Promise<void> = Promise.resolve();
  /** The start or the end of a half that is under way. A stop waits for it. */
  const moving = new Set<Promise<unknown>>();
  const move = (work: Promise<unknown>): void => {
    const held = work.catch(onFault).finally(() => moving.delete(held));
    moving.add(held);
  };

  const announce = (holder: string | undefined): void => {
    if (holder === announced) return;
    announced = holder;
    ownerChanged();
  };

  const lost = new WeakSet<Owned>();
  const lose = (was: Owned): void => {
    lost.add(was);
    if (owned !== was) return;
    owned = undefined;
    if (was.running === undefined) return;
    changed(false);
    move(was.running.close());
  };

  const wall = (): UnixMs => Math.trunc(clock.wall());
  const release = ({ epoch }: Owned): Promise<void> => ownership.release(SHARD, epoch, wall()).catch(() => {});

  const begin = async (mine: Owned, latestAt: UnixMs): Promise<void> => {
    const kernelStore = store.own({ shard: SHARD, epoch: mine.epoch }, () => lose(mine));
    const isHeld = (): boolean => !lost.has(mine) && clock.monotonic() < certainUntil;
    const running = await startRuns(kernelStore, { clock: clockFrom(clock, latestAt), ticks: true, isHeld }).catch(
      async (error: unknown) => {
        await kernelStore.close();
        if (owned === mine) owned = undefined;
        standsBack = true;
        await release(mine);
        throw error;
      },
    );
    if (owned !== mine || handing !== undefined) {
      await running.close();
      return;
    }
    mine.running = running;
    announce(owner);
    changed(true);
  };

  const renew = async (mine: Owned): Promise<void> => {
    const askedAt = clock.monotonic();
    if (await ownership.renew(SHARD, mine.epoch, wall(), OWNED_MS)) certainUntil = askedAt + CERTAIN_MS;
    else lose(mine);
  };

  const askFor = async (): Promise<void> => {
    const askedAt = clock.monotonic();
    const found = (await ownership.owners()).find(({ shard }) => shard === SHARD);
    const isOthers = found !== undefined && found.owner !== owner;
    other = isOthers ? { address: found.address, until: askedAt + found.leftMs } : undefined;
    announce(found?.owner);
    // Another service, which may be able to, looks before this one tries again.
    const tries = !standsBack;
    standsBack = false;
    if (!tries || handing !== undefined || (isOthers && found.leftMs > 0)) return;
    const taken = await ownership.take(SHARD, owner, address, OWNED_MS);
    if (taken === undefined) return;
    const mine: Owned = { epoch: taken.epoch };
    if (handing !== undefined) {
      await release(mine);
      return;
    }
    certainUntil = askedAt + CERTAIN_MS;
    other = undefined;
    owned = mine;
    move(begin(mine, taken.latestAt));
  };

  const look = async (): Promise<void> => {
    let hasFailed = false;
    try {
      await (owned === undefined ? askFor() : renew(owned));
    } catch (error) {
      hasFailed = true;
      // The store is away: readyz says so. What was owned is certain for a moment only.
      if (!(error instanceof StoreUnavailable)) onFault(error);
      // Another service may own the runs by now. Streams and claims that wait here would never get an answer.
      const isOver = clock.monotonic() >= certainUntil + OWNED_MS - CERTAIN_MS;
      if (owned?.running !== undefined && isOver) lose(owned);
    }
    // A service that waits for the runs asks again when their ownership may have lapsed.
    const leftMs = owned === undefined && other !== undefined ? other.until - clock.monotonic() : RENEW_MS;
    const usualMs = leftMs > 0 ? Math.min(leftMs, RENEW_MS) : RENEW_MS;
    const isSoon = hasFailed || (handing !== undefined && other === undefined);
    if (!isStopped)
      cancel = clock.after(isSoon ? Math.min(usualMs, RETRY_MS) : usualMs, () => {
        looking = look();
      });
  };

  const running = (): RunningRuns => owned?.running ?? reader;
  const isOwner = (): boolean => owned?.running !== undefined && clock.monotonic() < certainUntil;
  const runs = leadingTo(running);

  const handOver = (how: 'close' | 'stop'): Promise<void> =>
    (handing ??= (async () => {
      await looking;
      await Promise.all(moving);
      const mine = owned;
      owned = undefined;
      try {
        await mine?.running?.[how]();
      } finally {
        if (mine !== undefined) await release(mine);
      }
    })());

  const end = async (how: 'close' | 'stop'): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    cancel();
    await handOver(how);
    // A request for the ownership may have been under way.
    await looking;
    await reader.close();
    await store.close();
  };

  return {
    runs: {
      ...runs,
      ping: async () => {
        await store.ping();
        if (isOwner()) return;
        if (other === undefined || clock.monotonic() > other.until + RENEW_MS)
          throw new StoreUnavailable('runs store: no service owns the runs at the moment');
        if (other.address === '')
          throw new StoreUnavailable(
            'runs store: the service that owns the runs does not say how it is reached: start it with --peer-url',
          );
      },
      // The service that owns the runs deletes them.
      trimFinishedRuns: async (...slice) => (isOwner() ? runs.trimFinishedRuns(...slice) : 0),
      close: () => end('close'),
      stop: () => end('stop'),
    },
    peers: {
      isOwner,
      onOwnerChange: (listener) => {
        ownerChanged = listener;
      },
      ownerAddress: () => other?.address,
    },
    begin: async (reached) => {
      address = reached;
      looking = look();
      await looking;
      await Promise.all(moving);
    },
    handOver: () => handOver('stop'),
  };
};
