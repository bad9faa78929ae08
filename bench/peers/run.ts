/**
 * The same work on other engines, each with the durable defaults that it documents, in turn with the service driven through its own
 * library: `node bench/peers/run.ts [restate] [dbos] [openworkflow-sqlite] [openworkflow-postgres]`. @see README.md
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { aLastingPort, startDaemon } from '../../test/daemon.ts';
import { startPostgres } from '../../test/postgres.ts';
import type { DrivenFigures, DrivenPlan } from '../drive-runs.ts';
import { median, percent, spread } from '../pairs.ts';
import { benchFolder } from '../serve.ts';
import { PAIRS, SECONDS, withServer } from './peer-server.ts';

const HERE = import.meta.dirname;
const STEPS = 5;
/** Peers send nothing about their use to their makers, and say no more than what went wrong. */
const QUIET = {
  DO_NOT_TRACK: '1',
  RESTATE_DISABLE_TELEMETRY: 'true',
  RESTATE_LOGGING: 'ERROR',
  NODE_ENV: 'production',
};

type Figures = Pick<DrivenFigures, 'runP50Ms' | 'runP99Ms'> & { readonly stepsPerSecond: number };
/** Gives the figures of a load on a service and files of its own. */
type Engine = (plan: DrivenPlan) => Promise<Figures>;

/** Runs a driver to its end. @throws Error when it fails */
const run = async <Printed>(file: string, plan: object): Promise<Printed> => {
  const child = spawn(process.execPath, [file], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...QUIET },
  });
  child.stdin.end(JSON.stringify(plan));
  const printed: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  return JSON.parse(Buffer.concat(printed).toString()) as Printed;
};

const peer = async (file: string, plan: object): Promise<Figures> => {
  const { runsPerSecond, ...figures } = await run<DrivenFigures>(join(HERE, file), plan);
  return { ...figures, stepsPerSecond: STEPS * runsPerSecond };
};

const ours: Engine = async (plan) => {
  const folder = benchFolder();
  const daemon = await startDaemon(folder.path);
  const steps = Array.from({ length: STEPS }, (_, step) => ({ id: `step-${step}`, kind: 'task' }));
  const stored = await fetch(`${daemon.url}/v1/api/definitions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ definitions: [{ id: 'five', version: 1, steps }] }),
  });
  if (!stored.ok) throw new Error(await stored.text());
  const figures = await run<Figures>(join(HERE, '..', 'runs-library.ts'), {
    ...plan,
    url: daemon.url,
    definition: 'five',
  });
  await daemon.stop();
  folder.remove();
  return figures;
};

const restate: Engine = async (plan) => {
  const folder = benchFolder();
  const [node, ingress, admin] = [await aLastingPort(), await aLastingPort(), await aLastingPort()];
  const server = {
    program: join(HERE, 'node_modules', '.bin', 'restate-server'),
    args: [],
    env: {
      ...QUIET,
      RESTATE_BASE_DIR: folder.path,
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    },
    ready: [`http://127.0.0.1:${admin}/health`, `http://127.0.0.1:${ingress}/restate/health`],
  };
  try {
    return await withServer(server, () =>
      peer('restate.mjs', { ...plan, ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` }),
    );
  } finally {
    folder.remove();
  }
};

const onPostgres =
  (file: string): Engine =>
  async (plan) => {
    const server = await startPostgres({ isDurable: true });
    try {
      return await peer(file, { ...plan, database: server.create() });
    } finally {
      await server.remove();
    }
  };

const onSqlite =
  (file: string): Engine =>
  async (plan) => {
    const folder = benchFolder();
    try {
      return await peer(file, { ...plan, file: join(folder.path, 'runs.db') });
    } finally {
      folder.remove();
    }
  };

type Peer = { readonly name: string; readonly engine: Engine; readonly aim?: number; readonly aimP99?: number };
const peers: readonly Peer[] = [
  { name: 'restate', engine: restate, aim: 1.4, aimP99: 0.7 },
  { name: 'dbos', engine: onPostgres('dbos.mjs'), aim: 3 },
  { name: 'openworkflow-sqlite', engine: onSqlite('openworkflow.mjs') },
  { name: 'openworkflow-postgres', engine: onPostgres('openworkflow.mjs') },
];

if (!existsSync(join(HERE, 'node_modules'))) {
  // Without install scripts: one of them reports the installation to somebody.
  const installed = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: HERE,
    stdio: 'inherit',
  });
  if (installed.status !== 0) throw new Error('the peers could not be installed');
}
const named = process.argv.slice(2);
const unknown = named.filter((name) => !peers.some((one) => one.name === name));
if (unknown.length > 0) throw new Error(`no peer ${unknown.join(', ')}: ${peers.map(({ name }) => name).join(', ')}`);
const chosen = peers.filter(({ name }) => named.length === 0 || named.includes(name));

const aimOf = (aim: number | undefined): string => (aim === undefined ? '' : ` (aim ${percent(aim)})`);
for (const inFlight of [50, 1]) {
  const plan = { inFlight, seconds: SECONDS };
  for (const { name, engine, aim, aimP99 } of chosen) {
    const of = { ours: [] as Figures[], theirs: [] as Figures[] };
    // In turns: the machine is shared, and its speed drifts.
    for (let pair = 0; pair < PAIRS; pair += 1) {
      of.ours.push(await ours(plan));
      of.theirs.push(await engine(plan));
    }
    const ratio = (value: (figures: Figures) => number): number =>
      median(of.ours.map((one, pair) => value(one) / value(of.theirs[pair] as Figures)));
    const all = (value: (figures: Figures) => number): string =>
      `${spread(of.ours.map(value))} against ${spread(of.theirs.map(value))}`;
    const isLoaded = inFlight > 1;
    console.log(`${name}, ${inFlight} in flight:`);
    console.log(
      `  steps/s ${all((one) => one.stepsPerSecond)}: ${percent(ratio((one) => one.stepsPerSecond))}${aimOf(isLoaded ? aim : undefined)}`,
    );
    console.log(`  run p50 ms ${all((one) => one.runP50Ms)}: ${percent(ratio((one) => one.runP50Ms))}`);
    console.log(
      `  run p99 ms ${all((one) => one.runP99Ms)}: ${percent(ratio((one) => one.runP99Ms))}${aimOf(isLoaded ? aimP99 : undefined)}`,
    );
  }
}
