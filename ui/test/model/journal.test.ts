import { describe, expect, it } from 'vitest';
import { addEntries, tellEntry } from '../../src/model/journal.ts';

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
