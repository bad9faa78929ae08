/**
 * Three services on one database of runs, under a load that goes to all of them, while an owner is killed or stopped, a service that
 * only passes on is killed, and the database crashes. What was acknowledged is kept in this process and in the ledgers of the workers.
 * Run as a command: `node test/crash/runs-shared-loop.ts --cycles 200 --seed 7`; with `--shards 8` the runs are of many projects, and each
 * service moves a part of them. `--faults kill_in_turn,crash_database` does these alone, one after the other; `--pooled` puts PgBouncer between services and
 * database.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent } from 'undici';
import { shardOfProject } from '../../src/store/postgres/runs/shards.ts';
import { aLastingPort, type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { startPgBouncer } from '../pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../postgres.ts';
import { seededRandom } from './ledger.ts';
import { type Ask, insist } from './runs-asking.ts';
import { awaitTrace, call, countOpenRuns, describeOpenRuns, readTree, runFault, treesIn } from './runs-verify.ts';

const SERVICES = 3;
const WORKERS = 2;
const STARTERS = 3;
const MAX_OPEN = 40;
const CYCLE_MS = { shortest: 500, longest: 2_500 };
/** Longer than the ten seconds for which the runs are owned, and the two until another looks. */
const STOPPED_MS = 14_000;
const SETTLE_MS = 300_000;

/** Fewer than the services have connections, so that each connection to the database serves several of them in turn. */
const POOLED_CONNECTIONS = 12;
/** Of those that are killed in turn: how many, and how long after the start of one the next. */
const IN_TURN = { fewest: 3, most: 10, longestPauseMs: 1_500 };

/** Projects of the runs, where they are in several shards. */
const PROJECTS = 20;
const projectsOf = (shards: number): string[] =>
  shards === 1 ? ['default'] : Array.from({ length: PROJECTS }, (_, n) => `project-${n}`);

/**
 * What happens to the services: an owner is killed or stopped, one that passes on is killed, the database crashes, several are killed one after
 * the other, while what the one before had is still without an owner, or has just found one.
 */
export const sharedFaults = ['kill_owner', 'stop_owner', 'kill_bystander', 'crash_database', 'kill_in_turn'] as const;
export type SharedFault = (typeof sharedFaults)[number];

export type SharedFigures = {
  readonly faults: Readonly<Record<SharedFault, number>>;
  /** Services that were killed. */
  readonly kills: number;
  readonly runs: number;
  readonly bodies: number;
  readonly acknowledgedCompletes: number;
  /** Services that owned the runs, one after the other. */
  readonly ownerships: number;
  /** From the end or the stop of an owner to the first start that another acknowledged, in milliseconds: the longest. */
  readonly longestFailoverMs: number;
};

type Service = { daemon: Daemon; readonly port: number; readonly folder: string };
type Started = { readonly n: string; readonly project: string; runId?: string; wasTold: boolean };

type Campaign = {
  readonly folder: string;
  readonly seed: number;
  readonly cycles: number;
  /** Into how many the runs are cut; 1 where absent. */
  readonly shards?: number;
  /** The services reach the database through PgBouncer, which lends them connections by the transaction. */
  readonly isPooled?: boolean;
  /** The faults in their order; drawn where absent. */
  readonly faults?: readonly SharedFault[];
  readonly onCycle?: (cycle: number) => void;
  /** Called with each failover, in milliseconds. */
  readonly onFailover?: (fault: SharedFault, ms: number) => void;
};

const linesOf = (path: string): string[][] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' '));

/** @throws Error that names the seed and the run on the first promise that does not hold */
export const runsSharedLoop = async (options: Campaign): Promise<SharedFigures> => {
  const ends: (() => unknown)[] = [];
  try {
    return await disturbAndCheck(options, (end) => ends.push(end));
  } finally {
    for (const end of ends.toReversed()) await end();
  }
};

