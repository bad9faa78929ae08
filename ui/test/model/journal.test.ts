import { describe, expect, it } from 'vitest';
import { addEntries, journalTicks, MAX_TICKS, tellEntry, tickLooks } from '../../src/model/journal.ts';

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

describe('the ticks of a slider', () => {
  const of = (...kinds: Parameters<typeof journalTicks>[0][number]['kind'][]) =>
    journalTicks(kinds.map((kind, seq) => ({ ...entry(seq), kind })));

  it('stand where their entries do, each by what it came to', () => {
    expect([...of('run.started', 'step.leased', 'step.failed', 'run.waiting', 'run.finished')]).toEqual([
      ['running', [0, 0.25]],
      ['failed', [0.5]],
      ['waiting', [0.75]],
      ['done', [1]],
    ]);
    expect([...of('run.started')]).toEqual([['running', [0]]]);
    expect(of().size).toBe(0);
  });

  it('show a run that ended badly as a failure at its end', () => {
    const end = { ...entry(1), kind: 'run.finished' as const, data: { status: 'failed' } };
    expect(journalTicks([entry(0), end]).get('failed')).toEqual([1]);
  });

  it.each([MAX_TICKS, MAX_TICKS + 1, 10_000])(
    'of %d entries are at most as many as can be seen, and no failure is lost',
    (count) => {
      const entries = Array.from({ length: count }, (_, seq) => ({
        ...entry(seq),
        kind: seq === 137 ? ('step.failed' as const) : ('step.finished' as const),
      }));
      const ticks = journalTicks(entries);
      const all = tickLooks.flatMap((look) => ticks.get(look) ?? []);
      expect(all.length).toBe(Math.min(count, MAX_TICKS));
      expect(ticks.get('failed')).toEqual([137 / (count - 1)]);
    },
  );
});
