import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  BULK_MACHINE_VERSION,
  type BulkEvent,
  bulkMachine,
  bulkMigrations,
  type BulkSnapshot,
} from '../../src/machines/bulk.ts';
import { decodeSnapshot, encodeSnapshot, restore, Unloadable } from '../../src/machines/persisted.ts';
import { initialSnapshot, step, take } from '../../src/machines/transition.ts';
import goldens from './golden-bulks.json' with { type: 'json' };

const at = 1000;
const after = (...events: BulkEvent[]): BulkSnapshot =>
  events.reduce((before, event) => step(bulkMachine, before, event).next, initialSnapshot(bulkMachine));
const effectsOf = (snapshot: BulkSnapshot, event: BulkEvent): string[] =>
  step(bulkMachine, snapshot, event).effects.map(({ type }) => type);
const begun: BulkEvent = { type: 'bulk.begun', at, count: 150 };
const slice: BulkEvent = { type: 'slice.taken', at: 1100, done: 90, refused: 10, after: 'r100' };
const last: BulkEvent = { type: 'slice.taken', at: 1200, done: 49, refused: 1 };
const stopped: BulkEvent = { type: 'bulk.stopped', at: 1150 };

describe('an action on many runs', () => {
  it('goes on slice by slice, and counts what each has done', () => {
    expect(effectsOf(after(), begun)).toEqual(['goOn']);
    expect(effectsOf(after(begun), slice)).toEqual(['goOn']);
    expect(after(begun, slice).context).toMatchObject({ count: 150, done: 90, refused: 10, after: 'r100' });
  });

  it('is done with the slice after which none comes, and then only waits to go', () => {
    expect(effectsOf(after(begun, slice), last)).toEqual(['expire']);
    const done = after(begun, slice, last);
    expect([done.value, done.context]).toMatchObject(['done', { done: 139, refused: 11, endedAt: 1200 }]);
  });

  it.each([
    ['done', [begun, last]],
    ['stopped', [begun, stopped]],
  ] as const)('takes no slice and no second stop once it is %s', (value, events) => {
    const ended = after(...events);
    expect(ended.value).toBe(value);
    for (const event of [slice, last, stopped]) expect(take(bulkMachine, ended, event)).toBeUndefined();
  });
});

describe('snapshots of actions on many runs', () => {
  const all = [after(begun), after(begun, slice), after(begun, slice, last), after(begun, slice, stopped)];
  const written = (snapshot: BulkSnapshot) => JSON.parse(encodeSnapshot(BULK_MACHINE_VERSION, snapshot)) as unknown;
  const revive = (text: unknown): BulkSnapshot =>
    restore(bulkMachine, BULK_MACHINE_VERSION, decodeSnapshot(JSON.stringify(text)), bulkMigrations);

  it('of version 1 are loaded as they were written', () => {
    expect(goldens.version1.length).toBeGreaterThan(0);
    for (const golden of goldens.version1) expect(written(revive(golden))).toEqual(golden);
  });

  it('of every state that is stored are among the golden ones', () => {
    expect(all.map(written)).toEqual(goldens.version1);
    const stored = Object.keys(bulkMachine.states).filter((state) => state !== 'asked');
    expect(new Set(goldens.version1.map(({ v }) => v))).toEqual(new Set(stored));
  });

  it('come back to life as they were, and go on from there', () => {
    for (const snapshot of all)
      for (const event of [slice, last, stopped])
        expect(take(bulkMachine, revive(written(snapshot)), event)?.effects).toEqual(
          take(bulkMachine, snapshot, event)?.effects,
        );
  });

  it('of a later version, or of a state that is gone, are refused, never guessed', () => {
    const [first] = goldens.version1;
    expect(() => revive({ ...first, m: BULK_MACHINE_VERSION + 1 })).toThrow(Unloadable);
    expect(() => revive({ ...first, m: 0 })).toThrow(Unloadable);
    expect(() => revive({ ...first, v: 'gone' })).toThrow(Unloadable);
  });

  it('belong to this chart: what changes it is weighed against its version', () => {
    const hash = createHash('sha256').update(JSON.stringify(bulkMachine.config)).digest('hex');
    expect(hash).toBe(goldens.configHash);
  });
});
