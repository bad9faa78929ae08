/**
 * Damages the files of a healthy service, one way for each start: flipped bits, a page of zeros, a page of another file, a cut end, an end that
 * grew, a log of another time, an empty file. Then `svc doctor` looks at them, and the service starts on them and is asked for all that it holds.
 * What SQLite itself calls damaged the doctor names; a start succeeds or is refused in words; no answer is a 500, and the process lives.
 * Run as a command: `node test/faults/damaged-files.ts --files 1000 --seed 7`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { nativeEntry, otlpEntry, seededRandom } from '../crash/ledger.ts';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

const PAGE = 16_384;
const TRACES = 60;
const RUNS = 30;
const BIN = join(import.meta.dirname, '..', '..', 'bin', 'svc.mjs');
const FILES = ['svc.db', 'svc.db.fts', 'svc-runs.db'] as const;

export type DamageFigures = {
  readonly seed: number;
  readonly files: number;
  /** Starts that were refused in words. */
  readonly refused: number;
  readonly served: number;
  /** Of those that SQLite calls damaged, how many there were; the doctor named each. */
  readonly damaged: number;
  readonly byKind: Readonly<Record<string, number>>;
  /** Answers of the started services, by status. */
  readonly answers: Readonly<Record<string, number>>;
};

const post = async (url: string, body: string): Promise<Record<string, unknown>> => {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (answer.status >= 300) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
};

/** A service with traces of all six signals and runs that wait, and a copy of its files from the middle of that, for logs of another time. */
const makeHealthy = async (folder: string, earlier: string): Promise<{ traces: string[]; runs: string[] }> => {
  const daemon = await startDaemon(folder);
  const traces: string[] = [];
  const runs: string[] = [];
  const definition = {
    id: 'wait',
    version: 1,
    steps: [
      { id: 'ask', kind: 'wait_event', event: 'approval', key: '${input.n}' },
      { id: 'act', kind: 'task' },
    ],
  };
  await post(`${daemon.url}/v1/api/definitions`, JSON.stringify({ definitions: [definition] }));
  for (let n = 0; n < TRACES; n += 1) {
    const now = BigInt(Date.now()) * 1_000_000n;
    const filler = 'a sentence that takes some room in the file '.repeat(10);
    const entry = n % 2 === 0 ? nativeEntry(20, now, filler) : otlpEntry(20, now, filler);
    await post(`${daemon.url}${entry.door === 'otlp' ? '/v1/traces' : '/v1/ingest'}`, entry.body);
    traces.push(entry.traceId);
    if (n < RUNS) {
      const run = await post(
        `${daemon.url}/v1/api/runs`,
        JSON.stringify({ definition_id: 'wait', input: { n: String(n) } }),
      );
      runs.push(String(run['run_id']));
    }
    if (n === TRACES / 2) for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(earlier, name));
  }
  await daemon.stop('SIGKILL');
  return { traces, runs };
};

type Draw = () => number;
const damages: Readonly<Record<string, (path: string, random: Draw, other: string) => void>> = {
  'bits flipped': (path, random) => {
    const bytes = readFileSync(path);
    for (let flips = 1 + Math.floor(random() * 16); flips > 0; flips -= 1) {
      const at = Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    }
    writeFileSync(path, bytes);
  },
  'bits flipped in the head': (path, random) => {
    const bytes = readFileSync(path);
    for (let flips = 1 + Math.floor(random() * 4); flips > 0; flips -= 1) {
      const at = Math.floor(random() * 200);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    }
    writeFileSync(path, bytes);
  },
  'a page of zeros': (path, random) => {
    const bytes = readFileSync(path);
    const page = Math.floor(random() * Math.ceil(bytes.length / PAGE));
    bytes.fill(0, page * PAGE, (page + 1) * PAGE);
    writeFileSync(path, bytes);
  },
  'a page of another file': (path, random, other) => {
    const bytes = readFileSync(path);
    const from = readFileSync(other);
    const page = Math.floor(random() * Math.ceil(bytes.length / PAGE));
    from.copy(bytes, page * PAGE, Math.floor(random() * Math.ceil(from.length / PAGE)) * PAGE);
    writeFileSync(path, bytes);
  },
  'its end cut off': (path, random) => truncateSync(path, Math.floor(random() * statSync(path).size)),
  'an end that grew': (path, random) =>
    writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.alloc(Math.floor(random() * 3 * PAGE), 0x5a)])),
  'a file of nothing': (path) => writeFileSync(path, ''),
};

const doctor = async (folder: string): Promise<{ status: number | null; text: string }> => {
  const files = ['--data', join(folder, 'svc.db'), '--runs-data', join(folder, 'svc-runs.db')];
  const child = spawn(process.execPath, [BIN, 'doctor', ...files], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, text };
};

