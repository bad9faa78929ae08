import { describe, expect, it } from 'vitest';
import { createTextQueue } from '../../sdk/typescript/src/text-queue.ts';

const decoder = new TextDecoder();
const BLOCK_BYTES = 1024 * 1024;
const LARGE_UNITS = 128 * 1024;

/** Takes all that waits. */
const drained = (queue: ReturnType<typeof createTextQueue<string>>): [string, string][] => {
  const taken: [string, string][] = [];
  for (let next = queue.takeOldest(); next !== undefined; next = queue.takeOldest())
    taken.push([next.kind, decoder.decode(next.bytes)]);
  return taken;
};

describe('the queue of texts', () => {
  it('gives texts and their kinds in the order in which they came', () => {
    const queue = createTextQueue<string>();
    queue.push('spans', 'first');
    queue.push('logs', '');
    queue.push('spans', '\u20ac and \u{1f600}');
    expect([queue.count(), queue.bytes(), queue.oldestBytes()]).toEqual([3, 5 + 0 + 12, 5]);
    expect(drained(queue)).toEqual([
      ['spans', 'first'],
      ['logs', ''],
      ['spans', '\u20ac and \u{1f600}'],
    ]);
    expect([queue.count(), queue.bytes(), queue.oldestBytes()]).toEqual([0, 0, 0]);
  });

  it.each([
    ['that fill a block to its last byte', 'x', BLOCK_BYTES / 16],
    ['that do not fit into the rest of a block', 'x', 100_001],
    ['of three bytes a character', '\u20ac', 100_001],
    ['as long as a block takes', '\u20ac', LARGE_UNITS],
    ['that are longer, and have memory of their own', '\u20ac', LARGE_UNITS + 1],
  ])('keeps texts %s', (_, character, length) => {
    const queue = createTextQueue<number>();
    const texts = Array.from({ length: 40 }, (__, n) => `${n}${character.repeat(length)}`.slice(0, length));
    for (const [n, text] of texts.entries()) queue.push(n, text);
    expect(queue.bytes()).toBe(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0));
    for (const [n, text] of texts.entries()) {
      expect(queue.oldestBytes()).toBe(Buffer.byteLength(text));
      const taken = queue.takeOldest();
      expect(taken?.kind).toBe(n);
      expect(decoder.decode(taken?.bytes) === text).toBe(true);
    }
    expect([queue.count(), queue.bytes()]).toEqual([0, 0]);
  });

  it('drops the oldest, whatever came between', () => {
    const queue = createTextQueue<string>();
    const lengths = [5, LARGE_UNITS + 1, 0, BLOCK_BYTES / 16, 300_000, 7];
    let added = 0;
    const kept: string[] = [];
    for (let round = 0; round < 500; round += 1) {
      const text = `${added} `.padEnd(lengths[round % lengths.length] ?? 0, 'y');
      added += 1;
      queue.push('spans', text);
      kept.push(text);
      while (queue.bytes() > 3_000_000) {
        queue.dropOldest();
        kept.shift();
      }
    }
    expect(queue.count()).toBe(kept.length);
    expect(drained(queue).map(([, text]) => text)).toEqual(kept);
  });

  it('uses its memory again: a queue that drops its oldest all the time takes no more', () => {
    const queue = createTextQueue<string>();
    const blocks = new Set<ArrayBufferLike>();
    for (let n = 0; n < 20_000; n += 1) {
      queue.push('spans', 'x'.repeat(4096));
      if (queue.count() <= 1000) continue;
      const oldest = queue.takeOldest();
      if (oldest !== undefined) blocks.add(oldest.bytes.buffer);
    }
    // A thousand texts of 4 KiB lie in five blocks, and one is being filled.
    expect(blocks.size).toBeLessThanOrEqual(6);
  });

  it('goes on behind a block that is full of texts, all of which were taken', () => {
    const queue = createTextQueue<number>();
    for (let n = 0; n < 10_000; n += 1) queue.push(n, '{}');
    expect(drained(queue as never)).toHaveLength(10_000);
    queue.push(10_000, 'next');
    expect([queue.count(), queue.bytes(), queue.oldestBytes()]).toEqual([1, 4, 4]);
    expect(queue.takeOldest()?.kind).toBe(10_000);
    expect(queue.takeOldest()).toBeUndefined();
  });

  it('begins a new block where one has many small texts, and is empty when it is cleared', () => {
    const queue = createTextQueue<number>();
    for (let n = 0; n < 25_000; n += 1) queue.push(n, '{}');
    for (let n = 0; n < 24_000; n += 1) queue.dropOldest();
    expect(queue.takeOldest()).toMatchObject({ kind: 24_000 });
    queue.clear();
    expect([queue.count(), queue.bytes(), queue.takeOldest()]).toEqual([0, 0, undefined]);
    queue.dropOldest();
    queue.push(1, 'again');
    expect(queue.count()).toBe(1);
  });
});
