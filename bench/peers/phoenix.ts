/**
 * Phoenix takes the same OTLP bodies, over SQLite as it starts by default, in turn with the service: `node bench/peers/phoenix.ts`. A span counts
 * when it can be found: here that is when it is answered, there when its row is in the file, which is later. @see README.md
 */
import Database from 'better-sqlite3';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLastingPort, startDaemon } from '../../test/daemon.ts';
import { median, percent, spread } from '../pairs.ts';
import { benchFolder, type Door, load, WARM_UP_SECONDS } from '../serve.ts';
import { PAIRS, SECONDS, withServer } from './peer-server.ts';

const HERE = import.meta.dirname;
const VENV = join(HERE, '.venv');
const STAMP = join(VENV, '.installed');
/** How long what was taken may need to come into the file, after the load. */
const SETTLE_MS = 60_000;

type Figures = {
  /** Spans that were answered, a second. */
  readonly answered: number;
  /** Spans that could be found, a second, counted to the moment at which the last of them could. */
  readonly findable: number;
  /** Of those that were answered, those that could be found within a minute after the load. */
  readonly share: number;
};

const door: Door = { encoding: 'protobuf', spansPerBody: 512, connections: 8, seconds: SECONDS };

const ours = async (): Promise<Figures> => {
  const folder = benchFolder();
  const daemon = await startDaemon(folder.path);
  const { signalsPerSecond } = await load(folder.path, daemon.url, door);
  await daemon.stop();
  folder.remove();
  return { answered: signalsPerSecond, findable: signalsPerSecond, share: 1 };
};

const phoenix = async (): Promise<Figures> => {
  const folder = benchFolder();
  const [port, grpc] = [await aLastingPort(), await aLastingPort()];
  const url = `http://127.0.0.1:${port}`;
  const server = {
    program: join(VENV, 'bin', 'phoenix'),
    args: ['serve'],
    env: {
      PHOENIX_WORKING_DIR: folder.path,
      PHOENIX_HOST: '127.0.0.1',
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpc),
      PHOENIX_TELEMETRY_ENABLED: 'false',
      PHOENIX_ALLOW_EXTERNAL_RESOURCES: 'false',
    },
    ready: [`${url}/healthz`],
  };
  try {
    return await withServer(server, async () => {
      const file = new Database(join(folder.path, 'phoenix.db'), { readonly: true });
      const stored = (): number => file.prepare('SELECT count(*) FROM spans').pluck().get() as number;
      const from = performance.now();
      const { signalsPerSecond } = await load(folder.path, url, door);
      const answered = signalsPerSecond * SECONDS;
      let last = { at: performance.now(), count: stored() };
      for (const until = Date.now() + SETTLE_MS; Date.now() < until && last.count < answered; await sleep(500)) {
        const count = stored();
        if (count > last.count) last = { at: performance.now(), count };
      }
      file.close();
      const took = (last.at - from) / 1000;
      return { answered: signalsPerSecond, findable: last.count / took, share: Math.min(1, last.count / answered) };
    });
  } finally {
    folder.remove();
  }
};

if (!existsSync(STAMP)) {
  const install = [
    ['python3', '-m', 'venv', '--clear', VENV],
    [
      join(VENV, 'bin', 'pip'),
      'install',
      '--quiet',
      '--require-hashes',
      '--only-binary',
      ':all:',
      '-r',
      'requirements.txt',
    ],
  ];
  for (const [command = '', ...args] of install)
    if (spawnSync(command, args, { cwd: HERE, stdio: 'inherit' }).status !== 0)
      throw new Error('phoenix could not be installed');
  writeFileSync(STAMP, '');
}

const figures = { ours: [] as Figures[], theirs: [] as Figures[] };
for (let pair = 0; pair < PAIRS; pair += 1) {
  figures.ours.push(await ours());
  figures.theirs.push(await phoenix());
}
const ratio = median(
  figures.ours.map(({ findable }, pair) => findable / (figures.theirs[pair]?.findable ?? Number.NaN)),
);
console.log(
  `spans/s answered: ${spread(figures.ours.map((one) => one.answered))} against ${spread(figures.theirs.map((one) => one.answered))}`,
);
console.log(
  `spans/s findable: ${spread(figures.ours.map((one) => one.findable))} against ${spread(figures.theirs.map((one) => one.findable))}: ${percent(ratio)}`,
);
console.log(
  `of theirs, findable a minute after the load: ${spread(figures.theirs.map(({ share }) => 100 * share))} % (the first ${WARM_UP_SECONDS} s of load not counted)`,
);
