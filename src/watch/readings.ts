import type { UnixMs } from '../model/run.ts';
import { unixNanoFromMillis } from '../model/time.ts';
import type { Monitor, MonitorReading, RunShare, Slo, SloReading } from '../model/watch.ts';
import type { RunTotals, RunWindow, WatchStore } from '../store/signals/watch.ts';
import type { RunShape, RunsService } from '../actors/service/runs-service.ts';
import { runRepetition, stepCountDivergence } from './shapes.ts';

/** Where readings come from. */
export type WatchSources = {
  readonly signals: WatchStore;
  /** Absent: `--runs-data off`. */
  readonly runs?: Pick<RunsService, 'listRunShapes'>;
};

/** Durable runs that one reading looks at, the newest of its window. */
export const MOST_SHAPES = 5_000;

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const P95 = 0.95;

/** The runs of which one can say that they went well or failed: a cancelled one did neither. */
const judged = ({ runs, failed, cancelled }: RunTotals): RunShare => ({ runs: runs - cancelled, failed });

/** Reads that several evaluations share: each is kept as the promise of its answer. */
export type Round = { readonly at: UnixMs; readonly reads: Map<string, Promise<unknown>> };
export const newRound = (at: UnixMs): Round => ({ at, reads: new Map() });

/**
 * Reads the numbers that monitors and SLOs judge. Windows end at the time of the round, so monitors of the same project and
 * window share one read of the store.
 */
export const createReadings = ({ signals, runs }: WatchSources) => {
  const once = <T>({ reads }: Round, key: readonly unknown[], read: () => Promise<T>): Promise<T> => {
    const name = JSON.stringify(key);
    const known = reads.get(name) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const asked = read();
    reads.set(name, asked);
    return asked;
  };
  const windowOf = ({ at }: Round, project: string, seconds: number): RunWindow => ({
    project,
    from: unixNanoFromMillis(at - seconds * 1000),
    to: unixNanoFromMillis(at),
  });
  const totals = (round: Round, project: string, seconds: number): Promise<RunTotals> =>
    once(round, ['totals', project, seconds], () => signals.runTotals(windowOf(round, project, seconds)));

  /** Reads the shapes of durable runs that ended in the window, and judges them. */
  const shapes = async (
    round: Round,
    { watch, project, windowSeconds }: Monitor,
    judge: (found: readonly RunShape[]) => MonitorReading,
  ): Promise<MonitorReading> => {
    if (runs === undefined) return { samples: 0, note: 'it reads durable runs, and --runs-data is off' };
    return once(round, [watch, project, windowSeconds], async () => {
      const found = await once(round, ['shapes', project, windowSeconds], () =>
        runs.listRunShapes(project, round.at - windowSeconds * 1000, round.at, MOST_SHAPES),
      );
      const reading = judge(found);
      if (found.length < MOST_SHAPES) return reading;
      const cut = `only the newest ${MOST_SHAPES} runs of the window were read`;
      return { ...reading, note: reading.note === undefined ? cut : `${reading.note}; ${cut}` };
    });
  };

  const readMonitor = async (monitor: Monitor, round: Round): Promise<MonitorReading> => {
    const { watch, project, windowSeconds } = monitor;
    switch (watch) {
      case 'error_rate': {
        const { runs: samples, failed } = judged(await totals(round, project, windowSeconds));
        return samples === 0 ? { samples } : { samples, value: failed / samples };
      }
      case 'trace_count': {
        const { runs: samples } = await totals(round, project, windowSeconds);
        return { samples, value: samples };
      }
      case 'cost': {
        const { runs: samples, totalCost } = await totals(round, project, windowSeconds);
        if (samples > 0 && totalCost === undefined) return { samples, note: 'none of its runs was priced' };
        return totalCost === undefined ? { samples } : { samples, value: totalCost };
      }
      case 'latency_p95': {
        const { runs: samples, durationMs } = await once(round, ['latency', project, windowSeconds], () =>
          signals.latencyPercentile(windowOf(round, project, windowSeconds), P95),
        );
        return durationMs === undefined ? { samples } : { samples, value: durationMs };
      }
      case 'score_mean': {
        const scorerId = monitor.scorerId ?? '';
        const { scores: samples, mean } = await once(round, ['scores', project, windowSeconds, scorerId], () =>
          signals.scoreSample(windowOf(round, project, windowSeconds), scorerId),
        );
        return mean === undefined ? { samples } : { samples, value: mean };
      }
      case 'step_count_divergence':
        return shapes(round, monitor, stepCountDivergence);
      case 'run_repetition':
        return shapes(round, monitor, runRepetition);
      default:
        return watch satisfies never;
    }
  };

  const readSlo = async ({ project, windowDays }: Slo, round: Round): Promise<SloReading> => {
    const share = async (seconds: number): Promise<RunShare> => judged(await totals(round, project, seconds));
    const [window, sixHours, hour] = await Promise.all([
      share(windowDays * DAY_SECONDS),
      share(6 * HOUR_SECONDS),
      share(HOUR_SECONDS),
    ]);
    return { window, sixHours, hour };
  };

  return { readMonitor, readSlo };
};
