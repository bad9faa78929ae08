import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeSnapshot, encodeSnapshot, restore, Unloadable } from '../../src/machines/persisted.ts';
import {
  FIRINGS_KEPT,
  RUNNING_KEPT,
  SCHEDULE_MACHINE_VERSION,
  type ScheduleEvent,
  scheduleMachine,
  scheduleMigrations,
  type ScheduleSnapshot,
} from '../../src/machines/schedule.ts';
import { initialSnapshot, step, take } from '../../src/machines/transition.ts';
import type { Overlap } from '../../src/model/schedule/schedule.ts';
import goldens from './golden-schedules.json' with { type: 'json' };

const at = 1000;
const play = (from: ScheduleSnapshot, ...events: ScheduleEvent[]) => {
  let snapshot = from;
  const effects: string[] = [];
  for (const event of events) {
    const moved = step(scheduleMachine, snapshot, event);
    snapshot = moved.next;
    effects.push(...moved.effects.map(({ type }) => type));
  }
  return { snapshot, effects };
};
const after = (...events: ScheduleEvent[]): ScheduleSnapshot =>
  play(initialSnapshot(scheduleMachine), ...events).snapshot;
const made = (overlap: Overlap): ScheduleEvent => ({ type: 'schedule.changed', overlap });
const planned: ScheduleEvent = { type: 'schedule.planned', nextAt: 2000, dueAt: 2500 };
const noMore: ScheduleEvent = { type: 'schedule.planned' };
const fired = (nominalAt = 2000): ScheduleEvent => ({ type: 'schedule.fired', at, firing: { nominalAt } });
const triggered: ScheduleEvent = { type: 'schedule.fired', at, firing: { nominalAt: 2100, triggerId: 't' } };
const started = (runId: string, nominalAt = 2000): ScheduleEvent => ({
  type: 'firing.started',
  at,
  firing: { nominalAt },
  runId,
});
const ended = (runId: string): ScheduleEvent => ({ type: 'run.ended', at, runId });
const paused: ScheduleEvent = { type: 'schedule.paused', at };
const resumed: ScheduleEvent = { type: 'schedule.resumed', at };
const busy = (overlap: Overlap): ScheduleEvent[] => [made(overlap), planned, fired(), started('r1')];

describe('a firing while a run of the schedule is open', () => {
  it.each([
    ['skip', ['skipForOverlap'], undefined],
    ['queue', ['keepWaiting'], { nominalAt: 3000 }],
    ['allow', ['startRun'], undefined],
    ['cancel_running', ['cancelRunning', 'startRun'], undefined],
  ] as const)('with overlap %s does %j', (overlap, expected, waiting) => {
    const { snapshot, effects } = play(after(...busy(overlap)), fired(3000));
    const skips = overlap === 'skip';
    const keeps = overlap === 'queue';
    expect(effects).toEqual(skips || keeps ? [] : expected);
    expect(snapshot.context.waiting).toEqual(waiting);
    expect(snapshot.context.firings.at(-1)?.outcome).toBe(skips ? 'skipped' : 'started');
  });

  it('waits alone: the next one is skipped, and the one that waits starts when the last run has ended', () => {
    const waits = after(...busy('queue'), fired(3000), fired(4000));
    expect(waits.context.waiting).toEqual({ nominalAt: 3000 });
    expect(waits.context.firings.at(-1)).toMatchObject({ nominalAt: 4000, outcome: 'skipped', reason: 'overlap' });
    expect(play(waits, ended('another')).effects).toEqual([]);
    const { snapshot, effects } = play(waits, ended('r1'));
    expect(effects).toEqual(['startWaiting']);
    expect(snapshot.context.waiting).toBeUndefined();
  });

  it('that waits when the schedule is paused waits on until it is resumed; a trigger does not', () => {
    const { snapshot, effects } = play(after(...busy('queue'), fired(3000), paused), ended('r1'));
    expect(effects).toEqual([]);
    expect(play(snapshot, resumed).effects).toEqual(['startWaiting']);
    expect(play(after(...busy('queue'), triggered, paused), ended('r1')).effects).toEqual(['startWaiting']);
  });
});

