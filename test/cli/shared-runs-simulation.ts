import type { RunningRuns } from '../../src/actors/start.ts';
import type { WayToServices } from '../../src/actors/service/sharded-runs.ts';
import { startRuns } from '../../src/actors/start.ts';
import { OWNED_MS } from '../../src/cli/owned-shard.ts';
import { RENEW_MS, type SharedRuns, shareRuns } from '../../src/cli/shared-runs.ts';
import type { Result } from '../../src/model/failure.ts';
import { newIdOfShard } from '../../src/model/ids.ts';
import type { Lease, RunDetail } from '../../src/model/run.ts';
import { shardOfProject } from '../../src/store/postgres/runs/shards.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createFakeClock } from '../actors/run-harness.ts';
import { seededRandom } from '../crash/ledger.ts';
import { createEpochStore } from './epoch-store.ts';

/** A service of the simulation, and what the test does to its way to the store. */
export type SimulatedService = SharedRuns & {
  /** What it was told: it owns the runs, or another does. */
  readonly owned: readonly boolean[];
  /** Every kernel that it ever had, also those that were replaced. */
  readonly kernels: readonly RunningRuns[];
  /** The same with the shard of each. */
  readonly kernelsOf: readonly { readonly shard: number; readonly runs: RunningRuns }[];
  readonly goAway: (away: boolean) => void;
  /** Nothing that it asks is answered until the returned function is called. */
  readonly hang: () => () => void;
};

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn += 1) await new Promise(setImmediate);
};
const STEP_MS = 500;

/** Services that share runs in memory, on one clock. @param loses whether the answer to a call that is passed on is lost */
export const createSharedScene = (shards = 1, loses: () => boolean = () => false) => {
  const time = createFakeClock();
  const database = createEpochStore(() => time.clock.monotonic(), shards);
  const services: SimulatedService[] = [];
  const named = new Map<string, SimulatedService>();
  const asJson = <T>(value: T): T => (JSON.parse(JSON.stringify({ value })) as { value: T }).value;
  const serviceAt = (address: string) => {
    const service = named.get(address)?.peers.service;
    if (service === undefined) throw new StoreUnavailable('nobody answers there');
    return service;
  };
  const way: WayToServices = {
    call: async (address, call, signal = new AbortController().signal) => {
      const answer = asJson(await serviceAt(address).answer(asJson(call), signal));
      if (loses()) throw new StoreUnavailable('the answer was lost');
      return answer;
    },
    follow: (address, call, signal) => serviceAt(address).follow(asJson(call), signal),
    endWhere: () => {},
  };
  return {
    time,
    database,
    pass: async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= STEP_MS) {
        time.advance(Math.min(STEP_MS, left));
        await settle();
      }
    },
    start: async (name: string): Promise<SimulatedService> => {
      const { store, goAway, hang } = database.openFor();
      const owned: boolean[] = [];
      const kernels: RunningRuns[] = [];
      const kernelsOf: { shard: number; runs: RunningRuns }[] = [];
      const shared = await shareRuns({
        store,
        way,
        clock: time.clock,
        changed: (owns) => owned.push(owns),
        startRuns: async (runStore, { clock, ticks, shard = 0 }) => {
          const running = await startRuns({
            store: runStore,
            writeSpans: async () => {},
            price: () => undefined,
            clock,
            ticks,
            ...(shards > 1 ? { moves: ticks, newId: () => newIdOfShard(shard) } : {}),
          });
          if (ticks) kernels.push(running);
          if (ticks) kernelsOf.push({ shard, runs: running });
          return running;
        },
      });
      const service = { ...shared, owned, kernels, kernelsOf, goAway, hang };
      services.push(service);
      named.set(`http://${name}`, service);
      await shared.begin(`http://${name}`);
      return service;
    },
    close: async (): Promise<void> => {
      for (const { goAway, runs } of services) {
        goAway(false);
        await runs.close();
      }
    },
  };
};

const ALL = { reach: 'all' } as const;
const NAP_MS = 3_000;
const definitions = [
  {
    id: 'flow',
    version: 1,
    steps: [
      { id: 'first', kind: 'task' },
      { id: 'once', kind: 'task', delivery: 'at_most_once', on_error: [{ class: 'orphaned', to: 'nap' }] },
      { id: 'nap', kind: 'sleep', sleep_ms: NAP_MS },
      { id: 'last', kind: 'task' },
    ],
  },
];
const ACTS = 80;
const SETTLE_MS = 600_000;
const WORKER = { ...ALL, workerId: 'w' };

