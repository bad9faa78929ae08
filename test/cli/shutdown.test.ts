import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createShutdown } from '../../src/cli/shutdown.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const aShutdown = (stages: Record<string, () => Promise<void>>) => {
  const exits: number[] = [];
  const exitsNow: number[] = [];
  const errors: object[] = [];
  let now = 0;
  const stop = createShutdown({
    stages: Object.entries(stages).map(([name, run]) => ({ name, run })),
    deadlineMs: 35_000,
    log: { info: () => {}, error: (fields) => errors.push(fields) },
    exit: (code) => exits.push(code),
    exitNow: (code) => exitsNow.push(code),
    now: () => now,
  });
  return {
    stop,
    exits,
    exitsNow,
    errors,
    later: async (ms: number): Promise<void> => {
      now += ms;
      await vi.advanceTimersByTimeAsync(ms);
    },
  };
};
const forever = (): Promise<void> => new Promise(() => {});

describe('a stop', () => {
  it('lets go of everything in order, then exits 0', async () => {
    const order: string[] = [];
    const { stop, exits, later } = aShutdown({
      doors: async () => void order.push('doors'),
      store: async () => void order.push('store'),
    });
    stop('SIGTERM');
    await later(1);
    expect(order).toEqual(['doors', 'store']);
    expect(exits).toEqual([0]);
  });

  it('exits at once on a second signal: 143 for SIGTERM, 130 for SIGINT', async () => {
    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
    ] as const) {
      const { stop, exits, later } = aShutdown({ doors: forever });
      stop('SIGTERM');
      await later(100);
      stop(signal);
      expect(exits).toEqual([code]);
    }
  });

  it('takes signals within 100 ms as one: Ctrl-C comes from the terminal and again from the starter', async () => {
    const { stop, exits, later } = aShutdown({ doors: forever });
    stop('SIGINT');
    await later(99);
    stop('SIGINT');
    expect(exits).toEqual([]);
  });

  it('closes the store also when the doors failed to close, and says so with exit 1', async () => {
    let closed = false;
    const { stop, exits, errors, later } = aShutdown({
      doors: () => Promise.reject(new Error('stuck')),
      store: async () => {
        closed = true;
      },
    });
    stop('SIGTERM');
    await later(1);
    expect(closed).toBe(true);
    expect(exits).toEqual([1]);
    expect(errors).toMatchObject([{ stage: 'doors' }]);
  });

  it('ends at its deadline whatever hangs, naming it', async () => {
    const { stop, exitsNow, errors, later } = aShutdown({ doors: async () => {}, store: forever });
    stop('SIGTERM');
    await later(34_999);
    expect(exitsNow).toEqual([]);
    await later(1);
    expect(exitsNow).toEqual([1]);
    expect(errors).toMatchObject([{ stage: 'store' }]);
  });
});
