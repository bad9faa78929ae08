import { expect, it, vi } from 'vitest';
import { leaseMachine } from '../../../src/machines/lease.ts';
import { initialSnapshot, step } from '../../../src/machines/transition.ts';

it('xstate takes every transition of these tests, also one that it has taken before', () => {
  const asked = vi.spyOn(leaseMachine, 'transition');
  for (let times = 1; times <= 3; times += 1) {
    const offered = { type: 'lease.offered', delivery: 'at_least_once', expiresAt: 5 } as const;
    expect(step(leaseMachine, initialSnapshot(leaseMachine), offered).next.value).toBe('offered');
    expect(asked).toHaveBeenCalledTimes(times);
  }
  asked.mockRestore();
});
