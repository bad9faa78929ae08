import { DISPATCHER_MACHINE_VERSION, dispatcherMachine } from '../../machines/dispatcher.ts';
import { createResident, type ResidentActor } from '../../machines/resident.ts';
import { type DefinitionOwner, ownedId, ownerAndId, projectOfOwner } from '../../model/definition/owner.ts';
import type { Json } from '../../model/json.ts';
import { createRate } from '../../model/rate.ts';
import type { Lease, UnixMs } from '../../model/run.ts';
import { type ProjectReach, reaches } from '../../model/scope.ts';
import type { QueuedRuns } from '../../store/runs/run-queries.ts';
import type { Lookup, QueuePlace, Runnable, StoredRun, WorkerRecord } from '../../store/runs/run-store.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Message } from '../kernel/message.ts';
import type { FollowUp } from '../runs-kernel.ts';
import type { RunMessage } from '../run/messages.ts';
import type { PinnedDefinition } from '../run/program.ts';
import { createWaitingClaims, type Indexed } from './waiting-claims.ts';

/** Runs of one owner's definition that can be offered, in order. Memory holds the head; the tail waits in the store. */
type Queue = {
  /** By `ownedId`. */
  readonly definition: string;
  /** Ascending by order. */
  entries: Runnable[];
  /** The store may hold runs beyond `watermark` that memory does not. */
  more: boolean;
  watermark: QueuePlace;
  /** Runs beyond the watermark that became runnable in the group that is being decided: not yet in the store. */
  uncommitted: Runnable[];
};

type Claim = Indexed & {
  readonly worker: WorkerRecord;
  readonly max: number;
  readonly reach: ProjectReach;
  /** Later claims have a larger one. */
  readonly no: number;
  /** On the clock that does not jump. */
  readonly arrivedAt: number;
  /** A claim on one run reads that run once, in case memory does not know it. */
  asked: boolean;
  granted: number;
  readonly leases: Lease[];
  readonly settle: (leases: readonly Lease[]) => void;
  readonly reject: (error: unknown) => void;
  readonly stopWaiting: () => void;
};

export type DispatcherOptions = {
  readonly clock: Clock;
  readonly now: () => UnixMs;
  /** Runs that wait for a worker; `undefined` while the store cannot be asked. */
  readonly queuedRuns: (reach: ProjectReach, limit: number) => Promise<readonly QueuedRuns[] | undefined>;
  /** Whether a definition is paused, by `ownedId`: nobody gets a step of it. */
  readonly isPaused?: (definition: string) => boolean;
  readonly offerTtlMs: number;
  /** How long a version is not offered again to a worker that could not serve it. */
  readonly unservableMs?: number;
  /** Most runs of one definition that memory holds. */
  readonly queueLimit?: number;
};
/** Definitions for which a snapshot counts claims and runs. */
const DEFINITIONS_SHOWN = 1000;
/** Before every place of a queue. */
const BEFORE_ALL: QueuePlace = { order: Number.MIN_SAFE_INTEGER, runId: '' };
/** Many runs have the same order: those that one commit makes runnable. Among them the id decides, here as in the store. */
const isBefore = (one: QueuePlace, other: QueuePlace): boolean =>
  one.order < other.order || (one.order === other.order && one.runId < other.runId);
const factOf = { idle: 'claims.none', waiting: 'claims.waiting', matching: 'offers.made' } as const;

const queueKeyOf = ({ definitionOwner, definitionId }: Pick<Runnable, 'definitionOwner' | 'definitionId'>): string =>
  ownedId(definitionOwner, definitionId);

/** Whether a worker registered this very definition, in whatever version. */
const holds = ({ owner, definitions }: WorkerRecord, { definitionOwner, definitionId }: Runnable): boolean =>
  owner === definitionOwner && definitions.some(({ id }) => id === definitionId);

/** Whether a key of this reach may see for which definitions a claim waits: it must share a project with it. */
const isSeenBy = (reach: ProjectReach, { worker, reach: own }: Pick<Claim, 'worker' | 'reach'>): boolean =>
  (worker.project === undefined || reaches(reach, worker.project)) &&
  (reach === 'all' || own === 'all' || own.some((project) => reaches(reach, project)));

const defaults = { unservableMs: 5 * 60 * 1000, queueLimit: 2000 } as const;

