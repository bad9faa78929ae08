/**
 * Durable runs: `node bench/runs.ts [steps] [reports] [followers] [events] [beside] [timers] [long] [open] [finished] [keys] [line] [schedules]`; without a name, all of them. Every loop has a
 * bound of its own. Figures are compared within one run: the machine is shared, and its speed drifts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Pool } from 'undici';
import type Database from 'better-sqlite3';
import { type Clock, systemClock } from '../src/actors/kernel/clock.ts';
import { startRuns } from '../src/actors/start.ts';
import { emptyBatch } from '../src/model/signal.ts';
import type { Span } from '../src/model/span.ts';
import type { Changes } from '../src/store/runs/run-store.ts';
import { encodeChanges } from '../src/store/runs/rows/encode-changes.ts';
import { openSqliteRunStore } from '../src/store/sqlite/runs/open.ts';
import { RUNS_FILE } from '../src/store/sqlite/runs/schema.ts';
import { changesWriterOf } from '../src/store/sqlite/runs/write-changes.ts';
import { type FileKind, openDataFile } from '../src/store/sqlite/connection.ts';
import { encodeUnit } from '../src/store/sqlite/signals/encode.ts';
import { SIGNALS_FILE } from '../src/store/sqlite/signals/schema.ts';
import { unitWriterOf } from '../src/store/sqlite/signals/write-unit.ts';
import { transactionsOf } from '../src/store/sqlite/transaction.ts';
import { type Daemon, startDaemon } from '../test/daemon.ts';
import { median, percent, quantile, spread } from './pairs.ts';
import type { RunsFigures, RunsPlan } from './runs-worker.ts';
import { benchFolder, load as loadSignals, residentMiB } from './serve.ts';

const STEPS = 5;
const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 3);
/** A fifth of it is warm-up; with one run in flight compiling takes the first four seconds. */
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 20);
const UNITS_PER_COMMIT = 64;

const task = (id: string, more: object = {}) => ({ id, kind: 'task', ...more });
const five = { id: 'five', version: 1, steps: Array.from({ length: STEPS }, (_, index) => task(`step-${index}`)) };
const waits = {
  id: 'waits',
  version: 1,
  steps: [{ id: 'ask', kind: 'wait_event', event: 'go', key: '${input.n}', accept_parked: true }, task('after')],
};
const sleeps = { id: 'sleeps', version: 1, steps: [{ id: 'nap', kind: 'sleep', sleep_until: '${input.until}' }] };
const idles = {
  id: 'idles',
  version: 1,
  steps: [{ id: 'ask', kind: 'wait_event', event: 'never', key: '${input.n}' }],
};
/** The same with a key of its own for each run, and one for all: each run takes two places and gives them back. */
const keyed = {
  ...five,
  id: 'keyed',
  concurrency: { key: '${input.n}', limit: 1 },
  rate: { key: 'all', limit: 10_000, per_ms: 1000 },
};
/** All but one of its runs wait for one key. */
const lined = { ...idles, id: 'lined', concurrency: { key: 'one', limit: 1 } };
/** Steps of the long run: it leaves 50,000 entries of its journal. */
const LONG = 12_500;
/** Ends at its start, without a worker. */
const ends = { id: 'ends', version: 1, steps: [{ id: 'done', kind: 'succeed' }] };
const FINISHED = Number(process.env['BENCH_FINISHED'] ?? 1_000_000);
const long = {
  id: 'long',
  version: 1,
  limits: { max_steps: LONG + 10 },
  steps: [task('one', { next: [{ when: `visits.one < ${LONG}`, to: 'one' }, { to: 'end' }] })],
};

const register = async (url: string): Promise<void> => {
  const answer = await fetch(`${url}/v1/api/workers/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      worker_id: 'registrar',
      definitions: [five, keyed, lined, waits, sleeps, idles, long, ends],
    }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
};

const serveRuns = async (folder: string): Promise<Daemon> => {
  const daemon = await startDaemon(folder);
  await register(daemon.url);
  return daemon;
};

/** Runs one plan in a process of its own. @throws Error when it fails */
const load = async <Figures = RunsFigures>(plan: RunsPlan, program = 'runs-worker.ts'): Promise<Figures> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, program)], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(plan));
  const printed: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the worker process ended with ${code}`);
  return JSON.parse(Buffer.concat(printed).toString('utf8')) as Figures;
};

