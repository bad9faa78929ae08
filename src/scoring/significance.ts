/** One side of a comparison; `stddev` is that of the sample. */
export type Sample = { readonly count: number; readonly mean: number; readonly stddev?: number };

/** The probability that Student's t with this many degrees of freedom is further from zero than `t`, on either side. */
export type TwoSidedT = (t: number, degreesOfFreedom: number) => number;

/** Loads the library that has the distribution; the first call takes some 20 ms. */
export const loadTwoSidedT = async (): Promise<TwoSidedT> => {
  const { compiled, incbet } = await import('cephes');
  await compiled;
  return (t, degreesOfFreedom) => incbet(degreesOfFreedom / 2, 0.5, degreesOfFreedom / (degreesOfFreedom + t * t));
};

/**
 * The p-value of the difference of two means by Welch's t-test, two-sided: it assumes neither equal variances nor equal sizes.
 * @returns `undefined` when a side has fewer than two values and so no variance. Without any variance on both sides the test's
 * limit: 1 for equal means, 0 for others
 */
export const welchPValue = (a: Sample, b: Sample, twoSidedT: TwoSidedT): number | undefined => {
  if (a.stddev === undefined || b.stddev === undefined || a.count < 2 || b.count < 2) return undefined;
  const varianceA = a.stddev ** 2 / a.count;
  const varianceB = b.stddev ** 2 / b.count;
  const variance = varianceA + varianceB;
  if (variance === 0) return a.mean === b.mean ? 1 : 0;
  const t = (b.mean - a.mean) / Math.sqrt(variance);
  const degreesOfFreedom = variance ** 2 / (varianceA ** 2 / (a.count - 1) + varianceB ** 2 / (b.count - 1));
  // Variances whose squares underflow leave no degrees of freedom to speak of.
  if (!Number.isFinite(degreesOfFreedom) || degreesOfFreedom <= 0) return undefined;
  return Math.min(1, Math.max(0, twoSidedT(t, degreesOfFreedom)));
};