const disturbAndCheck = async (
  { folder, seed, cycles, shards = 1, isPooled = false, faults, onCycle, onFailover }: Campaign,
  atEnd: (end: () => unknown) => void,
): Promise<SharedFigures> => {
  const random = seededRandom(seed);
  const fail = (what: string): Error => new Error(`seed ${seed}: ${what}`);
  const server: PostgresServer = await startPostgres({ isDurable: true });
  atEnd(() => server.remove());
  const url = server.create();
  let reached = url;
  if (isPooled) {
    const bouncer = await startPgBouncer(server.port, POOLED_CONNECTIONS);
    atEnd(bouncer.remove);
    reached = bouncer.urlOf(url);
  }
  /** A service that starts while PgBouncer still holds the database for lost ends with a line, and nobody here starts it anew. */
  const untilReached = async (): Promise<void> => {
    for (;;)
      try {
        server.run('SELECT 1', reached);
        return;
      } catch {
        await sleep(100);
      }
  };
  const startService = (home: string, port: number): Promise<Daemon> =>
    startDaemon(home, ['--port', String(port), '--runs-shards', String(shards)], {
      SVCD_RUNS_URL: reached,
      SVCD_SQLSTORE_URL: reached,
    });
  const services: Service[] = [];
  for (let n = 0; n < SERVICES; n += 1) {
    const port = await aLastingPort();
    const home = join(folder, `service-${n}`);
    services.push({ port, folder: home, daemon: await startService(home, port) });
  }
  const agent = new Agent({ connections: 32, headersTimeout: 40_000, bodyTimeout: 40_000 });
  const workers: { readonly child: ChildProcess; readonly ledger: string }[] = services
    .slice(0, WORKERS)
    .map(({ daemon }, index) => {
      const ledger = join(folder, `bodies-${index}.ledger`);
      const program = join(import.meta.dirname, 'runs-worker.ts');
      const reports = index % 2 === 0 ? 'single' : 'batched';
      const child = spawn(process.execPath, [program, daemon.url, ledger, reports], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      return { child, ledger };
    });
  let isOver = false;
  atEnd(async () => {
    isOver = true;
    for (const { child } of workers) child.kill('SIGKILL');
    for (const { daemon } of services) {
      daemon.process.kill('SIGCONT');
      await daemon.stop('SIGKILL');
    }
    await agent.destroy();
  });

  const any = (): Service => services[Math.floor(random() * services.length)] as Service;
  const askOf =
    (service: () => Service): Ask =>
    (method, path, body) =>
      call(agent, method, `${service().daemon.url}/v1/api${path}`, body);
  const ask = askOf(any);
  const started: Started[] = [];
  const aStart = (n: string): Started => {
    const projects = projectsOf(shards);
    const project = projects[Math.floor(random() * projects.length)] as string;
    const one: Started = { n, project, wasTold: false };
    started.push(one);
    return one;
  };
  const bringEvents = async (one: Started, by: Ask = ask): Promise<void> => {
    const { n: key, project } = one;
    for (const event of ['go', 'skip'])
      await insist(by, 'POST', '/events', { event, key, project, payload: {}, event_id: `${key}-${event}` }, [200]);
    one.wasTold = true;
  };
  let broken: Error | undefined;
  const bring = async (one: Started): Promise<void> => {
    const { body } = await insist(
      ask,
      'POST',
      '/runs',
      {
        definition_id: 'load',
        project: one.project,
        input: { n: one.n, naps: started.length % 2 === 0 },
        idempotency_key: one.n,
      },
      [200, 201, 404],
    );
    if (typeof body['run_id'] !== 'string') return sleep(100).then(() => bring(one)); // no worker has registered yet
    one.runId = body['run_id'];
    await bringEvents(one);
  };
  const starter = async (): Promise<void> => {
    while (!isOver && broken === undefined) {
      if (started.filter(({ wasTold }) => !wasTold).length >= MAX_OPEN) {
        await sleep(20);
        continue;
      }
      await bring(aStart(`${seed}-${started.length}`));
      await sleep(Math.floor(random() * 200));
    }
  };
  await bring(aStart(`${seed}-first`));
  const starting = Promise.all(Array.from({ length: STARTERS }, starter)).catch((error: unknown) => {
    broken = error instanceof Error ? error : new Error(String(error));
  });

  const ownerOf = (): Service | undefined => {
    const owners = server
      .run('SELECT DISTINCT address FROM shard WHERE expires_at > clock_timestamp()', url)
      .split('\n');
    const address = owners[Math.floor(random() * owners.length)];
    return services.find(({ daemon }) => daemon.url === address);
  };
  /** A project of which that service moved the runs. */
  const projectAt = ({ daemon }: Service): string | undefined => {
    const owned = new Set(server.run(`SELECT shard FROM shard WHERE address = '${daemon.url}'`, url).split('\n'));
    return projectsOf(shards).find((project) => owned.has(String(shardOfProject(project, shards))));
  };
  const counted = Object.fromEntries(sharedFaults.map((fault) => [fault, 0])) as Record<SharedFault, number>;
  let kills = 0;
  const kill = async (service: Service): Promise<void> => {
    kills += 1;
    await service.daemon.stop('SIGKILL');
  };
  const restart = async (service: Service): Promise<void> => {
    service.daemon = await startService(service.folder, service.port);
  };
  let longestFailoverMs = 0;
  /** Until a service beside this one acknowledges a start. */
  const awaitFailover = async (
    gone: Service | undefined,
    project: string,
    fault: SharedFault,
    n: string,
  ): Promise<void> => {
    const from = performance.now();
    const others = services.filter((service) => service !== gone);
    const one: Started = { n, project, wasTold: false };
    started.push(one);
    // One that is stopped would hold a call for longer than the workers of that service may be silent.
    const askOthers = askOf(() => others[Math.floor(random() * others.length)] as Service);
    const { body } = await insist(
      askOthers,
      'POST',
      '/runs',
      { definition_id: 'load', project, input: { n, naps: true }, idempotency_key: n },
      [200, 201],
    );
    one.runId = body['run_id'] as string;
    const ms = performance.now() - from;
    longestFailoverMs = Math.max(longestFailoverMs, ms);
    onFailover?.(fault, Math.round(ms));
    await bringEvents(one, askOthers);
  };
  const hit = async (fault: SharedFault, cycle: number): Promise<void> => {
    counted[fault] += 1;
    if (fault === 'crash_database') {
      await server.kill('SIGKILL');
      await server.start();
      await untilReached();
      return;
    }
    if (fault === 'kill_in_turn') {
      const times = IN_TURN.fewest + Math.floor(random() * (IN_TURN.most - IN_TURN.fewest + 1));
      for (let time = 0; time < times; time += 1) {
        const victim = any();
        await kill(victim);
        await restart(victim);
        await sleep(random() * IN_TURN.longestPauseMs);
      }
      const projects = Map.groupBy(projectsOf(shards), (project) => shardOfProject(project, shards));
      for (const [shard, [project = 'default']] of projects)
        await awaitFailover(undefined, project, fault, `${seed}-in-turn-${cycle}-${shard}`);
      return;
    }
    let owner = ownerOf();
    for (; owner === undefined; owner = ownerOf()) await sleep(100);
    const victim = fault === 'kill_bystander' ? (services.find((service) => service !== owner) as Service) : owner;
    const project = projectAt(owner) ?? 'default';
    if (fault === 'stop_owner') {
      victim.daemon.process.kill('SIGSTOP');
      const since = performance.now();
      await awaitFailover(victim, project, fault, `${seed}-stopped-${cycle}`);
      await sleep(Math.max(0, STOPPED_MS - (performance.now() - since)));
      victim.daemon.process.kill('SIGCONT');
      return;
    }
    await kill(victim);
    if (fault === 'kill_owner') await awaitFailover(victim, project, fault, `${seed}-killed-${cycle}`);
    await restart(victim);
  };

  for (let cycle = 0; cycle < cycles && broken === undefined; cycle += 1) {
    await sleep(CYCLE_MS.shortest + random() * (CYCLE_MS.longest - CYCLE_MS.shortest));
    const drawn = sharedFaults[Math.floor(random() * sharedFaults.length)] as SharedFault;
    await hit(faults?.[cycle % faults.length] ?? drawn, cycle);
    onCycle?.(cycle);
  }
  isOver = true;
  await starting;
  if (broken !== undefined) throw fail(broken.message);

  const [first] = services as [Service];
  const base = first.daemon.url;
  const settleBy = performance.now() + SETTLE_MS;
  for (;;) {
    const open = await countOpenRuns(agent, base).catch(() => 1);
    if (open === 0) break;
    if (performance.now() > settleBy) throw fail(`${open} runs did not end:\n${await describeOpenRuns(agent, base)}`);
    await sleep(100);
  }
  for (const { child } of workers) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  /** Until somebody owns its shard: one may be on its way to a service that came back. */
  const whenOwned = async <T>(read: () => Promise<T>): Promise<T> => {
    for (;;)
      try {
        return await read();
      } catch (error) {
        if (performance.now() > settleBy || !String(error).includes('store_unavailable')) throw error;
        await sleep(100);
      }
  };
  const lines = workers.flatMap(({ ledger }) => linesOf(ledger));
  const done = new Set(lines.filter(([what]) => what === 'done').map(([, lease]) => lease));
  const acknowledgedCompletes = done.size;
  const bodies = lines.filter(([what]) => what === 'ran');
  const bodiesAt = Map.groupBy(bodies, ([, , runId, stepId]) => `${runId} ${stepId}`);
  for (const { n, runId } of started) {
    if (runId === undefined) throw fail(`start ${n} was never acknowledged`);
    const tree = await whenOwned(() => readTree(agent, base, runId));
    for (const one of treesIn(tree)) {
      const { run_id: id, status, error, attempts } = one.run;
      const about = (what: string | undefined): void => {
        if (what !== undefined) throw fail(`run ${id} (${one.run.definition_id}): ${what}`);
      };
      if (status !== 'succeeded') about(`it is ${status}: ${JSON.stringify(error)}`);
      about(runFault(one));
      for (const attempt of attempts) {
        // The campaign stops and kills no worker. So a worker that lost a lease lost it because another service took the runs over.
        if (attempt.status === 'orphaned') about(`attempt ${attempt.lease_id} lost its lease`);
        if (done.delete(attempt.lease_id) && attempt.status !== 'succeeded')
          about(`the complete of ${attempt.lease_id} was acknowledged; it is ${attempt.status}`);
      }
      const charges = bodiesAt.get(`${id} charge`)?.length ?? 0;
      if (charges > 1) about(`its at_most_once body ran ${charges} times`);
    }
    await awaitTrace(agent, base, tree, SETTLE_MS);
  }
  if (done.size > 0) throw fail(`completes of ${done.size} leases were acknowledged, and no attempt is theirs`);
  if (new Set(started.map(({ runId }) => runId)).size !== started.length) throw fail('two starts share a run');
  return {
    faults: counted,
    kills,
    runs: started.length,
    bodies: bodies.length,
    acknowledgedCompletes,
    ownerships: Number(server.run('SELECT sum(epoch) FROM shard', url)),
    longestFailoverMs: Math.round(longestFailoverMs),
  };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '200' },
      shards: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      faults: { type: 'string' },
      pooled: { type: 'boolean', default: false },
    },
  });
  const wanted = values.faults?.split(',');
  const faults = wanted && sharedFaults.filter((fault) => wanted.includes(fault));
  if (faults?.length === 0) throw new Error(`--faults takes of ${sharedFaults.join(',')}`);
  const folder = temporaryFolder();
  console.log(
    `runs shared loop: ${values.cycles} cycles, ${values.shards} shards, seed ${values.seed}${values.pooled ? ', behind PgBouncer' : ''}`,
  );
  try {
    const figures = await runsSharedLoop({
      folder: folder.path,
      seed: Number(values.seed),
      cycles: Number(values.cycles),
      shards: Number(values.shards),
      isPooled: values.pooled,
      ...(faults === undefined ? {} : { faults }),
      onCycle: (cycle) => {
        if (cycle % 10 === 9) console.log(`${cycle + 1} cycles`);
      },
      onFailover: (fault, ms) => console.log(`${fault}: ${ms} ms`),
    });
    console.log(JSON.stringify(figures));
  } finally {
    folder.remove();
  }
}