/** Processor time of a process so far, all its threads, in milliseconds. @see proc(5) */
const cpuMs = (pid: number | undefined): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** All that some runs of five steps leave on the disk. A unit is one turn's rows of the runs file; the spans go to the trace store. */
type Recorded = { readonly runs: number; readonly units: readonly Changes[]; readonly spans: readonly Span[] };

/** Records it from the service, with a commit of its own for each turn. */
const record = async (runs: number): Promise<Recorded> => {
  const folder = benchFolder();
  const store = await openSqliteRunStore({ path: join(folder.path, 'runs.db') });
  const units: Changes[] = [];
  const spans: Span[] = [];
  const service = await startRuns({
    store: {
      ...store,
      commit: async (changes) => {
        units.push(structuredClone(changes));
        return store.commit(changes);
      },
    },
    writeSpans: (batch) => {
      spans.push(...batch);
      return Promise.resolve();
    },
    price: () => undefined,
    ticks: false,
  });
  const asking = { reach: 'all', workerId: 'w' } as const;
  await service.registerWorker({ reach: 'all', workerId: 'w', definitions: [five] });
  let ended = 0;
  const slot = async (): Promise<void> => {
    while (ended < runs) {
      const claimed = await service.claim({ ...asking, max: 1, waitMs: 50 });
      for (const { leaseId } of claimed.ok ? claimed.value : []) {
        await service.started({ ...asking, leaseId });
        const completed = await service.complete({ ...asking, leaseId, output: { ok: true } });
        if (completed.ok && completed.value.runStatus === 'succeeded') {
          ended += 1;
          await begin();
        }
      }
    }
  };
  const begin = async (): Promise<void> => {
    if (ended < runs)
      await service.startRun({
        reach: 'all',
        project: 'default',
        definitionId: 'five',
        input: { n: `bench-${ended}` },
      });
  };
  // Two, so that one waits while the other completes: the next step is offered in the commit of the one before.
  await Promise.all([slot(), slot(), begin()]);
  await service.flushOutbox();
  await service.close();
  folder.remove();
  return { runs, units, spans };
};

const openBare = (path: string, kind: FileKind): Database.Database => {
  const { db } = openDataFile(path, 64, kind);
  db.pragma('synchronous = FULL');
  if (db.pragma('synchronous', { simple: true }) !== 2) throw new Error('the file does not commit with FULL');
  return db;
};

type Bare = { readonly stepsPerSecond: number; readonly cpuMicros: number };

/**
 * Writes the recorded rows into fresh files, 64 units a commit, and nothing else. Making the rows is not counted.
 * @param traces whether the spans of the units are written too, with the totals of their traces and without full text
 */
const bareSteps = ({ runs, units, spans }: Recorded, traces: boolean): Bare => {
  const folder = benchFolder();
  const db = openBare(join(folder.path, 'runs.db'), RUNS_FILE);
  const traceDb = openBare(join(folder.path, 'svc.db'), SIGNALS_FILE);
  const write = changesWriterOf(db);
  const transactions = transactionsOf(traceDb);
  const traceWriter = unitWriterOf(traceDb, transactions.unit);
  const encoded = units.map(encodeChanges);
  const commits = Math.ceil(encoded.length / UNITS_PER_COMMIT);
  const spansUpTo = (commit: number): number => Math.round((spans.length * commit) / commits);
  const pieces = Array.from({ length: traces ? commits : 0 }, (_, commit) => {
    const batch = { ...emptyBatch, spans: spans.slice(spansUpTo(commit), spansUpTo(commit + 1)) };
    return [...encodeUnit({ batch }, 0n)].map(({ rows }) => rows);
  });
  const cpu = process.cpuUsage();
  const from = performance.now();
  for (let commit = 0; commit < commits; commit += 1) {
    db.exec('BEGIN IMMEDIATE');
    for (const unit of encoded.slice(commit * UNITS_PER_COMMIT, (commit + 1) * UNITS_PER_COMMIT)) write(unit);
    db.exec('COMMIT');
    const rows = pieces[commit];
    if (rows !== undefined)
      transactions.run(() => {
        traceWriter.write(rows, spansUpTo(commit) + 1);
        traceWriter.finish();
      });
  }
  const seconds = (performance.now() - from) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  db.close();
  traceDb.close();
  folder.remove();
  return { stepsPerSecond: (runs * STEPS) / seconds, cpuMicros: (user + system) / (runs * STEPS) };
};