const journalFault = async (runs: RunningRuns, runId: string): Promise<string | undefined> => {
  const journal = await runs.journal({ ...ALL, runId, after: -1, limit: 1000 });
  if (!journal.ok) return journal.failure.message;
  const { events } = journal.value;
  const gap = events.findIndex(({ seq }, at) => seq !== at);
  if (gap !== -1) return `entry ${gap} has seq ${events[gap]?.seq}`;
  const moved = events.filter(({ kind }) => kind === 'cursor.moved');
  const naps = moved.filter(({ stepId }) => stepId === 'nap');
  if (naps.length !== 1) return `it entered its sleep ${naps.length} times`;
  const at = moved.indexOf(naps[0] as (typeof moved)[number]);
  const slept = (moved[at + 1]?.at ?? 0) - (moved[at]?.at ?? 0);
  return slept < NAP_MS ? `it slept ${slept} ms of ${NAP_MS}` : undefined;
};

const runFault = ({ status, attempts }: RunDetail, acknowledged: ReadonlySet<string>): string | undefined => {
  if (status !== 'succeeded') return `it is ${status}`;
  const won = new Set<string>();
  for (const { leaseId, stepId, visit, status: end } of attempts) {
    if (end === 'offered' || end === 'running') return `an attempt of ${stepId} is still ${end}`;
    if (acknowledged.has(leaseId) && end !== 'succeeded')
      return `the complete of an attempt of ${stepId} was acknowledged; it is ${end}`;
    if (end !== 'succeeded') continue;
    if (won.has(`${stepId} ${visit}`)) return `two attempts of visit ${visit} of ${stepId} succeeded`;
    won.add(`${stepId} ${visit}`);
  }
  return undefined;
};

/**
 * Two services on one store, and random acts: calls that reach the owner, or one that was replaced and does not know it yet; a store that
 * is away from one of them, or hangs for it; time. At the end all is answered again, every run must end, and nothing that was acknowledged
 * may be missing.
 * @param shards into how many the runs are cut: each is moved by the kernel of one service, and either answers for all
 * @returns how often the runs changed their owner
 * @throws Error that names what does not hold
 */
