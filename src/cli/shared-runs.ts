import { randomUUID } from 'node:crypto';
import type { ActorSource } from '../actors/service/actor-directory.ts';
import type { ErasedTraces } from '../actors/service/runs-service.ts';
import { shareShards, type ShardedRuns, type WayToServices } from '../actors/service/sharded-runs.ts';
import { type Clock, systemClock } from '../actors/kernel/clock.ts';
import type { RunningRuns } from '../actors/start.ts';
import type { PeerService } from '../http/peer-calls.ts';
import type { Peers } from '../http/relay.ts';
import type { ProjectReach } from '../model/scope.ts';
import type { ShardOwner } from '../store/runs/ownership.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { CERTAIN_MS, createOwnedShard, type OwnedShard, readingStore } from './owned-shard.ts';
import type { SharedStore, StartShare } from './shared-store.ts';

/** How often an owner renews its ownership, and another service asks for it, in milliseconds. */
export const RENEW_MS = 2_000;
/** The same after an attempt that failed, and while this service waits for the one that it handed the runs over to. */
const RETRY_MS = 500;
/** What nobody has taken for so long any service takes, in milliseconds, and keeps for so long at least. */
const OVERDUE_MS = 3_000;
const KEPT_MS = 60_000;
/** How often services tell each other which workers called them, in milliseconds. */
const TELL_MS = 1_000;