const benchSteps = async (): Promise<void> => {
  const recorded = await record(1500);
  const aStep = (count: number): string => (count / (recorded.runs * STEPS)).toFixed(2);
  console.log(
    `bare: ${aStep(recorded.units.length)} units and ${aStep(recorded.spans.length)} spans a step, ${UNITS_PER_COMMIT} units a commit, FULL, in one process`,
  );
  for (const inFlight of [1, 50, 100]) {
    const limits: Bare[] = [];
    const runsAlone: Bare[] = [];
    const figures: RunsFigures[] = [];
    const cpu: number[] = [];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      limits.push(bareSteps(recorded, true));
      runsAlone.push(bareSteps(recorded, false));
      const folder = benchFolder();
      const daemon = await serveRuns(folder.path);
      const before = cpuMs(daemon.process.pid);
      const one = await load({ url: daemon.url, definition: 'five', inFlight, seconds: SECONDS });
      figures.push(one);
      cpu.push((1000 * (cpuMs(daemon.process.pid) - before)) / (one.runs * STEPS));
      await daemon.stop();
      folder.remove();
    }
    const shareOf = (bare: readonly Bare[]): string =>
      percent(median(figures.map((one, pair) => one.stepsPerSecond / (bare[pair]?.stepsPerSecond ?? Number.NaN))));
    const of = (read: (one: RunsFigures) => number): string => spread(figures.map(read));
    console.log(
      `${inFlight} in flight: ${of((one) => one.stepsPerSecond)} steps/s, bare ${spread(limits.map((one) => one.stepsPerSecond))}, ratio ${shareOf(limits)}; ` +
        `bare rows of the runs file alone ${spread(runsAlone.map((one) => one.stepsPerSecond))}, ratio ${shareOf(runsAlone)}; ` +
        `processor time a step ${spread(cpu)} us, bare ${spread(limits.map((one) => one.cpuMicros))} and ${spread(runsAlone.map((one) => one.cpuMicros))} us; ` +
        `complete to next offer p50 ${of((one) => one.nextP50Ms)} p99 ${of((one) => one.nextP99Ms)} ms; ` +
        `run p50 ${of((one) => one.runP50Ms)} p99 ${of((one) => one.runP99Ms)} ms; refused ${of((one) => one.refused)}`,
    );
  }
};

/** What is the same of a worker written by hand and of one of the library. */
type Reported = Pick<RunsFigures, 'stepsPerSecond' | 'runs' | 'runP50Ms' | 'runP99Ms'>;

/**
 * The same steps by three workers: one written by hand that makes every call by itself, one written by hand that makes many in one,
 * and the library's, whose runs are started and awaited by its client.
 */
const benchReports = async (): Promise<void> => {
  const workers = ['single', 'batched', 'library'] as const;
  for (const inFlight of [1, 50]) {
    const figures: Record<(typeof workers)[number], (Reported & { cpuMicros: number })[]> = {
      single: [],
      batched: [],
      library: [],
    };
    for (let round = 0; round < PAIRS; round += 1)
      for (const worker of workers) {
        const folder = benchFolder();
        const daemon = await serveRuns(folder.path);
        const plan = { url: daemon.url, definition: 'five', inFlight, seconds: SECONDS / 2 };
        const before = cpuMs(daemon.process.pid);
        const one =
          worker === 'library'
            ? await load<Reported>(plan, 'runs-library.ts')
            : await load<Reported>({ ...plan, reports: worker });
        const cpuMicros = (1000 * (cpuMs(daemon.process.pid) - before)) / (one.runs * STEPS);
        figures[worker].push({ ...one, cpuMicros });
        await daemon.stop();
        folder.remove();
      }
    for (const worker of workers) {
      const own = figures[worker];
      const ratios = own.map((one, at) => one.stepsPerSecond / (figures.single[at]?.stepsPerSecond ?? Number.NaN));
      console.log(
        `${inFlight} in flight, ${worker}: ${spread(own.map((one) => one.stepsPerSecond))} steps/s, ${percent(median(ratios))} of single; ` +
          `processor time of the daemon a step ${spread(own.map((one) => one.cpuMicros))} us; ` +
          `run p50 ${spread(own.map((one) => one.runP50Ms))} p99 ${spread(own.map((one) => one.runP99Ms))} ms`,
      );
    }
  }
};

