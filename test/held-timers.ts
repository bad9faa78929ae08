import { onTestFinished } from 'vitest';

/** Timers that wait until a test lets them fire. */
export type HeldTimers = {
  /** How many are armed at this moment. */
  readonly armed: () => number;
  /** Resolves as soon as so many are armed. */
  readonly untilArmed: (count?: number) => Promise<void>;
  /** Lets every armed one fire, as if its time had come. An interval stays armed. */
  readonly fire: () => void;
};

type Callback = (...args: unknown[]) => void;

/** Longer than any test: the real timer behind a held one never fires by itself. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * Takes timers of one length out of the hands of the clock until the test ends: `setTimeout`, `setInterval` and
 * `AbortSignal.timeout`. Every other timer of the process goes on, so that real sockets and threads work as always. A test of
 * a deadline then needs no short deadline, and a slow machine cannot reach one before the test does.
 * @param isHeld whether a timer of so many milliseconds is held
 */
export const holdTimers = (isHeld: (ms: number) => boolean): HeldTimers => {
  // oxlint-disable-next-line eslint/no-restricted-globals -- what they hold back, they must hand on
  const real = { setTimeout, setInterval, clearTimeout, clearInterval, timeout: AbortSignal.timeout };
  const held = new Map<unknown, () => void>();
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>();

  const hold = (handle: unknown, fire: () => void): void => {
    held.set(handle, fire);
    for (const waiter of waiting)
      if (held.size >= waiter.count) {
        waiting.delete(waiter);
        waiter.resolve();
      }
  };
  const arm =
    (isInterval: boolean) =>
    (callback: Callback, ms = 0, ...args: unknown[]): NodeJS.Timeout => {
      if (!isHeld(ms)) return (isInterval ? real.setInterval : real.setTimeout)(callback, ms, ...args);
      const handle = real.setTimeout(() => {}, NEVER_MS).unref();
      hold(handle, () => {
        if (!isInterval) clear(handle);
        callback(...args);
      });
      return handle;
    };
  const clear = (handle?: NodeJS.Timeout | string | number): void => {
    held.delete(handle);
    real.clearTimeout(handle);
  };

  Object.assign(globalThis, {
    setTimeout: arm(false),
    setInterval: arm(true),
    clearTimeout: clear,
    clearInterval: clear,
  });
  AbortSignal.timeout = (ms) => {
    if (!isHeld(ms)) return real.timeout.call(AbortSignal, ms);
    const controller = new AbortController();
    hold(controller, () => {
      held.delete(controller);
      controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    });
    return controller.signal;
  };
  onTestFinished(() => {
    const { timeout, ...timers } = real;
    Object.assign(globalThis, timers);
    AbortSignal.timeout = timeout;
    for (const handle of held.keys()) if (!(handle instanceof AbortController)) clear(handle as NodeJS.Timeout);
  });

  return {
    armed: () => held.size,
    untilArmed: (count = 1) =>
      held.size >= count
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.add({ count, resolve });
          }),
    fire: () => {
      for (const fire of [...held.values()]) fire();
    },
  };
};

/**
 * Lets the monotonic clock run ahead of the real one until the test ends: what asks for the time believes that so much more
 * has passed.
 * @returns moves it on by so many milliseconds
 */
export const shiftClock = (): ((ms: number) => void) => {
  // oxlint-disable-next-line eslint/no-restricted-properties -- it is shifted, not measured
  const { now } = performance;
  let aheadMs = 0;
  Object.assign(performance, { now: () => now.call(performance) + aheadMs });
  onTestFinished(() => {
    Object.assign(performance, { now });
  });
  return (ms) => {
    aheadMs += ms;
  };
};
