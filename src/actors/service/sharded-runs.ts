import { SERVICE } from '../../model/definition/owner.ts';
import type { Failure, Result } from '../../model/failure.ts';
import { shardSaidBy } from '../../model/ids.ts';
import type { JournalEntry, Lease } from '../../model/run.ts';
import type { ProjectReach } from '../../model/scope.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { ownerOfPaused } from '../definition/owner.ts';
import type { Clock } from '../kernel/clock.ts';
import { joinedCounts } from '../run-counts.ts';
import type { RunningRuns } from '../start.ts';
import { type ActorSource, createActorDirectory } from './actor-directory.ts';
import { attempt } from './calls.ts';
import { claimFromSeveral, type Place } from './claim-from-several.ts';
import type { ErasedSubject, ErasedTraces, RunsService } from './runs-service.ts';

/** A call that one service passes on to the kernels of another. Arguments and answer are data that JSON holds. */
export type PassedCall = {
  /** The shard whose kernel is meant; absent: every kernel of that service. */
  readonly shard?: number;
  readonly method: string;
  readonly args: readonly unknown[];
};
/** What every kernel of a service answered: the first refusal, else the first answer, and for which shards. */
type JoinedAnswer = { readonly shards: readonly number[]; readonly answer: unknown };

/** Pages of a journal as they are written. */
type Followed = Result<{ readonly project: string; readonly pages: AsyncIterable<readonly JournalEntry[]> }>;

/** The way to the other services. Both reject with `StoreUnavailable` where no answer comes: the outcome is then unknown. */
export type WayToServices = {
  /** @param signal ends what the call waits for, over there; its answer still comes */
  readonly call: (address: string, call: PassedCall, signal?: AbortSignal) => Promise<unknown>;
  readonly follow: (address: string, call: PassedCall, signal: AbortSignal) => Promise<Followed>;
  /** Ends the calls under way that nobody answers any more, of a shard or of all that a service has. */
  readonly endWhere: (isOver: (address: string, shard: number | undefined) => boolean) => void;
};

/** Where the shards are. */
export type ShardMap = {
  readonly shards: number;
  readonly shardOfProject: (project: string) => number;
  /** The shard in which something is, by its row. */
  readonly findShard: (kind: 'run' | 'lease' | 'bulk', id: string) => Promise<number | undefined>;
  /** The kernel of a shard, while this service certainly owns it. */
  readonly own: (shard: number) => RunningRuns | undefined;
  /** Where the service is reached that owns a shard; empty where it does not say so, nothing where none owns it. */
  readonly addressOf: (shard: number) => string | undefined;
  /** Where all other services are reached that were seen lately. */
  readonly others: () => readonly string[];
  /** Calls back when a shard has another owner. @returns what ends it */
  readonly onChange: (changed: () => void) => () => void;
};

export type ShardedRuns = {
  readonly runs: Omit<RunningRuns, 'close' | 'stop' | 'ping'>;
  /** Answers what another service passed on, by the kernels of this one. */
  readonly answer: (call: PassedCall, signal: AbortSignal) => Promise<unknown>;
  /** The same of a call that follows a journal. */
  readonly follow: (call: PassedCall, signal: AbortSignal) => Promise<Followed>;
  /** Each second: tells every service which workers called this one. */
  readonly tellSeen: () => Promise<void>;
  /** Every kernel here knows the definitions that any has paused. */
  readonly reloadPauses: () => Promise<void>;
};

/** Ids of which it is known that they are in another shard than they say: those from before the number of shards grew. */
const PLACED = 50_000;

const ofProject = [
  ...['startRun', 'publishEvent', 'getSchedule', 'createSchedule', 'changeSchedule', 'deleteSchedule'],
  ...['pauseSchedule', 'resumeSchedule', 'triggerSchedule'],
] as const;
const ofRun = [
  ...['getRun', 'cancelRun', 'pauseRun', 'resumeRun', 'signalRun', 'restartRun', 'journal', 'stepCause'],
] as const;
const ofLease = ['started', 'heartbeat', 'complete', 'fail'] as const;
/** What every kernel must know. */
const ofAll = ['registerWorker', 'storeDefinitions'] as const;