/** A thousand runs in flight, each with a follower of its journal and without. */
const benchFollowers = async (): Promise<void> => {
  const measure = async (follows: boolean): Promise<RunsFigures & { cpuMicros: number }> => {
    const folder = benchFolder();
    const daemon = await serveRuns(folder.path);
    const before = cpuMs(daemon.process.pid);
    const plan = { definition: 'five', inFlight: 1000, seconds: SECONDS / 2, reports: 'batched', follows } as const;
    const figures = await load({ ...plan, url: daemon.url });
    const cpuMicros = (1000 * (cpuMs(daemon.process.pid) - before)) / (figures.runs * STEPS);
    await daemon.stop();
    folder.remove();
    return { ...figures, cpuMicros };
  };
  const alone: Awaited<ReturnType<typeof measure>>[] = [];
  const followed: typeof alone = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    alone.push(await measure(false));
    followed.push(await measure(true));
  }
  const ratios = followed.map((one, pair) => one.stepsPerSecond / (alone[pair]?.stepsPerSecond ?? Number.NaN));
  console.log(
    `1000 in flight, each followed: ${spread(followed.map((one) => one.stepsPerSecond))} steps/s, ` +
      `alone ${spread(alone.map((one) => one.stepsPerSecond))}, ratio ${percent(median(ratios))}; processor time of the daemon a step ` +
      `${spread(followed.map((one) => one.cpuMicros))} us, alone ${spread(alone.map((one) => one.cpuMicros))}; ` +
      `journals read to their end ${spread(followed.map((one) => one.followed / one.runs))} of the runs`,
  );
};

const benchEvents = async (): Promise<void> => {
  const folder = benchFolder();
  const daemon = await serveRuns(folder.path);
  for (const inFlight of [1, 50]) {
    const one = await load({ url: daemon.url, definition: 'waits', inFlight, seconds: SECONDS, publishes: true });
    console.log(
      `${inFlight} in flight: event to resume p50 ${one.nextP50Ms.toFixed(1)} p99 ${one.nextP99Ms.toFixed(1)} ms, ${one.runs} runs`,
    );
  }
  await daemon.stop();
  folder.remove();
};

/** Leases that ended, or went silent for a while, without their worker. Counted in the file of a daemon that has stopped. */
const leasesLost = (folder: string): number => {
  const { db } = openDataFile(join(folder, 'svc-runs.db'), 16, RUNS_FILE);
  const count = (sql: string): number => db.prepare(sql).pluck().get() as number;
  const lost =
    count("SELECT count(*) FROM attempt WHERE state IN ('lapsed', 'orphaned', 'reclaimed', 'timed_out')") +
    count("SELECT count(*) FROM journal WHERE entries LIKE '%step.orphaned%'");
  db.close();
  return lost;
};

/** Runs alone, and beside ingest that sends as fast as it is answered; each on a fresh daemon, in turn. */
const benchBeside = async (): Promise<void> => {
  const plan = { definition: 'five', inFlight: 50, seconds: SECONDS };
  const measure = async (withIngest: boolean): Promise<RunsFigures & { spansPerSecond: number; lost: number }> => {
    const folder = benchFolder();
    const daemon = await serveRuns(folder.path);
    const ingest = withIngest
      ? loadSignals(folder.path, daemon.url, {
          encoding: 'protobuf',
          spansPerBody: 512,
          connections: 8,
          seconds: SECONDS + 2,
        })
      : undefined;
    const figures = await load({ ...plan, url: daemon.url });
    const ingested = await ingest;
    await daemon.stop();
    const lost = leasesLost(folder.path);
    folder.remove();
    return { ...figures, spansPerSecond: ingested?.signalsPerSecond ?? 0, lost };
  };
  const alone: RunsFigures[] = [];
  const beside: Awaited<ReturnType<typeof measure>>[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    alone.push(await measure(false));
    beside.push(await measure(true));
  }
  const ratios = beside.map(({ nextP99Ms }, pair) => nextP99Ms / (alone[pair]?.nextP99Ms ?? Number.NaN));
  console.log(
    `50 in flight beside ingest of ${spread(beside.map(({ spansPerSecond }) => spansPerSecond))} spans/s: ` +
      `complete to next offer p50 ${spread(beside.map(({ nextP50Ms }) => nextP50Ms))} p99 ${spread(beside.map(({ nextP99Ms }) => nextP99Ms))} ms, ` +
      `alone p50 ${spread(alone.map(({ nextP50Ms }) => nextP50Ms))} p99 ${spread(alone.map(({ nextP99Ms }) => nextP99Ms))} ms, ` +
      `p99 ${spread(ratios)} times; ${spread(beside.map(({ stepsPerSecond }) => stepsPerSecond))} steps/s, ` +
      `alone ${spread(alone.map(({ stepsPerSecond }) => stepsPerSecond))}; leases lost ${beside.reduce((sum, { lost }) => sum + lost, 0)}`,
  );
};

