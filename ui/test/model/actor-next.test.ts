import { describe, expect, it } from 'vitest';
import { nextOfActor } from '../../src/model/actor-next.ts';

const next = (type: string, value: unknown, context: unknown, status: 'active' | 'done' = 'active') =>
  nextOfActor({ type, status, value, context });

describe('what an actor will do next', () => {
  it('is the end of the present state of a lease, which its worker can prevent', () => {
    const at = { expiresAt: 5 };
    expect(next('lease', 'offered', at)).toEqual({
      what: 'the step goes back to the queue, unless its worker starts it',
      at: 5,
    });
    expect(next('lease', 'running', at)?.what).toContain('becomes an orphan');
    expect(next('lease', 'orphaned', at)?.what).toContain('is reclaimed');
    expect(next('lease', 'succeeded', at, 'done')).toBeUndefined();
  });

  it('is the next room of a key, or the end of a holder where somebody waits', () => {
    expect(next('limit', 'full', { nextAt: 7, waiting: 1 })).toEqual({
      what: 'it has room for the next in line',
      at: 7,
    });
    expect(next('limit', 'full', { waiting: 1 })).toEqual({ what: 'it lets the next in line in, once a holder ends' });
    expect(next('limit', 'full', { waiting: 0 })).toBeUndefined();
  });

  it('is the next firing of a schedule and the timer of a run; a timer that is never due is none', () => {
    expect(next('schedule', 'active', { dueAt: 9 })).toEqual({ what: 'it fires', at: 9 });
    expect(next('run', { active: { nap: 'waiting' } }, { dueAt: 3 })).toEqual({
      what: 'the timer of its step is due',
      at: 3,
    });
    expect(next('run', { active: { ask: 'waiting' } }, { dueAt: null })).toBeUndefined();
    expect(next('timer', 'idle', { nextTimerAt: 4 })?.at).toBe(4);
    expect(next('slo', 'nominal', {})).toBeUndefined();
    expect(next('run', 'created', null)).toBeUndefined();
  });
});
