import { describe, expect, it } from 'vitest';
import { MAX_CHOSEN, toggled } from '../../src/model/selection.ts';

const chosen = (count: number): ReadonlySet<string> =>
  Array.from({ length: count }, (_, at) => `row-${at}`).reduce<ReadonlySet<string>>(toggled, new Set());

describe('the rows of a list that are chosen', () => {
  it('are one more or one less after a press, and the former choice stays as it was', () => {
    const before = chosen(2);
    expect([...toggled(before, 'row-0')]).toEqual(['row-1']);
    expect([...toggled(before, 'other')]).toEqual(['row-0', 'row-1', 'other']);
    expect([...before]).toEqual(['row-0', 'row-1']);
  });

  it(`are at most ${MAX_CHOSEN}, of which each can be given up again`, () => {
    const most = chosen(MAX_CHOSEN);
    expect(most.size).toBe(MAX_CHOSEN);
    expect([...toggled(most, 'one more')]).toEqual([...most]);
    expect(toggled(toggled(most, 'row-0'), 'one more').has('one more')).toBe(true);
  });
});
