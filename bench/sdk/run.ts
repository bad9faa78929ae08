/** What the client libraries cost, side by side: `node bench/sdk/run.ts [spans] [runs] [--sdk go,python]`. @see README.md */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDaemon } from '../../test/daemon.ts';
import { median, percent, spread } from '../pairs.ts';
import { benchFolder } from '../serve.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 3);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 10);
const IN_FLIGHT = 50;

type Command = readonly [string, ...string[]];
type Row = {
  readonly name: string;
  readonly build?: Command;
  readonly spans?: Command;
  readonly runs?: Command;
  /** Microseconds of a span at the median. */
  readonly aimUs: number;
  /** Of the steps per second of TypeScript. */
  readonly aimSteps: number;
};

const at = (...path: readonly string[]): string => join(ROOT, ...path);
const go = at('sdk', 'go', '.build', 'bench');

const jackson = ['databind', 'core', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`);
const java = ['-cp', [at('sdk', 'java', '.build', 'all.jar'), ...jackson].join(':'), 'Bench'] as const;

/** TypeScript is first: the others are compared with it. */
const rows: readonly Row[] = [
  {
    name: 'typescript',
    spans: [process.execPath, at('bench', 'sdk', 'spans.ts')],
    runs: [process.execPath, at('bench', 'runs-library.ts')],
    aimUs: 20,
    aimSteps: 1,
  },
  { name: 'python', spans: ['python3', at('sdk', 'python', 'bench', 'spans.py')], aimUs: 40, aimSteps: 0.6 },
  {
    name: 'go',
    build: ['env', 'GOTOOLCHAIN=local', 'go', 'build', '-C', at('sdk', 'go', 'bench'), '-o', go, '.'],
    spans: [go, 'spans'],
    runs: [go, 'runs'],
    aimUs: 5,
    aimSteps: 0.9,
  },
  {
    name: 'java',
    build: [at('sdk', 'java', 'build.sh')],
    // A virtual machine takes what it may have before it collects: with a small heap, what grows is what is held.
    spans: ['java', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmn3m', '-Xmx52m', ...java, 'spans'],
    runs: ['java', ...java, 'runs'],
    aimUs: 5,
    aimSteps: 0.9,
  },
];

/** Runs a program to its end. @throws Error when it fails */
const run = async <Figures>([command, ...args]: Command, input = ''): Promise<Figures> => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  const printed: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return JSON.parse(Buffer.concat(printed).toString('utf8')) as Figures;
};

type SpanFigures = {
  readonly record: { readonly median_us: number; readonly p99_us: number; readonly cpu_us: number };
  readonly stalled: { readonly offered_per_s: number; readonly dropped: number; readonly grew_mb: number };
};

const benchSpans = async (chosen: readonly Row[]): Promise<void> => {
  for (const { name, spans, aimUs } of chosen) {
    if (spans === undefined) continue;
    const { record, stalled } = await run<SpanFigures>(spans);
    console.log(
      `${name}: a span ${record.median_us.toFixed(1)} us at the median (aim ${aimUs}), ${record.p99_us.toFixed(1)} at p99, ` +
        `${record.cpu_us.toFixed(1)} of processor time; with a stalled service, ${stalled.offered_per_s} spans/s offered, ` +
        `${stalled.dropped} dropped, ${stalled.grew_mb.toFixed(1)} MB more (aim 64)`,
    );
  }
};

const five = {
  id: 'five',
  version: 1,
  steps: Array.from({ length: 5 }, (_, index) => ({ id: `step-${index}`, kind: 'task' })),
};

/** Steps per second of one library against a daemon of its own. */
const stepsOf = async (command: Command): Promise<number> => {
  const folder = benchFolder();
  const daemon = await startDaemon(folder.path);
  const stored = await fetch(`${daemon.url}/v1/api/definitions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ definitions: [five] }),
  });
  if (!stored.ok) throw new Error(await stored.text());
  const plan = { url: daemon.url, definition: five.id, inFlight: IN_FLIGHT, seconds: SECONDS };
  const { stepsPerSecond } = await run<{ stepsPerSecond: number }>(command, JSON.stringify(plan));
  await daemon.stop();
  folder.remove();
  return stepsPerSecond;
};

const benchRuns = async (chosen: readonly Row[]): Promise<void> => {
  const measured = chosen.flatMap(({ name, runs, aimSteps }) =>
    runs === undefined ? [] : [{ name, runs, aimSteps, figures: [] as number[] }],
  );
  // In turns: the machine is shared, and its speed drifts.
  for (let pair = 0; pair < PAIRS; pair += 1) for (const row of measured) row.figures.push(await stepsOf(row.runs));
  const [first] = measured;
  for (const { name, figures, aimSteps } of measured) {
    const ratios = figures.map((one, pair) => one / (first?.figures[pair] ?? Number.NaN));
    console.log(
      `${name}: ${spread(figures)} steps/s, ${percent(median(ratios))} of ${first?.name} (aim ${percent(aimSteps)})`,
    );
  }
};

const { values, positionals } = parseArgs({ options: { sdk: { type: 'string' } }, allowPositionals: true });
const named = values.sdk?.split(',');
const chosen = rows.filter(({ name, build }) => {
  if (named !== undefined && !named.includes(name)) return false;
  if (build === undefined) return true;
  const [command, ...args] = build;
  const built = spawnSync(command, args, { encoding: 'utf8' });
  if (built.status !== 0) console.log(`${name}: left out, it does not build: ${built.stderr}`);
  return built.status === 0;
});
const wanted = positionals.length === 0 ? ['spans', 'runs'] : positionals;
if (wanted.includes('spans')) await benchSpans(chosen);
if (wanted.includes('runs')) await benchRuns(chosen);
