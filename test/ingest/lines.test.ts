import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineSplitter, isBlank } from '../../src/ingest/lines.ts';

const split = (...pieces: string[]): string[] => {
  const splitter = createLineSplitter();
  const lines = pieces.flatMap((piece) => splitter.push(Buffer.from(piece)));
  const last = splitter.end();
  return [...lines, ...(last === undefined ? [] : [last])].map(String);
};

describe('line splitter', () => {
  it('cuts at LF and at CRLF', () => expect(split('a\nb\r\nc\n')).toEqual(['a', 'b', 'c']));
  it('gives a last line without a line end', () => expect(split('a\nb')).toEqual(['a', 'b']));
  it('gives no line for nothing', () => expect(split('')).toEqual([]));
  it('keeps empty lines for the caller to judge', () => expect(split('a\n\n\r\nb\n')).toEqual(['a', '', '', 'b']));
  it('keeps a CR inside a line', () => expect(split('a\rb\n')).toEqual(['a\rb']));
  it('joins a CRLF that two pieces share', () => expect(split('a\r', '\nb\r', '\n')).toEqual(['a', 'b']));

  it('gives the same lines however the bytes are cut into pieces, also inside a character', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'é', '漢', '\n', '\r\n', '\r') }),
        fc.array(fc.nat(7)),
        (text, cuts) => {
          const bytes = Buffer.from(text);
          const splitter = createLineSplitter();
          const lines: Buffer[] = [];
          let at = 0;
          for (const cut of cuts) {
            lines.push(...splitter.push(bytes.subarray(at, at + cut)));
            at = Math.min(bytes.length, at + cut);
          }
          lines.push(...splitter.push(bytes.subarray(at)));
          const last = splitter.end();
          if (last !== undefined) lines.push(last);
          expect(lines.map(String)).toEqual(split(text));
        },
      ),
    ));

  it('knows a blank line', () => {
    expect([' \t ', '', ' {'].map((line) => isBlank(Buffer.from(line)))).toEqual([true, true, false]);
  });
});
