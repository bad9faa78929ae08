import { describe, expect, it } from 'vitest';
import { DUTY_MS, type Duty, RENEW_MS, startDuty } from '../../src/cli/duty.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createFakeClock } from '../actors/run-harness.ts';

/** The rows of duties, in memory, on a clock. */
const createDuties = (monotonic: () => number) => {
  const rows = new Map<string, { holder: string; until: number }>();
  let isAway = false;
  return {
    rows,
    goAway: (away: boolean) => {
      isAway = away;
    },
    sharing: {
      holdDuty: async (duty: string, holder: string, forMs: number): Promise<boolean> => {
        if (isAway) throw new StoreUnavailable('away');
        const row = rows.get(duty);
        if (row !== undefined && row.holder !== holder && row.until > monotonic()) return false;
        rows.set(duty, { holder, until: monotonic() + forMs });
        return true;
      },
      endDuty: async (duty: string, holder: string): Promise<void> => {
        if (rows.get(duty)?.holder === holder) rows.delete(duty);
      },
    },
  };
};
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

describe('a duty', () => {
  const scene = () => {
    const time = createFakeClock();
    const { sharing, goAway, rows } = createDuties(() => time.clock.monotonic());
    const taken: string[] = [];
    const duties: Duty[] = [];
    const start = (holder: string): Duty => {
      const duty = startDuty({ name: 'd', holder, sharing, clock: time.clock, taken: () => void taken.push(holder) });
      duties.push(duty);
      return duty;
    };
    /** Second by second; never do two hold it. */
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 1_000) {
        time.advance(1_000);
        await settle();
        expect(duties.filter((duty) => duty.isHeld()).length).toBeLessThanOrEqual(1);
      }
    };
    return { start, pass, goAway, rows, taken, timers: time.timers };
  };

  it('is held by one of several services, and taken over when that one stops, at once', async () => {
    const { start, pass, taken } = scene();
    const one = start('one');
    await settle();
    const other = start('other');
    await pass(60_000);
    expect([one.isHeld(), other.isHeld()]).toEqual([true, false]);
    await one.stop();
    await pass(RENEW_MS);
    expect([one.isHeld(), other.isHeld()]).toEqual([false, true]);
    expect(taken).toEqual(['one', 'other']);
    await other.stop();
  });

  it('is taken over when its holder has died, after its time and not before, and never held by two', async () => {
    const { start, pass, rows, taken } = scene();
    const one = start('one');
    await settle();
    // A holder that does not come back: its row stays.
    rows.set('d', { holder: 'dead', until: rows.get('d')?.until ?? 0 });
    const other = start('other');
    await pass(DUTY_MS - 1_000);
    expect(other.isHeld()).toBe(false);
    await pass(1_000 + 2 * RENEW_MS);
    expect([one.isHeld(), other.isHeld()].filter(Boolean)).toHaveLength(1);
    expect(taken).toHaveLength(2);
    await Promise.all([one.stop(), other.stop()]);
  });

  it('leaves no timer behind when it is stopped, whether the store answers or not', async () => {
    const { start, goAway, timers } = scene();
    for (const isAway of [false, true]) {
      goAway(isAway);
      const duty = start('one');
      await settle();
      await duty.stop();
      expect(timers()).toEqual([]);
    }
  });

  it('ends by itself while the store is away, and is taken again when it is back', async () => {
    const { start, pass, goAway, taken } = scene();
    const one = start('one');
    await settle();
    goAway(true);
    await pass(DUTY_MS - 1_000);
    expect(one.isHeld()).toBe(true);
    await pass(1_000);
    expect(one.isHeld()).toBe(false);
    goAway(false);
    await pass(RENEW_MS);
    expect(one.isHeld()).toBe(true);
    expect(taken).toEqual(['one', 'one']);
    await one.stop();
  });
});