/** Starts runs, some at a time. */
const startMany = async (
  url: string,
  definition: string,
  count: number,
  input: (n: number) => object,
): Promise<void> => {
  const pool = new Pool(url, { connections: 64, pipelining: 1 });
  let begun = 0;
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (begun < count) {
        begun += 1;
        const { statusCode, body } = await pool.request({
          path: '/v1/api/runs',
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ definition_id: definition, input: input(begun) }),
        });
        if (statusCode !== 201) throw new Error(`a start answered ${statusCode} ${await body.text()}`);
        await body.dump();
      }
    }),
  );
  await pool.close();
};

const benchTimers = async (): Promise<void> => {
  const count = 10_000;
  const folder = benchFolder();
  const daemon = await serveRuns(folder.path);
  const dueAt = Math.ceil(Date.now() / 1000) * 1000 + 40_000;
  await startMany(daemon.url, 'sleeps', count, (n) => ({ until: new Date(dueAt + (n % 1000)).toISOString() }));
  const left = dueAt - Date.now();
  if (left < 1000) throw new Error('the runs were not all there before the first timer was due');
  const before = cpuMs(daemon.process.pid);
  const fired = async (): Promise<boolean> => {
    for (const status of ['waiting', 'running', 'queued']) {
      const page = await fetch(`${daemon.url}/v1/api/runs?limit=1&status=${status}`);
      if (((await page.json()) as { runs: unknown[] }).runs.length > 0) return false;
    }
    return true;
  };
  await new Promise((resolve) => setTimeout(resolve, left));
  for (let tries = 0; tries < 120 && !(await fired()); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 500));
  const cpu = cpuMs(daemon.process.pid) - before;
  const late: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = `limit=1000&status=succeeded${cursor === undefined ? '' : `&cursor=${cursor}`}`;
    const page = (await (await fetch(`${daemon.url}/v1/api/runs?${query}`)).json()) as {
      runs: { ended_at: string }[];
      next_cursor?: string;
    };
    late.push(...page.runs.map(({ ended_at }) => Date.parse(ended_at) - dueAt));
    cursor = page.next_cursor;
    if (cursor === undefined) break;
  }
  if (late.length !== count) throw new Error(`${late.length} of ${count} timers fired`);
  console.log(
    `${count} timers due within one second: the last fired ${Math.max(...late) - 999} ms after the last was due, ` +
      `half of them ${median(late)} ms after the first was, the earliest ${Math.min(...late)} ms; processor time ${cpu} ms`,
  );
  await daemon.stop();
  folder.remove();
};

const benchLong = async (): Promise<void> => {
  const folder = benchFolder();
  const daemon = await serveRuns(folder.path);
  // The one run goes on to its end; what the seconds say is how much of it is warm-up.
  const { stepMs = [] } = await load({ url: daemon.url, definition: 'long', inFlight: 1, seconds: 10, runs: 1 });
  const tenth = Math.floor(stepMs.length / 10);
  const tenths = Array.from({ length: 10 }, (_, at) => quantile(stepMs.slice(at * tenth, (at + 1) * tenth), 0.5));
  console.log(
    `a run of ${stepMs.length + 1} steps: p50 a step by tenths ${tenths.map((ms) => ms.toFixed(2)).join(' ')} ms, ` +
      `last to second ${percent((tenths[9] ?? Number.NaN) / (tenths[1] ?? Number.NaN))}`,
  );
  const { runs } = (await (await fetch(`${daemon.url}/v1/api/runs?definition_id=long`)).json()) as {
    runs: { run_id: string }[];
  };
  const path = `/v1/api/runs/${runs[0]?.run_id}`;
  const entries = await lastSeq(daemon.url, path);
  const actor = `/v1/api/actors/run/${runs[0]?.run_id}`;
  console.log(`its journal ends with entry ${entries}`);
  await timeReads(daemon.url, {
    'the run': path,
    'the first page of its journal': `${path}/events?limit=100`,
    'the last page': `${path}/events?limit=100&after=${entries - 100}`,
    'its state after entry 100': `${actor}?at_seq=100`,
    'its state after the last but one': `${actor}?at_seq=${entries - 1}`,
  });
  const streaming = performance.now();
  const stream = await fetch(`${daemon.url}${path}/events`, { headers: { accept: 'text/event-stream' } });
  const bytes = (await stream.arrayBuffer()).byteLength;
  console.log(
    `  its journal as a stream ${(performance.now() - streaming).toFixed(0)} ms, ${(bytes / 1e6).toFixed(1)} MB`,
  );
  await daemon.stop();
  folder.remove();
};

