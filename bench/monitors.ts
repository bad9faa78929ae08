/**
 * One evaluation round of 200 monitors and 20 SLOs over a filled signal store, against the bare reads that it cannot do
 * without: the same windows asked of the store directly, as many at once. Once with four windows that all share, as people
 * configure them, and once with a window of its own for each.
 * Run: `node bench/monitors.ts [spans] [rounds]`; 1000000 spans take some minutes to write.
 */
import { SERVICE } from '../src/model/definition/owner.ts';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import PQueue from 'p-queue';
import { MOST_SHAPES } from '../src/watch/readings.ts';
import { createWatchers } from '../src/watch/watchers.ts';
import { emptyBatch } from '../src/model/signal.ts';
import type { Span } from '../src/model/span.ts';
import { nowUnixNano, unixNanoFromMillis } from '../src/model/time.ts';
import { type Monitor, type Slo, watches } from '../src/model/watch.ts';
import type { SignalStore } from '../src/store/signals/signal-store.ts';
import type { RunWindow } from '../src/store/signals/watch.ts';
import { openSqliteSignalStore } from '../src/store/sqlite/signals/open.ts';
import { percent, quantile, spread } from './pairs.ts';
import { benchFolder } from './serve.ts';

const spanCount = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 5);
const SPANS_PER_RUN = 8;
const RUNS_PER_BATCH = 128;
const DAYS = 30;
const DAY_MS = 86_400_000;
const PROJECT = 'bench';
const MONITORS = 200;
const SLOS = 20;
/** As many as the watchers read. */
const READING_AT_ONCE = 2;

/** Runs of a month up to now: one in fifty failed, durations of 0 to 10 s, a score for one in ten. */
const fill = async (store: SignalStore): Promise<void> => {
  const runs = Math.ceil(spanCount / SPANS_PER_RUN);
  const end = nowUnixNano();
  const step = BigInt(Math.floor((DAYS * DAY_MS * 1e6) / runs));
  const correlation = { project: PROJECT, environment: 'production', serviceName: 'refund-bot' };
  const runOf = (n: number): Span[] => {
    const traceId = (n + 1).toString(16).padStart(32, '0');
    const startTime = end - step * BigInt(runs - n);
    const root = `${'1'.padStart(8, '0')}00000001`;
    return Array.from({ length: SPANS_PER_RUN }, (_, i) => ({
      traceId,
      spanId: i === 0 ? root : (i + 1).toString(16).padStart(16, '0'),
      ...(i === 0 ? {} : { parentSpanId: root }),
      name: i === 0 ? 'answer ticket' : 'chat',
      kind: i === 0 ? ('agent_run' as const) : ('model_generation' as const),
      status: i === 0 && n % 50 === 0 ? ('error' as const) : ('ok' as const),
      startTime,
      endTime: startTime + BigInt((n * 7919) % 10_000) * 1_000_000n,
      isEvent: false,
      receivedAt: startTime,
      correlation,
      attributes: {},
      events: [],
      links: [],
      ...(i === 1 ? { cost: { totalCost: 0.001, currency: 'USD', isEstimated: true } } : {}),
    }));
  };
  const scoreOf = (n: number) => ({
    scoreId: `s-${n}`,
    traceId: (n + 1).toString(16).padStart(32, '0'),
    scorerId: 'answered',
    value: (n % 7) / 6,
    min: 0,
    max: 1,
    source: 'offline' as const,
    timestamp: end - step * BigInt(runs - n),
    receivedAt: end,
    correlation,
  });
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < runs) {
      const from = next;
      next += RUNS_PER_BATCH;
      const numbers = Array.from({ length: Math.min(RUNS_PER_BATCH, runs - from) }, (_, i) => from + i);
      const scores = numbers.filter((n) => n % 10 === 0).map(scoreOf);
      await store.write({ batch: { ...emptyBatch, spans: numbers.flatMap(runOf), scores } });
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
};

const WINDOWS = [300, 3_600, 86_400, 7 * 86_400];

