import { describe, expect, it } from 'vitest';
import { pausesFault } from './runs-pauses.ts';
import { restartFault } from './runs-restarts.ts';
import type { Entry, Run, Tree } from './runs-verify.ts';

const AT = Date.parse('2026-11-22T12:00:00Z');
const timeAt = (ms: number): string => new Date(AT + ms).toISOString();

const journalOf = (kinds: readonly (Entry['kind'] | readonly [Entry['kind'], step: string])[]): Entry[] =>
  kinds.map((one, seq) => {
    const [kind, step] = typeof one === 'string' ? [one, undefined] : one;
    return { seq, kind, at: timeAt(seq), data: {}, ...(step === undefined ? {} : { step_id: step }) };
  });

/** Only what the checks of these campaigns read. */
const aTree = (run: object, journal: readonly Entry[], children: readonly Tree[] = []): Tree => ({
  run: { run_id: 'r', attempts: [], ...run } as unknown as Run,
  journal,
  children,
});
const offeredAt = (ms: number) => ({ attempts: [{ lease_id: 'l', step_id: 's', offered_at: timeAt(ms) }] });
const hold = { runId: 'r', from: AT + 100, to: AT + 200 };
const paused = journalOf(['run.started', 'run.paused', 'run.unpaused', 'run.finished']);

describe('what the campaign says of a pause', () => {
  it.each([
    ['before its answer', 99],
    ['after the resume was sent', 201],
  ])('a lease that was offered %s is no fault', (_, ms) => {
    expect(pausesFault(aTree(offeredAt(ms), paused), [hold])).toBeUndefined();
  });

  it('a lease that was offered within it is a fault, of the run or of its child', () => {
    const said = 'lease l of r was offered at 2026-11-22T12:00:00.150Z, 50 ms after its pause was acknowledged';
    expect(pausesFault(aTree(offeredAt(150), paused), [hold])).toBe(said);
    const child = aTree({ run_id: 'c', ...offeredAt(150) }, []);
    expect(pausesFault(aTree({}, paused, [child]), [hold])).toBe(said.replace('of r', 'of c'));
  });

  it('one that the journal does not know was lost', () => {
    expect(pausesFault(aTree({}, journalOf(['run.started', 'run.finished'])), [hold])).toBe(
      '1 pauses were acknowledged, and its journal has 0',
    );
  });

  it.each(['step.leased', 'child.started', 'run.admitted'] as const)(
    '%s is a fault while the run is paused',
    (kind) => {
      expect(pausesFault(aTree({}, journalOf(['run.paused', kind, 'run.unpaused'])), [])).toBe(
        `run r: it is paused, and entry 1 is ${kind}`,
      );
      expect(pausesFault(aTree({}, journalOf(['run.paused', 'run.unpaused', kind])), [])).toBeUndefined();
    },
  );

  it('only the end of a lease may move a paused run', () => {
    expect(pausesFault(aTree({}, journalOf(['step.finished', 'run.paused', 'cursor.moved'])), [])).toBe(
      'run r: entry 2 moves it while it is paused',
    );
    expect(pausesFault(aTree({}, journalOf(['run.paused', 'step.finished', 'cursor.moved'])), [])).toBeUndefined();
  });
});

describe('what the campaign says of a restart', () => {
  const failed = aTree({ run_id: 'f', trace_id: 'a', status: 'failed', error: { step_id: 'fragile' } }, []);
  const again = (run: object = {}, first = 'fragile'): Tree =>
    aTree(
      {
        trace_id: 'b',
        status: 'succeeded',
        restarted_from: { run_id: 'f', step_id: 'fragile', visit: 1 },
        ...run,
      },
      journalOf(['run.started', ['cursor.moved', first], ['cursor.moved', 'wrap']]),
    );

  it('one that begins at the failed step, in a trace of its own, is none', () => {
    expect(restartFault(failed, again())).toBeUndefined();
  });

  it.each([
    ['it began at prepare', again({}, 'prepare')],
    ['it did again what had been done', again({ attempts: [{ step_id: 'prepare' }] })],
    ['it shares the trace of the run that failed', again({ trace_id: 'a' })],
    ['the restarted run is failed: undefined', again({ status: 'failed' })],
    ['it says that it was restarted from undefined', again({ restarted_from: undefined })],
  ])('it says "%s"', (said, tree) => {
    expect(restartFault(failed, tree)).toBe(said);
  });
});
