import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonBytes } from '../../../../src/store/signals/rows/json-bytes.ts';

describe('JSON in the making', () => {
  it('is all that was written, in its order, whatever room was expected', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 50 });
    // Some of them longer than what is measured.
    const part = fc.oneof(
      text,
      text.map((written) => Buffer.from(written)),
      fc.tuple(text, fc.integer({ min: 1, max: 1_000 })).map(([written, times]) => written.repeat(times)),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2_000 }), fc.array(fc.array(part)), (expected, takes) => {
        const json = jsonBytes(expected);
        for (const parts of takes) {
          for (const one of parts) {
            if (typeof one === 'string') json.text(one);
            else json.bytes(one);
          }
          const whole = Buffer.concat(parts.map((one) => Buffer.from(one)));
          expect(json.length).toBe(whole.length);
          expect(whole.equals(json.take())).toBe(true);
        }
      }),
    );
  });

  it('repeats what it holds, also where that brings it beyond the room that was expected', () => {
    const json = jsonBytes(8);
    json.text('[');
    const from = json.length;
    json.text('"é\u{1f600}"');
    const to = json.length;
    json.text(',');
    json.again(from, to);
    json.text(']');
    expect(Buffer.from(json.take()).toString()).toBe('["é\u{1f600}","é\u{1f600}"]');
  });

  it('that was taken stands alone: it can be handed over', () => {
    const json = jsonBytes(100);
    json.text('[1]');
    const first = json.take();
    structuredClone(first, { transfer: [first.buffer as ArrayBuffer] });
    json.text('[2]');
    expect(Buffer.from(json.take()).toString()).toBe('[2]');
  });
});
