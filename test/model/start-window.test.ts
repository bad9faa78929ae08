import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeStarts, emptyAt, encodeStarts, roomAt, startsWithin } from '../../src/model/start-window.ts';

describe('the window of a rate', () => {
  it('counts a start for all of its length, and not a millisecond longer', () => {
    expect(startsWithin([0, 5], 100, 100)).toEqual([0, 5]);
    expect(startsWithin([0, 5], 100, 101)).toEqual([5]);
    expect(startsWithin([0, 5], 100, 106)).toEqual([]);
  });

  it('has room while fewer count than the limit, and else when the oldest of the last ones leaves it', () => {
    expect(roomAt([], 1, 100)).toBeUndefined();
    expect(roomAt([0], 2, 100)).toBeUndefined();
    expect(roomAt([0, 7], 2, 100)).toBe(101);
    expect(roomAt([0, 7], 1, 100)).toBe(108);
  });

  it('is empty when its last start has left it', () => {
    expect(emptyAt([], 100)).toBeUndefined();
    expect(emptyAt([0, 7], 100)).toBe(108);
  });

  it('never lets more than the limit begin in any window, and no fewer than it could', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.nat(30), { maxLength: 60 }),
        (limit, perMs, gaps) => {
          let starts: readonly number[] = [];
          const began: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            starts = startsWithin(starts, perMs, now);
            // The naive rule, on all that ever began.
            const counting = began.filter((at) => now - at <= perMs).length;
            expect(roomAt(starts, limit, perMs) === undefined).toBe(counting < limit);
            if (counting >= limit) continue;
            starts = [...starts, now];
            began.push(now);
            expect(starts.length).toBeLessThanOrEqual(limit);
          }
          for (const from of began)
            expect(began.filter((at) => at >= from && at <= from + perMs).length).toBeLessThanOrEqual(limit);
        },
      ),
    );
  });

  it('is written in a few characters a start, and moves with the time that it is written from', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000)), fc.nat(5000), fc.integer({ min: -1000, max: 1000 }), (gaps, from, by) => {
        let at = 0;
        const starts = gaps.map((gap) => (at += gap));
        const text = encodeStarts(starts, from);
        expect(decodeStarts(text, from, 5)).toEqual(starts);
        expect(decodeStarts(text, from + by, 5)).toEqual(starts.map((start) => start + by));
      }),
    );
    const busy = Array.from({ length: 10_000 }, (_, at) => 1_700_000_000_000 + Math.floor(at / 10));
    expect(encodeStarts(busy, 1_700_000_001_000).length).toBeLessThan(5000);
  });

  it.each(['~', '5*', '5*zzzzzzz', '5*zzzzz', ',', '1,,2', 'x'.repeat(12), '{"a":1}'])(
    'that is damaged (%s) counts as used up from when it was written, and no longer than one window',
    (text) => {
      const starts = decodeStarts(text, 1000, 3);
      expect(starts).toEqual([1000, 1000, 1000]);
      expect(roomAt(starts, 3, 50)).toBe(1051);
      expect(startsWithin(starts, 50, 1051)).toEqual([]);
    },
  );
});
