import { expect, it } from 'vitest';
import { firingText, timesText } from '../../src/model/schedule.ts';

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
