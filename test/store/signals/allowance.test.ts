import { expect, it } from 'vitest';
import { createAllowance } from '../../../src/store/signals/allowance.ts';

it('an allowance is a share of the time, gathers up to its most, and what is taken beyond is missing later', () => {
  let ms = 0;
  const allowance = createAllowance(0.25, 100, () => ms);
  const take = (length: number): void => allowance.use(() => void (ms += length));
  expect([allowance.isLeft(), allowance.msUntilLeft()]).toEqual([true, 0]);
  ms += 1_000_000;
  take(80);
  expect(allowance.isLeft()).toBe(true);
  take(200); // 100 - 80, and a quarter of 80 and 200: 40 and 50 came meanwhile
  expect(allowance.isLeft()).toBe(false);
  const missing = allowance.msUntilLeft();
  ms += missing - 2;
  expect(allowance.isLeft()).toBe(false);
  ms += 2;
  expect(allowance.isLeft()).toBe(true);
  expect(allowance.msUntilLeft()).toBe(0);
});

it('an allowance counts work that fails', () => {
  let ms = 0;
  const allowance = createAllowance(0.5, 10, () => ms);
  expect(() =>
    allowance.use(() => {
      ms += 100;
      throw new Error('failed');
    }),
  ).toThrow('failed');
  expect(allowance.isLeft()).toBe(false);
});
