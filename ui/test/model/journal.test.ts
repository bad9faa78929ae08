import { describe, expect, it } from 'vitest';
import { addEntries, tellEntry, timelineOf } from '../../src/model/journal.ts';

const entry = (seq: number) => ({ seq, kind: 'step.started' as const, at: '2026-11-20T09:00:00Z', data: {} });
const seqsOf = (entries: readonly { seq: number }[]): number[] => entries.map(({ seq }) => seq);

describe('the journal that is followed', () => {
  it('has each entry once and in its order, whatever a connection that came back repeats', () => {
    const first = addEntries([], [entry(0), entry(1)]);
    const again = addEntries(first.entries, [entry(1), entry(0), entry(2)]);
    expect([seqsOf(again.entries), again.gap]).toEqual([[0, 1, 2], false]);
    expect(addEntries(again.entries, [entry(2)]).entries).toBe(again.entries);
  });

  it('shows nothing beyond a gap, and says that there is one', () => {
    const { entries, gap } = addEntries([entry(0)], [entry(1), entry(3)]);
    expect([seqsOf(entries), gap]).toEqual([[0, 1], true]);
  });

  it('is told in words, with the reason of a failure', () => {
    expect(
      tellEntry({
        ...entry(4),
        kind: 'step.failed',
        step_id: 'pay',
        attempt: 2,
        worker_id: 'w-1',
        data: { error: { message: 'no bank' } },
      }),
    ).toBe('step.failed pay, attempt 2 by w-1: no bank');
  });
});

describe('the timeline of a run', () => {
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

  it('has an offer, then work, and a lapsed offer that never was work', () => {
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
      0,
    );
    expect(totalMs).toBe(100);
    expect(steps[0]?.lanes.map(({ offered, started, ended }) => [offered, started, ended])).toEqual([
      [10, undefined, 20],
      [30, 40, 90],
    ]);
  });

  it('draws what still runs until now, and says that it is open', () => {
    const { totalMs, steps } = timelineOf(
      { created_at, attempts: [{ ...attempt, status: 'running', started_at: at(20) }] },
      Date.parse(at(500)),
    );
    expect([totalMs, steps[0]?.lanes[0]?.ended, steps[0]?.lanes[0]?.isOpen]).toEqual([500, 500, true]);
  });
});
