import { expect, it } from 'vitest';
import { axisText, caughtUpText, firingAxis, firingText, timesText } from '../../src/model/schedule.ts';

it('the times of a schedule are its cron expression and zone, or how often', () => {
  expect(timesText({ cron: '30 2 * * *', timezone: 'Europe/Berlin' })).toBe('30 2 * * *, Europe/Berlin');
  expect(timesText({ cron: '30 2 * * *' })).toBe('30 2 * * *, UTC');
  expect(timesText({ every_ms: 600_000 })).toBe('each 10 min');
  expect(timesText({})).toBe('—');
});

it('a skipped firing says why', () => {
  expect(firingText({ outcome: 'started' })).toBe('started');
  expect(firingText({ outcome: 'skipped', reason: 'overlap' })).toBe('skipped: the run before it had not ended');
  expect(firingText({ outcome: 'skipped', reason: 'missed' })).toBe('skipped: the service was away');
});

const at = (hour: number): string => `2026-11-22T${String(hour).padStart(2, '0')}:00:00.000Z`;
const noon = Date.parse(at(12));
const skipped = { nominal_at: at(10), outcome: 'skipped', reason: 'overlap' } as const;
const started = { nominal_at: at(8), outcome: 'started' } as const;

it('last firings, the present and next times stand on one axis, to scale', () => {
  const axis = firingAxis({ status: 'active', firings: [skipped, started], next_times: [at(14), at(16)] }, noon);
  expect(axis).toEqual({
    from: at(8),
    to: at(16),
    now: 0.5,
    marks: [
      { at: at(8), left: 0, state: 'started', words: 'started' },
      { at: at(10), left: 0.25, state: 'skipped', words: 'skipped: the run before it had not ended' },
      { at: at(14), left: 0.75, state: 'next', words: 'next' },
      { at: at(16), left: 1, state: 'next', words: 'next' },
    ],
  });
  expect(axis === undefined ? '' : axisText(axis)).toBe('1 started, 1 skipped, 2 to come');
});

it('a schedule that is paused has no next times, and its axis says since when', () => {
  const axis = firingAxis({ status: 'paused', firings: [started], next_times: [], paused_at: at(10) }, noon);
  expect(axis?.marks.map(({ state }) => state)).toEqual(['started']);
  expect(axis?.pausedFrom).toBeGreaterThan(0);
  expect(axis?.pausedFrom).toBeLessThan(axis?.now ?? 0);
  expect(axis?.now).toBeLessThan(1);
  expect(axis === undefined ? '' : axisText(axis)).toBe('1 started, 0 skipped, none to come while it is paused');
  expect(caughtUpText('none')).toBe('What it misses meanwhile does not fire later.');
});

it('a firing that waits, and one that somebody asked for, say so', () => {
  const triggered = { ...started, nominal_at: at(12), trigger_id: 't' };
  const axis = firingAxis(
    { status: 'active', firings: [triggered], next_times: [], waiting: { nominal_at: at(12) } },
    noon,
  );
  expect(axis?.marks).toEqual([
    { at: at(12), left: 0, state: 'started', words: 'started, asked for by a call' },
    { at: at(12), left: 0, state: 'waiting', words: 'waits for the end of the run before it' },
  ]);
  expect(axis?.now).toBe(0);
});

it('a schedule that neither fired nor will has no axis', () => {
  expect(firingAxis({ status: 'ended', firings: [], next_times: [] }, noon)).toBe(undefined);
});
