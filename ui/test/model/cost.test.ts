import { expect, it } from 'vitest';
import { costText } from '../../src/model/cost.ts';

it('2.4 rule 1: no cost is a dash and never $0.00; an estimate says so, and names the book', () => {
  expect(costText(undefined)).toBe('— not priced');
  expect(costText({ total_cost: 0.25, currency: 'USD', is_estimated: false })).toBe('$0.25');
  expect(costText({ total_cost: 0.25, currency: 'USD', is_estimated: true, price_book_id: 'list-2026' })).toBe(
    '$0.25 est. list-2026',
  );
});
