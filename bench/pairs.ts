/**
 * Runs two measurements in turn, A B A B …, and gives the ratio pair by pair: on a shared machine the speed drifts, and two
 * figures can be compared only when they were taken side by side.
 */
export type Pairs = {
  readonly a: readonly number[];
  readonly b: readonly number[];
  /** Median of the ratios a/b, one of each pair. */
  readonly ratio: number;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The value below which the share `q` of the values lies, by the nearest rank. @throws RangeError on an empty list */
export const quantile = (values: readonly number[], q: number): number => {
  const sorted = [...values].sort((left, right) => left - right);
  const value = sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))];
  if (value === undefined) throw new RangeError('a quantile of nothing');
  return value;
};

export const measurePairs = async (
  pairs: number,
  measureA: () => Promise<number> | number,
  measureB: () => Promise<number> | number,
): Promise<Pairs> => {
  const a: number[] = [];
  const b: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    a.push(await measureA());
    b.push(await measureB());
  }
  return { a, b, ratio: median(a.map((value, index) => value / (b[index] ?? Number.NaN))) };
};

export const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

/** `12.3k (11.0k to 13.1k)`: the median and the range. */
export const spread = (values: readonly number[], digits = 1): string => {
  const short = (value: number): string =>
    value >= 10_000 ? `${(value / 1000).toFixed(digits)}k` : value.toFixed(value >= 100 ? 0 : digits);
  return `${short(median(values))} (${short(Math.min(...values))} to ${short(Math.max(...values))})`;
};
