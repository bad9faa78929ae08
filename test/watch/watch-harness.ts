import { SERVICE } from '../../src/model/definition/owner.ts';
import { createWatchers, type WatchersOptions } from '../../src/watch/watchers.ts';
import type { WatchReport } from '../../src/watch/report.ts';
import type { RunShape } from '../../src/actors/service/runs-service.ts';
import { millisFromUnixNano } from '../../src/model/time.ts';
import type { Monitor, Slo } from '../../src/model/watch.ts';
import type { RunWindow, WatchStore } from '../../src/store/signals/watch.ts';
import { createFakeClock } from '../actors/run-harness.ts';

export const aMonitor = (given: Partial<Monitor> = {}): Monitor => ({
  id: 'errors',
  name: 'Errors of the refund bot',
  project: 'shop',
  enabled: true,
  watch: 'error_rate',
  compare: 'above',
  threshold: 0.1,
  windowSeconds: 300,
  minSamples: 20,
  ...given,
});

export const anSlo = (given: Partial<Slo> = {}): Slo => ({
  id: 'works',
  name: 'Refunds work',
  project: 'shop',
  objective: 0.995,
  windowDays: 30,
  minSamples: 20,
  ...given,
});

export const aShape = (given: Partial<RunShape> = {}): RunShape => ({
  runId: 'r',
  definitionOwner: SERVICE,
  definitionId: 'refund',
  definitionVersion: 1,
  stepCount: 4,
  maxStepAttempts: 1,
  ...given,
});

/** A store that answers what the test has put into `now`, and notes what it was asked. */
export const createFakeSignals = () => {
  const asked: { readonly method: keyof WatchStore; readonly seconds: number; readonly window: RunWindow }[] = [];
  const note = (method: keyof WatchStore, window: RunWindow): void => {
    asked.push({ method, seconds: millisFromUnixNano(window.to - window.from) / 1000, window });
  };
  const now = {
    ...{ runs: 100, failed: 0, cancelled: 0, totalCost: undefined as number | undefined },
    ...{ durationMs: 10, scores: 0, mean: 0 },
  };
  const signals: WatchStore = {
    runTotals: async (window) => {
      note('runTotals', window);
      const { runs, failed, cancelled, totalCost } = now;
      return { runs, failed, cancelled, ...(totalCost === undefined ? {} : { totalCost }) };
    },
    latencyPercentile: async (window) => {
      note('latencyPercentile', window);
      return now.runs === 0 ? { runs: 0 } : { runs: now.runs, durationMs: now.durationMs };
    },
    scoreSample: async (window) => {
      note('scoreSample', window);
      return now.scores === 0 ? { scores: 0 } : { scores: now.scores, mean: now.mean };
    },
  };
  return { signals, now, asked };
};

export type LogLine = { readonly level: string; readonly fields: Record<string, unknown>; readonly message: string };

/** A log that keeps its lines. */
export const createLog = () => {
  const lines: LogLine[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message });
  return { log: { info: at('info'), warn: at('warn'), error: at('error') }, lines };
};

/** Watchers on a fake clock and a fake store; webhooks are noted instead of sent, unless the test brings its own. */
export const createWatchHarness = ({
  time = createFakeClock(),
  ...options
}: Partial<WatchersOptions> & {
  monitors?: readonly Monitor[];
  slos?: readonly Slo[];
  /** A clock that goes on over a restart. */
  time?: ReturnType<typeof createFakeClock>;
} = {}) => {
  const { signals, now, asked } = createFakeSignals();
  const { log, lines } = createLog();
  const sent: { readonly webhook: string; readonly report: WatchReport }[] = [];
  const watchers = createWatchers({
    signals,
    monitors: [],
    slos: [],
    intervalSeconds: 60,
    log,
    clock: time.clock,
    webhooks: {
      send: (webhook, report) => void sent.push({ webhook, report }),
      idle: async () => {},
      close: async () => {},
    },
    ...options,
  });
  return {
    watchers,
    time,
    now,
    asked,
    lines,
    sent,
    /** Transitions as the log tells them. */
    reports: () => lines.filter(({ fields }) => 'condition' in fields).map(({ fields }) => fields['condition']),
    /** Begins the intervals; the first round is over when this resolves. */
    start: async (): Promise<void> => {
      watchers.start();
      time.advance(0);
      await settle();
    },
    /** Lets time pass, and the rounds that fall due end. */
    pass: async (ms = 60_000): Promise<void> => {
      time.advance(ms);
      await settle();
    },
    /** A round of its own, without the intervals. */
    tick: async (ms = 60_000): Promise<void> => {
      time.advance(ms);
      await watchers.tick();
    },
  };
};

/** Lets everything that is ready to run do so. */
export const settle = async (turns = 5): Promise<void> => {
  for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
};
