import { beforeAll, describe, expect, it } from 'vitest';
import { compareStatistics } from '../../src/scoring/compare.ts';
import { loadTwoSidedT, type Sample, type TwoSidedT, welchPValue } from '../../src/scoring/significance.ts';
import type { ScoreStatistic } from '../../src/store/signals/evaluation.ts';

let twoSidedT: TwoSidedT;
beforeAll(async () => {
  twoSidedT = await loadTwoSidedT();
});

const sampleOf = (values: readonly number[]): Required<Sample> => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { count: values.length, mean, stddev: Math.sqrt(squares / (values.length - 1)) };
};

describe("Student's t, two-sided", () => {
  // Critical values of the published tables.
  it.each([
    [12.706, 1, 0.05],
    [4.303, 2, 0.05],
    [2.228, 10, 0.05],
    [3.169, 10, 0.01],
    [2.042, 30, 0.05],
    [1.984, 100, 0.05],
    [1.96, 1e6, 0.05],
  ])('t = %d with %d degrees of freedom is %d', (t, degrees, p) => {
    expect(twoSidedT(t, degrees)).toBeCloseTo(p, 3);
    expect(twoSidedT(-t, degrees)).toBe(twoSidedT(t, degrees));
  });

  it('of one degree of freedom is the Cauchy distribution, exactly', () => {
    for (const t of [0.1, 1, 3, 50]) expect(twoSidedT(t, 1)).toBeCloseTo(1 - (2 / Math.PI) * Math.atan(t), 12);
  });
});

describe("Welch's t-test", () => {
  it('gives the p-value of a known example with unequal variances and sizes', () => {
    const a = sampleOf([27.5, 21, 19, 23.6, 17, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19, 21.7, 21.4]);
    const b = sampleOf([27.1, 22, 20.8, 23.4, 23.4, 23.5, 25.8, 22, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 22.6]);
    expect(welchPValue(a, b, twoSidedT)).toBeCloseTo(0.0106, 3);
  });

  it('has no value where a side has a single score', () =>
    expect(welchPValue({ count: 1, mean: 1 }, { count: 30, mean: 0, stddev: 1 }, twoSidedT)).toBeUndefined());

  it('is 1 for equal means and 0 for others where nothing varies', () => {
    const flat = (mean: number): Sample => ({ count: 20, mean, stddev: 0 });
    expect(welchPValue(flat(1), flat(1), twoSidedT)).toBe(1);
    expect(welchPValue(flat(1), flat(0), twoSidedT)).toBe(0);
  });

  it('works where one side does not vary', () =>
    expect(
      welchPValue({ count: 20, mean: 1, stddev: 0 }, { count: 20, mean: 0.5, stddev: 0.5 }, twoSidedT),
    ).toBeCloseTo(0.000261193, 9));
});

const graded = (given: Partial<ScoreStatistic>): ScoreStatistic => ({
  scorerId: 'grade',
  scorerVersion: 'm-1',
  count: 20,
  mean: 0.9,
  stddev: 0.1,
  ...given,
});
const compareOne = (baseline: Partial<ScoreStatistic>, candidate: Partial<ScoreStatistic>) =>
  compareStatistics([graded(baseline)], [graded(candidate)], twoSidedT).scorers[0];

describe('comparing two experiments', () => {
  it('gives means, counts, deviation and the delta per scorer', () =>
    expect(compareOne({}, { mean: 0.6, count: 25 })).toEqual({
      scorerId: 'grade',
      scorerVersion: 'm-1',
      baseline: { mean: 0.9, count: 20, stddev: 0.1 },
      candidate: { mean: 0.6, count: 25, stddev: 0.1 },
      delta: expect.closeTo(-0.3, 12),
      pValue: expect.any(Number),
      decidable: true,
      regressed: true,
    }));

  it.each([
    [20, 20, true],
    [19, 20, false],
    [20, 19, false],
    [19, 1_000, false],
  ])('%i and %i observations: decidable is %s', (baseline, candidate, decidable) => {
    const found = compareOne({ count: baseline }, { count: candidate, mean: 0.1 });
    expect(found?.decidable).toBe(decidable);
    // Too few scores are no regression, however far apart the means are.
    expect(found?.regressed).toBe(decidable);
  });

  it.each([
    ['a higher mean', { mean: 0.95 }, false],
    ['the same mean', {}, false],
    ['a lower mean that chance explains', { mean: 0.89 }, false],
    ['a lower mean that chance does not explain', { mean: 0.8 }, true],
  ])('%s: regressed is what it should be', (_name, candidate, regressed) =>
    expect(compareOne({}, candidate)?.regressed).toBe(regressed),
  );

  it('compares only equal scorer versions, and says which were left out', () => {
    const { scorers, notCompared } = compareStatistics(
      [graded({}), graded({ scorerId: 'answered', scorerVersion: '1' })],
      [graded({ scorerVersion: 'm-2', count: 7 }), graded({ scorerId: 'answered', scorerVersion: '1' })],
      twoSidedT,
    );
    expect(scorers.map(({ scorerId }) => scorerId)).toEqual(['answered']);
    expect(notCompared).toEqual([
      { scorerId: 'grade', scorerVersion: 'm-1', side: 'baseline', count: 20 },
      { scorerId: 'grade', scorerVersion: 'm-2', side: 'candidate', count: 7 },
    ]);
  });

  it('takes scores without a version as one version', () => {
    const bare = { scorerId: 'own', count: 20, mean: 1, stddev: 0 };
    expect(compareStatistics([bare], [bare], twoSidedT).scorers).toHaveLength(1);
    expect(compareStatistics([bare], [{ ...bare, scorerVersion: '1' }], twoSidedT).scorers).toEqual([]);
  });
});
