import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  LIMIT_MACHINE_VERSION,
  type LimitEvent,
  limitMachine,
  limitMigrations,
  type LimitSnapshot,
} from '../../src/machines/limit.ts';
import { restore, Unloadable } from '../../src/machines/persisted.ts';
import { initialSnapshot, step, take } from '../../src/machines/transition.ts';
import goldens from './golden-limits.json' with { type: 'json' };

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

describe('snapshots of keys', () => {
  const all = [
    withLimit(2, taken(1)),
    withLimit(1, taken(1)),
    withLimit(1, taken(1), joined, joinedBehind),
    withLimit(1, taken(1), joined, freed(0)),
    withLimit(3, taken(3), { type: 'limit.set', limit: 1 }),
    withLimit(1, taken(1), joinedBehind, freed(0)),
  ];
  // A key is stored as columns: the machine's version, its state, and its counts.
  const written = ({ value, context }: LimitSnapshot) => ({ value: value as string, context: { ...context } });
  const revive = (machineVersion: number, { value, context }: { value: string; context: object }): LimitSnapshot =>
    restore(limitMachine, LIMIT_MACHINE_VERSION, { machineVersion, value, context }, limitMigrations);

  it('of version 1 are loaded as they were written', () => {
    expect(goldens.version1.length).toBeGreaterThan(0);
    for (const golden of goldens.version1) expect(written(revive(1, golden))).toEqual(golden);
  });

  it('of every state that is stored are among the golden ones', () => {
    expect(all.map(written)).toEqual(goldens.version1);
    const stored = Object.keys(limitMachine.states).filter((state) => state !== 'unused' && state !== 'gone');
    expect(new Set(goldens.version1.map(({ value }) => value))).toEqual(new Set(stored));
  });

  it('come back to life as they were, and go on from there', () => {
    for (const snapshot of all)
      for (const event of [taken(2), freed(0), joined, left, lastLeft]) {
        const [ours, theirs] = [revive(LIMIT_MACHINE_VERSION, written(snapshot)), snapshot].map((from) =>
          written(step(limitMachine, from, event).next),
        );
        expect(ours).toEqual(theirs);
      }
  });

  it('of a later version, or of a state that is gone, are refused, never guessed', () => {
    const [first] = all.map(written);
    if (first === undefined) throw new Error('no snapshot');
    expect(() => revive(LIMIT_MACHINE_VERSION + 1, first)).toThrow(Unloadable);
    expect(() => revive(0, first)).toThrow(Unloadable);
    expect(() => revive(LIMIT_MACHINE_VERSION, { ...first, value: 'nowhere' })).toThrow(Unloadable);
  });

  it('belong to this chart: what changes it is weighed against its version', () => {
    const hash = createHash('sha256').update(JSON.stringify(limitMachine.config)).digest('hex');
    expect(hash).toBe(goldens.configHash);
  });
});