export const simulateSharedRuns = async (seed: number, shards = 1): Promise<number> => {
  const random = seededRandom(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const isSole = shards === 1;
  let isDisturbed = false;
  const { pass, start, close, time, database } = createSharedScene(shards, () => isDisturbed && random() < 0.05);
  const projects = Array.from({ length: shards }, (_, shard) => {
    for (let n = 0; ; n += 1) if (shardOfProject(`p${n}`, shards) === shard) return `p${n}`;
  });
  const services = [await start('one'), await start('other')] as const;
  const runIds: string[] = [];
  const leases: Lease[] = [];
  const begun = new Map<string, number>();
  const acknowledged = new Set<string>();
  const goOn = new Map<SimulatedService, () => void>();
  const asked: Promise<unknown>[] = [];

  type Target = { readonly runs: RunningRuns; readonly project: string };
  const projectOf = (shard: number): string => projects[shard] as string;
  /** One that answers for the runs now, or, at times, any kernel that ever did. */
  const target = (): Target | undefined => {
    if (random() < 0.2) {
      const { runs, shard } = pick(services.flatMap(({ kernelsOf }) => kernelsOf));
      return { runs, project: projectOf(shard) };
    }
    const runs = isSole ? services.find(({ peers }) => peers.isOwner())?.runs : pick(services).runs;
    return runs === undefined ? undefined : { runs, project: pick(projects) };
  };
  /** Mostly the owner. */
  const victim = (): SimulatedService =>
    (isSole && random() < 0.7 ? services.find(({ peers }) => peers.isOwner()) : undefined) ?? pick(services);
  /** A call whose answer may come much later, or never. */
  const ask = <T>(
    call: (runs: RunningRuns, project: string) => Promise<Result<T>>,
    answered: (value: T) => void,
  ): void => {
    const to = target();
    if (to === undefined) return;
    const settled = async (): Promise<void> => {
      try {
        const result = await call(to.runs, to.project);
        if (result.ok) answered(result.value);
      } catch {
        // It was never answered.
      }
    };
    asked.push(settled());
  };
  const act = async (): Promise<void> => {
    const drawn = random();
    const lease = pick(leases);
    if (drawn < 0.12)
      ask(
        (runs, project) => runs.startRun({ ...ALL, project, definitionId: 'flow', input: {} }),
        ({ run }) => runIds.push(run.runId),
      );
    else if (drawn < 0.34)
      ask(
        (runs) => runs.claim({ ...WORKER, max: 2, waitMs: 1_000 }),
        (claimed) => leases.push(...claimed),
      );
    else if (drawn < 0.52 && lease !== undefined)
      ask(
        (runs) => runs.started({ ...WORKER, leaseId: lease.leaseId }),
        () => begun.set(lease.leaseId, (begun.get(lease.leaseId) ?? 0) + 1),
      );
    else if (drawn < 0.58 && lease !== undefined)
      ask(
        (runs) => runs.heartbeat({ ...WORKER, leaseId: lease.leaseId }),
        () => {},
      );
    else if (drawn < 0.74 && lease !== undefined && begun.has(lease.leaseId))
      ask(
        (runs) => runs.complete({ ...WORKER, leaseId: lease.leaseId, output: {} }),
        () => acknowledged.add(lease.leaseId),
      );
    else if (drawn < 0.79) victim().goAway(random() < 0.7);
    else if (drawn < 0.85) {
      const service = victim();
      const held = goOn.get(service);
      if (held === undefined) goOn.set(service, service.hang());
      else {
        held();
        goOn.delete(service);
      }
    } else await pass(pick([STEP_MS, RENEW_MS, OWNED_MS, OWNED_MS + RENEW_MS]));
    await settle();
  };
  const isOver = async (runs: RunningRuns): Promise<boolean> => {
    const listed = await runs.listRuns({ ...ALL, limit: 1000 });
    return listed.ok && listed.value.items.every(({ status }) => status === 'succeeded' || status === 'failed');
  };
  const serveAll = async (runs: RunningRuns): Promise<void> => {
    const claiming = runs.claim({ ...WORKER, max: 100, waitMs: STEP_MS });
    await pass(2 * STEP_MS);
    const claimed = await claiming;
    for (const { leaseId } of claimed.ok ? claimed.value : []) {
      const started = await runs.started({ ...WORKER, leaseId });
      if (!started.ok) continue;
      begun.set(leaseId, (begun.get(leaseId) ?? 0) + 1);
      if ((await runs.complete({ ...WORKER, leaseId, output: {} })).ok) acknowledged.add(leaseId);
    }
  };

  try {
    await pass(isSole ? 0 : OWNED_MS);
    const registered = await services[0].runs.registerWorker({ ...WORKER, definitions });
    if (!registered.ok) throw new Error(registered.failure.message);
    isDisturbed = true;
    for (let n = 0; n < ACTS; n += 1) await act();
    for (const held of goOn.values()) held();
    for (const { goAway } of services) goAway(false);
    isDisturbed = false;
    await pass(OWNED_MS + RENEW_MS);
    await Promise.all(asked);
    // Shards may still go to the service that has less than its part.
    const isReady = async ({ runs }: SimulatedService): Promise<boolean> => {
      const listed = await runs.listActors({ ...ALL, type: 'dispatcher', limit: shards });
      return listed.ok && listed.value.items.length === shards;
    };
    for (const until = time.clock.monotonic() + SETTLE_MS; !(await Promise.all(services.map(isReady))).every(Boolean); )
      if (time.clock.monotonic() > until) throw new Error('not every service knows who owns the runs');
      else await pass(STEP_MS);
    const owner = isSole ? services.find(({ peers }) => peers.isOwner()) : pick(services);
    if (owner === undefined || (isSole && services.every(({ peers }) => peers.isOwner())))
      throw new Error('the runs have no one owner');
    const live = database.owners().filter(({ leftMs }) => leftMs > 0);
    if (live.length !== shards) throw new Error(`${live.length} of ${shards} shards have an owner`);
    for (const until = time.clock.monotonic() + SETTLE_MS; !(await isOver(owner.runs)); await serveAll(owner.runs))
      if (time.clock.monotonic() > until) throw new Error('not every run ended');

    const listed = await owner.runs.listRuns({ ...ALL, limit: 1000 });
    const found = new Set(listed.ok ? listed.value.items.map(({ runId }) => runId) : []);
    for (const runId of runIds)
      if (!found.has(runId)) throw new Error(`run ${runId} was acknowledged, and is not there`);
    for (const runId of found) {
      const run = await owner.runs.getRun({ ...ALL, runId });
      const fault = run.ok ? runFault(run.value, acknowledged) : run.failure.message;
      const gap = fault ?? (await journalFault(owner.runs, runId));
      if (gap !== undefined) throw new Error(`run ${runId}: ${gap}`);
    }
    const starts = new Map<string, number>();
    for (const { leaseId, runId, stepId } of leases)
      if (stepId === 'once' && begun.has(leaseId)) starts.set(runId, (starts.get(runId) ?? 0) + 1);
    for (const [runId, n] of starts)
      if (n > 1) throw new Error(`run ${runId}: ${n} leases of its at_most_once step were started`);
    return services.reduce((sum, { owned }) => sum + owned.filter((owns) => owns).length, 0);
  } finally {
    await close();
  }
};