export type SharedRuns = {
  /** The runs: those that this service moves while it owns them, and else those that it only reads. */
  readonly runs: RunningRuns;
  readonly peers: Pick<Peers, 'isOwner' | 'ownerAddress' | 'onOwnerChange'> & {
    /** Takes what other services pass on, where the runs are cut into several shards. */
    readonly service?: PeerService;
  };
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
  readonly startRuns: (store: RunStore, how: StartShare) => Promise<RunningRuns>;
  /** The way to other services; needed where the runs are cut into several shards. */
  readonly way?: WayToServices;
  /** Deletes traces where the spans of the runs of this service go. */
  readonly eraseTraces?: (traceIds: readonly string[], reach: ProjectReach) => Promise<ErasedTraces>;
  readonly clock?: Clock;
  /** Called when this service got the runs of a shard, and when it lost them. */
  readonly changed?: (owns: boolean, shard: number) => void;
  /** Another service cut the runs into more shards: this one must be started anew. */
  readonly renumbered?: (shards: number) => void;
  readonly onFault?: (error: unknown) => void;
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

/**
 * Runs in a database that several services have open, in one shard or several. One service owns a shard and moves its runs; another takes
 * it over when that one did not renew in time. Each ownership has a number, by which the database refuses what the owner before still
 * commits. Of several shards each service takes its part: who has more gives one back at each look.
 *
 * Of one shard a service that does not own it passes whole requests on. Of several, each call goes where its shard is.
 */
export const shareRuns = async ({
  store,
  startRuns,
  way,
  eraseTraces = async () => ({ deleted: 0, pending: false }),
  clock = systemClock,
  changed = () => {},
  renumbered = () => {},
  onFault = () => {},
}: SharedRunsOptions): Promise<SharedRuns> => {
  const { ownership, shards: number } = store;
  const owner = randomUUID();
  const reader = await startRuns(readingStore(store), { clock, ticks: false });
  let address = '';
  /** Where the other services are reached that were seen at the last look. */
  let others: readonly string[] = [];
  let isStopped = false;
  let handing: Promise<void> | undefined;
  /** The end of a kernel whose shard another service is to have. */
  let giving: Promise<void> | undefined;
  let cancel = (): void => {};
  let cancelTelling = (): void => {};
  let looking: Promise<void> = Promise.resolve();
  const listeners = new Set<() => void>();
  let sharded: ShardedRuns | undefined;

  const shards = Array.from(
    { length: number },
    (_, shard): OwnedShard =>
      createOwnedShard({
        shard,
        owner,
        store,
        startShare: startRuns,
        clock,
        changed: (owns) => changed(owns, shard),
        announced: () => {
          way?.endWhere((to, of) =>
            of === undefined ? shards.every((one) => one.other()?.address !== to) : shards[of]?.other()?.address !== to,
          );
          for (const listener of listeners) listener();
        },
        onFault,
      }),
  );
  const [first] = shards as [OwnedShard];
  const takenCount = (): number => shards.filter((shard) => shard.isTaken()).length;
  const isSole = number === 1;
  /** It has less than its part, and looks often for what another gives back. */
  let isPoor = false;

  if (!isSole) {
    if (way === undefined) throw new Error('runs in several shards need a way to the other services');
    sharded = shareShards({
      map: {
        shards: number,
        shardOfProject: store.shardOfProject,
        findShard: store.findShard,
        own: (shard) => (shards[shard]?.isOwner() === true ? shards[shard].running() : undefined),
        addressOf: (shard) => (shards[shard]?.isTaken() === true ? undefined : shards[shard]?.other()?.address),
        others: () => others,
        onChange: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      reader,
      way,
      clock,
      eraseTraces,
    });
  }

  /** Since when each shard is without an owner, by the clock that does not jump. */
  const freeSince = new Map<number, number>();
  let givesFrom = Number.NEGATIVE_INFINITY;
  /**
   * Takes what nobody owns, and gives back one shard where others have less than their part. The service with the least takes first; what nobody took
   * for a while anybody takes, and keeps it: a service that is seen may not be able to.
   * @returns whether this service has less than its part
   */
  const balance = async (
    owners: readonly ShardOwner[],
    services: readonly string[],
    askedAt: number,
  ): Promise<boolean> => {
    const least = Math.floor(number / services.length);
    const most = Math.ceil(number / services.length);
    const countOf = (name: string): number => owners.filter((one) => one.owner === name && one.leftMs > 0).length;
    const poorest = Math.min(...services.flatMap((name) => (name === owner ? [] : [countOf(name)])));
    for (const shard of shards) {
      if (shard.isTaken()) {
        freeSince.delete(shard.shard);
        continue;
      }
      const found = owners.find((one) => one.shard === shard.shard);
      const mayTake = shard.see(found, askedAt);
      if (found !== undefined && found.owner !== owner && found.leftMs > 0) {
        freeSince.delete(shard.shard);
        continue;
      }
      const since = freeSince.get(shard.shard) ?? askedAt;
      freeSince.set(shard.shard, since);
      const mine = takenCount();
      const isOverdue = askedAt - since >= OVERDUE_MS;
      const isPart = mine < least || (mine < most && poorest >= least);
      if (handing !== undefined || !mayTake || !(isPart || isOverdue)) continue;
      if (!isPart) givesFrom = askedAt + KEPT_MS;
      await shard.take(address, clock.monotonic());
    }
    const mine = takenCount();
    const gives = mine > most || (mine > least && poorest < least);
    const last = shards.findLast((shard) => shard.running() !== undefined);
    if (handing === undefined && giving === undefined && last !== undefined && gives && askedAt >= givesFrom)
      giving = last
        .giveBack('stop', false)
        .catch(onFault)
        .finally(() => {
          giving = undefined;
        });
    return mine < least;
  };

  const askFor = async (): Promise<void> => {
    const askedAt = clock.monotonic();
    if (handing !== undefined) {
      await balance(await ownership.owners(), [owner], askedAt);
      return;
    }
    const met = await ownership.meet(owner, address, CERTAIN_MS);
    if (met.shards !== number) {
      renumbered(met.shards);
      return;
    }
    others = [...new Set(met.services.map((one) => one.address))].filter((at) => at !== '' && at !== address);
    isPoor = await balance(
      met.owners,
      met.services.map((one) => one.owner),
      askedAt,
    );
    void sharded?.reloadPauses().catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) onFault(error);
    });
  };

  /** @returns whether the store answered */
  const answered = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      // The store is away: readyz says so. What was owned is certain for a moment only.
      if (!(error instanceof StoreUnavailable)) onFault(error);
      return false;
    }
  };

  const look = async (): Promise<void> => {
    const renewed = await Promise.all(shards.filter((shard) => shard.isTaken()).map((shard) => answered(shard.renew)));
    const mayAsk = !isSole || renewed.length === 0;
    const hasFailed = [...renewed, ...(mayAsk ? [await answered(askFor)] : [])].includes(false);
    if (hasFailed) for (const shard of shards) shard.unanswered();
    // A service that waits for runs asks again when their ownership may have lapsed.
    const lapses = shards.flatMap((shard) => {
      const other = shard.isTaken() ? undefined : shard.other();
      return other === undefined ? [] : [other.until - clock.monotonic()];
    });
    const usualMs = Math.min(RENEW_MS, ...lapses.filter((leftMs) => leftMs > 0));
    const hasUnowned = shards.some((shard) => !shard.isTaken() && shard.other() === undefined);
    const isSoon = hasFailed || (isPoor && !isSole) || (hasUnowned && (handing !== undefined || !isSole));
    if (!isStopped)
      cancel = clock.after(isSoon ? Math.min(usualMs, RETRY_MS) : usualMs, () => {
        looking = look();
      });
  };

  const tell = (): void => {
    if (isStopped) return;
    void sharded?.tellSeen();
    cancelTelling = clock.after(TELL_MS, tell);
  };

  const handOver = (how: 'close' | 'stop'): Promise<void> =>
    (handing ??= (async () => {
      await looking;
      await giving;
      // The others take its part at once.
      await ownership.leave(owner).catch(() => {});
      const ends = await Promise.allSettled(shards.map((shard) => shard.giveBack(how, true)));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    })());

  const end = async (how: 'close' | 'stop'): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    cancel();
    cancelTelling();
    await handOver(how);
    // A request for the ownership may have been under way.
    await looking;
    await reader.close();
    await store.close();
  };

  const what = isSole ? 'the runs' : 'any shard of the runs';
  /** Why nobody answers for a shard; nothing where somebody does. */
  const absenceOf = (shard: OwnedShard): string | undefined => {
    if (shard.isOwner()) return undefined;
    const other = shard.other();
    if (other === undefined || clock.monotonic() > other.until + RENEW_MS)
      return `runs store: no service owns ${what} at the moment`;
    return other.address === ''
      ? `runs store: the service that owns ${what} does not say how it is reached: start it with --peer-url`
      : undefined;
  };
  /** Of several shards, one without an owner keeps no service from answering for the others. */
  const ping = async (): Promise<void> => {
    await store.ping();
    const absences = shards.map(absenceOf);
    const [absence] = absences;
    if (absence !== undefined && !absences.includes(undefined)) throw new StoreUnavailable(absence);
  };

  const ended = { ping, close: () => end('close'), stop: () => end('stop') };
  const begin: SharedRuns['begin'] = async (reached) => {
    address = reached;
    looking = look();
    await looking;
    await Promise.all(shards.map((shard) => shard.settled()));
    if (sharded !== undefined) tell();
  };
  if (sharded !== undefined) {
    const { runs, answer, follow } = sharded;
    return {
      runs: { ...runs, ...ended },
      peers: {
        // Nothing is passed on as a whole: each call goes where its shard is.
        isOwner: () => true,
        onOwnerChange: () => {},
        ownerAddress: () => undefined,
        service: { answer, follow, giveBack: runs.giveBack },
      },
      begin,
      handOver: () => handOver('stop'),
    };
  }
  const runs = leadingTo(() => first.running() ?? reader);
  return {
    runs: {
      ...runs,
      // The service that owns the runs deletes them.
      trimFinishedRuns: async (...slice) => (first.isOwner() ? runs.trimFinishedRuns(...slice) : 0),
      ...ended,
    },
    peers: {
      isOwner: first.isOwner,
      onOwnerChange: (listener) => void listeners.add(listener),
      ownerAddress: () => first.other()?.address,
    },
    begin,
    handOver: () => handOver('stop'),
  };
};
