import type { UnixNano } from '../../model/time.ts';

/** Runs of one project that started in a half-open window: `from` is inside, `to` is not. */
export type RunWindow = { readonly project: string; readonly from: UnixNano; readonly to: UnixNano };

export type RunTotals = {
  readonly runs: number;
  /** Those whose trace has the status `error`. */
  readonly failed: number;
  /** Those that were cancelled: they neither succeeded nor failed. */
  readonly cancelled: number;
  /** Absent when none of them was priced. */
  readonly totalCost?: number;
};

export type LatencyPercentile = {
  /** Runs that have a duration: one that still runs has none. */
  readonly runs: number;
  /** Nearest rank; absent of no runs. */
  readonly durationMs?: number;
};

export type ScoreSample = {
  readonly scores: number;
  /** Absent of no scores. */
  readonly mean?: number;
};

/** What monitors and SLOs read each minute: numbers alone, of windows that may be long. */
export interface WatchStore {
  runTotals(window: RunWindow): Promise<RunTotals>;
  /** @param share of runs that took no longer, above 0, at most 1: 0.95 is the 95th percentile */
  latencyPercentile(window: RunWindow, share: number): Promise<LatencyPercentile>;
  /** Scores of one scorer, in all its versions, by their own time. */
  scoreSample(window: RunWindow, scorerId: string): Promise<ScoreSample>;
}