/** What the dispatcher wants to know before it can match: the next slice of a queue. */
type SliceWanted = Extract<Lookup, { kind: 'runnable' }>;

/**
 * Matches waiting claims with runnable steps inside the commit that makes a step runnable. Nothing here is the truth: the
 * queues repeat what the store orders, and a claim is only as durable as the connection that waits on it.
 * @see Interface decisions, "Worker protocol"
 */
export const createDispatcher = (options: DispatcherOptions) => {
  const { clock } = options;
  const unservableMs = options.unservableMs ?? defaults.unservableMs;
  const isPaused = options.isPaused ?? (() => false);
  const queueLimit = options.queueLimit ?? defaults.queueLimit;
  const queues = new Map<string, Queue>();
  const known = new Map<string, Runnable>();
  /** Those of which a claim might have something: in memory, or still to be read. */
  const open = new Set<Queue>();
  const waiting = createWaitingClaims<Claim>();
  const claims = waiting.all;
  let lastNo = 0;
  /** Claims that get an offer in the open group, and those that get one in the group in commit. */
  const fulfilled = new Set<Claim>();
  const sealed = new Set<Claim>();
  const unservable = new Map<string, number>();

  const actor = createResident(dispatcherMachine, options.now);
  const born = clock.monotonic();
  const rates = { claims: createRate(born), offers: createRate(born) };
  let lastMatch: { readonly at: UnixMs; readonly claims: number; readonly offers: number } | undefined;
  /** Steps the statechart when the state of the claims has changed. */
  const review = (): void => {
    const value = fulfilled.size + sealed.size > 0 ? 'matching' : claims.size > 0 ? 'waiting' : 'idle';
    if (value !== actor.value()) actor.send({ type: factOf[value] });
  };

  /** The queue of a definition, by `ownedId`; of every one that somebody waits for there is one. */
  const queueOf = (definition: string): Queue => {
    let queue = queues.get(definition);
    if (queue === undefined) {
      queue = { definition, entries: [], more: true, watermark: BEFORE_ALL, uncommitted: [] };
      queues.set(definition, queue);
      noteOpen(queue);
    }
    return queue;
  };

  const noteOpen = (queue: Queue): void => {
    if ((queue.more || queue.entries.length > 0) && !isPaused(queue.definition)) open.add(queue);
    else open.delete(queue);
  };

  const insert = (queue: Queue, entry: Runnable): void => {
    const before = known.get(entry.runId);
    if (before !== undefined) {
      if (before.order === entry.order) return;
      remove(before);
    }
    const { entries } = queue;
    let at = entries.length;
    while (at > 0 && isBefore(entry, entries[at - 1] as Runnable)) at -= 1;
    entries.splice(at, 0, entry);
    known.set(entry.runId, entry);
    // While a claim on this definition waits, entries that it may not have must not push out entries that it may have.
    const mustKeep = waiting.byDefinition.has(queue.definition) && !isPaused(queue.definition);
    if (entries.length > queueLimit && !mustKeep) {
      const kept = entries.slice(0, queueLimit / 2);
      const cut = entries.slice(kept.length);
      for (const { runId } of cut) known.delete(runId);
      queue.entries = kept;
      queue.more = true;
      queue.watermark = kept.at(-1) ?? BEFORE_ALL;
      // Some may have become runnable in the open group, and are not in the store before its commit.
      queue.uncommitted.push(...cut);
    }
    noteOpen(queue);
  };

  const remove = (entry: Runnable): void => {
    known.delete(entry.runId);
    const queue = queues.get(queueKeyOf(entry));
    if (queue === undefined) return;
    const at = queue.entries.indexOf(entry);
    if (at >= 0) queue.entries.splice(at, 1);
    noteOpen(queue);
  };

  const versionKey = (workerId: string, pinned: PinnedDefinition): string =>
    JSON.stringify([workerId, pinned.definitionOwner, pinned.definitionId, pinned.definitionVersion]);

  const refuses = (workerId: string, pinned: PinnedDefinition): boolean => {
    if (unservable.size === 0) return false;
    const until = unservable.get(versionKey(workerId, pinned));
    return until !== undefined && until > clock.monotonic();
  };

  const mayServe = (claim: Pick<Claim, 'worker' | 'reach'>, entry: Runnable): boolean => {
    const { worker } = claim;
    if (worker.project !== undefined && worker.project !== entry.project) return false;
    if (!reaches(claim.reach, entry.project)) return false;
    return !refuses(worker.workerId, entry);
  };

  /** The oldest entry that this claim may have, or the slice that is to be read first. */
  const bestFor = (claim: Claim): Runnable | SliceWanted | undefined => {
    let best: Runnable | undefined;
    for (const definition of claim.definitions) {
      const queue = queueOf(definition);
      if (!open.has(queue)) continue;
      const found = queue.entries.find((entry) => mayServe(claim, entry));
      if (found === undefined && queue.more)
        return { kind: 'runnable', ...ownerAndId(definition), after: queue.watermark, limit: queueLimit / 2 };
      if (found !== undefined && (best === undefined || isBefore(found, best))) best = found;
    }
    return best;
  };

  /** The claim that came first of those that may have something of this queue, if it came before `no`. */
  const firstFor = (queue: Queue, no: number): Claim | undefined => {
    for (const claim of waiting.byDefinition.get(queue.definition) ?? []) {
      if (claim.no >= no) return undefined;
      if (claim.granted >= claim.max || claim.runId !== undefined) continue;
      if (queue.more || queue.entries.some((entry) => mayServe(claim, entry))) return claim;
    }
    return undefined;
  };

  /** The claim that came first of those that may have something; of those on one run, where the run is in memory. */
  const firstClaim = (): Claim | undefined => {
    let first: Claim | undefined;
    const before = (): number => first?.no ?? Number.POSITIVE_INFINITY;
    // Whichever are fewer: definitions that have steps, or those that somebody waits for.
    if (open.size <= waiting.byDefinition.size) for (const queue of open) first = firstFor(queue, before()) ?? first;
    else
      for (const definition of waiting.byDefinition.keys()) {
        const queue = queueOf(definition);
        if (open.has(queue)) first = firstFor(queue, before()) ?? first;
      }
    for (const [runId, onRun] of waiting.byRun) {
      const entry = known.get(runId);
      if (entry === undefined || isPaused(queueKeyOf(entry))) continue;
      for (const claim of onRun)
        if (claim.no < before() && claim.granted < claim.max && serves(claim, entry)) first = claim;
    }
    return first;
  };

  const offer = (claim: Claim, runId: string, stale: () => void): Message => {
    const body: RunMessage = {
      kind: 'offer',
      workerId: claim.worker.workerId,
      offerTtlMs: options.offerTtlMs,
      granted: (lease) => {
        claim.leases.push(lease);
        claim.granted += 1;
        fulfilled.add(claim);
      },
      stale,
    };
    return { type: 'run', id: runId, body };
  };

  const serves = (claim: Claim, entry: Runnable): boolean => holds(claim.worker, entry) && mayServe(claim, entry);

  /** For each definition the claims that wait for it and the runs that wait for a worker, as far as a key may see them. */
  const overview = (reach: ProjectReach, queued: readonly QueuedRuns[]): Json[] => {
    const countOf = (owner: DefinitionOwner, definitionId: string, queuedRuns: number) => ({
      definitionId,
      ...projectOfOwner(owner),
      queuedRuns,
      waitingClaims: 0,
    });
    const counts = new Map(
      queued.map(({ definitionOwner: owner, definitionId: id, runs }) => [
        ownedId(owner, id),
        countOf(owner, id, runs),
      ]),
    );
    for (const claim of claims)
      if (isSeenBy(reach, claim))
        for (const key of claim.definitions) {
          const { definitionOwner, definitionId } = ownerAndId(key);
          const count = counts.get(key) ?? countOf(definitionOwner, definitionId, 0);
          count.waitingClaims += 1;
          counts.set(key, count);
        }
    return [...counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, DEFINITIONS_SHOWN)
      .map(([, count]) => count);
  };

  const end = (claim: Claim): void => {
    waiting.delete(claim);
    claim.stopWaiting();
  };

  /** The slice that `next` asked for. */
  const fill = (wanted: SliceWanted, found: readonly Runnable[]): void => {
    const queue = queueOf(queueKeyOf(wanted));
    queue.more = found.length >= wanted.limit;
    queue.watermark = found.at(-1) ?? queue.watermark;
    for (const entry of found) insert(queue, entry);
    const { uncommitted } = queue;
    queue.uncommitted = [];
    for (const entry of uncommitted)
      if (queue.more && isBefore(queue.watermark, entry)) queue.uncommitted.push(entry);
      else insert(queue, entry);
    noteOpen(queue);
  };

  /**
   * The next offer to make for the claims that wait, oldest claim first, or the slice to read first. Taken entries leave the
   * queue at once; a group that fails drops all queues.
   */
  const next = (): { readonly offer: Message } | { readonly wanted: SliceWanted } | undefined => {
    const claim = firstClaim();
    if (claim === undefined) return undefined;
    const best = claim.runId === undefined ? bestFor(claim) : known.get(claim.runId);
    if (best === undefined) return undefined;
    if ('kind' in best) return { wanted: best };
    remove(best);
    return { offer: offer(claim, best.runId, () => {}) };
  };

  /** A run that a claim names and that memory may not know. */
  const unasked = (): string | undefined => {
    for (const [runId, onRun] of waiting.byRun)
      for (const claim of onRun)
        if (!claim.asked) {
          claim.asked = true;
          if (!known.has(runId)) return runId;
        }
    return undefined;
  };

  return {
    /** A run became runnable in the group in hand. */
    ready: (entry: Runnable): void => {
      const queue = queueOf(queueKeyOf(entry));
      if (queue.more && isBefore(queue.watermark, entry) && !waiting.byRun.has(entry.runId))
        queue.uncommitted.push(entry);
      else insert(queue, entry);
    },

    /** What follows from the open group: the next offer, or what must be read first. */
    follow: (): FollowUp | undefined => {
      const runId = unasked();
      if (runId !== undefined)
        return {
          lookup: { kind: 'run', runId },
          found: (value) => {
            const stored = value as StoredRun | undefined;
            if (stored?.record.queueOrder === undefined) return;
            const { project, definitionOwner, definitionId, definitionVersion, queueOrder } = stored.record;
            insert(queueOf(ownedId(definitionOwner, definitionId)), {
              runId,
              project,
              definitionOwner,
              definitionId,
              definitionVersion,
              order: queueOrder,
            });
          },
        };
      const wanted = next();
      if (wanted === undefined || 'offer' in wanted) return wanted;
      return {
        lookup: wanted.wanted,
        found: (value) => {
          fill(wanted.wanted, value as readonly Runnable[]);
        },
      };
    },
    /** A definition was paused or resumed, by `ownedId`. */
    pauseChanged: (definition: string): void => {
      const queue = queues.get(definition);
      if (queue !== undefined) noteOpen(queue);
    },
    /** Asks again, now and then: a safety net under the claims on one run. */
    askAgain: (): void => {
      for (const claim of claims) claim.asked = false;
    },

    /** Whether there may be something to offer to a worker now. */
    mayOffer: (worker: WorkerRecord, reach: ProjectReach): boolean =>
      worker.definitions.some(({ id }) => {
        const queue = queueOf(ownedId(worker.owner, id));
        return open.has(queue) && (queue.more || queue.entries.some((entry) => mayServe({ worker, reach }, entry)));
      }),

    /**
     * Holds a claim until it gets a lease, its time is over, its caller goes away or the service stops.
     * @returns the leases, and what to call once the claim has been matched with what can run already: its time counts from
     * then, so that a claim that does not want to wait gets what there is
     */
    claim: (
      request: {
        readonly worker: WorkerRecord;
        readonly max: number;
        readonly waitMs: number;
        readonly reach: ProjectReach;
        readonly runId?: string;
      },
      signal: AbortSignal | undefined,
    ): { readonly leases: Promise<readonly Lease[]>; readonly matched: () => void } => {
      let matched = (): void => {};
      const leases = new Promise<readonly Lease[]>((settle, reject) => {
        let claim: Claim | undefined;
        let cancelTimer = (): void => {};
        const giveUp = (): void => {
          // Offers that are in the commit in hand reach the claim when it is done.
          if (claim === undefined || claim.granted > 0 || !claims.has(claim)) return;
          end(claim);
          review();
          settle([]);
        };
        matched = () => {
          if (claim !== undefined && claims.has(claim)) cancelTimer = clock.after(request.waitMs, giveUp);
        };
        signal?.addEventListener('abort', giveUp, { once: true });
        const { owner, definitions } = request.worker;
        claim = {
          no: (lastNo += 1),
          worker: request.worker,
          definitions: [...new Set(definitions.map(({ id }) => ownedId(owner, id)))],
          max: request.max,
          reach: request.reach,
          arrivedAt: clock.monotonic(),
          runId: request.runId,
          asked: false,
          granted: 0,
          leases: [],
          settle,
          reject,
          stopWaiting: () => {
            cancelTimer();
            signal?.removeEventListener('abort', giveUp);
          },
        };
        waiting.add(claim);
        for (const definition of claim.definitions) queueOf(definition);
        rates.claims.add(claim.arrivedAt);
        review();
        if (signal?.aborted === true) giveUp();
      });
      return { leases, matched };
    },

    /**
     * The group goes to its commit. A claim that got an offer waits for that commit; the next group makes it no other offer.
     */
    sealed: (): void => {
      // From now on the store answers as of this commit.
      for (const queue of queues.values()) if (queue.uncommitted.length > 0) queue.uncommitted = [];
      for (const claim of fulfilled) {
        end(claim);
        sealed.add(claim);
      }
      fulfilled.clear();
      review();
    },
    /** The sealed group was committed: claims that got an offer are answered. */
    committed: (): void => {
      if (sealed.size === 0) return;
      let offers = 0;
      for (const claim of sealed) {
        claim.settle(claim.leases);
        offers += claim.granted;
      }
      lastMatch = { at: options.now(), claims: sealed.size, offers };
      rates.offers.add(clock.monotonic(), offers);
      sealed.clear();
      review();
    },

    /** The group failed: memory may be ahead of the store, so all of it is dropped. Claims that got an offer fail. */
    dropped: (error: unknown): void => {
      queues.clear();
      open.clear();
      for (const definition of waiting.byDefinition.keys()) queueOf(definition);
      known.clear();
      for (const claim of [...sealed, ...fulfilled]) {
        end(claim);
        claim.reject(error);
      }
      sealed.clear();
      fulfilled.clear();
      for (const claim of claims) claim.asked = false;
      review();
    },

    unservable: (workerId: string, pinned: PinnedDefinition): void => {
      const now = clock.monotonic();
      for (const [key, until] of unservable) if (until <= now) unservable.delete(key);
      unservable.set(versionKey(workerId, pinned), now + unservableMs);
    },
    /** Whether a worker said, not long ago, that it could not serve this version. */
    refuses,
    /** A worker that registers again may have learnt the version. */
    forgive: (workerId: string): void => {
      for (const key of unservable.keys()) if ((JSON.parse(key) as string[])[0] === workerId) unservable.delete(key);
    },

    /** Answers every claim that waits. */
    close: (): void => {
      for (const claim of claims)
        if (claim.granted === 0) {
          end(claim);
          claim.settle([]);
        }
      review();
    },
    waiting: (): number => claims.size,
    /** Workers whose claims wait. */
    claimers: (): ReadonlySet<string> => new Set([...claims].map(({ worker }) => worker.workerId)),

    /** Itself, as an actor that can be looked at. */
    actor: {
      machine: dispatcherMachine,
      version: DISPATCHER_MACHINE_VERSION,
      state: actor.state,
      read: async (reach) => {
        const queued = await options.queuedRuns(reach, DEFINITIONS_SHOWN);
        const now = clock.monotonic();
        const [oldest] = claims;
        return {
          ...actor.state(),
          mailbox: claims.size,
          context: {
            waitingClaims: claims.size,
            ...(oldest === undefined ? {} : { oldestClaimMs: Math.round(now - oldest.arrivedAt) }),
            claimsInCommit: fulfilled.size + sealed.size,
            runnableInMemory: known.size,
            ...(queued === undefined ? {} : { definitions: overview(reach, queued) }),
            refusedVersions: [...unservable.values()].filter((until) => until > now).length,
            ...(lastMatch === undefined ? {} : { lastTurn: lastMatch }),
            perSecond: { claims: rates.claims.perSecond(now), offers: rates.offers.perSecond(now) },
          },
        };
      },
    } satisfies ResidentActor,
  };
};
export type Dispatcher = ReturnType<typeof createDispatcher>;
