import { describe, expect, it } from 'vitest';
import type { components } from '../../src/api/types.ts';
import { RUN_LANE, shareOf, type Timeline, timelineOf } from '../../src/model/run-timeline.ts';

type Entry = components['schemas']['JournalEntry'];

const created_at = '2026-11-20T09:00:00.000Z';
const at = (ms: number): string => new Date(Date.parse(created_at) + ms).toISOString();
const attempt = {
  lease_id: 'l',
  step_id: 'pay',
  visit: 1,
  attempt: 1,
  worker_id: 'w',
  span_id: 's',
  offered_at: at(10),
} as const;
const entry = (ms: number, kind: Entry['kind'], step_id?: string, data: Entry['data'] = {}): Entry => ({
  seq: 0,
  kind,
  at: at(ms),
  data,
  ...(step_id === undefined ? {} : { step_id, visit: 1 }),
});
const restsOf = ({ steps }: Timeline): unknown[] =>
  steps.flatMap(({ step, rests }) => rests.map(({ words, from, to, isOpen }) => [step, words, from, to, isOpen]));

describe('the attempts of a run', () => {
  it('have an offer, then work, and a lapsed offer that never was work', () => {
    const { totalMs, steps } = timelineOf(
      {
        created_at,
        ended_at: at(100),
        attempts: [
          { ...attempt, status: 'lapsed', ended_at: at(20) },
          {
            ...attempt,
            lease_id: 'm',
            attempt: 2,
            status: 'succeeded',
            offered_at: at(30),
            started_at: at(40),
            ended_at: at(90),
          },
        ],
      },
      [],
      0,
    );
    expect(totalMs).toBe(100);
    expect(steps[0]?.lanes.map(({ offered, started, ended }) => [offered, started, ended])).toEqual([
      [10, undefined, 20],
      [30, 40, 90],
    ]);
  });

  it('are drawn until now while they run, and say that they are open', () => {
    const { totalMs, steps } = timelineOf(
      { created_at, attempts: [{ ...attempt, status: 'running', started_at: at(20) }] },
      [],
      Date.parse(at(500)),
    );
    expect([totalMs, steps[0]?.lanes[0]?.ended, steps[0]?.lanes[0]?.isOpen]).toEqual([500, 500, true]);
  });
});

describe('what a run waits for', () => {
  it('is queueing, backoff, event, sleep and children, each by its name and in its lane', () => {
    const timeline = timelineOf(
      { created_at, ended_at: at(900), attempts: [] },
      [
        entry(0, 'run.started'),
        entry(0, 'cursor.moved', 'pay'),
        entry(10, 'run.held', 'pay', { reason: 'concurrency_key' }),
        entry(20, 'run.admitted', 'pay'),
        entry(30, 'step.leased', 'pay'),
        entry(40, 'step.failed', 'pay', { will_retry: true }),
        entry(90, 'step.requeued', 'pay'),
        entry(100, 'step.leased', 'pay'),
        entry(110, 'step.finished', 'pay'),
        entry(110, 'cursor.moved', 'ask'),
        entry(110, 'run.waiting', 'ask', { reason: 'event', event: 'approval', key: 'k' }),
        entry(300, 'run.resumed', 'ask'),
        entry(300, 'cursor.moved', 'rest'),
        entry(300, 'run.waiting', 'rest', { reason: 'sleep' }),
        entry(500, 'run.resumed', 'rest'),
        entry(500, 'cursor.moved', 'fan'),
        entry(500, 'run.waiting', 'fan', { reason: 'children' }),
        entry(900, 'run.finished'),
      ],
      0,
    );
    expect(restsOf(timeline)).toEqual([
      ['pay', 'queued', 0, 10, false],
      ['pay', 'queued: concurrency key', 10, 20, false],
      ['pay', 'queued', 20, 30, false],
      ['pay', 'backing off', 40, 90, false],
      ['pay', 'queued', 90, 100, false],
      ['ask', 'waiting for approval', 110, 300, false],
      ['rest', 'sleeping', 300, 500, false],
      ['fan', 'waiting for child runs', 500, 900, false],
    ]);
  });

  it('is open until now while nothing ended it, and names each of several events', () => {
    const any = [{ event: 'yes', key: 'k' }, { event: 'no', key: 'k' }, 7];
    const timeline = timelineOf(
      { created_at, attempts: [] },
      [entry(5, 'run.waiting', 'ask', { reason: 'event', any })],
      Date.parse(at(60)),
    );
    expect(restsOf(timeline)).toEqual([['ask', 'waiting for yes or no', 5, 60, true]]);
  });

  it('is a pause beside whatever goes on, in the lane of the run', () => {
    const timeline = timelineOf(
      { created_at, attempts: [] },
      [
        entry(0, 'run.waiting', 'ask', { reason: 'event', event: 'go' }),
        entry(10, 'run.paused'),
        entry(30, 'run.unpaused'),
        entry(40, 'run.paused'),
      ],
      Date.parse(at(50)),
    );
    expect(restsOf(timeline)).toEqual([
      ['ask', 'waiting for go', 0, 50, true],
      [RUN_LANE, 'paused', 10, 30, false],
      [RUN_LANE, 'paused', 40, 50, true],
    ]);
  });
});

describe('the axis of a run', () => {
  const worked = (from: number, to: number, lease_id: string) =>
    ({ ...attempt, lease_id, status: 'succeeded', offered_at: at(from), ended_at: at(to) }) as const;

  it('draws an idle part that is longer than all work half as long as that, and names the wait; a shorter one stays', () => {
    const day = 86_400_000;
    const { stretches } = timelineOf(
      {
        created_at,
        ended_at: at(1_000 + day),
        attempts: [worked(0, 500, 'a'), worked(625, 625, 'b'), worked(500 + day, 1_000 + day, 'c')],
      },
      [
        entry(625, 'run.waiting', 'ask', { reason: 'event', event: 'approval' }),
        entry(500 + day, 'run.resumed', 'ask'),
      ],
      0,
    );
    // 1,000 ms of work: a longer idle part is drawn as 500.
    expect(stretches.map(({ from, to, gap }) => [from, to, gap])).toEqual([
      [0, 500, undefined],
      [500, 625, undefined],
      [625, 500 + day, 'waiting for approval, 1 d'],
      [500 + day, 1_000 + day, undefined],
    ]);
    expect(stretches[2]?.width).toBeCloseTo(500 / 1_625);
    expect(shareOf(stretches, 0)).toBe(0);
    expect(shareOf(stretches, 1_000 + day)).toBeCloseTo(1);
    expect(shareOf(stretches, 500)).toBeCloseTo(500 / 1_625);
    expect(shareOf(stretches, 625 + (day - 125) / 2)).toBeCloseTo(875 / 1_625);
  });

  it.each([
    [2_000, undefined],
    [2_001, 'idle, 1 s'],
  ])('of 1,000 ms of work and an end at %i has the gap %s', (end, gap) => {
    const { stretches } = timelineOf({ created_at, ended_at: at(end), attempts: [worked(0, 1_000, 'a')] }, [], 0);
    expect(stretches.at(-1)?.gap).toBe(gap);
  });

  it('of a run that nobody worked at is even: nothing hides behind its wait', () => {
    const { stretches } = timelineOf({ created_at, ended_at: at(5_000), attempts: [] }, [], 0);
    expect(stretches.map(({ width, gap }) => [width, gap])).toEqual([[1, undefined]]);
  });
});