/** What a kernel answers for another service. */
const passable: ReadonlySet<string> = new Set([
  ...ofProject,
  ...ofRun,
  ...ofLease,
  ...ofAll,
  ...['claim', 'giveBack', 'startBulk', 'stopBulk', 'eraseSubject'],
  ...['pauseDefinition', 'resumeDefinition', 'listActors', 'getActor'],
]);
/** Actors of which each kernel has one. */
const RESIDENTS = ['timer', 'dispatcher', 'outbox'] as const;

type Call = (...args: readonly unknown[]) => Promise<unknown>;
const methodOf = (runs: RunningRuns, method: string): Call =>
  (runs as unknown as Readonly<Record<string, Call>>)[method] as Call;

const isRefusal = (answer: unknown): answer is { readonly ok: false; readonly failure: Failure } =>
  typeof answer === 'object' && answer !== null && 'ok' in answer && answer.ok === false;
const isMissing = (answer: unknown): boolean =>
  answer === undefined || answer === null || (isRefusal(answer) && answer.failure.code === 'not_found');

const unowned = (shard: number): StoreUnavailable =>
  new StoreUnavailable(`no service owns shard ${shard} of the runs at the moment`);
const unreached = (shard: number): StoreUnavailable =>
  new StoreUnavailable(
    `the service that owns shard ${shard} of the runs does not say how it is reached: start it with --peer-url`,
  );

/**
 * Runs in several shards, each moved by the kernel of one service. A call about a run, a lease or a project goes to the kernel of its
 * shard, here or at another service. A list is read from the database. A claim is asked of every kernel, and what every kernel must
 * know (definitions, workers, pauses) reaches each.
 * @param reader a half that moves no run
 * @param eraseTraces deletes traces where the spans of the kernels of this service go
 */
