import { expect, it } from 'vitest';
import { stillListed } from '../../src/model/deleted.ts';

it('a deleted id is hidden until the list was read without it', () => {
  const deleted = new Set(['a', 'b']);
  expect(stillListed(deleted, ['a', 'b', 'c'])).toBe(deleted);
  expect([...stillListed(deleted, ['b', 'c'])]).toEqual(['b']);
  expect([...stillListed(deleted, [])]).toEqual([]);
});
