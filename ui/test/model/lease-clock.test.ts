import { expect, it } from 'vitest';
import { leaseClock } from '../../src/model/lease-clock.ts';

const at = '2026-11-22T12:00:00Z';
const noon = Date.parse(at);

it.each([
  ['offered', -9_000, 'lapses in 9 s'],
  ['running', -61_000, 'orphaned in 1 min without a heartbeat'],
  ['orphaned', -5_000, 'reclaimed in 5 s'],
  ['running', 0, 'orphaned: due now'],
  ['running', 3_000, 'orphaned: due 3 s ago'],
  ['of_a_later_release', -5_000, 'ends in 5 s'],
])('a lease that is %s, %d ms after its end: %s', (status, ms, text) => {
  expect(leaseClock({ status, lease_expires_at: at }, noon + ms)).toBe(text);
});
