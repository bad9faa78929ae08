import type { UnixMs } from '../../model/run.ts';

/** Time, as the durable half sees it. Injected, so that tests and simulations run on a clock of their own. */
export type Clock = {
  /** Milliseconds since the Unix epoch. May jump with the machine's clock. */
  wall(): UnixMs;
  /** Milliseconds since some start. Never jumps. */
  monotonic(): number;
  /** Calls back once, no sooner than after so many milliseconds. The returned function cancels the call. */
  after(ms: number, callback: () => void): () => void;
};

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => {
      clearTimeout(timer);
    };
  },
};

/**
 * The service clock: the wall clock, and where that is set back, the last time plus the time that passed. So entries stay in
 * order, no timer is due twice, and no timer waits until the wall clock has caught up.
 */
export const createServiceClock = (clock: Clock) => {
  let latest = 0;
  let latestAtMonotonic = clock.monotonic();
  const now = (): UnixMs => {
    const monotonic = clock.monotonic();
    const passed = latest + Math.max(0, Math.floor(monotonic - latestAtMonotonic));
    const wall = Math.trunc(clock.wall());
    if (wall >= passed) {
      latest = wall;
      latestAtMonotonic = monotonic;
      return latest;
    }
    return passed;
  };
  return {
    now,
    /** Never show a time before this one. */
    reach: (at: UnixMs): void => {
      if (at <= now()) return;
      latest = at;
      latestAtMonotonic = clock.monotonic();
    },
  };
};
