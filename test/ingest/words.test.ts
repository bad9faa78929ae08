import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteCache } from '../../src/ingest/words.ts';

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

describe('ByteCache', () => {
  it('never gives a value that was put for other bytes', () => {
    // Few letters, so that runs of bytes are much alike, and half of them short, so that many are drawn again.
    const letters = (maxLength: number) =>
      fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength, size: 'max' });
    const run = fc.oneof(letters(7), letters(30));
    let hits = 0;
    fc.assert(
      fc.property(fc.array(run, { maxLength: 200, size: 'max' }), (texts) => {
        const cache = new ByteCache<string>(24);
        for (const text of texts) {
          const view = viewOf(new Uint8Array(Buffer.from(`xx${text}yy`)));
          const found = cache.find(view, 2, text.length);
          if (found === undefined) cache.put(view, 2, text.length, text);
          else {
            hits += 1;
            expect(found).toBe(text);
          }
        }
      }),
      { numRuns: 500 },
    );
    expect(hits).toBeGreaterThan(100);
  });

  it('finds what was put, from one byte up to its width, wherever the bytes stand', () => {
    const cache = new ByteCache<string>(24);
    const text = 'abcdefghijklmnopqrstuvwxyz';
    for (const length of [1, 2, 3, 4, 5, 7, 8, 23, 24]) {
      cache.put(viewOf(new Uint8Array(Buffer.from(text))), 0, length, text.slice(0, length));
      expect(cache.find(viewOf(new Uint8Array(Buffer.from(`123${text}`))), 3, length)).toBe(text.slice(0, length));
    }
  });

  it('tells short runs apart by each of their bytes and by their length', () => {
    const cache = new ByteCache<string>(24);
    const view = (text: string) => viewOf(new Uint8Array(Buffer.from(text)));
    const texts = ['a', 'aa', 'aaa', 'aab', 'aba', 'baa', 'ab', 'ba', 'b'];
    for (const put of texts) {
      cache.put(view(put), 0, put.length, put);
      for (const asked of texts) expect([undefined, asked]).toContain(cache.find(view(asked), 0, asked.length));
      expect(cache.find(view(put), 0, put.length)).toBe(put);
    }
  });

  it('keeps nothing longer, and not the empty text', () => {
    const cache = new ByteCache<string>(24);
    const view = viewOf(new Uint8Array(Buffer.alloc(64, 'a')));
    for (const length of [0, 25, 64]) {
      cache.put(view, 0, length, 'x');
      expect(cache.find(view, 0, length)).toBeUndefined();
    }
  });
});