const monitorsWith = (windowOf: (n: number) => number): Monitor[] =>
  Array.from({ length: MONITORS }, (_, n) => {
    const watch = watches[n % watches.length] ?? 'error_rate';
    return {
      id: `m-${n}`,
      name: `m-${n}`,
      project: PROJECT,
      enabled: true,
      watch,
      compare: 'above' as const,
      threshold: 1e9,
      windowSeconds: windowOf(n),
      minSamples: 20,
      ...(watch === 'score_mean' ? { scorerId: 'answered' } : {}),
    };
  });
const slosWith = (windowOf: (n: number) => number): Slo[] =>
  Array.from({ length: SLOS }, (_, n) => ({
    id: `s-${n}`,
    name: `s-${n}`,
    project: PROJECT,
    objective: 0.99,
    windowDays: windowOf(n),
    minSamples: 20,
  }));

/** As many durable runs as one reading takes. */
const shapes = Array.from({ length: MOST_SHAPES }, (_, n) => ({
  runId: `r-${n}`,
  definitionOwner: SERVICE,
  definitionId: `d-${n % 20}`,
  definitionVersion: 1,
  stepCount: 4 + (n % 100 === 0 ? 40 : n % 2),
  maxStepAttempts: 1 + (n % 10 === 0 ? 1 : 0),
}));

const measure = async (store: SignalStore, name: string, monitors: Monitor[], slos: Slo[]): Promise<void> => {
  const asked: (() => Promise<unknown>)[] = [];
  let isCounting = true;
  const noted = <A extends unknown[], T>(read: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> => {
      if (isCounting) asked.push(() => read(...args));
      return read(...args);
    };
  };
  const say = (_fields: object, message: string): void => {
    throw new Error(`a round was not quiet: ${message}`);
  };
  const watchers = createWatchers({
    monitors,
    slos,
    intervalSeconds: 60,
    readingMs: 600_000,
    log: { info: say, warn: say, error: say },
    signals: {
      runTotals: noted((window: RunWindow) => store.runTotals(window)),
      latencyPercentile: noted((window: RunWindow, share: number) => store.latencyPercentile(window, share)),
      scoreSample: noted((window: RunWindow, scorer: string) => store.scoreSample(window, scorer)),
    },
    runs: { listRunShapes: async () => shapes },
  });
  await watchers.tick();
  isCounting = false;
  const roundMs: number[] = [];
  const bareMs: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const stalls: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    delay.reset();
    delay.enable();
    const from = performance.now();
    await watchers.tick();
    roundMs.push(performance.now() - from);
    delay.disable();
    stalls.push(delay.max / 1e6);
    const queue = new PQueue({ concurrency: READING_AT_ONCE });
    const bareFrom = performance.now();
    await Promise.all(asked.map((read) => queue.add(read)));
    bareMs.push(performance.now() - bareFrom);
  }
  await watchers.close();
  const ratio = quantile(
    roundMs.map((ms, index) => ms / (bareMs[index] ?? Number.NaN)),
    0.5,
  );
  console.log(
    `${name}: round ${spread(roundMs)} ms, ${asked.length} bare reads ${spread(bareMs)} ms, round/bare ${percent(ratio)}, longest stall of the main thread ${spread(stalls)} ms`,
  );
};

const folder = benchFolder();
try {
  const store = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
  const from = performance.now();
  await fill(store);
  const now = Date.now();
  const { runs } = await store.runTotals({
    project: PROJECT,
    from: unixNanoFromMillis(now - 31 * DAY_MS),
    to: unixNanoFromMillis(now),
  });
  console.log(`${spanCount} spans in ${runs} runs, written in ${((performance.now() - from) / 1000).toFixed(0)} s`);
  await measure(
    store,
    '4 windows, shared',
    monitorsWith((n) => WINDOWS[n % WINDOWS.length] ?? 300),
    slosWith(() => DAYS),
  );
  await measure(
    store,
    'a window each  ',
    monitorsWith((n) => (WINDOWS[n % WINDOWS.length] ?? 300) + n),
    slosWith((n) => DAYS - n),
  );
  await store.close();
} finally {
  folder.remove();
}
