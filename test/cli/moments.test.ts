import { describe, expect, it } from 'vitest';
import { createMoments, span } from '../../src/cli/moments.ts';

const NOW = Date.parse('2026-11-20T09:10:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe('times as people read them', () => {
  it('are those of the reader’s time zone', () => {
    expect(createMoments(NOW, 'UTC').at('2026-11-20T23:30:00.123Z')).toBe('2026-11-20 23:30:00');
    expect(createMoments(NOW, 'Europe/Berlin').at('2026-11-20T23:30:00.123Z')).toBe('2026-11-21 00:30:00');
    expect(createMoments(NOW, 'Europe/Berlin').at(NOW)).toBe('2026-11-20 10:10:00');
    expect(createMoments(NOW, 'Europe/Berlin').timeZone).toBe('Europe/Berlin');
  });

  it.each([
    [0, 'now'],
    [999, 'now'],
    [-999, 'now'],
    [SECOND, 'in 1 s'],
    [-SECOND, '1 s ago'],
    [89 * SECOND, 'in 89 s'],
    [90 * SECOND, 'in 2 min'],
    [4 * MINUTE, 'in 4 min'],
    [-89 * MINUTE, '89 min ago'],
    [90 * MINUTE, 'in 1 h 30 min'],
    [24 * HOUR, 'in 24 h'],
    [47 * HOUR + 59 * MINUTE, 'in 47 h 59 min'],
    [48 * HOUR, 'in 2 days'],
    [-3650 * 24 * HOUR, '3650 days ago'],
  ])('%d ms from now is %s', (ms, text) => expect(createMoments(NOW, 'UTC').distance(NOW + ms)).toBe(text));

  it('stand with how far off they are', () => {
    expect(createMoments(NOW, 'UTC').moment('2026-11-20T09:14:00Z')).toBe('2026-11-20 09:14:00 (in 4 min)');
  });

  it('a text that is no time is said to be none', () => {
    expect(createMoments(NOW, 'UTC').moment('\u001b[2J')).toBe('an unreadable time (unknown)');
  });

  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1.0 s'],
    [9_900, '9.9 s'],
    [10_000, '10 s'],
    [90_000, '2 min'],
    [2 * HOUR, '2 h'],
  ])('%d ms take %s', (ms, text) => expect(span(ms)).toBe(text));
});
