import { describe, expect, it } from 'vitest';
import { holdTimers } from '../held-timers.ts';
import { createPace } from '../../src/ingest/pace.ts';

const loopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('pace', () => {
  it('is due when the work of one turn of the loop has lasted the slice, not before', () => {
    let now = 0;
    const pace = createPace({ now: () => now, sliceMs: 8 });
    expect(pace.isDue()).toBe(false);
    now = 7.9;
    expect(pace.isDue()).toBe(false);
    now = 8;
    expect(pace.isDue()).toBe(true);
  });

  it('starts a new slice with the next turn of the loop', async () => {
    let now = 0;
    const pace = createPace({ now: () => now, sliceMs: 8 });
    pace.isDue();
    now = 20;
    expect(pace.isDue()).toBe(true);
    await pace.nextTurn();
    expect(pace.isDue()).toBe(false);
  });

  it('counts the work of several jobs in one turn together', () => {
    let now = 0;
    const pace = createPace({ now: () => now, sliceMs: 8 });
    const job = (cost: number): boolean => {
      const due = pace.isDue();
      if (!due) now += cost;
      return due;
    };
    expect([job(3), job(3), job(3), job(3)]).toEqual([false, false, false, true]);
  });

  it('lets one waiting job go on a turn, first come first served, with other work of the loop between them', async () => {
    const pace = createPace({ now: () => 0, sliceMs: 8 });
    const seen: string[] = [];
    const jobs = ['a', 'b', 'c'].map(async (job) => {
      await pace.nextTurn();
      seen.push(job);
    });
    const others = (async () => {
      for (let turn = 1; turn <= 2; turn += 1) {
        await loopTurn();
        seen.push(`turn ${turn}`);
      }
    })();
    await Promise.all([...jobs, others]);
    expect(seen.indexOf('a')).toBeLessThan(seen.indexOf('b'));
    expect(seen.indexOf('b')).toBeLessThan(seen.indexOf('c'));
    expect(seen.indexOf('turn 1')).toBeLessThan(seen.indexOf('b'));
    expect(seen.indexOf('turn 2')).toBeLessThan(seen.indexOf('c'));
  });

  it('rests after its share while others want the loop, and not after less', async () => {
    let now = 0;
    let wanted = true;
    const pace = createPace({ now: () => now, sliceMs: 8, restMs: 20, isWanted: () => wanted });
    const work = async (ms: number): Promise<void> => {
      pace.isDue();
      now += ms;
      await loopTurn();
      await loopTurn();
    };
    await work(7.9);
    expect(pace.isDue()).toBe(false);
    // The same turn goes on: with what was done before, this fills the share.
    await work(0.1);
    expect(pace.isDue()).toBe(true);
    now += 19.9;
    expect(pace.isDue()).toBe(true);
    now += 0.1;
    expect(pace.isDue()).toBe(false);
    wanted = false;
    await work(8);
    expect(pace.isDue()).toBe(false);
  });

  it('lets nobody go on before the rest is over, then one a turn', async () => {
    const rest = holdTimers((ms) => ms === 30);
    let now = 0;
    const pace = createPace({ now: () => now, sliceMs: 1, restMs: 30, isWanted: () => true });
    pace.useUp();
    expect(pace.isDue()).toBe(true);
    const seen: string[] = [];
    const jobs = ['a', 'b'].map(async (job) => {
      await pace.nextTurn();
      seen.push(job);
    });
    await rest.untilArmed();
    await loopTurn();
    expect(seen).toEqual([]);
    now += 30;
    rest.fire();
    await jobs[0];
    expect(seen).toEqual(['a']);
    await Promise.all(jobs);
    expect(seen).toEqual(['a', 'b']);
  });

  it('counts a turn as used up when its caller says so', async () => {
    const pace = createPace({ now: () => 5, sliceMs: 8 });
    pace.useUp();
    expect(pace.isDue()).toBe(true);
    await pace.nextTurn();
    expect(pace.isDue()).toBe(false);
  });
});
