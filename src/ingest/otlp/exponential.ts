/** A histogram with explicit boundaries: `counts` has one more element than `bounds`. */
export type ExplicitHistogram = { readonly bounds: readonly number[]; readonly counts: readonly number[] };

export type ExponentialBuckets = { readonly offset: number; readonly counts: readonly number[] };

/**
 * Writes an exponential histogram with the explicit boundaries that its buckets have: bucket `i` of scale `s` holds values
 * above base^i up to base^(i+1), where base is 2^(2^-s). Negative buckets mirror them, and what is near zero lies between.
 * Boundaries beyond what a double holds fall away, and their counts go to the bucket beside.
 * @see opentelemetry-proto, metrics/v1, ExponentialHistogramDataPoint
 */
export const explicitOf = (
  scale: number,
  zeroCount: number,
  positive: ExponentialBuckets,
  negative: ExponentialBuckets,
): ExplicitHistogram => {
  const edge = (index: number): number => 2 ** (index * 2 ** -scale);
  const bounds: number[] = [];
  const counts: number[] = [];
  let carried = 0;
  /** Closes the bucket that ends at `bound`. */
  const close = (bound: number, count: number): void => {
    carried += count;
    const last = bounds.at(-1);
    if (!Number.isFinite(bound) || (last !== undefined && bound <= last)) return;
    bounds.push(bound + 0);
    counts.push(carried);
    carried = 0;
  };
  if (negative.counts.length > 0) {
    close(-edge(negative.offset + negative.counts.length), 0);
    for (let i = negative.counts.length - 1; i >= 0; i--) close(-edge(negative.offset + i), negative.counts[i] ?? 0);
  }
  if (positive.counts.length > 0) {
    close(edge(positive.offset), zeroCount);
    positive.counts.forEach((count, i) => close(edge(positive.offset + i + 1), count));
  } else if (negative.counts.length > 0 || zeroCount > 0) close(0, zeroCount);
  counts.push(carried);
  return { bounds, counts };
};
