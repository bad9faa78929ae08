/**
 * Durable runs in PostgreSQL, moved by one service or shared by three: steps a second, and the processor time that a step takes of all
 * services, of the database and of the load. Run: `node bench/shared-runs.ts [rounds] [seconds] [in flight] [delay]`. Each round has all of them in
 * turn, each on an empty database. The runs are of 24 projects, and each call goes to the next service.
 *
 * Services, database and load share the machine: where it has fewer cores than they can use, three services cannot be faster than one, and the
 * processor time says what sharing costs. `--cores 0.25` gives each service that part of a core and not more (a cgroup of its own, which takes the
 * right to make one), and leaves the rest to the database and the load: three services are then to one what three machines are to one. `--ways 1x1,3x6`
 * names services and shards. With a delay each byte between services and database is so many milliseconds on its way, as over a network: a service
 * then waits for commits more than for a core.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { boundProcessor, type Cgroup } from '../test/cgroup.ts';
import { type Daemon, startDaemon } from '../test/daemon.ts';
import { type PostgresServer, startPostgres } from '../test/postgres.ts';
import { median, spread } from './pairs.ts';
import type { RunsFigures, RunsPlan } from './runs-worker.ts';
import { benchFolder } from './serve.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { cores: { type: 'string' }, ways: { type: 'string', default: '1x1,1x6,3x1,3x6' } },
});
const [rounds = 3, seconds = 10, inFlight = 50, delayMs = 0] = positionals.map(Number);
const cores = values.cores === undefined ? undefined : Number(values.cores);
const PROJECTS = 24;
const WARM_UP_SECONDS = 4;

type Way = { readonly name: string; readonly services: number; readonly shards: number };
const numbered = (count: number, what: string): string =>
  count === 1 ? `one ${what}` : `${{ 3: 'three', 6: 'six' }[count] ?? count} ${what}s`;
const ways = values.ways.split(',').map((way): Way => {
  const [services = 1, shards = 1] = way.split('x').map(Number);
  return { name: `${numbered(services, 'service')}, ${numbered(shards, 'shard')}`, services, shards };
});
type Measured = {
  readonly stepsPerSecond: number;
  /** From the complete of a step to the offer of the next one, half of them. */
  readonly nextP50Ms: number;
  readonly stepsPerClaim: number;
  readonly servicesUs: number;
  readonly databaseUs: number;
  readonly loadUs: number;
  readonly transactions: number;
  /** Writes of the log of the database to the disk, a step. */
  readonly syncs: number;
  /** Of the time of all cores, that in which one had nothing to do. */
  readonly idle: number;
  /** How much of a core each service used. */
  readonly used: readonly number[];
};

const five = {
  id: 'five',
  version: 1,
  steps: Array.from({ length: 5 }, (_, index) => ({ id: `step-${index}`, kind: 'task' })),
};

const TICK_MS = 10;
const fieldsOf = (pid: number | string): number[] =>
  (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '').split(' ').map(Number);
/** Processor time of a process so far, all its threads, in milliseconds. @see proc(5) */
const cpuMs = (pid: number): number => {
  const fields = fieldsOf(pid);
  return ((fields[11] ?? 0) + (fields[12] ?? 0)) * TICK_MS;
};
/** The same of the processes that this one has waited for. */
const endedCpuMs = (): number => {
  const fields = fieldsOf('self');
  return ((fields[13] ?? 0) + (fields[14] ?? 0)) * TICK_MS;
};
/** How long the cores had nothing to do so far, summed, in milliseconds. */
const idleMs = (): number => {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n')[0]?.split(/ +/).slice(1).map(Number) ?? [];
  return ((fields[3] ?? 0) + (fields[4] ?? 0)) * TICK_MS;
};
/** The same of a server of the database: of its processes, and of those that have ended. */
const serverCpuMs = (server: PostgresServer): number => {
  const parent = Number(server.run(`SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)`));
  const ended = fieldsOf(parent);
  let ms = ((ended[13] ?? 0) + (ended[14] ?? 0)) * TICK_MS;
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger))
    try {
      if (fieldsOf(pid)[1] === parent) ms += cpuMs(pid);
    } catch {
      // It has ended.
    }
  return ms;
};

