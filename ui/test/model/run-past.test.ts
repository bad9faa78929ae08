import { describe, expect, it } from 'vitest';
import type { components } from '../../src/api/types.ts';
import { pastRunOf, placeOfSnapshot } from '../../src/model/run-past.ts';

type Entry = components['schemas']['JournalEntry'];

const at = (seq: number): string => `2026-11-20T09:00:${String(seq).padStart(2, '0')}Z`;
const journal = (
  lines: readonly (readonly [kind: Entry['kind'], step?: string | undefined, data?: Entry['data'], visit?: number])[],
): Entry[] =>
  lines.map(([kind, step, data = {}, visit = 1], seq) => ({
    seq,
    kind,
    at: at(seq),
    data,
    ...(step === undefined ? {} : { step_id: step, visit }),
  }));

const entries = journal([
  ['run.started'],
  ['cursor.moved', 'pay'],
  ['step.leased', 'pay'],
  ['step.started', 'pay'],
  ['step.failed', 'pay', { will_retry: true, retry_at: at(50) }],
  ['step.requeued', 'pay'],
  ['step.leased', 'pay'],
  ['step.finished', 'pay'],
  ['cursor.moved', 'ask'],
  ['run.waiting', 'ask', { reason: 'event', event: 'yes', key: 'k', due_at: at(55) }],
  ['run.paused'],
  ['run.unpaused'],
  ['event.delivered', 'ask', { event: 'yes', key: 'k' }],
  ['cursor.moved', 'pay', {}, 2],
  ['step.leased', 'pay', {}, 2],
  ['step.finished', 'pay', {}, 2],
  ['run.finished', undefined, { status: 'succeeded' }],
]);

describe('a run at an entry of its journal', () => {
  it.each([
    [0, undefined],
    [1, 'pay'],
    [7, 'pay'],
    [8, 'ask'],
    [13, 'pay'],
    [15, 'pay'],
    [16, undefined],
  ])('is after entry %i at the step %s', (seq, cursor) => {
    expect(pastRunOf(entries, seq).cursor).toBe(cursor);
  });

  it('has of each step its visits, its attempts and the latest of them', () => {
    expect([...pastRunOf(entries, 1).steps]).toEqual([['pay', { visits: 1, attempts: 0, latest: undefined }]]);
    expect(pastRunOf(entries, 4).steps.get('pay')).toEqual({ visits: 1, attempts: 1, latest: 'failed' });
    expect(pastRunOf(entries, 6).steps.get('pay')).toEqual({ visits: 1, attempts: 2, latest: 'offered' });
    expect([...pastRunOf(entries, 99).steps]).toEqual([
      ['pay', { visits: 2, attempts: 3, latest: 'succeeded' }],
      ['ask', { visits: 1, attempts: 0, latest: undefined }],
    ]);
  });

  it('has the waits and timers that were open then, and no other', () => {
    const waitsAt = (seq: number): unknown[] => {
      const { waits, timers } = pastRunOf(entries, seq);
      return [...waits.map(({ event, since }) => [event, since]), ...timers.map(({ name, due_at }) => [name, due_at])];
    };
    expect(waitsAt(3)).toEqual([]);
    expect(waitsAt(4)).toEqual([['backoff', at(50)]]);
    expect(waitsAt(5)).toEqual([]);
    expect(waitsAt(8)).toEqual([]);
    const asked = [
      ['yes', at(9)],
      ['wait', at(55)],
    ];
    expect([waitsAt(9), waitsAt(10), waitsAt(11)]).toEqual([asked, asked, asked]);
    expect(waitsAt(12)).toEqual([]);
  });

  it('names each of several events, and no timer where the wait has no end', () => {
    const any = [
      { event: 'yes', key: 'a' },
      { event: 'no', key: 'b' },
    ];
    const { waits, timers } = pastRunOf(journal([['run.waiting', 'ask', { reason: 'event', any }]]), 0);
    expect(waits.map(({ event, key, deadline_at }) => [event, key, deadline_at])).toEqual([
      ['yes', 'a', undefined],
      ['no', 'b', undefined],
    ]);
    expect(timers).toEqual([]);
  });

  it('has the timeout of the run until it ends', () => {
    const names = (seq: number): string[] => pastRunOf(entries, seq, at(59)).timers.map(({ name }) => name);
    expect([names(15), names(16)]).toEqual([['run_timeout'], []]);
  });

  it('is paused between its pause and its resumption', () => {
    expect([9, 10, 11].map((seq) => pastRunOf(entries, seq).isPaused)).toEqual([false, true, false]);
  });

  it('says how it ended', () => {
    expect([15, 16].map((seq) => pastRunOf(entries, seq).end)).toEqual([undefined, 'succeeded']);
  });
});

describe('a snapshot of the machine of a run', () => {
  it('names the step that it is in and counts the visits', () => {
    const { cursor, visits } = placeOfSnapshot({ active: { pay: 'leased' } }, { visits: { pay: 2, ask: 1, odd: 'x' } });
    expect([cursor, [...visits]]).toEqual([
      'pay',
      [
        ['pay', 2],
        ['ask', 1],
      ],
    ]);
  });

  it.each([['succeeded'], [undefined], [null], [{ active: null }]])('is in no step as %j', (value) => {
    expect(placeOfSnapshot(value, null)).toEqual({ cursor: undefined, visits: new Map() });
  });
});
