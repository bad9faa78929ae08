/** What the client libraries cost, side by side: `node bench/sdk/run.ts [spans] [runs] [--sdk go,python]`. @see README.md */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { startDaemon } from '../../test/daemon.ts';
import { median, percent, spread } from '../pairs.ts';
import { benchFolder } from '../serve.ts';
import { type Command, type Language, languages } from './languages.ts';

const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 3);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 5);
/** As long as the compiler of a Java virtual machine needs to catch up, for all alike. */
const WARM_UP_SECONDS = Number(process.env['BENCH_WARM_UP_SECONDS'] ?? 20);
const IN_FLIGHT = 50;
const AIM_MB = 64;

/**
 * Runs a program to its end.
 * @param onLine called with each line before the last, which is the program's figures
 * @throws Error when it fails
 */
const run = async <Figures>(
  [command, ...args]: Command,
  input = '',
  onLine: (line: string) => void = () => {},
): Promise<Figures> => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  let last = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = line;
    onLine(line);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return JSON.parse(last) as Figures;
};

type SpanFigures = {
  readonly record: { readonly median_us: number; readonly p99_us: number; readonly cpu_us: number };
  readonly stalled: { readonly offered_per_s: number; readonly dropped: number; readonly grew_mb: number };
};

/** A service that takes connections and what is sent, and never answers. */
const stalledService = async (): Promise<{ url: string; close: () => void }> => {
  const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
};

const verdict = (isMet: boolean): string => (isMet ? 'met' : 'MISSED');

const benchSpans = async (chosen: readonly Language[]): Promise<void> => {
  for (const { name, spans, aimUs } of chosen) {
    const service = await stalledService();
    const { record, stalled } = await run<SpanFigures>([...spans, service.url]);
    service.close();
    console.log(
      `${name}: a span ${record.median_us.toFixed(1)} us at the median (aim ${aimUs}: ${verdict(record.median_us <= aimUs)}), ` +
        `${record.p99_us.toFixed(1)} at p99, ${record.cpu_us.toFixed(1)} of its thread's processor time; ` +
        `with a stalled service, ${stalled.offered_per_s} spans/s offered, ${stalled.dropped} dropped, ` +
        `${stalled.grew_mb.toFixed(1)} MB more (aim ${AIM_MB}: ${verdict(stalled.grew_mb <= AIM_MB)})`,
    );
  }
};

const five = {
  id: 'five',
  version: 1,
  steps: Array.from({ length: 5 }, (_, index) => ({ id: `step-${index}`, kind: 'task' })),
};

/** Processor time of a process so far, all its threads, in microseconds. @see proc(5), `stat` */
const processorUs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

type RunFigures = { readonly steps: number; readonly seconds: number; readonly cpu_us: number };
type Speed = { readonly stepsPerSecond: number; readonly clientUs: number; readonly daemonUs: number };

/** Steps per second of one library against a daemon of its own, and the processor time of a step on both sides. */
const speedOf = async (command: Command): Promise<Speed> => {
  const folder = benchFolder();
  const daemon = await startDaemon(folder.path);
  const stored = await fetch(`${daemon.url}/v1/api/definitions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ definitions: [five] }),
  });
  if (!stored.ok) throw new Error(await stored.text());
  const plan = {
    ...{ url: daemon.url, definition: five.id, inFlight: IN_FLIGHT },
    ...{ warmUpSeconds: WARM_UP_SECONDS, seconds: SECONDS },
  };
  const daemonAt = { measuring: Number.NaN, measured: Number.NaN };
  const { steps, seconds, cpu_us } = await run<RunFigures>(command, JSON.stringify(plan), (line) => {
    if (line === 'measuring' || line === 'measured') daemonAt[line] = processorUs(daemon.process.pid ?? 0);
  });
  await daemon.stop();
  folder.remove();
  const daemonUs = (daemonAt.measured - daemonAt.measuring) / steps;
  return { stepsPerSecond: steps / seconds, clientUs: cpu_us / steps, daemonUs };
};

const benchRuns = async (chosen: readonly Language[]): Promise<void> => {
  const measured = chosen.map((language) => ({ language, speeds: [] as Speed[] }));
  // In turns: the machine is shared, and its speed drifts.
  for (let pair = 0; pair < PAIRS; pair += 1)
    for (const { language, speeds } of measured) speeds.push(await speedOf(language.runs));
  const [first] = measured;
  if (first === undefined) return;
  for (const { language, speeds } of measured) {
    const { name, aimSteps } = language;
    const ratio = median(
      speeds.map(({ stepsPerSecond }, pair) => stepsPerSecond / (first.speeds[pair]?.stepsPerSecond ?? Number.NaN)),
    );
    const costs = `${spread(speeds.map(({ clientUs }) => clientUs))} us of a step on its side`;
    const daemon = `${spread(speeds.map(({ daemonUs }) => daemonUs))} us on the daemon's`;
    const compared =
      language === first.language
        ? ''
        : `${percent(ratio)} of ${first.language.name} (aim ${percent(aimSteps)}: ${verdict(ratio >= aimSteps)}), `;
    console.log(
      `${name}: ${spread(speeds.map(({ stepsPerSecond }) => stepsPerSecond))} steps/s, ${compared}processor time ${costs}, ${daemon}`,
    );
  }
};

const { values, positionals } = parseArgs({ options: { sdk: { type: 'string' } }, allowPositionals: true });
const named = values.sdk?.split(',');
const unknown = named?.filter((name) => !languages.some((language) => language.name === name)) ?? [];
if (unknown.length > 0) throw new Error(`--sdk: no library is named ${unknown.join(', ')}`);
const chosen = languages.filter(({ name, build }) => {
  if (named !== undefined && !named.includes(name)) return false;
  if (build === undefined) return true;
  const [command, ...args] = build;
  const built = spawnSync(command, args, { encoding: 'utf8' });
  if (built.status === 0) return true;
  console.log(`${name}: LEFT OUT, it does not build: ${built.stdout}${built.stderr}`);
  process.exitCode = 1;
  return false;
});
const wanted = positionals.length === 0 ? ['spans', 'runs'] : positionals;
const load = (): string =>
  loadavg()
    .map((one) => one.toFixed(1))
    .join(', ');
console.log(`load ${load()}`);
if (wanted.includes('spans')) await benchSpans(chosen);
if (wanted.includes('runs')) await benchRuns(chosen);
console.log(`load ${load()}`);
