import { describe, expect, it } from 'vitest';
import { createRate } from '../../src/model/rate.ts';

describe('a rate', () => {
  it('is of the last minute, the second in hand included', () => {
    const rate = createRate(0);
    rate.add(100_000, 60);
    expect(rate.perSecond(100_000)).toBe(1);
    expect(rate.perSecond(159_999)).toBe(1);
    expect(rate.perSecond(160_000)).toBe(0);
  });

  it('adds up over seconds, and a second that comes round again begins from nothing', () => {
    const rate = createRate(0);
    for (let second = 0; second < 200; second += 1) rate.add(second * 1000 + 500, 2);
    expect(rate.perSecond(199_999)).toBe(2);
  });

  it('of a young process is divided by its age, not by a minute', () => {
    const rate = createRate(5_000);
    rate.add(5_000, 10);
    expect(rate.perSecond(5_999)).toBe(10);
    expect(rate.perSecond(9_000)).toBe(2);
    expect(rate.perSecond(64_999)).toBe(0.167);
    expect(rate.perSecond(65_000)).toBe(0);
  });

  it('of nothing is 0', () => expect(createRate(0).perSecond(1e9)).toBe(0));
});
