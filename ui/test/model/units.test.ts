import { describe, expect, it } from 'vitest';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatInstant,
  formatMoney,
  formatShare,
  plural,
} from '../../src/model/units.ts';

describe('what is not known', () => {
  it('is a dash, never a zero', () => {
    expect([
      formatCount(undefined),
      formatDuration(null),
      formatDuration(undefined),
      formatMoney(undefined),
      formatShare(undefined),
      formatInstant(undefined),
      formatAge(undefined, 0),
    ]).toEqual(Array.from({ length: 7 }, () => '—'));
  });

  it('is not the same as nothing: zero is written as zero', () => {
    expect([
      formatCount(0),
      formatMoney({ total_cost: 0, currency: 'USD' }),
      formatShare(0),
      formatDuration(0),
    ]).toEqual(['0', '$0', '0 %', '0 ns']);
  });
});

describe('money', () => {
  it.each([
    [1234.5, '$1,234.50'],
    [1, '$1.00'],
    [0.42, '$0.42'],
    [0.0123, '$0.0123'],
    [0.00421, '$0.00421'],
    [0.0000001, '$1.00e-7'],
    [-0.5, '-$0.50'],
  ])('%d is written as %s: a small amount is never rounded to nothing', (amount, text) => {
    expect(formatMoney({ total_cost: amount, currency: 'USD' })).toBe(text);
  });

  it('names a currency without a sign of its own by its code', () => {
    expect(formatMoney({ total_cost: 2, currency: 'CHF' })).toBe('2.00 CHF');
  });
});

describe('durations', () => {
  it.each([
    [999, '999 ns'],
    [1_500, '1.5 µs'],
    [999_400_000, '999 ms'],
    [999_600_000, '1 s'],
    [59_000_000_000, '59 s'],
    [60_000_000_000, '1 min'],
    [5_400_000_000_000, '1.5 h'],
    [172_800_000_000_000, '2 d'],
  ])('%d ns are %s, in one unit', (ns, text) => {
    expect(formatDuration(ns)).toBe(text);
  });
});

describe('times', () => {
  it('are written in the zone that was chosen, and left as they are when they are none', () => {
    expect(formatInstant('2026-11-20T09:00:00.123Z', 'utc')).toBe('2026-11-20 09:00:00');
    expect(formatInstant('soon', 'utc')).toBe('soon');
  });

  it('are an age in one unit, past or to come', () => {
    const now = Date.parse('2026-11-20T09:00:00Z');
    expect(formatAge('2026-11-20T08:59:59.5Z', now)).toBe('now');
    expect(formatAge('2026-11-20T08:57:00Z', now)).toBe('3 min ago');
    expect(formatAge('2026-11-20T11:00:00Z', now)).toBe('in 2 h');
  });
});

describe('counts', () => {
  it('are grouped, and their noun agrees with them', () => {
    expect([plural(1, 'span'), plural(2, 'span'), plural(10_000, 'entry', 'entries')]).toEqual([
      '1 span',
      '2 spans',
      '10,000 entries',
    ]);
    expect([formatBytes(999), formatBytes(1_500), formatBytes(5_000_000)]).toEqual(['999 B', '1.5 kB', '5 MB']);
    expect([formatShare(0.0004), formatShare(0.015), formatShare(0.5)]).toEqual(['<0.1 %', '1.5 %', '50 %']);
  });
});