/** What SQLite says of a file, on a copy of it and its log. */
const soundness = (folder: string, name: string): string => {
  const copy = join(folder, 'copy');
  mkdirSync(copy);
  try {
    for (const end of ['', '-wal']) {
      const path = join(folder, name + end);
      if (existsSync(path)) copyFileSync(path, join(copy, name + end));
    }
    const db = new Database(join(copy, name));
    try {
      return String(db.pragma('quick_check(1)', { simple: true }));
    } finally {
      db.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    rmSync(copy, { recursive: true });
  }
};

/** @throws Error that names the seed, the file and the damage on the first promise that does not hold */
export const damageFiles = async (options: {
  readonly files: number;
  readonly seed: number;
  readonly folder: string;
  readonly onFile?: (file: number) => void;
}): Promise<DamageFigures> => {
  const { seed } = options;
  const random = seededRandom(seed);
  const [killed, stopped, earlier] = ['killed', 'stopped', 'earlier'].map((name) => join(options.folder, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [killed, stopped, earlier]) mkdirSync(folder);
  const { traces, runs } = await makeHealthy(killed, earlier);
  // Almost all that a killed service leaves lies in the logs; after a stop it lies in the files.
  for (const name of readdirSync(killed)) copyFileSync(join(killed, name), join(stopped, name));
  await (await startDaemon(stopped)).stop('SIGTERM');
  const questions = [
    ...['traces', 'traces?q=answer', 'spans', 'logs', 'metrics', 'scores', 'sessions', 'runs', 'workers', 'leases'],
    ...['definitions', 'actors', 'machines', 'analytics/cost?group_by=model&from=-1d', 'projects', 'events'],
  ];
  const names = Object.keys(damages);
  const figures = { refused: 0, served: 0, damaged: 0 };
  const byKind: Record<string, number> = {};
  const answers: Record<string, number> = {};
  for (let n = 0; n < options.files; n += 1) {
    const healthy = random() < 0.4 ? killed : stopped;
    const folder = join(options.folder, `case-${n}`);
    mkdirSync(folder);
    for (const name of readdirSync(healthy)) copyFileSync(join(healthy, name), join(folder, name));
    const name = FILES[Math.floor(random() * FILES.length)] ?? 'svc.db';
    const other = FILES[Math.floor(random() * FILES.length)] ?? 'svc.db';
    let kind = names[Math.floor(random() * names.length)] ?? '';
    const log = join(folder, `${name}-wal`);
    const target = random();
    if (target < 0.15 && existsSync(join(earlier, `${name}-wal`))) {
      kind = 'a log of another time';
      copyFileSync(join(earlier, `${name}-wal`), log);
    } else if (target < 0.4 && existsSync(log)) {
      damages[kind]?.(log, random, join(healthy, other));
      kind = `${kind}, in the log`;
    } else damages[kind]?.(join(folder, name), random, join(healthy, other));
    byKind[kind] = (byKind[kind] ?? 0) + 1;
    const where = `seed ${seed}, file ${n}, ${name}, ${kind}`;
    const fail = (what: string): Error => new Error(`${where}: ${what}`);

    const sound = soundness(folder, name);
    const said = await doctor(folder);
    if (said.status !== 0 && said.status !== 2 && said.status !== 1)
      throw fail(`doctor ended with ${said.status}: ${said.text}`);
    if (/at .*\.ts:\d+/.test(said.text)) throw fail(`doctor printed a stack: ${said.text}`);
    if (sound !== 'ok') {
      figures.damaged += 1;
      if (said.status === 0) throw fail(`SQLite says ${JSON.stringify(sound)}, the doctor found nothing: ${said.text}`);
    }

    let daemon: Daemon | undefined;
    try {
      daemon = await startDaemon(folder);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (/at .*\.ts:\d+/.test(text) || !/ended with (1|2|66|70|74|75|78):/.test(text))
        throw fail(`the start: ${text}`);
      figures.refused += 1;
    }
    if (daemon !== undefined) {
      figures.served += 1;
      const picked = [traces, runs].map((list) => list[Math.floor(random() * list.length)] ?? '') as [string, string];
      const paths = [
        ...questions.map((question) => `/v1/api/${question}`),
        ...[`/v1/api/traces/${picked[0]}?include=all`, `/v1/api/runs/${picked[1]}`, `/v1/api/runs/${picked[1]}/events`],
        ...[`/v1/api/actors/run/${picked[1]}`, '/healthz', '/metrics'],
      ];
      for (const path of paths) {
        const answer = await fetch(daemon.url + path);
        const text = await answer.text();
        answers[answer.status] = (answers[answer.status] ?? 0) + 1;
        if (answer.status === 500) throw fail(`${path} answered 500: ${text}`);
      }
      const sent = await fetch(`${daemon.url}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: nativeEntry(3, BigInt(Date.now()) * 1_000_000n).body,
      });
      await sent.text();
      if (sent.status !== 200 && sent.status !== 503) throw fail(`a batch was answered ${sent.status}`);
      if (daemon.process.exitCode !== null) throw fail(`the process ended with ${daemon.process.exitCode}`);
      const exit = await daemon.stop('SIGTERM');
      if (exit !== 0) throw fail(`the stop ended with ${exit}: ${daemon.lines.slice(-3).join(' ')}`);
    }
    rmSync(folder, { recursive: true });
    options.onFile?.(n);
  }
  return { seed, files: options.files, ...figures, byKind, answers };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { files: { type: 'string', default: '1000' }, seed: { type: 'string', default: '20261122' } },
  });
  const folder = temporaryFolder();
  const options = { files: Number(values.files), seed: Number(values.seed), folder: folder.path };
  const onFile = (file: number): void => void (file % 50 === 49 && console.log(`${file + 1} files`));
  console.log(JSON.stringify(await damageFiles({ ...options, onFile })));
  folder.remove();
}
