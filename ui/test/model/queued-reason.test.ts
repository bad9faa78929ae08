import { expect, it } from 'vitest';
import { queuedBecause } from '../../src/model/queued-reason.ts';

it('a queued run says in a sentence why it waits, also for a reason of a later release', () => {
  expect(queuedBecause('no_worker')).toBe('It waits for a worker: none that is live serves its definition.');
  expect(queuedBecause('definition_paused')).toBe('It waits: its definition is paused.');
  expect(queuedBecause('out_of_budget')).toBe('It waits: out of budget.');
  expect(queuedBecause('constructor')).toBe('It waits: constructor.');
});