/** Passes connections on to a port of this machine; what is sent either way arrives so much later. */
const startDelay = async (port: number): Promise<Server> => {
  const pass = (from: Socket, to: Socket): void => {
    from.on('data', (chunk) => setTimeout(() => to.write(chunk), delayMs));
    from.on('close', () => setTimeout(() => to.destroy(), delayMs));
    from.on('error', () => {});
  };
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    pass(near, far);
    pass(far, near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

const load = async (plan: RunsPlan): Promise<RunsFigures> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'runs-worker.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(plan));
  const printed: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the worker process ended with ${code}`);
  return JSON.parse(Buffer.concat(printed).toString('utf8')) as RunsFigures;
};

const measure = async (server: PostgresServer, { services, shards }: Way): Promise<Measured> => {
  const url = server.create();
  const delay = delayMs > 0 ? await startDelay(server.port) : undefined;
  const reached =
    delay === undefined ? url : url.replace(/@127\.0\.0\.1:\d+/, `@127.0.0.1:${(delay.address() as AddressInfo).port}`);
  const folder = benchFolder();
  const daemons: Daemon[] = [];
  const cgroups: Cgroup[] = [];
  try {
    for (let n = 0; n < services; n += 1)
      daemons.push(
        await startDaemon(join(folder.path, String(n)), ['--runs-shards', String(shards)], {
          SVCD_RUNS_URL: reached,
          SVCD_SQLSTORE_URL: reached,
        }),
      );
    const [first] = daemons;
    if (first === undefined) throw new Error('no service was started');
    const owners = 'SELECT count(DISTINCT owner) FROM shard WHERE expires_at > clock_timestamp()';
    const most =
      'SELECT max(n) FROM (SELECT count(*) AS n FROM shard WHERE expires_at > clock_timestamp() GROUP BY owner) AS s';
    const wanted = [String(Math.min(services, shards)), String(Math.ceil(shards / services))].join();
    while ([server.run(owners, url), server.run(most, url)].join() !== wanted) await sleep(100);
    await sleep(3_000); // until each service has seen who owns the others
    const answer = await fetch(`${first.url}/v1/api/definitions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ definitions: [five] }),
    });
    if (answer.status !== 200) throw new Error(await answer.text());
    const plan: RunsPlan = {
      url: first.url,
      others: daemons.slice(1).map((one) => one.url),
      projects: PROJECTS,
      definition: 'five',
      inFlight,
      seconds,
    };
    // Each service compiles what it runs, which a part of a core would take its time for.
    await load({ ...plan, seconds: WARM_UP_SECONDS });
    if (cores !== undefined)
      for (const { process: started } of daemons) {
        const cgroup = boundProcessor(cores);
        cgroups.push(cgroup);
        cgroup.add(started.pid ?? 0);
      }
    const look = () => ({
      at: performance.now(),
      services: daemons.map(({ process: { pid = 0 } }) => cpuMs(pid)),
      server: serverCpuMs(server),
      load: endedCpuMs(),
      idle: idleMs(),
      transactions: Number(
        server.run('SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()', url),
      ),
      syncs: Number(server.run('SELECT wal_sync FROM pg_stat_wal')),
    });
    const before = look();
    const figures = await load(plan);
    const after = look();
    const all = figures.runs * five.steps.length;
    const took = after.at - before.at;
    const usedMs = after.services.map((ms, n) => ms - (before.services[n] ?? 0));
    return {
      stepsPerSecond: figures.stepsPerSecond,
      nextP50Ms: figures.nextP50Ms,
      stepsPerClaim: figures.stepsPerClaim,
      servicesUs: (usedMs.reduce((sum, ms) => sum + ms, 0) * 1000) / all,
      databaseUs: ((after.server - before.server) * 1000) / all,
      loadUs: ((after.load - before.load) * 1000) / all,
      transactions: (after.transactions - before.transactions) / all,
      syncs: (after.syncs - before.syncs) / all,
      idle: (after.idle - before.idle) / (took * availableParallelism()),
      used: usedMs.map((ms) => ms / took),
    };
  } finally {
    for (const daemon of daemons) await daemon.stop();
    for (const cgroup of cgroups) cgroup.remove();
    delay?.close();
    folder.remove();
  }
};

const server = await startPostgres({ isDurable: true });
try {
  const found = new Map<Way, Measured[]>(ways.map((way) => [way, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [way, figures] of found) figures.push(await measure(server, way));
  const [first] = found.values();
  const network = delayMs > 0 ? `, ${delayMs} ms to the database` : '';
  const bound = cores === undefined ? '' : `, ${cores} of a core for each service`;
  console.log(`${inFlight} runs of five steps in flight, ${availableParallelism()} cores${bound}${network}:`);
  for (const [{ name }, figures] of found) {
    const ratio = median(
      figures.map(({ stepsPerSecond }, round) => stepsPerSecond / (first?.[round]?.stepsPerSecond ?? Number.NaN)),
    );
    const of = (figure: Exclude<keyof Measured, 'used'>): string =>
      spread(
        figures.map((one) => one[figure]),
        2,
      );
    const used = figures.map((one) => one.used.map((share) => share.toFixed(2)).join(' + ')).join('; ');
    console.log(
      `  ${name}: ${of('stepsPerSecond')} steps/s, ${ratio.toFixed(2)} of the first, the next one after ${of('nextP50Ms')} ms, ${of('stepsPerClaim')} a claim; a step takes ${of('servicesUs')} us of the services, ${of('databaseUs')} of the database, ${of('loadUs')} of the load, ${of('transactions')} transactions, ${of('syncs')} syncs; services used ${used} cores, ${of('idle')} of all time was idle`,
    );
  }
} finally {
  await server.remove();
}
