/**
 * Durable runs in PostgreSQL, moved by one service or shared by three: steps a second, and the processor time that a step takes of all
 * services. Run: `node bench/shared-runs.ts [rounds] [seconds] [in flight]`. Each round has all of them in turn, each on an empty database. The runs
 * are of 24 projects, and each call goes to the next service. Services, database and load share the machine: where it has fewer cores than they
 * can use, three services cannot be faster than one, and the processor time says what sharing costs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Daemon, startDaemon } from '../test/daemon.ts';
import { type PostgresServer, startPostgres } from '../test/postgres.ts';
import { median, spread } from './pairs.ts';
import type { RunsFigures, RunsPlan } from './runs-worker.ts';
import { benchFolder } from './serve.ts';

const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 10);
const inFlight = Number(process.argv[4] ?? 50);
const PROJECTS = 24;

type Way = { readonly name: string; readonly services: number; readonly shards: number };
const ways: readonly Way[] = [
  { name: 'one service, one shard', services: 1, shards: 1 },
  { name: 'one service, six shards', services: 1, shards: 6 },
  { name: 'three services, one shard', services: 3, shards: 1 },
  { name: 'three services, six shards', services: 3, shards: 6 },
];
type Measured = { readonly stepsPerSecond: number; readonly servicesUs: number };

const five = {
  id: 'five',
  version: 1,
  steps: Array.from({ length: 5 }, (_, index) => ({ id: `step-${index}`, kind: 'task' })),
};

/** Processor time of a process so far, all its threads, in milliseconds. @see proc(5) */
const cpuMs = (pid: number | undefined): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
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
  const folder = benchFolder();
  const daemons: Daemon[] = [];
  try {
    for (let n = 0; n < services; n += 1)
      daemons.push(
        await startDaemon(join(folder.path, String(n)), ['--runs-shards', String(shards)], {
          SVCD_RUNS_URL: url,
          SVCD_SQLSTORE_URL: url,
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
    const cpuOf = (): number => daemons.reduce((sum, { process: { pid } }) => sum + cpuMs(pid), 0);
    const before = cpuOf();
    const figures = await load({
      url: first.url,
      others: daemons.slice(1).map((one) => one.url),
      projects: PROJECTS,
      definition: 'five',
      inFlight,
      seconds,
    });
    const all = figures.runs * five.steps.length;
    return { stepsPerSecond: figures.stepsPerSecond, servicesUs: ((cpuOf() - before) * 1000) / all };
  } finally {
    for (const daemon of daemons) await daemon.stop();
    folder.remove();
  }
};

const server = await startPostgres({ isDurable: true });
try {
  const found = new Map<Way, Measured[]>(ways.map((way) => [way, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [way, figures] of found) figures.push(await measure(server, way));
  const [first] = found.values();
  console.log(`${inFlight} runs of five steps in flight, ${availableParallelism()} cores:`);
  for (const [{ name }, figures] of found) {
    const ratio = median(
      figures.map(({ stepsPerSecond }, round) => stepsPerSecond / (first?.[round]?.stepsPerSecond ?? Number.NaN)),
    );
    console.log(
      `  ${name}: ${spread(figures.map((one) => one.stepsPerSecond))} steps/s, ${ratio.toFixed(2)} of the first; ${spread(figures.map((one) => one.servicesUs))} us of the services a step`,
    );
  }
} finally {
  await server.remove();
}