export const shareShards = ({
  map,
  reader,
  way,
  clock,
  eraseTraces,
}: {
  readonly map: ShardMap;
  readonly reader: RunningRuns;
  readonly way: WayToServices;
  readonly clock: Pick<Clock, 'after'>;
  readonly eraseTraces: (traceIds: readonly string[], reach: ProjectReach) => Promise<ErasedTraces>;
}): ShardedRuns => {
  const all = Array.from({ length: map.shards }, (_, shard) => shard);
  const owned = (): [number, RunningRuns][] =>
    all.flatMap((shard): [number, RunningRuns][] => {
      const runs = map.own(shard);
      return runs === undefined ? [] : [[shard, runs]];
    });

  /** @throws StoreUnavailable where nobody owns the shard */
  const addressOf = (shard: number): string => {
    const address = map.addressOf(shard);
    if (address === undefined) throw unowned(shard);
    if (address === '') throw unreached(shard);
    return address;
  };
  const at = async (
    shard: number,
    method: string,
    args: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<unknown> => {
    const own = map.own(shard);
    if (own !== undefined) return methodOf(own, method)(...args, signal);
    return way.call(addressOf(shard), { shard, method, args }, signal);
  };

  const placed = new Map<string, number>();
  const place = (id: string, shard: number): void => {
    placed.delete(id);
    placed.set(id, shard);
    for (const oldest of placed.keys()) {
      if (placed.size <= PLACED) break;
      placed.delete(oldest);
    }
  };
  /**
   * Asks the shard that an id says. An id from before says any, and its kernel knows nothing of it: then its row is asked for, once.
   */
  const byId = async <T>(
    kind: 'run' | 'lease' | 'bulk',
    id: string,
    ask: (shard: number) => Promise<T>,
  ): Promise<T> => {
    const known = placed.get(id);
    if (known !== undefined) return ask(known);
    const said = shardSaidBy(id);
    const answer = said < map.shards ? await ask(said) : undefined;
    if (answer !== undefined && !isMissing(answer)) return answer;
    const shard = await map.findShard(kind, id);
    if (shard === undefined || (shard === said && answer !== undefined)) return answer ?? ask(0);
    place(id, shard);
    return ask(shard);
  };
  const callById = <T>(
    kind: 'run' | 'lease' | 'bulk',
    id: string,
    method: string,
    args: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<Result<T>> =>
    attempt(() => byId(kind, id, (shard) => at(shard, method, args, signal) as Promise<Result<T>>));

  /** Every kernel here. */
  const here = async (method: string, args: readonly unknown[]): Promise<JoinedAnswer> => {
    const kernels = owned();
    const answers = await Promise.all(kernels.map(([, runs]) => methodOf(runs, method)(...args)));
    return {
      shards: kernels.map(([shard]) => shard),
      answer: answers.find(isRefusal) ?? answers[0],
    };
  };
  /** Every kernel of every service, the one of a shard first: it decides what is refused. */
  const everywhere = <T>(first: number, method: string, request: unknown): Promise<Result<T>> =>
    attempt(async () => {
      const decided = (await at(first, method, [request])) as Result<T>;
      if (!decided.ok) return decided;
      const addresses = new Set(all.filter((shard) => map.own(shard) === undefined).map(addressOf));
      const joined = await Promise.all([
        here(method, [request]),
        ...[...addresses].map((address) => way.call(address, { method, args: [request] }) as Promise<JoinedAnswer>),
      ]);
      const refused = joined.map(({ answer }) => answer).find(isRefusal);
      if (refused !== undefined) return refused;
      const reached = new Set(joined.flatMap(({ shards }) => shards));
      const missed = all.find((shard) => !reached.has(shard));
      // Its next owner reads what is stored.
      if (missed !== undefined) throw unowned(missed);
      return decided;
    });

  /** Workers that called this service since the other services were last notified, and those whose claims wait here. */
  const seen = new Set<string>();
  const claiming = new Map<string, number>();
  const see = (workerIds: readonly string[]): void => {
    reader.workersSeen(workerIds);
    for (const [, runs] of owned()) runs.workersSeen(workerIds);
  };

  const giveBack = async (leaseIds: readonly string[]): Promise<void> => {
    const ids = Map.groupBy(leaseIds, (id) => placed.get(id) ?? shardSaidBy(id));
    await Promise.all([...ids].map(([shard, held]) => at(shard, 'giveBack', [held])));
  };
  // They lapse by themselves where that fails.
  const returnOffers = (leases: readonly Lease[]): void =>
    void giveBack(leases.map(({ leaseId }) => leaseId)).catch(() => {});

  let turn = 0;
  const claimAt = (
    places: () => Place[],
    request: Parameters<RunsService['claim']>[0],
    signal: Parameters<RunsService['claim']>[1],
  ): ReturnType<RunsService['claim']> =>
    claimFromSeveral({
      ...{ places, giveBack: returnOffers, request, signal, clock },
      ...{ onChange: map.onChange, first: (turn += 1) },
    });
  const placesHere = (): Place[] => owned().map(([, { claim: ask }]) => ({ claim: ask, shards: 1 }));
  const passTo =
    (address: string): RunsService['claim'] =>
    (asked, over) =>
      attempt(() => way.call(address, { method: 'claim', args: [asked] }, over) as Promise<Result<readonly Lease[]>>);
  /** Every kernel here, and every other service. */
  const placesOfAll = (): Place[] => {
    const addresses = Map.groupBy(all, (shard) => (map.own(shard) === undefined ? map.addressOf(shard) : undefined));
    const others = [...addresses].flatMap(([address, { length }]) =>
      address === undefined || address === '' ? [] : { claim: passTo(address), shards: length },
    );
    return [...placesHere(), ...others];
  };
  const claim: RunsService['claim'] = async (request, signal) => {
    const { runId, workerId } = request;
    if (runId !== undefined) return callById('run', runId, 'claim', [request], signal);
    claiming.set(workerId, (claiming.get(workerId) ?? 0) + 1);
    try {
      return await claimAt(placesOfAll, request, signal);
    } finally {
      seen.add(workerId);
      const left = (claiming.get(workerId) ?? 1) - 1;
      if (left === 0) claiming.delete(workerId);
      else claiming.set(workerId, left);
    }
  };

  const reloadPauses = async (): Promise<void> => {
    await Promise.all([reader.reloadPauses(), ...owned().map(([, runs]) => runs.reloadPauses())]);
  };
  const pauseOrResume = async <T>(
    method: 'pauseDefinition' | 'resumeDefinition',
    request: Parameters<RunsService['pauseDefinition']>[0],
  ): Promise<Result<T>> => {
    const owner = ownerOfPaused(request.reach, request.project);
    if (!owner.ok) return owner;
    return attempt(async () => {
      const home = map.shardOfProject(owner.value);
      const done = (await at(home, method, [request])) as Result<T>;
      if (!done.ok) return done;
      await reloadPauses();
      await Promise.all(map.others().map((address) => way.call(address, { method: 'reloadPauses', args: [] })));
      return done;
    });
  };

  const startBulk: RunsService['startBulk'] = async (request) => {
    if (request.dryRun) return reader.startBulk(request);
    const { reach } = request.filter;
    const shards = new Set(reach === 'all' ? all : reach.map(map.shardOfProject));
    const [shard = 0, ...others] = shards;
    if (others.length > 0)
      return {
        ok: false,
        failure: {
          code: 'invalid_parameter',
          message: 'the runs of these projects are in several shards: name one project in the filter, and ask for each',
          field: 'filter',
        },
      };
    return attempt(() => at(shard, 'startBulk', [request]) as ReturnType<RunsService['startBulk']>);
  };

  /** Of the kernels here. */
  const eraseHere = async (request: Parameters<RunsService['eraseSubject']>[0], shard: number) => {
    const own = map.own(shard);
    if (own === undefined) throw unowned(shard);
    return own.eraseSubject(request, (traceIds) => eraseTraces(traceIds, request.reach));
  };
  const eraseSubject: RunsService['eraseSubject'] = (request) =>
    attempt(async () => {
      let sum: ErasedSubject = { runsErased: 0, runsInFlight: 0, traces: { deleted: 0, pending: false } };
      for (const shard of all) {
        const erased =
          map.own(shard) === undefined
            ? ((await way.call(addressOf(shard), {
                shard,
                method: 'eraseSubject',
                args: [request],
              })) as Result<ErasedSubject>)
            : await eraseHere(request, shard);
        if (!erased.ok) return erased;
        const { runsErased, runsInFlight, traces } = erased.value;
        sum = {
          runsErased: sum.runsErased + runsErased,
          runsInFlight: sum.runsInFlight + runsInFlight,
          traces: { deleted: sum.traces.deleted + traces.deleted, pending: sum.traces.pending || traces.pending },
        };
      }
      return { ok: true, value: sum };
    });

  /** Timer, dispatcher and outbox of each shard, by its number. */
  const residentsOf = (type: (typeof RESIDENTS)[number]): ActorSource => ({
    type,
    list: async ({ reach, status, limit, after }) => {
      const found = [];
      for (const shard of all.filter((one) => after === undefined || one > Number(after))) {
        if (found.length >= limit) break;
        const asked = { type, reach, limit: 1, ...(status === undefined ? {} : { status }) };
        const listed = (await at(shard, 'listActors', [asked]).catch(() => undefined)) as
          | Awaited<ReturnType<RunsService['listActors']>>
          | undefined;
        if (listed?.ok === true) found.push(...listed.value.items.map((one) => ({ ...one, id: String(shard) })));
      }
      return found;
    },
    get: async ({ id, reach, atSeq }) => {
      const shard = all.find((one) => String(one) === id) ?? 0;
      const asked = { type, id: String(shard) === id ? 'main' : id, reach, ...(atSeq === undefined ? {} : { atSeq }) };
      const got = (await at(shard, 'getActor', [asked])) as Awaited<ReturnType<RunsService['getActor']>>;
      return got.ok ? { ok: true, value: { ...got.value, id } } : got;
    },
  });
  const actors = reader.actors.map((source): ActorSource => {
    const resident = RESIDENTS.find((type) => type === source.type);
    return resident === undefined ? source : residentsOf(resident);
  });

  const sum = (of: (runs: RunningRuns) => number): number => owned().reduce((all, [, runs]) => all + of(runs), 0);

  const followHere = async (
    request: Parameters<RunsService['followJournal']>[0],
    shard: number,
    signal: AbortSignal,
  ) => {
    const own = map.own(shard);
    if (own === undefined) throw unowned(shard);
    return own.followJournal(request, signal);
  };

  const runs: ShardedRuns['runs'] = {
    ...reader,
    ...(Object.fromEntries([
      ...ofProject.map((method) => [
        method,
        (request: { readonly project: string }, signal?: AbortSignal) =>
          attempt(() => at(map.shardOfProject(request.project), method, [request], signal) as Promise<Result<unknown>>),
      ]),
      ...ofRun.map((method) => [
        method,
        (request: { readonly runId: string }, signal?: AbortSignal) =>
          callById('run', request.runId, method, [request], signal),
      ]),
      ...ofLease.map((method) => [
        method,
        async (request: { readonly leaseId: string; readonly workerId: string }) => {
          const answer = await callById('lease', request.leaseId, method, [request]);
          if (answer.ok) seen.add(request.workerId);
          return answer;
        },
      ]),
      ...ofAll.map((method) => [
        method,
        (request: unknown) => everywhere(map.shardOfProject(SERVICE), method, request),
      ]),
    ]) as Pick<
      RunningRuns,
      (typeof ofProject)[number] | (typeof ofRun)[number] | (typeof ofLease)[number] | (typeof ofAll)[number]
    >),
    claim,
    giveBack,
    followJournal: (request, signal) =>
      attempt(() =>
        byId('run', request.runId, (shard) =>
          map.own(shard) === undefined
            ? way.follow(addressOf(shard), { shard, method: 'followJournal', args: [request] }, signal)
            : followHere(request, shard, signal),
        ),
      ),
    startBulk,
    stopBulk: (request) => callById('bulk', request.bulkId, 'stopBulk', [request]),
    pauseDefinition: (request) => pauseOrResume('pauseDefinition', request),
    resumeDefinition: (request) => pauseOrResume('resumeDefinition', request),
    eraseSubject,
    // The service that owns their shard deletes them.
    trimFinishedRuns: async (project, before, limit) =>
      (await map.own(map.shardOfProject(project))?.trimFinishedRuns(project, before, limit)) ?? 0,
    actors,
    ...createActorDirectory(actors),
    tick: async () => {
      await Promise.all(owned().map(([, one]) => one.tick()));
    },
    flushOutbox: async () => {
      await Promise.all(owned().map(([, one]) => one.flushOutbox()));
    },
    stopDeadlines: () => {
      for (const [, one] of owned()) one.stopDeadlines();
    },
    waitingClaims: () => sum((one) => one.waitingClaims()),
    endsAwaited: () => sum((one) => one.endsAwaited()),
    runCounts: () => joinedCounts(owned().map(([, one]) => one.runCounts())),
    isBusy: () => owned().some(([, one]) => one.isBusy()),
    workersSeen: see,
    reloadPauses,
  };

  return {
    runs,
    answer: async ({ shard, method, args }, signal) => {
      if (method === 'workersSeen') return see(args[0] as readonly string[]);
      if (method === 'reloadPauses') return reloadPauses();
      if (!passable.has(method)) throw new Error(`no call ${method} is passed on`);
      if (shard === undefined) {
        if (method === 'claim') return claimAt(placesHere, args[0] as Parameters<RunsService['claim']>[0], signal);
        return here(method, args);
      }
      if (method === 'eraseSubject') return eraseHere(args[0] as Parameters<RunsService['eraseSubject']>[0], shard);
      const own = map.own(shard);
      if (own === undefined) throw unowned(shard);
      return methodOf(own, method)(...args, signal);
    },
    follow: ({ shard = 0, args }, signal) =>
      followHere(args[0] as Parameters<RunsService['followJournal']>[0], shard, signal),
    tellSeen: async () => {
      const workers = [...new Set([...seen, ...claiming.keys()])];
      seen.clear();
      if (workers.length === 0) return;
      see(workers);
      await Promise.allSettled(
        map.others().map((address) => way.call(address, { method: 'workersSeen', args: [workers] })),
      );
    },
    reloadPauses,
  };
};