/** The number of the last entry of a journal, found by halving. */
const lastSeq = async (url: string, path: string): Promise<number> => {
  let [low, high] = [0, 10 * LONG];
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    const page = (await (await fetch(`${url}${path}/events?limit=1&after=${middle - 1}`)).json()) as {
      events: unknown[];
    };
    if (page.events.length > 0) low = middle;
    else high = middle - 1;
  }
  return low;
};

const READS = 40;
/** Times reads one after the other, by what they are. */
const timeReads = async (url: string, paths: Readonly<Record<string, string>>): Promise<void> => {
  for (const [what, path] of Object.entries(paths)) {
    const times: number[] = [];
    for (let read = 0; read < READS; read += 1) {
      const from = performance.now();
      const answer = await fetch(url + path);
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
      times.push(performance.now() - from);
    }
    console.log(`  ${what} p50 ${quantile(times, 0.5).toFixed(1)}, p95 ${quantile(times, 0.95).toFixed(1)} ms`);
  }
};

/** A file in which many runs have finished, beside an empty one: starts, memory, lists and steps. */
const benchFinished = async (): Promise<void> => {
  const full = benchFolder();
  const filling = await serveRuns(full.path);
  const rates: number[] = [];
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const from = performance.now();
    await startMany(filling.url, 'ends', FINISHED / 10, (n) => ({ n }));
    rates.push((1000 * (FINISHED / 10)) / (performance.now() - from));
  }
  await filling.stop();
  const bytes = ['svc-runs.db', 'svc.db', 'svc.db.fts'].map((name) => statSync(join(full.path, name)).size);
  console.log(
    `${FINISHED} finished runs: begun and ended by tenths ${rates.map((rate) => rate.toFixed(0)).join(' ')}/s; ` +
      `bytes a run, in the runs file, the signals and their words ${bytes.map((all) => (all / FINISHED).toFixed(0)).join(' ')}`,
  );
  const empty = benchFolder();
  const steps = { full: [] as number[], empty: [] as number[] };
  for (let pair = 0; pair < PAIRS; pair += 1)
    for (const [name, { path }] of Object.entries({ empty, full })) {
      const from = performance.now();
      const daemon = await serveRuns(path);
      const ms = performance.now() - from;
      await new Promise((resolve) => setTimeout(resolve, 5000));
      const mib = residentMiB(daemon.process.pid ?? Number.NaN);
      const figures = await load({ url: daemon.url, definition: 'five', inFlight: 50, seconds: SECONDS / 2 });
      steps[name as keyof typeof steps].push(figures.stepsPerSecond);
      console.log(
        `${name}: start to registered ${ms.toFixed(0)} ms, idle ${mib.toFixed(0)} MiB, ${figures.stepsPerSecond.toFixed(0)} steps/s`,
      );
      if (name === 'full' && pair === PAIRS - 1)
        await timeReads(daemon.url, {
          'a page of 50 runs': '/v1/api/runs?limit=50',
          'those that succeeded': '/v1/api/runs?limit=50&status=succeeded',
          'those that failed, none': '/v1/api/runs?limit=50&status=failed',
          'those of a definition': '/v1/api/runs?limit=50&definition_id=ends',
          'those that wait': '/v1/api/runs/waiting',
        });
      await daemon.stop();
    }
  console.log(`steps/s of an empty file ${percent(median(steps.full) / median(steps.empty))}`);
  full.remove();
  empty.remove();
};

