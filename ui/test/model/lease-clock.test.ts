import { expect, it } from 'vitest';
import {
  inTrouble,
  isExpiring,
  isSilent,
  leaseClock,
  leaseLeft,
  leaseOfActor,
  type LeaseTimes,
  SILENT_AFTER_MS,
} from '../../src/model/lease-clock.ts';

const at = '2026-11-22T12:00:00Z';
const noon = Date.parse(at);
const times: LeaseTimes = {
  offer_ttl_ms: 5_000,
  lease_ttl_ms: 30_000,
  heartbeat_ms: 10_000,
  reclaim_window_ms: 4_000,
};

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

it.each([
  ['offered', -5_000, 1],
  ['running', -30_000, 1],
  ['running', -15_000, 0.5],
  // A restart of the service, or another clock: never more than the whole.
  ['running', -31_000, 1],
  ['orphaned', -1_000, 0.25],
  ['orphaned', 9_000, 0],
  ['of_a_later_release', -5_000, undefined],
])('of a lease that is %s, %d ms after its end, %s is left', (status, ms, left) => {
  expect(leaseLeft({ status, lease_expires_at: at }, times, noon + ms)).toBe(left);
});

it('nothing is left of a state that lasts no time, and nothing is divided by it', () => {
  expect(leaseLeft({ status: 'orphaned', lease_expires_at: at }, { ...times, reclaim_window_ms: 0 }, noon)).toBe(
    undefined,
  );
});

it.each([
  ['running', -10_001, false],
  ['running', -10_000, true],
  ['running', 5_000, true],
  ['offered', -1_000, false],
  ['orphaned', -1_000, false],
])('a lease that is %s, %d ms after its end, is expiring: %s', (status, ms, expiring) => {
  expect(isExpiring({ status, lease_expires_at: at }, times, noon + ms)).toBe(expiring);
});

it('the actor of a lease says when its state ends, as the list of leases does', () => {
  const actor = { type: 'lease', status: 'active', value: 'running', context: { expiresAt: noon } } as const;
  expect(leaseOfActor(actor)).toEqual({ status: 'running', lease_expires_at: '2026-11-22T12:00:00.000Z' });
  expect(leaseOfActor({ ...actor, status: 'done', value: 'succeeded' })).toBe(undefined);
  expect(leaseOfActor({ ...actor, type: 'limit' })).toBe(undefined);
});

it('leases of silent workers stand first, then those that are about to be, the others as they came', () => {
  const leases = ['running', 'expiring', 'orphaned', 'offered', 'orphaned'].map((state, at) => ({ state, at }));
  expect(inTrouble(leases, ({ state }) => state).map((lease) => lease.at)).toEqual([2, 4, 1, 0, 3]);
});

it('a worker is silent when it was last seen longer ago than a minute', () => {
  expect(isSilent(at, noon + SILENT_AFTER_MS)).toBe(false);
  expect(isSilent(at, noon + SILENT_AFTER_MS + 1)).toBe(true);
});
