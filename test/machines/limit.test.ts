import { describe, expect, it } from 'vitest';
import { type LimitEvent, limitMachine, type LimitSnapshot } from '../../src/machines/limit.ts';
import { initialSnapshot, step, take } from '../../src/machines/transition.ts';

const after = (...events: LimitEvent[]): LimitSnapshot =>
  events.reduce((before, event) => step(limitMachine, before, event).next, initialSnapshot(limitMachine));
const withLimit = (limit: number, ...events: LimitEvent[]) => after({ type: 'limit.set', limit }, ...events);
const taken = (used: number): LimitEvent => ({ type: 'place.taken', used });
const freed = (used: number): LimitEvent => ({ type: 'place.freed', used });
const joined: LimitEvent = { type: 'run.joined', opens: true };
const joinedBehind: LimitEvent = { type: 'run.joined', opens: false };
const left: LimitEvent = { type: 'run.left', closes: false };
const lastLeft: LimitEvent = { type: 'run.left', closes: true };

describe('a key in use', () => {
  it('is full when its last place is taken, and not before', () => {
    expect(withLimit(2, taken(1)).value).toBe('free');
    expect(withLimit(2, taken(2)).value).toBe('full');
  });

  it('admits as soon as there is a place and somebody waits for it', () => {
    expect(withLimit(1, taken(1), joined).value).toBe('full');
    expect(withLimit(1, taken(1), joined, freed(0)).value).toBe('admitting');
    expect(withLimit(1, taken(1), joined, freed(0), taken(1), lastLeft).value).toBe('full');
    expect(withLimit(1, joined).value).toBe('admitting');
  });

  it('does not admit those who need it and wait for another key', () => {
    const parkedElsewhere = withLimit(1, taken(1), joinedBehind, freed(0));
    expect(parkedElsewhere.value).toBe('free');
    expect(step(limitMachine, parkedElsewhere, { type: 'line.parked' }).next.value).toBe('admitting');
    expect(withLimit(1, joined, { type: 'line.moved' }).value).toBe('free');
  });

  it('goes when nobody holds it and nobody waits, and not while one of the two is there', () => {
    expect(withLimit(1, taken(1), freed(0)).value).toBe('gone');
    expect(withLimit(1, taken(1), joined, joinedBehind, freed(0), left).value).toBe('admitting');
    expect(withLimit(1, taken(1), joined, joinedBehind, freed(0), left, lastLeft).value).toBe('gone');
    expect(withLimit(1, taken(1), joined, lastLeft).value).toBe('full');
  });

  it('takes the limit of a later version, and admits nobody until fewer hold it', () => {
    const lowered = withLimit(3, taken(3), joined, { type: 'limit.set', limit: 1 });
    expect(lowered.value).toBe('full');
    expect(step(limitMachine, lowered, freed(1)).next.value).toBe('full');
    expect(step(limitMachine, lowered, freed(0)).next.value).toBe('admitting');
    expect(withLimit(1, taken(1), joined, { type: 'limit.set', limit: 2 }).value).toBe('admitting');
  });

  it('takes nothing once it is gone', () => {
    expect(take(limitMachine, withLimit(1, taken(1), freed(0)), taken(1))).toBeUndefined();
  });
});
