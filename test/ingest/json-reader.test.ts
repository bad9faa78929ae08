import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonReader, jsonBounds, storableText } from '../../src/ingest/json-reader.ts';
import { Refusal } from '../../src/model/failure.ts';

const BACKSLASH = '\\';
const escaped = (unit: number): string => `${BACKSLASH}u${unit.toString(16).padStart(4, '0')}`;

/** What a reader says of a text: the value, or the message of its refusal. */
const said = (text: string, read: (reader: JsonReader) => unknown): unknown => {
  const reader = new JsonReader(Buffer.from(text));
  try {
    const value = read(reader);
    reader.expectEnd();
    return value;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
};
const value = (text: string): unknown => said(text, (reader) => reader.value());
const skipped = (text: string): unknown => said(text, (reader) => reader.skipValue());
/** A member name takes another way than a text: it is found first, and made after its colon. */
const name = (quoted: string): unknown => {
  const object = value(`{${quoted}:0}`);
  return typeof object === 'string' ? object : Object.keys(object as object)[0];
};

const expectedText = (quoted: string): string =>
  (JSON.parse(quoted) as string).toWellFormed().replaceAll('\0', '\ufffd');

describe('texts with escapes', () => {
  const piece = fc.oneof(
    fc.constantFrom('a', 'plain text', 'é', '漢字', '😀', '\u007f', '\u2028', 'u0041', '/'),
    fc.constantFrom(...'"\\/bfnrt'.split('')).map((letter) => BACKSLASH + letter),
    fc.integer({ min: 0, max: 0xffff }).map(escaped),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => escaped(unit).replace(/[a-f]/g, (digit) => digit.toUpperCase())),
    fc.integer({ min: 0xd7fe, max: 0xe001 }).map(escaped),
    fc.constantFrom(0, 1, 0x1f, 0x22, 0x5c, 0x7f, 0x80, 0x7ff, 0x800, 0xfffd, 0xffff).map(escaped),
  );

  it('are what JSON.parse makes of them, in values and in names', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const quoted = `"${pieces.join('')}"`;
        const expected = expectedText(quoted);
        expect(value(quoted)).toBe(expected);
        expect(name(quoted)).toBe(expected);
        expect(skipped(quoted)).toBeUndefined();
      }),
      { numRuns: 3000 },
    );
  });

  it('are whole around the length up to which they are read in one pass', () => {
    for (const unit of [
      String.raw`\n`,
      String.raw`\u0041`,
      String.raw`\u00e9`,
      String.raw`\ud83d\ude00`,
      String.raw`\ud800`,
      String.raw`\u0000`,
      'é',
    ])
      for (const length of [65_520, 65_529, 65_530, 65_531, 65_532, 65_533, 65_534, 65_535, 65_536, 65_537]) {
        const quoted = `"${BACKSLASH}t${'x'.repeat(length - 2 - unit.length)}${unit}${unit}"`;
        expect(value(quoted)).toBe(expectedText(quoted));
      }
  });

  it('are refused with the place of the first wrong escape', () => {
    const wrong = (text: string, at: number) => {
      const message = `body is not valid JSON: a wrong escape at byte ${at}`;
      expect(value(text)).toBe(message);
      expect(skipped(text)).toBe(message);
      expect(name(text)).toBe(`body is not valid JSON: a wrong escape at byte ${at + 1}`);
    };
    wrong(String.raw`"\x"`, 1);
    wrong(String.raw`"\n\U0041"`, 3);
    for (const digits of ['004', '004g', 'g041', '0g41', '00g1', '004 ', '00 1', '0x41', '+041', '-041', '004é'])
      wrong(`"ab${BACKSLASH}u${digits}"`, 3);
    wrong(`"a${'é'.repeat(40_000)}${BACKSLASH}q"`, 80_002);
    // At the end of the body.
    expect(value(`"${BACKSLASH}`)).toBe('body is not valid JSON: a wrong escape at byte 1');
    expect(value(`"${BACKSLASH}u004`)).toBe('body is not valid JSON: a wrong escape at byte 1');
    expect(value(`"${BACKSLASH}u0041`)).toBe('body is not valid JSON: it ends too early');
    expect(value(`"${BACKSLASH}n`)).toBe('body is not valid JSON: it ends too early');
  });

  it('are refused with the place of a control character, however it stands to the words of four bytes', () => {
    for (let before = 0; before < 9; before++)
      for (const plain of ['x', 'é', String.raw`\n`])
        for (const control of ['\n', '\0', '\u001f']) {
          const head = `"${plain.repeat(before)}`;
          const message = `body is not valid JSON: unexpected character at byte ${Buffer.byteLength(head)}`;
          expect(value(`${head}${control}tail"`)).toBe(message);
          expect(skipped(`${head}${control}tail"`)).toBe(message);
        }
  });
});

describe('storableText', () => {
  it('replaces NUL and lone surrogates, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '\0', '\ud800', '\udc00', '😀', 'é')), (pieces) => {
        const text = pieces.join('');
        expect(storableText(text)).toBe(text.toWellFormed().replaceAll('\0', '\ufffd'));
      }),
    );
  });
});

