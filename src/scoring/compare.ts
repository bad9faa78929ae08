import type { ScoreStatistic } from '../store/signals/evaluation.ts';
import { type Sample, type TwoSidedT, welchPValue } from './significance.ts';

/** Observations that each side needs before a difference says anything. @see Interface specification, "Limits" */
const DECIDABLE_FROM = 20;
/** A lower mean is a regression when chance alone would give one so far off in fewer than one of twenty cases. */
const SIGNIFICANCE_LEVEL = 0.05;

export type ScorerComparison = {
  readonly scorerId: string;
  readonly scorerVersion?: string;
  readonly baseline: Sample;
  readonly candidate: Sample;
  /** Candidate less baseline. */
  readonly delta: number;
  /** Absent where a side has a single score. */
  readonly pValue?: number;
  readonly decidable: boolean;
  readonly regressed: boolean;
};

/** A scorer in a version that only one of the two was scored with. */
export type NotCompared = {
  readonly scorerId: string;
  readonly scorerVersion?: string;
  readonly side: 'baseline' | 'candidate';
  readonly count: number;
};

export type Comparison = {
  readonly scorers: readonly ScorerComparison[];
  readonly notCompared: readonly NotCompared[];
};

const keyOf = ({ scorerId, scorerVersion }: ScoreStatistic): string =>
  JSON.stringify([scorerId, scorerVersion ?? null]);
const sampleOf = ({ count, mean, stddev }: ScoreStatistic): Sample => ({
  count,
  mean,
  ...(stddev === undefined ? {} : { stddev }),
});
const scorerOf = ({ scorerId, scorerVersion }: ScoreStatistic) => ({
  scorerId,
  ...(scorerVersion === undefined ? {} : { scorerVersion }),
});

/**
 * Compares the scores of two experiments, for each scorer and version that both have: other versions measure something else.
 *
 * Higher is better. With too few scores nothing is decided, and nothing is called a regression however far apart the means are.
 * @see Interface specification, "Query API: datasets, experiments"; Interface decisions, "6. Scoring, datasets, experiments"
 */
export const compareStatistics = (
  baseline: readonly ScoreStatistic[],
  candidate: readonly ScoreStatistic[],
  twoSidedT: TwoSidedT,
): Comparison => {
  const candidates = new Map(candidate.map((statistic) => [keyOf(statistic), statistic]));
  const baselines = new Set(baseline.map(keyOf));
  const scorers: ScorerComparison[] = [];
  const notCompared: NotCompared[] = [];
  for (const before of baseline) {
    const after = candidates.get(keyOf(before));
    if (after === undefined) {
      notCompared.push({ ...scorerOf(before), side: 'baseline', count: before.count });
      continue;
    }
    // Two means may lie further apart than a number reaches.
    const delta = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, after.mean - before.mean));
    const pValue = welchPValue(before, after, twoSidedT);
    const decidable = before.count >= DECIDABLE_FROM && after.count >= DECIDABLE_FROM;
    scorers.push({
      ...scorerOf(before),
      baseline: sampleOf(before),
      candidate: sampleOf(after),
      delta,
      ...(pValue === undefined ? {} : { pValue }),
      decidable,
      regressed: decidable && delta < 0 && pValue !== undefined && pValue < SIGNIFICANCE_LEVEL,
    });
  }
  for (const after of candidate)
    if (!baselines.has(keyOf(after))) notCompared.push({ ...scorerOf(after), side: 'candidate', count: after.count });
  return { scorers, notCompared };
};
