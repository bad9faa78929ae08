import { expect, it } from 'vitest';
import { compareStatistics } from '../../src/scoring/compare.ts';
import { judgementsOf } from '../../src/store/signals/judgements.ts';

it('the mean of scores is a number where their sum has none, and loses no digit where it has one', () => {
  const meanOf = (...values: number[]): number | undefined =>
    judgementsOf(
      values.map((value) => ['trace', 's', null, value] as const),
      [],
    ).get('trace')?.scores[0]?.[2];
  expect(meanOf(1e308, 1e308, 1e308)).toBe(1e308);
  expect(meanOf(-Number.MAX_VALUE, -Number.MAX_VALUE)).toBe(-Number.MAX_VALUE);
  expect(meanOf(1e308, 1e308, -1e308, -1e308)).toBe(0);
  expect(meanOf(0.1, 0.2)).toBe((0.1 + 0.2) / 2);
  expect(meanOf(5e-324)).toBe(5e-324);
});

it('the distance of two means is a number, however far they are apart', () => {
  const of = (mean: number) => [{ scorerId: 's', count: 1, mean }];
  const deltaOf = (a: number, b: number): number | undefined =>
    compareStatistics(of(a), of(b), () => 1).scorers[0]?.delta;
  expect(deltaOf(-1e308, 1e308)).toBe(Number.MAX_VALUE);
  expect(deltaOf(1e308, -1e308)).toBe(-Number.MAX_VALUE);
  expect(deltaOf(0.25, 0.75)).toBe(0.5);
});
