import { expect, it } from 'vitest';
import { narrowed } from '../../src/api/server-clock.ts';

/** An answer of a service whose clock is ahead by `ahead`, asked for at `at` and on its way for `way`. */
const answerAt = (at: number, ahead: number, way = 10) => ({
  date: Math.floor((at + way / 2 + ahead) / 1000) * 1000,
  askedAt: at,
  answeredAt: at + way,
});

it('2.2 countdowns from server time: answers narrow down how far the clocks are apart, to less than a second', () => {
  const ahead = 3_600_123;
  let bounds = narrowed(undefined, answerAt(0, ahead));
  for (let at = 137; at < 20_000; at += 437) bounds = narrowed(bounds, answerAt(at, ahead));
  expect(bounds.low).toBeLessThanOrEqual(ahead);
  expect(bounds.high).toBeGreaterThanOrEqual(ahead);
  expect(bounds.high - bounds.low).toBeLessThan(200);
});

it('a clock that was set is followed at the next answer', () => {
  const before = narrowed(undefined, answerAt(0, 500));
  const after = narrowed(before, answerAt(5_000, -60_000));
  expect([after.low <= -60_000, after.high >= -60_000]).toEqual([true, true]);
});
