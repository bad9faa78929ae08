import type { Logger } from 'pino';
import type { RunsService } from '../actors/service/runs-service.ts';
import { createWatchers, type Watchers } from '../watch/watchers.ts';
import type { Counters } from '../model/counters.ts';
import type { Monitor, Slo } from '../model/watch.ts';
import type { WatchJournal } from '../store/runs/watch-journal.ts';
import type { WatchStore } from '../store/signals/watch.ts';
import type { SharedWatch } from '../watch/shared-reports.ts';
import type { Monitor as MonitorSetting, Settings, Slo as SloSetting } from './settings.ts';

const monitorOf = ({ window_seconds, min_samples, scorer_id, ...monitor }: MonitorSetting): Monitor => ({
  ...monitor,
  windowSeconds: window_seconds,
  minSamples: min_samples,
  ...(scorer_id === undefined ? {} : { scorerId: scorer_id }),
});
const sloOf = ({ window_days, min_samples, ...slo }: SloSetting): Slo => ({
  ...slo,
  windowDays: window_days,
  minSamples: min_samples,
});

/** What watchers have beside the config file. */
export type WatchDeps = {
  readonly signals: WatchStore;
  /** Where durable runs are; absent for `--runs-data off`. */
  readonly runs: Pick<RunsService, 'listRunShapes'> | undefined;
  /** Where monitors and SLOs are written down. */
  readonly journal: WatchJournal;
  readonly counters: Pick<Counters, 'watchTransitionsDropped'>;
  readonly log: Logger;
  /** Where other services watch the same. */
  readonly shared?: SharedWatch | undefined;
};

/**
 * Monitors and SLOs of the config file, not yet started.
 * @throws StoreUnavailable when the journal cannot be read; once started, it delays and stops nothing
 */
export const openWatchers = async (
  { monitors, slos, monitorIntervalSeconds }: Pick<Settings, 'monitors' | 'slos' | 'monitorIntervalSeconds'>,
  { signals, runs, journal, counters, log, shared }: WatchDeps,
): Promise<Watchers> =>
  createWatchers({
    monitors: monitors.map(monitorOf),
    slos: slos.map(sloOf),
    intervalSeconds: monitorIntervalSeconds,
    signals,
    ...(runs === undefined ? {} : { runs }),
    record: { journal, heads: await journal.heads() },
    counters,
    ...(shared === undefined ? {} : { shared }),
    log: {
      info: (fields, message) => log.info(fields, message),
      warn: (fields, message) => log.warn(fields, message),
      error: (fields, message) => log.error(fields, message),
    },
  });

/** Whether a monitor looks as if it would see that nothing arrives, and by the rule of `min_samples` does not. */
export const isBlindToSilence = ({
  enabled,
  watch,
  compare,
  min_samples,
}: Pick<MonitorSetting, 'enabled' | 'watch' | 'compare' | 'min_samples'>): boolean =>
  enabled && watch === 'trace_count' && compare === 'below' && min_samples > 0;

/** One line for each monitor that is blind to silence. */
export const watchWarnings = ({ monitors }: Pick<Settings, 'monitors'>): string[] =>
  monitors
    .filter(isBlindToSilence)
    .map(
      ({ id, threshold, min_samples }) =>
        `monitor ${id}: trace_count below ${threshold} does not see a window with fewer than its min_samples ${min_samples} runs, which is silence; set min_samples to 0 to trip when nothing arrives`,
    );
