import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from './any-character.ts';

const isDrawn = (text: string): boolean => {
  try {
    return anyCharacter.canShrinkWithoutContext(text);
  } catch {
    return false;
  }
};

describe('any character', () => {
  it('is each code point from the first to the last, but no half of a surrogate pair', () => {
    for (const point of [0, 0x7f, 0xd7ff, 0xe000, 0xffff, 0x1_0000, 0x10_ffff])
      expect(isDrawn(String.fromCodePoint(point)), point.toString(16)).toBe(true);
    for (const unit of [0xd800, 0xdbff, 0xdc00, 0xdfff])
      expect(isDrawn(String.fromCharCode(unit)), unit.toString(16)).toBe(false);
    expect(isDrawn('')).toBe(false);
    expect(isDrawn('ab')).toBe(false);
  });

  it('makes strings without a lone half, of one and of two units, and those that are dangerous as keys', () => {
    const drawn = fc.sample(fc.string({ unit: anyCharacter, maxLength: 40 }), { numRuns: 2_000, seed: 1 });
    expect(drawn.every((text) => text.isWellFormed())).toBe(true);
    expect(drawn.some((text) => /^[\u0000-\uffff]+$/.test(text) && !/[\ud800-\udfff]/.test(text))).toBe(true);
    expect(drawn.some((text) => /[\ud800-\udbff][\udc00-\udfff]/.test(text))).toBe(true);
    expect(drawn.some((text) => text.includes('__proto__'))).toBe(true);
  });
});
