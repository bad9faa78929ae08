import { ownedId } from '../model/definition/owner.ts';
import type { MonitorReading } from '../model/watch.ts';
import type { RunShape } from '../actors/service/runs-service.ts';

type StepCount = Pick<RunShape, 'definitionOwner' | 'definitionId' | 'definitionVersion' | 'stepCount'>;

/** Runs of one definition version that a window must hold before any of them can be called unusual. */
export const FEWEST_PEERS = 5;
/** How far from the median is unusual, in robust standard deviations. */
const DEVIATIONS = 3;
/** Makes the median absolute deviation of normally spread values equal their standard deviation. */
const MAD_TO_DEVIATION = 1.4826;
/** Never unusual: one step more or less than usual, also where all the others took exactly as many. */
const USUAL_STEPS = 1;

const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
};

/**
 * The share of runs with an unusual step count for their definition. A run is judged among the runs of its own definition
 * and version in the window, when there are at least five: its count is unusual when it lies more than three robust standard
 * deviations (1.4826 times the median absolute deviation) from their median, and more than one step.
 * Median and MAD are used because a loop that ran wild would carry mean and deviation away with it.
 * @returns the share among the runs that were judged; `samples` counts those
 * @see Interface specification, "Monitor and SLO", `step_count_divergence`
 */
export const stepCountDivergence = (shapes: readonly StepCount[]): MonitorReading => {
  const peers = new Map<string, number[]>();
  for (const { definitionOwner, definitionId, definitionVersion, stepCount } of shapes) {
    const key = `${definitionVersion}/${ownedId(definitionOwner, definitionId)}`;
    const counts = peers.get(key);
    if (counts === undefined) peers.set(key, [stepCount]);
    else counts.push(stepCount);
  }
  let judged = 0;
  let unusual = 0;
  for (const counts of peers.values()) {
    if (counts.length < FEWEST_PEERS) continue;
    const median = medianOf(counts);
    const mad = medianOf(counts.map((count) => Math.abs(count - median)));
    const reach = Math.max(USUAL_STEPS, DEVIATIONS * MAD_TO_DEVIATION * mad);
    judged += counts.length;
    unusual += counts.filter((count) => Math.abs(count - median) > reach).length;
  }
  const left = shapes.length - judged;
  const few = `${left} runs have fewer than ${FEWEST_PEERS} of their definition and version and were not judged`;
  return {
    samples: judged,
    ...(judged === 0 ? {} : { value: unusual / judged }),
    ...(left === 0 ? {} : { note: few }),
  };
};

/**
 * The mean over runs of the most attempts that any one node made. A run whose nodes needed no worker made none, and counts
 * as 1: no node ran twice.
 * @see Interface specification, "Monitor and SLO", `run_repetition`
 */
export const runRepetition = (shapes: readonly Pick<RunShape, 'maxStepAttempts'>[]): MonitorReading => {
  if (shapes.length === 0) return { samples: 0 };
  const sum = shapes.reduce((total, { maxStepAttempts }) => total + Math.max(1, maxStepAttempts), 0);
  return { samples: shapes.length, value: sum / shapes.length };
};
