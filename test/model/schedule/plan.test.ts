import { describe, expect, it } from 'vitest';
import { dueTimeOfNominal, GRACE_MS, MOST_TIMES, planFirings } from '../../../src/model/schedule/plan.ts';
import type { CatchUp } from '../../../src/model/schedule/schedule.ts';
import { timetableOf } from '../../../src/model/schedule/timetable.ts';

const MINUTE = 60_000;
const YEAR = 365 * 24 * 60 * MINUTE;
const everyMinute = timetableOf({ timing: { kind: 'every', everyMs: MINUTE }, startsAt: 0 }, 0);
const plan = (catchUp: CatchUp, from: number, now: number, more: { windowMs?: number; jitterMs?: number } = {}) =>
  planFirings(
    everyMinute,
    { catchUp, catchUpWindowMs: more.windowMs ?? 60 * MINUTE, jitterMs: more.jitterMs ?? 0 },
    (at) => at + (more.jitterMs ?? 0),
    from,
    now,
  );
const minutes = ({ due }: ReturnType<typeof plan>) =>
  due.map(({ nominalAt, skip }) => [nominalAt / MINUTE, skip ?? 'fires']);

describe('what becomes of the times that are due', () => {
  it('a time is on time up to the grace, and missed beyond it', () => {
    expect(minutes(plan('none', MINUTE, MINUTE + GRACE_MS))).toEqual([[1, 'fires']]);
    expect(minutes(plan('none', MINUTE, MINUTE + GRACE_MS + 1))).toEqual([[1, 'missed']]);
    expect(plan('none', MINUTE, MINUTE)).toMatchObject({ nextAt: 2 * MINUTE });
  });

  it('one due time costs one look ahead, which gives the next time too, and no look back', () => {
    const asked: string[] = [];
    const counting = {
      next: (after: number) => {
        asked.push('next');
        return everyMinute.next(after);
      },
      latest: (...range: Parameters<typeof everyMinute.latest>) => {
        asked.push('latest');
        return everyMinute.latest(...range);
      },
    };
    const spec = { catchUp: 'last', catchUpWindowMs: MINUTE, jitterMs: 0 } as const;
    const plan = (now: number) => planFirings(counting, spec, (at) => at, MINUTE, now);
    expect(plan(MINUTE)).toEqual({ due: [{ nominalAt: MINUTE }], nextAt: 2 * MINUTE });
    expect(asked).toEqual(['next']);
    expect(plan(MINUTE - 1)).toEqual({ due: [], nextAt: MINUTE });
    expect(asked).toEqual(['next']);
    expect(plan(2 * MINUTE).nextAt).toBe(3 * MINUTE);
    expect(asked).toEqual(['next', 'next', 'latest', 'next']);
  });

  it('nothing is due before its time', () => {
    expect(plan('all', MINUTE, MINUTE - 1)).toEqual({ due: [], nextAt: MINUTE });
  });

  it('of missed times `none` fires none, `last` the last, `all` each', () => {
    const now = 3 * MINUTE + 30_000;
    expect(minutes(plan('none', MINUTE, now))).toEqual([
      [1, 'missed'],
      [2, 'missed'],
      [3, 'missed'],
    ]);
    expect(minutes(plan('last', MINUTE, now))).toEqual([
      [1, 'missed'],
      [2, 'missed'],
      [3, 'fires'],
    ]);
    expect(minutes(plan('all', MINUTE, now))).toEqual([
      [1, 'fires'],
      [2, 'fires'],
      [3, 'fires'],
    ]);
  });

  it('`last` leaves missed times to one that is on time', () => {
    expect(minutes(plan('last', MINUTE, 3 * MINUTE))).toEqual([
      [1, 'missed'],
      [2, 'missed'],
      [3, 'fires'],
    ]);
  });

  it('`all` fires what lies within its window, both sides', () => {
    const now = 5 * MINUTE + 30_000;
    expect(minutes(plan('all', 2 * MINUTE, now, { windowMs: 3 * MINUTE + 30_000 })).slice(0, 2)).toEqual([
      [2, 'fires'],
      [3, 'fires'],
    ]);
    expect(minutes(plan('all', 2 * MINUTE, now, { windowMs: 3 * MINUTE + 29_999 })).slice(0, 2)).toEqual([
      [2, 'catch_up_window'],
      [3, 'fires'],
    ]);
  });

  it('looks at the latest hundred however far the clock went', () => {
    const far = plan('all', MINUTE, 10 * YEAR, { windowMs: 20 * YEAR });
    expect(far.due).toHaveLength(MOST_TIMES);
    expect(far.due.at(-1)).toEqual({ nominalAt: 10 * YEAR });
    expect(far.nextAt).toBe(10 * YEAR + MINUTE);
  });

  it('a time that waits for its jitter stays the next', () => {
    const jittered = plan('last', MINUTE, 2 * MINUTE + 10_000, { jitterMs: 30_000 });
    expect(jittered.due).toEqual([{ nominalAt: MINUTE }]);
    expect(jittered.nextAt).toBe(2 * MINUTE);
  });
});

describe('jitter', () => {
  it('is the same for a nominal time, within its bound, and spread', () => {
    const late = Array.from({ length: 200 }, (_, n) => dueTimeOfNominal('p:a', n, 99) - n);
    expect(late).toEqual(Array.from({ length: 200 }, (_, n) => dueTimeOfNominal('p:a', n, 99) - n));
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...late)).toBeLessThanOrEqual(99);
    expect(new Set(late).size).toBeGreaterThan(50);
    expect(dueTimeOfNominal('p:a', 5, 0)).toBe(5);
  });
});
