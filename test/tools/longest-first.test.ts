import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Begun, compareBegun, longest } from '../../tools/longest-first.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const begun = (file: string, more: Partial<Begun> = {}): Begun => ({
  file,
  group: 0,
  sharing: undefined,
  bytes: 1000,
  ...more,
});
const order = (...files: readonly Begun[]): string[] => files.toSorted(compareBegun).map(({ file }) => file);

describe('the order in which test files begin', () => {
  it('names files that are there, each once', () => {
    expect(longest.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
    expect(new Set(longest).size).toBe(longest.length);
  });

  it('begins with the long ones, whatever project they are of and however small they are', () => {
    const [first = '', second = ''] = longest;
    expect(order(begun('b.test.ts', { bytes: 9000 }), begun(second, { bytes: 1 }), begun(first))).toEqual([
      first,
      second,
      'b.test.ts',
    ]);
  });

  it('goes on with the larger ones', () => {
    expect(order(begun('a', { bytes: 1 }), begun('b', { bytes: 3 }), begun('c', { bytes: 2 }))).toEqual([
      'b',
      'c',
      'a',
    ]);
  });

  it('ends a group before the next begins', () => {
    const [first = ''] = longest;
    expect(order(begun(first, { group: 1 }), begun('a'))).toEqual(['a', first]);
  });

  it('keeps the files of a project together that share what they have loaded', () => {
    const [first = ''] = longest;
    expect(order(begun(first, { sharing: 'q' }), begun('a', { sharing: 'p' }), begun('b', { sharing: 'q' }))).toEqual([
      'a',
      first,
      'b',
    ]);
  });
});
