import type { Clock } from './kernel/clock.ts';

/** How often the service looks for parked events and silent workers past their time. */
const SWEEP_MS = 60_000;

/** Housekeeping: does its steps once a minute, however often it is called. */
export const createSweep = (clock: Clock, steps: readonly (() => Promise<unknown>)[]) => {
  let sweptAt = 0;
  return async (): Promise<void> => {
    if (clock.monotonic() - sweptAt < SWEEP_MS) return;
    sweptAt = clock.monotonic();
    for (const step of steps) await step();
  };
};
