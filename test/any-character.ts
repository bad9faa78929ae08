import * as fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST_CODE_POINT = 0x10_ffff;

const indexOf = (text: unknown): number => {
  const [character, ...more] = typeof text === 'string' ? text : '';
  const point = character?.codePointAt(0);
  if (point === undefined || more.length > 0) throw new Error('not one character');
  const isPast = point >= SURROGATES.first + SURROGATES.count;
  if (point >= SURROGATES.first && !isPast) throw new Error('half a character');
  return isPast ? point - SURROGATES.count : point;
};

/**
 * Any character: a unit of `fc.string`, which draws what the unit `binary` draws. That one keeps a map of all 1.1 million
 * characters, which costs a second or more and stays in the memory of all tests that follow in its thread.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat(LAST_CODE_POINT - SURROGATES.count)
  .map((index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count), indexOf);
