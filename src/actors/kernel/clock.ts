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

/** A change of the wall clock against the monotonic one that is reported: less is what a network sets right all the time. */
const JUMP_MS = 5000;
/** Below this the two clocks count as together: their readings are rounded, and taken one after the other. */
const TOGETHER_MS = 100;
/** Jumps that are remembered to be shown. */
const JUMPS_KEPT = 10;

/** The wall clock was set: `byMs` is by how much it went forth, negative where it went back. */
export type ClockJump = { readonly from: UnixMs; readonly to: UnixMs; readonly byMs: number };

/**
 * The clocks of the service.
 *
 * - `now` is the wall clock as it stands: stamps, and times that somebody named.
 * - `steady` starts at the wall clock and goes on with the monotonic one, so that no jump moves it: what lasts so long from now. It
 *   is written in milliseconds since the epoch, so that on a machine whose clock is never set it reads like `now`. It means
 *   nothing to the next process: `RunCommits.resume` counts what is left by the wall clock.
 */
export const createServiceClock = (clock: Clock, onJump: (jump: ClockJump) => void = () => {}) => {
  const now = (): UnixMs => Math.trunc(clock.wall());
  const bornAt = now();
  const born = clock.monotonic();
  const steady = (): UnixMs => bornAt + Math.max(0, Math.floor(clock.monotonic() - born));
  /** By how much the wall clock is ahead of `steady`, as it was last looked at. */
  let ahead = 0;
  let jumpCount = 0;
  const jumps: ClockJump[] = [];

  /** Compares the clocks. A jump of more than `JUMP_MS` is reported once; one forth and back between two looks was never seen. */
  const look = (): void => {
    const to = now();
    const aheadNow = to - steady();
    const byMs = aheadNow - ahead;
    if (Math.abs(byMs) <= TOGETHER_MS) return;
    ahead = aheadNow;
    if (Math.abs(byMs) <= JUMP_MS) return;
    const jump = { from: to - byMs, to, byMs };
    jumpCount += 1;
    jumps.push(jump);
    if (jumps.length > JUMPS_KEPT) jumps.shift();
    onJump(jump);
  };

  return {
    now,
    steady,
    look,
    /** What the wall clock will show at a steady time, if nobody sets it. */
    wallOf: (steadyAt: UnixMs): UnixMs => {
      look();
      return steadyAt + ahead;
    },
    /** Jumps of more than `JUMP_MS` that were seen: how many, and the last ones, oldest first. */
    jumps: (): { readonly count: number; readonly last: readonly ClockJump[] } => ({
      count: jumpCount,
      last: [...jumps],
    }),
  };
};
export type ServiceClock = ReturnType<typeof createServiceClock>;

/**
 * Times that order: the wall clock, and where that is set back, the last time plus the time that passed. Who asks later gets
 * no less. They say nothing about when anything was.
 */
export const createOrderClock = (clock: Clock) => {
  let latest = 0;
  let latestAtMonotonic = clock.monotonic();
  const next = (): number => {
    const monotonic = clock.monotonic();
    const passed = latest + Math.max(0, Math.floor(monotonic - latestAtMonotonic));
    const wall = Math.trunc(clock.wall());
    if (wall < passed) return passed;
    latest = wall;
    latestAtMonotonic = monotonic;
    return latest;
  };
  return {
    next,
    /** Never gives less than this again. */
    reach: (time: number): void => {
      if (time <= next()) return;
      latest = time;
      latestAtMonotonic = clock.monotonic();
    },
  };
};
