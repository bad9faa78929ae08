import { expect, it } from 'vitest';
import { byCost } from '../../../src/store/signals/call-groups.ts';

it('groups that cost the same stand in one order, whatever order they were read in: what has no key before the empty key', () => {
  const groups = [{}, { key: '' }, { key: 'a' }, { key: 'b' }].map((group) => ({ ...group, totalCost: 0.1, count: 1 }));
  expect(groups.toReversed().sort(byCost)).toEqual(groups);
  expect(groups.toSorted(byCost)).toEqual(groups);
});
