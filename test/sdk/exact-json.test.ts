import { describe, expect, it } from 'vitest';
import { parseExactly, writeExactly } from '../../sdk/typescript/src/exact-json.ts';

describe('JSON of the library', () => {
  it('an integer beyond 2^53 is a bigint, on both sides, and every other number is a number', () => {
    expect(
      parseExactly('[9007199254740991,9007199254740992,-9007199254740991,-9007199254740992,9223372036854775807]'),
    ).toEqual([9007199254740991, 9007199254740992n, -9007199254740991, -9007199254740992n, 9223372036854775807n]);
    expect(parseExactly('[1e20,12345678901234567.5,0.12345678901234567,-0,1234567890123456e-3]')).toEqual([
      ...[1e20, 12345678901234568, 0.12345678901234566, -0, 1234567890123.456],
    ]);
    expect(parseExactly('9007199254740993')).toBe(9007199254740993n);
  });

  it('digits within texts and names stay what they are', () => {
    const value = { '9007199254740993': ['"9007199254740993', '\\', '\\"9007199254740993,', '😀9007199254740993'] };
    expect(parseExactly(`[${JSON.stringify(value)},9007199254740993]`)).toEqual([value, 9007199254740993n]);
  });

  it('reads texts with any number of escapes, quotes and backslashes beside a long integer', () => {
    const texts = ['\n'.repeat(5_000_000), '\\'.repeat(100_001), '"'.repeat(100_001), '\\"'.repeat(100_001), ''];
    const value = parseExactly(
      `[9007199254740993,${texts.map((text) => JSON.stringify(text)).join(',')},9007199254740993]`,
    );
    expect(Array.isArray(value) && value.length).toBe(texts.length + 2);
    expect((value as unknown[]).map((one, n) => one === texts[n - 1] || one)).toEqual([
      9007199254740993n,
      ...texts.map(() => true),
      9007199254740993n,
    ]);
  });

  it('what is no JSON is refused, with long integers, too', () => {
    for (const text of ['{"n":9007199254740993', '[9007199254740993,]', '[09007199254740993]', '"9007199254740993'])
      expect(() => parseExactly(text), text).toThrow(SyntaxError);
  });

  it('a bigint is written as an integer, and what was read is written as it was', () => {
    const text = '{"n":9007199254740993,"list":[-9223372036854775808,"9007199254740993",1.5,null]}';
    expect(writeExactly(parseExactly(text))).toBe(text);
    expect(writeExactly(7n)).toBe('7');
  });

  it('what JSON cannot say is refused as before, beside a bigint, too', () => {
    const cycle: { n: bigint; self?: object } = { n: 1n };
    cycle.self = cycle;
    expect(() => writeExactly(cycle)).toThrow(TypeError);
  });
});