const benchOpen = async (): Promise<void> => {
  const count = 100_000;
  const folder = benchFolder();
  const empty = benchFolder();
  const filling = await serveRuns(folder.path);
  await startMany(filling.url, 'idles', count, (n) => ({ n: String(n) }));
  await filling.stop();
  const timed = async (path: string): Promise<{ ms: number; mib: number }> => {
    const from = performance.now();
    const daemon = await startDaemon(path);
    if ((await fetch(`${daemon.url}/readyz`)).status !== 200) throw new Error('not ready');
    const ms = performance.now() - from;
    await new Promise((resolve) => setTimeout(resolve, 5000));
    const mib = residentMiB(daemon.process.pid ?? Number.NaN);
    await daemon.stop();
    return { ms, mib };
  };
  await timed(empty.path);
  const figures: { none: { ms: number; mib: number }; many: { ms: number; mib: number } }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1)
    figures.push({ none: await timed(empty.path), many: await timed(folder.path) });
  console.log(
    `${count} open runs: start to ready ${spread(figures.map(({ many }) => many.ms))} ms, without runs ` +
      `${spread(figures.map(({ none }) => none.ms))} ms; idle memory ${spread(figures.map(({ many }) => many.mib))} MiB, without ` +
      `${spread(figures.map(({ none }) => none.mib))} MiB`,
  );
  folder.remove();
  empty.remove();
};

/** Steps of runs with keys against those of runs without, in turn on services of their own. */
const benchKeys = async (): Promise<void> => {
  for (const inFlight of [1, 50]) {
    type Measured = RunsFigures & { readonly cpuMicros: number };
    const figures: { plain: Measured; keyed: Measured }[] = [];
    const measure = async (definition: string): Promise<Measured> => {
      const folder = benchFolder();
      const daemon = await serveRuns(folder.path);
      const before = cpuMs(daemon.process.pid);
      const one = await load({ url: daemon.url, definition, inFlight, seconds: SECONDS });
      const cpuMicros = (1000 * (cpuMs(daemon.process.pid) - before)) / (one.runs * STEPS);
      await daemon.stop();
      folder.remove();
      return { ...one, cpuMicros };
    };
    for (let pair = 0; pair < PAIRS; pair += 1) {
      // In turn who goes first: the machine is not the same a quarter of a minute later.
      const early = await measure(pair % 2 === 0 ? 'five' : 'keyed');
      const late = await measure(pair % 2 === 0 ? 'keyed' : 'five');
      figures.push(pair % 2 === 0 ? { plain: early, keyed: late } : { plain: late, keyed: early });
    }
    const share = median(figures.map((one) => one.keyed.stepsPerSecond / one.plain.stepsPerSecond));
    const cost = median(figures.map((one) => one.keyed.cpuMicros / one.plain.cpuMicros));
    console.log(
      `keys, ${inFlight} in flight: ${spread(figures.map((one) => one.keyed.stepsPerSecond))} steps/s with a key and a rate on every run, ` +
        `${spread(figures.map((one) => one.plain.stepsPerSecond))} without, ratio ${percent(share)}; processor time of the daemon a step ` +
        `${spread(figures.map((one) => one.keyed.cpuMicros))} us, without ${spread(figures.map((one) => one.plain.cpuMicros))}, ratio ${percent(cost)}`,
    );
  }
};

/**
 * A long line for one key: what it costs at the start, in memory, and to the steps of others; beside as many open runs that wait for an event, and
 * beside none.
 */
