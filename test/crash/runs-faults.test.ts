import { describe, expect, it } from 'vitest';
import { cancelFault, restartsFault } from './runs-bulk.ts';
import { shopFault } from './runs-paused-definition.ts';
import { pausesFault } from './runs-pauses.ts';
import { restartFault } from './runs-restarts.ts';
import { overlapFault } from './runs-schedules.ts';
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

describe('what the campaign says of an action on many runs', () => {
  it('what a cancelled run does after the answer is a fault, and what it did before is none', () => {
    const tree = aTree({}, journalOf(['run.started', ['step.leased', 'prepare'], 'run.finished']));
    expect(cancelFault(tree, { doneAt: AT + 2 })).toBeUndefined();
    expect(cancelFault(tree, { doneAt: AT - 1 })).toBe(
      'entry 2 is run.finished at 2026-11-22T12:00:00.002Z, after the cancel of its group was done',
    );
  });

  it('an action restarts each run once, however often it was sent', () => {
    expect(restartsFault(1)).toBeUndefined();
    expect(restartsFault(0)).toBe('it was restarted 0 times by one action');
    expect(restartsFault(2)).toBe('it was restarted 2 times by one action');
  });
});

describe('what the campaign says of a paused definition', () => {
  const pause = { from: AT + 100, to: AT + 200 };
  it('a lease that is offered meanwhile is a fault; before the answer and after the resume it is none', () => {
    expect(shopFault(aTree(offeredAt(99), []), [pause])).toBeUndefined();
    expect(shopFault(aTree(offeredAt(201), []), [pause])).toBeUndefined();
    expect(shopFault(aTree(offeredAt(150), []), [pause])).toBe(
      'lease l was offered at 2026-11-22T12:00:00.150Z, while its definition was paused',
    );
  });

  it('a run that begins meanwhile is a fault; one that goes on to its next step is none', () => {
    const moved = (...times: number[]): Tree =>
      aTree(
        {},
        times.map((ms, seq) => ({ seq, kind: 'cursor.moved', at: timeAt(ms), data: {} })),
      );
    expect(shopFault(moved(50, 150), [pause])).toBeUndefined();
    expect(shopFault(moved(150), [pause])).toBe(
      'it began at 2026-11-22T12:00:00.150Z, while its definition was paused',
    );
  });
});

describe('what the campaign says of runs of one schedule', () => {
  const ran = (id: string, status: string, from: number, to: number): Tree =>
    aTree({ run_id: id, status }, [
      { seq: 0, kind: 'run.started', at: timeAt(from), data: {} },
      { seq: 1, kind: 'cursor.moved', at: timeAt(from), data: {} },
      { seq: 2, kind: 'run.finished', at: timeAt(to), data: {} },
    ]);

  it.each(['slow', 'line', 'hasty'] as const)('two of %s that are open at once are a fault', (schedule) => {
    const one = ran('a', 'succeeded', 0, 10);
    expect(overlapFault(schedule, [one, ran('b', 'succeeded', 10, 20)])).toBeUndefined();
    expect(overlapFault(schedule, [one, ran('b', 'succeeded', 9, 20)])).toBe(
      `schedule ${schedule} had 2 open runs at once`,
    );
  });

  it('runs of a schedule that allows it may overlap', () => {
    expect(overlapFault('every', [ran('a', 'succeeded', 0, 10), ran('b', 'succeeded', 9, 20)])).toBeUndefined();
  });

  it('one that was cancelled while no other began is a fault', () => {
    const cancelled = ran('a', 'cancelled', 0, 10);
    expect(overlapFault('hasty', [cancelled, ran('b', 'succeeded', 10, 20)])).toBeUndefined();
    expect(overlapFault('hasty', [cancelled, ran('b', 'succeeded', 11, 20)])).toBe(
      'run a of schedule hasty was cancelled, and no run began then',
    );
  });
});
