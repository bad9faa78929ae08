import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutUnicodeEscapes } from '../../src/ingest/redact-escapes.ts';

/** The rule as it reads: eight times over, each escape of the whole text becomes its character. */
const asRuled = (text: string): string => {
  const escape = /(?<!\\)(\\{1,255})u(?!00[01]|[dD][89a-fA-F])([0-9a-fA-F]{4})/g;
  const spelt = (backslashes: number, character: string): string => {
    let odd = backslashes;
    let levels = 0;
    for (; odd % 2 === 0; odd /= 2) levels += 1;
    if (character === '\\') return '\\'.repeat((odd + 1) * 2 ** levels);
    if (character === '"') return `${'\\'.repeat((odd + 1) * 2 ** levels - 1)}"`;
    return '\\'.repeat((odd - 1) * 2 ** levels) + character;
  };
  let plain = text;
  for (let pass = 0; pass < 8; pass += 1)
    plain = plain.replaceAll(escape, (_, run: string, hex: string) =>
      spelt(run.length, String.fromCharCode(Number.parseInt(hex, 16))),
    );
  return plain;
};

describe('Unicode escapes become their characters', () => {
  it.each([
    ['a letter', String.raw`pass\u0077ord`, 'password'],
    ['a letter within a string', String.raw`\"pass\\u0077ord\"`, String.raw`\"password\"`],
    ['a quote, one level deeper', String.raw`\u0022token\u0022`, String.raw`\"token\"`],
    ['the letter of another escape', String.raw`\\\u00750074oken`, String.raw`token`],
    ['a digit of another escape', String.raw`\u007\u0034oken`, String.raw`\u0074oken`.replace('\\u0074', 't')],
    ['the backslash of another escape', String.raw`\u005cu0074oken`, 'token'],
  ])('%s', (_name, text, expected) => {
    expect(withoutUnicodeEscapes(text)).toBe(expected);
    expect(asRuled(text)).toBe(expected);
  });

  it.each([
    ['controls', String.raw`\u0000\u001f`],
    ['surrogates', String.raw`\ud83d\uDE00`],
    ['what is no escape', String.raw`C:\users \u00g0 \u004`],
    ['one behind more than 255 backslashes', `${'\\'.repeat(256)}u0041`],
  ])('but not %s', (_name, text) => expect(withoutUnicodeEscapes(text)).toBe(text));

  it('as far as eight escapes in one another, and no further', () => {
    const nested = (levels: number): string => `\\${'u005c'.repeat(levels)}u0061`;
    for (const levels of [1, 7, 8, 9]) expect(withoutUnicodeEscapes(nested(levels))).toBe(asRuled(nested(levels)));
    expect(withoutUnicodeEscapes(nested(7))).toMatch(/a$/);
    expect(withoutUnicodeEscapes(nested(8))).toMatch(/u0061$/);
  });

  it('in any text, however they are put together', () => {
    const runs = [1, 2, 3, 63, 64, 127, 128, 254, 255, 256].map((length) => '\\'.repeat(length));
    const escapes = ['005c', '0075', '0030', '0035', '0043', '0022', '0001', 'd83d', '00e9'].map((hex) => `\\u${hex}`);
    const others = ['u', 'u', 'u005c', 'u005C', '0075', '005c', '00', '5', 'c', '0', 'x', '"', 'u005cu005cu005cu0061'];
    const texts = fc.array(fc.constantFrom(...runs, ...runs.slice(0, 3), ...escapes, ...others), { maxLength: 30 });
    fc.assert(
      fc.property(texts, (parts) => {
        const text = parts.join('');
        expect(withoutUnicodeEscapes(text)).toBe(asRuled(text));
      }),
      { numRuns: 1000 },
    );
  });
});
