import type { Clock } from '../actors/kernel/clock.ts';
import type { RunningRuns } from '../actors/start.ts';
import type { UnixMs } from '../model/run.ts';
import type { ShardOwner } from '../store/runs/ownership.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { SharedStore, StartShare } from './shared-store.ts';

/** How long an ownership of runs lasts without a renewal, in milliseconds. After an owner died, its runs stand still for that long. */
export const OWNED_MS = 10_000;
/** An owner that could not renew its ownership for so long stops answering, in milliseconds. */
export const CERTAIN_MS = 8_000;
/** A clock of the previous owner that is further ahead than this was wrong, and this service does not follow it. */
const FOLLOWED_MS = 10_000;

/** A clock that goes on from where that of another owner stood, where it stood a little ahead. */
const clockFrom = (clock: Clock, latestAt: UnixMs): Clock => {
  const ahead = latestAt - clock.wall();
  if (ahead <= 0 || ahead > FOLLOWED_MS) return clock;
  const until = clock.monotonic() + ahead;
  // It stands still for as long as it was ahead: a clock that is set later is followed as ever.
  return { ...clock, wall: () => (clock.monotonic() < until ? Math.max(latestAt, clock.wall()) : clock.wall()) };
};

/** The kernel of a shard, while this service owns it. */
type Owned = { readonly epoch: number; running?: RunningRuns };

/** One shard as a service sees it: the kernel that moves its runs, while this service owns it, and else who does. */
export type OwnedShard = {
  readonly shard: number;
  /** It is this service's, as far as that one knows. */
  readonly isTaken: () => boolean;
  /** The kernel, from its start until the shard is lost. */
  readonly running: () => RunningRuns | undefined;
  /** Whether it is certainly this service's, and its kernel has started. */
  readonly isOwner: () => boolean;
  /** Another service that owns it, and until when by the clock that does not jump. */
  readonly other: () => { readonly address: string; readonly until: number } | undefined;
  /** Takes in who owns it, as it was said at a time of the clock that does not jump. @returns whether this service may try to take it */
  readonly see: (found: ShardOwner | undefined, askedAt: number) => boolean;
  /** Takes it, where nobody else has it, and starts its kernel. */
  readonly take: (address: string, askedAt: number) => Promise<void>;
  readonly renew: () => Promise<void>;
  /** The store did not answer. What waits at the kernel of a shard that another may have by now would never get an answer. */
  readonly unanswered: () => void;
  /** Gives it back after what is under way. @param forGood it is not taken again */
  readonly giveBack: (how: 'close' | 'stop', forGood: boolean) => Promise<void>;
  /** Waits for the start or the end of its kernel. */
  readonly settled: () => Promise<void>;
};

export const createOwnedShard = ({
  shard,
  owner,
  store,
  startShare,
  clock,
  changed,
  announced,
  onFault,
}: {
  readonly shard: number;
  /** Names this service. */
  readonly owner: string;
  readonly store: Pick<SharedStore, 'own' | 'ownership'>;
  readonly startShare: (store: RunStore, how: StartShare) => Promise<RunningRuns>;
  readonly clock: Clock;
  readonly changed: (owns: boolean) => void;
  /** It has another owner: called before anything is passed on to that one. */
  readonly announced: () => void;
  readonly onFault: (error: unknown) => void;
}): OwnedShard => {
  const { ownership } = store;
  let owned: Owned | undefined;
  let certainUntil = Number.NEGATIVE_INFINITY;
  let other: { readonly address: string; readonly until: number } | undefined;
  /** Whose it was when it was last said. An owner that starts again is another, also at the address that it had. */
  let holder: string | undefined;
  /** A takeover of this service failed since its last look. */
  let standsBack = false;
  let isOver = false;
  const moving = new Set<Promise<unknown>>();
  const move = (work: Promise<unknown>): void => {
    const held = work.catch(onFault).finally(() => moving.delete(held));
    moving.add(held);
  };

  const announce = (found: string | undefined): void => {
    if (found === holder) return;
    holder = found;
    announced();
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
  const release = ({ epoch }: Owned): Promise<void> => ownership.release(shard, epoch, wall()).catch(() => {});

  const begin = async (mine: Owned, latestAt: UnixMs): Promise<void> => {
    const kernelStore = store.own({ shard, epoch: mine.epoch }, () => lose(mine));
    const isHeld = (): boolean => !lost.has(mine) && clock.monotonic() < certainUntil;
    const running = await startShare(kernelStore, {
      clock: clockFrom(clock, latestAt),
      ticks: true,
      isHeld,
      shard,
    }).catch(async (error: unknown) => {
      await kernelStore.close();
      if (owned === mine) owned = undefined;
      standsBack = true;
      await release(mine);
      throw error;
    });
    if (owned !== mine || isOver) {
      await running.close();
      return;
    }
    mine.running = running;
    announce(owner);
    changed(true);
  };

  return {
    shard,
    isTaken: () => owned !== undefined,
    running: () => owned?.running,
    isOwner: () => owned?.running !== undefined && clock.monotonic() < certainUntil,
    other: () => other,
    see: (found, askedAt) => {
      const isOthers = found !== undefined && found.owner !== owner;
      other = isOthers ? { address: found.address, until: askedAt + found.leftMs } : undefined;
      announce(found?.owner);
      // Another service, which may be able to, looks before this one tries again.
      const tries = !standsBack;
      standsBack = false;
      return tries && !isOver && !(isOthers && found.leftMs > 0);
    },
    take: async (address, askedAt) => {
      const taken = await ownership.take(shard, owner, address, OWNED_MS);
      if (taken === undefined) return;
      const mine: Owned = { epoch: taken.epoch };
      if (isOver) {
        await release(mine);
        return;
      }
      certainUntil = askedAt + CERTAIN_MS;
      other = undefined;
      owned = mine;
      move(begin(mine, taken.latestAt));
    },
    renew: async () => {
      const mine = owned;
      if (mine === undefined) return;
      const askedAt = clock.monotonic();
      if (await ownership.renew(shard, mine.epoch, wall(), OWNED_MS)) certainUntil = askedAt + CERTAIN_MS;
      else lose(mine);
    },
    unanswered: () => {
      if (owned?.running !== undefined && clock.monotonic() >= certainUntil + OWNED_MS - CERTAIN_MS) lose(owned);
    },
    giveBack: async (how, forGood) => {
      if (forGood) isOver = true;
      await Promise.all(moving);
      const mine = owned;
      owned = undefined;
      try {
        await mine?.running?.[how]();
      } finally {
        if (mine !== undefined) await release(mine);
      }
    },
    settled: async () => {
      await Promise.all(moving);
    },
  };
};

/** The store of a half that moves no run. */
export const readingStore = ({ queries, load, ping }: Pick<SharedStore, 'queries' | 'load' | 'ping'>): RunStore => {
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