const benchLine = async (): Promise<void> => {
  const count = Number(process.env['BENCH_LINE'] ?? 100_000);
  type Figures = { readonly ms: number; readonly cpuMs: number; readonly mib: number; readonly steps: number };
  const cases = ['none', 'idles', 'lined'].map((filledWith) => ({
    filledWith,
    folder: benchFolder(),
    figures: [] as Figures[],
  }));
  for (const { filledWith, folder } of cases) {
    if (filledWith === 'none') continue;
    const filling = await serveRuns(folder.path);
    const from = performance.now();
    await startMany(filling.url, filledWith, count, (n) => ({ n: String(n) }));
    const startsPerSecond = (1000 * count) / (performance.now() - from);
    console.log(`${count} runs of "${filledWith}" were started, ${Math.round(startsPerSecond)} a second`);
    await filling.stop();
    // What the stop left in the outbox is sent by this start: it is no part of the figures.
    const settling = await startDaemon(folder.path);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    await settling.stop();
  }
  for (let pair = 0; pair < PAIRS; pair += 1)
    for (const { folder, figures } of cases) {
      const began = performance.now();
      const daemon = await serveRuns(folder.path);
      const ms = performance.now() - began;
      const spent = cpuMs(daemon.process.pid);
      const one = await load({ url: daemon.url, definition: 'five', inFlight: 50, seconds: SECONDS });
      const mib = residentMiB(daemon.process.pid ?? Number.NaN);
      figures.push({ ms, cpuMs: spent, mib, steps: one.stepsPerSecond });
      await daemon.stop();
    }
  const named: Record<string, string> = {
    none: 'no open runs',
    idles: `${count} runs that wait for an event`,
    lined: `${count} runs in line for one key`,
  };
  for (const { filledWith, folder, figures } of cases) {
    console.log(
      `${named[filledWith]}: start to registered ${spread(figures.map(({ ms }) => ms))} ms, processor time until then ` +
        `${spread(figures.map((one) => one.cpuMs))} ms; memory after load ${spread(figures.map(({ mib }) => mib))} MiB; ` +
        `${spread(figures.map(({ steps }) => steps))} steps/s of another workflow`,
    );
    folder.remove();
  }
};

/** Each is due at 09:00, and no two of them at the same times. */
const expressionOf = (index: number): string => {
  const [minute, hour, day] = [1 + (index % 59), 10 + (Math.floor(index / 59) % 14), 2 + Math.floor(index / 826)];
  return `0,${minute} 9,${hour} 1-${day},${day + 2}-31 * *`;
};

/** Schedules that are due in one minute, on a clock that is moved there: in this process, so that the hold of the event loop is seen. */
const fireSchedules = async (cronOf: (index: number) => string, named: string): Promise<void> => {
  const count = 10_000;
  const folder = benchFolder();
  let ahead = 0;
  const clock: Clock = {
    ...systemClock,
    wall: () => systemClock.wall() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
  };
  const store = await openSqliteRunStore({ path: join(folder.path, 'runs.db') });
  const runs = await startRuns({ store, clock, writeSpans: async () => {}, price: () => undefined, ticks: false });
  const project = { reach: 'all', project: 'p' } as const;
  await runs.storeDefinitions({ reach: 'all', definitions: [five] });
  // The first of next month: all expressions name it.
  const today = new Date(systemClock.wall());
  const startsAt = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1, 9);
  for (let from = 0; from < count; from += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, index) => {
        const given = { definitionId: 'five', cron: cronOf(from + index), startsAt };
        return runs.createSchedule({ ...project, id: `s-${from + index}`, given });
      }),
    );
  ahead = startsAt - systemClock.wall();
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  const from = performance.now();
  const cpuFrom = process.cpuUsage();
  const mainFrom = process.threadCpuUsage();
  await runs.tick();
  const ms = performance.now() - from;
  const cpu = process.cpuUsage(cpuFrom);
  const main = process.threadCpuUsage(mainFrom);
  loop.disable();
  const { openRuns } = await store.counts();
  if (openRuns !== count) throw new Error(`${openRuns} runs were started`);
  const spent = ({ user, system }: NodeJS.CpuUsage): string => ((user + system) / 1000).toFixed(0);
  console.log(
    `${count} schedules due at once, ${named}: ${openRuns} runs started in ${ms.toFixed(0)} ms; processor time ${spent(cpu)} ms, ` +
      `${spent(main)} of it on the event loop, held for ${(loop.max / 1e6).toFixed(0)} ms at the most, p99 ${(loop.percentile(99) / 1e6).toFixed(0)} ms`,
  );
  await runs.close();
  folder.remove();
};
const benchSchedules = async (): Promise<void> => {
  await fireSchedules(() => '0 9 * * *', 'of one expression');
  await fireSchedules(expressionOf, 'each of its own expression');
};

const parts = {
  steps: benchSteps,
  reports: benchReports,
  followers: benchFollowers,
  events: benchEvents,
  beside: benchBeside,
  timers: benchTimers,
  long: benchLong,
  open: benchOpen,
  finished: benchFinished,
  keys: benchKeys,
  line: benchLine,
  schedules: benchSchedules,
};
const asked = process.argv.slice(2);
for (const [name, bench] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await bench();
