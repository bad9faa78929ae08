import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePattern, patternBounds } from '../../../../src/model/definition/input-schema/pattern.ts';

const pattern = (source: string) => {
  const compiled = compilePattern(source);
  if (!compiled.ok) throw new Error(compiled.message);
  return compiled.value;
};
const refusalOf = (source: string): string => {
  const compiled = compilePattern(source);
  return compiled.ok ? 'accepted' : compiled.message;
};

describe('a pattern of a schema', () => {
  it.each([
    '^a$',
    'a.c',
    '^[^a]$',
    '^\\s+$',
    '^\\S+$',
    '^[\\s_]+$',
    '^[\\S]+$',
    '^[^\\s]+$',
    '\\bword\\b',
    '^[\\b]$',
    '^[^]$',
    '[]',
    '^\\u0041\\u{1F600}\\uD83D\\uDE00\\x41\\cJ?\\0?',
    '^\\p{Uppercase_Letter}\\p{Script=Greek}\\P{gc=Letter}$',
    '^(?<year>\\d{4})-(?:\\d\\d){1,2}$',
    '^[a-z-9]+$',
    '^[\\w.\\-]+$',
    '^[[{(]$',
    '^[[:a]$',
    '^a{2,}?b*?c+?$',
    '\\/\\^\\$\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\\\',
    '^💩{2}$',
    '^.$',
    '(a|b|)*c',
  ])('%s says what it says to the engine of the language', (source) => {
    const own = pattern(source);
    const native = new RegExp(source, 'u');
    const texts = [
      ...[
        '',
        'a',
        'aa',
        'abc',
        'a\nc',
        'a\n',
        'A😀😀A',
        'A😀😀A\n',
        'Aα1',
        '2026-0101',
        '2026-01',
        'a-9',
        'a.b-c',
        '[',
        '{',
        ':',
      ],
      ...[
        'a]',
        'p]',
        '💩💩',
        '💩',
        'aabbcc',
        'aac',
        '/^$.*+?()[]{}|\\',
        '\b',
        '\\',
        'a word',
        'sword',
        '\u0000',
        'aac\r',
        'ABC',
      ],
      ...['\t', '\v', '\u00a0', '\ufeff', '\u2028', '\u2029', '\r', '\u180e', '_ _', '\u3000', '\u0085', 'é', 'ſ', '_'],
    ];
    for (const text of texts) expect([text, own.test(text)]).toEqual([text, native.test(text)]);
  });

  it('means the same as in the language, whatever it is put together of', () => {
    const atom = fc.constantFrom(
      ...[
        'a',
        'b',
        '-',
        '.',
        '\\d',
        '\\s',
        '\\S',
        '\\w',
        '\\W',
        '\\b',
        '^',
        '$',
        '\\n',
        '[ab]',
        '[^a]',
        '[a-c-]',
        '[\\s\\d]',
      ],
      ...['[^\\S]', '[-a]', '\\u0061', '\\x62', '[^]', '\\p{L}', '\\P{Lu}', '😀', '[😀-😂]'],
    );
    const { source } = fc.letrec<{ source: string; piece: string }>((tie) => ({
      source: fc.array(tie('piece'), { maxLength: 5 }).map((pieces) => pieces.join('')),
      piece: fc.oneof(
        { maxDepth: 3 },
        atom,
        fc.tuple(tie('source'), tie('source')).map(([one, other]) => `(?:${one}|${other})`),
        fc
          .tuple(tie('source'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{0,2}', '{1,}', '{0}'))
          .map(([inner, quantifier]) => `(${inner})${quantifier}`),
      ),
    }));
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', 'c', '-', ' ', '\n', '1', 'é', '😀', '\u00a0', '_'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(source, text, (written, subject) => {
        expect(pattern(written).test(subject)).toBe(new RegExp(written, 'u').test(subject));
      }),
      { numRuns: 800 },
    );
  });

  it.each([
    [
      'a lookahead',
      '(?=a)a',
      'pattern "(?=a)a" has a lookahead, (?=...): inputs are checked in linear time, with the syntax of RE2',
    ],
    ['a negative lookahead', '^(?!admin)', 'has a lookahead, (?!...)'],
    ['a lookbehind', '(?<=a)b', 'has a lookbehind, (?<=...)'],
    ['a negative lookbehind', '(?<!a)b', 'has a lookbehind, (?<!...)'],
    ['a backreference', '(a)\\1', 'has the backreference \\1'],
    ['a named backreference', '(?<x>a)\\k<x>', 'has the backreference \\k<x>'],
    ['inline flags', '(?i:a)', 'has inline flags'],
    ['a lone surrogate', '\\uD800', 'has the lone surrogate \\uD800'],
    ['a property that RE2 does not know', '\\p{Bidi_Mirrored}', 'has what RE2 does not know'],
    ['no meaning in the language', '(', 'pattern "(": '],
    ['no meaning with the flag u', '\\-', 'pattern "\\\\-": '],
  ])('with %s is refused, with its reason', (_title, source, message) => {
    expect(refusalOf(source)).toContain(message);
  });

  it('may repeat a thing a thousand times, and be of two thousand instructions, and no more', () => {
    const { repeats, instructions } = patternBounds;
    expect(pattern(`^a{1,${repeats - 1}}$`).test('a'.repeat(repeats - 1))).toBe(true);
    expect(pattern(`^a{${repeats}}$`).test('a'.repeat(repeats))).toBe(true);
    expect(refusalOf(`^a{${repeats + 1}}$`)).toContain('a repetition of more than 1000 times ({1001}); use maxLength');
    expect(refusalOf(`^a{1,${repeats + 1}}$`)).toContain('a repetition of more than 1000 times');
    expect(refusalOf('(?:(?:a{10}){10}){10}')).toBe('accepted');
    expect(refusalOf('(?:(?:abc){100}){10}')).toContain('a size of more than 2000 instructions');
    expect(refusalOf('a'.repeat(instructions))).toBe('accepted');
    expect(refusalOf('a'.repeat(instructions + 1))).toContain('a size of more than 2000 instructions');
  });

  it('may hold so many properties of Unicode in its classes: each is hundreds of ranges that are made one set', () => {
    // Each counts as eight instructions, and the class as one.
    expect(refusalOf(`[${'\\p{L}'.repeat(249)}]`)).toBe('accepted');
    expect(refusalOf(`[${'\\P{L}'.repeat(250)}]`)).toContain('a size of more than 2000 instructions');
    expect(refusalOf('^[\\p{L}\\p{N} _-]{1,999}$')).toBe('accepted');
  });

  it.each([
    ['^(a+)+$', false],
    ['^(a|aa)*$', false],
    ['(a*)*b', false],
    ['(x+x+)+y', false],
    ['^(?:.{0,30}a){9}$', false],
    ['(a?){99}a{99}!$', true],
  ])('%s is tested in linear time, where the engine of the language would never end', (source, isMet) => {
    expect(pattern(source).test(`${'a'.repeat(20_000)}!`)).toBe(isMet);
  });
});
