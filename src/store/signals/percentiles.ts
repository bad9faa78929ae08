import type { Percentiles } from './query.ts';

const NANOS_PER_MILLI = 1e6;

/** The place of a percentile among so many sorted values, by nearest rank, from 1. */
export const nearestRank = (share: number, count: number): number =>
  Math.min(count, Math.max(1, Math.ceil(share * count)));

/** @param durations in nanoseconds; the answer is in milliseconds, `undefined` of none */
export const percentilesOf = (durations: readonly number[]): Percentiles | undefined => {
  if (durations.length === 0) return undefined;
  const sorted = Float64Array.from(durations).sort();
  let sum = 0;
  for (const duration of sorted) sum += duration;
  const ms = (nanos: number): number => nanos / NANOS_PER_MILLI;
  const at = (share: number): number => ms(sorted[nearestRank(share, sorted.length) - 1] ?? 0);
  const max = sorted.at(-1) ?? 0;
  return {
    // The sum of many equal durations is rounded, and its mean may come out above each of them.
    mean: ms(Math.min(sum / sorted.length, max)),
    max: ms(max),
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
  };
};
