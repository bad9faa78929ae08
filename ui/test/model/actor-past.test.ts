import { describe, expect, it } from 'vitest';
import { keptPastOf } from '../../src/model/actor-past.ts';

const at = (second: number): number => Date.UTC(2026, 10, 23, 9, 0, second);
const iso = (second: number): string => new Date(at(second)).toISOString();

describe('point 3: the past of an actor without a journal', () => {
  it('of a schedule is its last firings, newest first, and since when it is paused', () => {
    const past = keptPastOf({
      type: 'schedule',
      context: {
        firings: [
          { nominalAt: at(0), firedAt: at(1), outcome: 'started', runId: 'r' },
          { nominalAt: at(5), at: at(6), outcome: 'skipped', reason: 'overlap', triggerId: 't' },
        ],
        pausedAt: at(9),
      },
    });
    expect(past?.moments).toEqual([
      { at: iso(9), what: 'paused' },
      { at: iso(6), what: 'skipped: the run before it had not ended, asked for by a call' },
      { at: iso(1), what: 'started', runId: 'r' },
    ]);
    expect(past?.words).toContain('keeps no journal');
  });

  it('of a key is who holds it and who waits, since when', () => {
    const past = keptPastOf({
      type: 'limit',
      context: { holders: [{ runId: 'a', since: at(1) }], line: [{ runId: 'b', stepId: 'pay', since: at(2) }] },
    });
    expect(past?.moments).toEqual([
      { at: iso(2), what: 'in line: the step pay, which still waits', runId: 'b' },
      { at: iso(1), what: 'let in: a run, which still holds it', runId: 'a' },
    ]);
  });

  it('of a resident is nothing, and of what has a journal that is shown instead', () => {
    expect(keptPastOf({ type: 'timer', context: {} })).toMatchObject({ moments: [] });
    for (const type of ['run', 'lease', 'monitor', 'slo']) expect(keptPastOf({ type, context: {} })).toBe(undefined);
    expect(keptPastOf({ type: 'schedule', context: null })?.moments).toEqual([]);
  });
});
