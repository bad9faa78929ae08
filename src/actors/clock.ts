import type { UnixMs } from '../model/run.ts';

/** Time, as the durable half sees it. Injected, so that tests and simulations run on a clock of their own. */
export type Clock = {
  /** Milliseconds since the Unix epoch. May jump with the machine's clock. */
  wall(): UnixMs;
  /** Milliseconds since some start. Never jumps. */
  monotonic(): number;
  /** Calls back once, no sooner than after so many milliseconds; the answer takes that back. */
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
 * The service clock: the wall clock that never goes back behind what it once showed, so that no later entry is older than
 * an earlier one and no timer is due twice.
 */
export const createServiceClock = (clock: Clock) => {
  let latest = 0;
  return {
    now: (): UnixMs => {
      latest = Math.max(latest, Math.trunc(clock.wall()));
      return latest;
    },
    /** Never show a time before this one. */
    reach: (at: UnixMs): void => {
      latest = Math.max(latest, at);
    },
  };
};