describe('what a schedule remembers', () => {
  it(`are its last ${FIRINGS_KEPT} firings, and at most ${RUNNING_KEPT} open runs, the newest`, () => {
    const runs = Array.from({ length: RUNNING_KEPT + 1 }, (_, n) => started(`r${n}`, n));
    const { firings, running, started: count } = after(made('allow'), planned, ...runs).context;
    expect([firings.length, running.length, count]).toEqual([FIRINGS_KEPT, RUNNING_KEPT, RUNNING_KEPT + 1]);
    expect([firings.at(-1)?.nominalAt, running[0], running.at(-1)]).toEqual([RUNNING_KEPT, 'r1', `r${RUNNING_KEPT}`]);
  });

  it('is no next time once none will come, and a change that gives it times makes it active', () => {
    const over = after(...busy('skip'), noMore);
    expect([over.value, over.context.nextAt]).toEqual(['ended', undefined]);
    expect(take(scheduleMachine, over, fired())).toBeUndefined();
    expect(take(scheduleMachine, over, paused)).toBeUndefined();
    expect(play(over, planned).snapshot.value).toBe('active');
  });
});

describe('snapshots of schedules', () => {
  const skipped: ScheduleEvent = {
    type: 'firing.skipped',
    at,
    firing: { nominalAt: 2000 },
    reason: 'already_started',
    runId: 'r0',
  };
  const all = [
    after(made('skip'), planned),
    after(...busy('allow')),
    after(...busy('queue'), fired(3000)),
    after(...busy('queue'), triggered, paused),
    after(...busy('cancel_running'), skipped, paused),
    after(...busy('skip'), fired(3000), ended('r1'), noMore),
  ];
  const written = (snapshot: ScheduleSnapshot) =>
    JSON.parse(encodeSnapshot(SCHEDULE_MACHINE_VERSION, snapshot)) as unknown;
  const revive = (text: unknown): ScheduleSnapshot =>
    restore(scheduleMachine, SCHEDULE_MACHINE_VERSION, decodeSnapshot(JSON.stringify(text)), scheduleMigrations);

  it('of version 1 are loaded as they were written', () => {
    expect(goldens.version1.length).toBeGreaterThan(0);
    for (const golden of goldens.version1) expect(written(revive(golden))).toEqual(golden);
  });

  it('of every state are among the golden ones', () => {
    expect(all.map(written)).toEqual(goldens.version1);
    expect(new Set(goldens.version1.map(({ v }) => v))).toEqual(new Set(Object.keys(scheduleMachine.states)));
  });

  it('come back to life as they were, and go on from there', () => {
    for (const snapshot of all) {
      const revived = revive(written(snapshot));
      for (const event of [fired(5000), ended('r1'), paused, resumed, noMore]) {
        const [ours, theirs] = [revived, snapshot].map((from) => take(scheduleMachine, from, event));
        expect(ours?.effects.map(({ type }) => type)).toEqual(theirs?.effects.map(({ type }) => type));
        expect(ours && written(ours.next)).toEqual(theirs && written(theirs.next));
      }
    }
  });

  it('of a later version, or of a state that is gone, are refused, never guessed', () => {
    const [first] = goldens.version1;
    expect(() => revive({ ...first, m: SCHEDULE_MACHINE_VERSION + 1 })).toThrow(Unloadable);
    expect(() => revive({ ...first, m: 0 })).toThrow(Unloadable);
    expect(() => revive({ ...first, v: 'gone' })).toThrow(Unloadable);
  });

  it('belong to this chart: what changes it is weighed against its version', () => {
    const hash = createHash('sha256').update(JSON.stringify(scheduleMachine.config)).digest('hex');
    expect(hash).toBe(goldens.configHash);
  });
});