describe('numbers', () => {
  const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
  /** The rule, written as it was before numbers were read in place. */
  const expectedNumber = (text: string): unknown => {
    if (text.length > 1024) return 'body is not valid JSON: a number of more than 1024 characters at byte 0';
    if (!NUMBER.test(text)) return 'body is not valid JSON: unexpected character at byte 0';
    const number = Number(text);
    if (!Number.isFinite(number)) return 'body is not valid JSON: a number that is out of range at byte 0';
    return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? text : number + 0;
  };
  /** How any of these numbers is read otherwise; a list, since an expectation for each of a million would take minutes. */
  const readOtherwise = (texts: readonly string[]): string[] => {
    const otherwise: string[] = [];
    for (const text of texts) {
      const expected = expectedNumber(text);
      for (const tail of ['', ' ']) {
        const read = value(text + tail);
        if (!Object.is(read, expected)) otherwise.push(`${text} is ${String(read)} and not ${String(expected)}`);
      }
      const passed = skipped(text);
      const refusal = typeof expected === 'string' && expected.startsWith('body') ? expected : undefined;
      if (passed !== refusal) otherwise.push(`${text} is passed over: ${String(passed)} and not ${String(refusal)}`);
    }
    return otherwise;
  };

  it('are to the bit what Number makes of their text', () => {
    // Seeded: a million draws of fast-check would take a minute.
    let state = 0x2545f491;
    const below = (most: number): number => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % most;
    };
    const digits = (count: number): string => {
      let text = '';
      while (text.length < count) text += String(below(1e9));
      return text.slice(0, count);
    };
    const decimal = (): string => {
      let text = below(4) === 0 ? '-' : '';
      text += below(3) === 0 ? '0' : `${1 + below(9)}${digits(below(9))}`;
      if (below(4) > 0) text += `.${'0'.repeat(below(6) === 0 ? below(24) : 0)}${digits(1 + below(12))}`;
      if (below(3) === 0) text += `${'eE'[below(2)]}${['', '+', '-'][below(3)]}${below(below(2) === 0 ? 30 : 340)}`;
      return text;
    };
    expect(readOtherwise(Array.from({ length: 2000 }, decimal))).toEqual([]);
    for (let list = 0; list < 100; list++) {
      const texts = Array.from({ length: 10_000 }, decimal).filter((text) => Number.isFinite(Number(text)));
      const read = new JsonReader(Buffer.from(`[${texts.join()}]`)).value() as unknown[];
      expect(read).toHaveLength(texts.length);
      expect(texts.filter((text, at) => !Object.is(read[at], Number(text) + 0))).toEqual([]);
    }
  });

  it('at each bound of what is read in place, and what is no number', () => {
    const all =
      `0 -0 0.0 -0.0 0e5 0e400 -0e-400 0.0e999 1 -1 1.0 1.5 -1.5 0.1 0.2 0.3 1e22 1e23 1e-22 1e-23 123456789012345e22
      123456789012345e23 999999999999999e-22 9999999999999999e-22 0.000000000000001 123456789012345.6 12345678901234.5 1.7976931348623157e308
      1.7976931348623159e308 1e308 1e309 -1e309 10e307 10e308 100e307 0.1e309 0.1e310 5e-324 2e-324 1e-400 4.9e-324 2.2250738585072011e-308
      9007199254740991 9007199254740992 -9007199254740991 -9007199254740992 9007199254740993.0 1e15 1e16 12345678901234567890
      0.30000000000000004 1E5 1e+5 1e-5 1e05 1e005 1e0000000000000000000000005 0.00000000000000000000001 100000000000000000000.0
      01 -01 00 -00 -  1. -1. 1.e5 .5 1.5. 1..5 1.5e 1.5e+ 1e 1e- 1e+-5 1e5.5 1e5e5 1-1 1+1 --1 -e5 -.5 1.5- 0x1 1e5- 0.-1 1.2.3 1ee5`
        .split(/\s+/)
        .filter((text) => text !== '.5' && !text.includes('x'));
    expect(readOtherwise(all)).toEqual([]);
    expect(value('.5')).toBe('body is not valid JSON: unexpected character at byte 0');
    expect(value('0x1')).toBe('body is not valid JSON: unexpected character at byte 1');
    expect(value('1.5x')).toBe('body is not valid JSON: unexpected character at byte 3');
  });

  it('of 1,024 characters are taken, longer ones are not', () => {
    const parts = [
      ['0.', '0', ''],
      ['0.', '0', '1e999'],
      ['1.', '5', ''],
      ['1e', '0', '5'],
      ['1e-', '0', '5'],
      ['', '1', ''],
      ['0.', '0', 'e5'],
      ['1', '-', ''],
      ['1', '.', ''],
    ] as const;
    for (const length of [1023, 1024, 1025, 5000])
      expect(
        readOtherwise(
          parts.map(([head, filler, tail]) => head + filler.repeat(length - head.length - tail.length) + tail),
        ),
      ).toEqual([]);
    for (const digit of ['1', '9'])
      expect(readOtherwise([307, 308, 309, 310].map((count) => digit.repeat(count)))).toEqual([]);
  });

  it('short ones of far powers of ten, again and again', () => {
    const powers = Array.from({ length: 320 }, (_, n) => n + 20);
    for (const digit of [1, 2, 1])
      expect(readOtherwise(powers.flatMap((power) => [`${digit}e${power}`, `${digit}e-${power}`]))).toEqual([]);
    expect(value('[1e99,1e98,1e99,-1e99,2.5e-99,1e99]')).toEqual([1e99, 1e98, 1e99, -1e99, 2.5e-99, 1e99]);
  });

  it('each count as one value, read or passed over', () => {
    const most = (values: number) => ({ ...jsonBounds, values });
    for (const text of ['[1,0.1,1e99]', '["a","\\n","\\u0041"]']) {
      expect(() => new JsonReader(Buffer.from(text), most(4)).value()).not.toThrow();
      expect(() => new JsonReader(Buffer.from(text), most(4)).skipValue()).not.toThrow();
      expect(() => new JsonReader(Buffer.from(text), most(3)).value()).toThrow(/more than 3 values/);
      expect(() => new JsonReader(Buffer.from(text), most(3)).skipValue()).toThrow(/more than 3 values/);
    }
  });
});
