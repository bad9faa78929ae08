import type { UnixMs } from '../../model/run.ts';
import type { RunStore, WorkerRecord } from '../../store/runs/run-store.ts';
import type { ServiceClock } from '../kernel/clock.ts';
import type { UpkeepMessage } from '../upkeep-actor.ts';

/** A worker that was not seen for so long is no longer registered. It may register again at any time. */
export const WORKER_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
/** How often the time at which a worker was last seen is stored; in between, memory holds it. */
export const WORKER_SEEN_MS = 60 * 60 * 1000;
/** Workers that one sweep writes down, and that it lets go of, at most. */
const WORKERS_SLICE = 500;
/** Workers that memory knows; the store knows them all. */
const WORKERS_KEPT = 10_000;

/** Keeps what was read of a worker, and drops the workers read longest ago. */
const remember = <V>(known: Map<string, V>, workerId: string, value: V): void => {
  known.delete(workerId);
  known.set(workerId, value);
  for (const oldest of known.keys()) {
    if (known.size <= WORKERS_KEPT) break;
    known.delete(oldest);
  }
};

/** Workers, and when each was last seen. The store holds the registrations; memory holds those in use, and newer times. */
export const createWorkerRegistry = (host: {
  readonly store: Pick<RunStore, 'load' | 'silentWorkers'>;
  readonly clock: Pick<ServiceClock, 'now' | 'steady'>;
  readonly upkeep: (body: UpkeepMessage) => Promise<unknown>;
  /** How many live leases each worker holds; those that hold none are left out. */
  readonly held: () => ReadonlyMap<string, number>;
  /** Off: workers register elsewhere, and are read anew each time. */
  readonly keeps: boolean;
}) => {
  const { store, clock, upkeep } = host;
  const bornAt = clock.steady();
  const workers = new Map<string, WorkerRecord>();
  /** By the wall clock, to be shown and stored; and by the steady one, to say how long ago that is. */
  const seenAt = new Map<string, { readonly wall: UnixMs; readonly steady: UnixMs }>();

  const find = async (workerId: string): Promise<WorkerRecord | undefined> => {
    const known = workers.get(workerId);
    if (known !== undefined) return known;
    const [found] = await store.load([{ kind: 'worker', workerId }]);
    if (found !== undefined && host.keeps) remember(workers, workerId, found as WorkerRecord);
    return found as WorkerRecord | undefined;
  };

  /** Those of these workers that are registered: what memory does not hold is asked for at once. */
  const findAll = async (workerIds: readonly string[]): Promise<readonly WorkerRecord[]> => {
    const missing = workerIds.filter((workerId) => !workers.has(workerId));
    const known = workerIds.flatMap((workerId) => workers.get(workerId) ?? []);
    if (missing.length === 0) return known;
    const found = await store.load(missing.map((workerId) => ({ kind: 'worker', workerId })));
    const read = found.flatMap((worker) => (worker as WorkerRecord | undefined) ?? []);
    if (host.keeps) for (const worker of read) remember(workers, worker.workerId, worker);
    return [...known, ...read];
  };

  return {
    find,
    findAll,
    registered: (worker: WorkerRecord): void => {
      remember(workers, worker.workerId, worker);
      remember(seenAt, worker.workerId, { wall: worker.lastSeenAt, steady: clock.steady() });
    },
    /** The worker has called just now. */
    seen: (workerId: string): void => {
      remember(seenAt, workerId, { wall: clock.now(), steady: clock.steady() });
    },
    /** When it was last seen; `undefined` when its row knows best. */
    lastSeenAt: (workerId: string): UnixMs | undefined => seenAt.get(workerId)?.wall,

    /** Workers that called at this time of the steady clock or later, as far as memory knows. */
    seenSince: (since: UnixMs): readonly string[] =>
      [...seenAt].flatMap(([workerId, { steady }]) => (steady >= since ? workerId : [])),

    /** Writes down when workers were last seen, where their rows are behind. */
    noteSeen: async (): Promise<void> => {
      const seen: { workerId: string; at: UnixMs }[] = [];
      let asked = 0;
      // A copy: those that are seen meanwhile are put to its end.
      for (const [workerId, { wall: at }] of [...seenAt]) {
        if (seen.length >= WORKERS_SLICE || asked >= WORKERS_SLICE) break;
        if (!workers.has(workerId)) asked += 1;
        const worker = workers.get(workerId) ?? (await find(workerId));
        if (worker === undefined) seenAt.delete(workerId);
        // A row that says a later time was written while the clock stood wrong.
        else if (Math.abs(at - worker.lastSeenAt) >= WORKER_SEEN_MS) seen.push({ workerId, at });
      }
      if (seen.length === 0) return;
      await upkeep({ kind: 'workers_seen', seen });
      for (const { workerId, at } of seen) {
        const worker = workers.get(workerId);
        if (worker !== undefined) workers.set(workerId, { ...worker, lastSeenAt: at });
      }
    },

    /** Lets go of workers that were silent for long and hold no lease. */
    forgetSilent: async (): Promise<void> => {
      // What the rows say cannot be trusted at once where the wall clock was set while the service was down: a live worker calls first.
      if (clock.steady() - bornAt < WORKER_SEEN_MS) return;
      const before = clock.now() - WORKER_RETENTION_MS;
      const steadyBefore = clock.steady() - WORKER_RETENTION_MS;
      const workerIds = await store.silentWorkers(before, WORKERS_SLICE);
      if (workerIds.length === 0) return;
      const holders = host.held();
      const isSilent = (workerId: string): boolean =>
        !holders.has(workerId) && (seenAt.get(workerId)?.steady ?? Number.NEGATIVE_INFINITY) < steadyBefore;
      await upkeep({ kind: 'forget_workers', workerIds, before, isSilent });
      for (const workerId of workerIds.filter(isSilent)) {
        workers.delete(workerId);
        seenAt.delete(workerId);
      }
    },
  };
};
export type WorkerRegistry = ReturnType<typeof createWorkerRegistry>;
