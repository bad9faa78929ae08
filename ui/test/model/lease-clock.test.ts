import { expect, it } from 'vitest';
import { inTrouble, isSilent, leaseClock, SILENT_AFTER_MS } from '../../src/model/lease-clock.ts';

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

it('leases of silent workers stand first, the others as they came', () => {
  const leases = ['running', 'orphaned', 'offered', 'orphaned'].map((status, at) => ({ status, at }));
  expect(inTrouble(leases).map((lease) => lease.at)).toEqual([1, 3, 0, 2]);
});

it('a worker is silent when it was last seen longer ago than a minute', () => {
  expect(isSilent(at, noon + SILENT_AFTER_MS)).toBe(false);
  expect(isSilent(at, noon + SILENT_AFTER_MS + 1)).toBe(true);
});
