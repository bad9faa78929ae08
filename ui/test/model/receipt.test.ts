import { describe, expect, it } from 'vitest';
import {
  addsUp,
  explainNotPriced,
  explainOutcome,
  explainSaved,
  nameOfMeter,
  savedByCache,
  sumOfLines,
} from '../../src/model/receipt.ts';
import { formatExactMoney } from '../../src/model/units.ts';

const line = (side: 'input' | 'output', amount: number) =>
  ({ side, meter: side, tokens: 1, rate: 1, rated_as: side, amount }) as const;

describe('a bill', () => {
  it('adds each side first, as the service did, so that the sum is its cost to the last digit', () => {
    const lines = [line('input', 0.1), line('output', 0.3), line('input', 0.2)];
    expect(sumOfLines(lines)).toBe(0.1 + 0.2 + 0.3);
    const cost = { total_cost: 0.1 + 0.2 + 0.3, currency: 'USD', is_estimated: true };
    expect([addsUp(lines, cost), addsUp(lines, { ...cost, total_cost: 0.6 })]).toEqual([true, false]);
  });

  it('shows as many digits as the smallest line needs, in no power of ten', () => {
    expect(formatExactMoney({ total_cost: 0.0000003 })).toBe('$0.0000003');
    expect(formatExactMoney({ total_cost: 0.1 + 0.2 })).toBe('$0.3');
    expect(formatExactMoney({ total_cost: 1234.5, currency: 'CHF' })).toBe('1,234.5 CHF');
  });

  it('names a meter, and whose rate it has where it has none', () => {
    expect(nameOfMeter({ meter: 'cache_read', rated_as: 'cache_read' })).toBe('cache read');
    expect(nameOfMeter({ meter: 'cache_read', rated_as: 'input' })).toBe('cache read, at the rate of input');
  });

  it('says why there is none, and what was left out', () => {
    expect(explainOutcome({ outcome: 'priced' })).toBeUndefined();
    expect(explainOutcome({ outcome: 'unpriced', reason: 'no_usage' })).toBe('Not priced: no tokens were sent.');
    expect(explainOutcome({ outcome: 'received' })).toContain('The sender gave');
    expect(explainNotPriced({ meter: 'output', reason: 'not_counted' })).toBe('output tokens: nobody counted them');
    expect(explainNotPriced({ meter: 'reasoning', tokens: 1, reason: 'no_rate' })).toMatch(/^1 reasoning token: /);
  });

  it('tells what the cache saved: reads at a lower rate, less writes at a higher one', () => {
    const book = { id: 'b', as_of: '2026-01-01', entry: 'm', currency: 'USD', input_rate: 10 };
    const read = {
      side: 'input',
      meter: 'cache_read',
      tokens: 1e6,
      rate: 1,
      rated_as: 'cache_read',
      amount: 1,
    } as const;
    const write = { ...read, meter: 'cache_write', rate: 12, rated_as: 'cache_write', amount: 12 } as const;
    expect(savedByCache({ outcome: 'priced', price_book: book, lines: [read, line('input', 5)] })).toBe(9);
    expect(savedByCache({ outcome: 'priced', price_book: book, lines: [write] })).toBe(-2);
    expect(savedByCache({ outcome: 'received' })).toBeUndefined();
    expect(savedByCache({ outcome: 'priced', price_book: book, lines: [line('input', 5)] })).toBeUndefined();
    expect([explainSaved(9, 'USD'), explainSaved(-2, 'USD')]).toEqual([
      'The cache saved $9.00 against ordinary input.',
      'The cache cost $2.00 more than ordinary input.',
    ]);
  });
});
