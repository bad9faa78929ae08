import { describe, expect, it } from 'vitest';
import type { components } from '../../src/api/types.ts';
import { nearestRun, pairVisits, type Visit, visitsOf } from '../../src/model/run-diff.ts';

type Entry = components['schemas']['JournalEntry'];
type Attempt = components['schemas']['Attempt'];

const instant = (ms: number): string => new Date(Date.UTC(2026, 10, 20) + ms).toISOString();
const entered = (step: string, ms: number, visit = 1): Entry => ({
  seq: ms,
  kind: 'cursor.moved',
  at: instant(ms),
  step_id: step,
  visit,
  data: {},
});
const attempt = (step: string, more: Partial<Attempt> = {}): Attempt => ({
  lease_id: crypto.randomUUID(),
  step_id: step,
  visit: 1,
  attempt: 1,
  status: 'succeeded',
  worker_id: 'w',
  offered_at: instant(0),
  span_id: '0'.repeat(16),
  ...more,
});

describe('the visits of a run', () => {
  it('have the time from entry to the next entry, their attempts, the output and the last error', () => {
    const attempts = [
      attempt('pay', { status: 'failed', error: { class: 'retryable', message: 'busy' } }),
      attempt('pay', { attempt: 2, output: { paid: true } }),
      attempt('pay', { visit: 2, output: { paid: false } }),
    ];
    const entries = [entered('pay', 0), entered('ask', 1000), entered('pay', 4000, 2)];
    expect(visitsOf({ attempts, ended_at: instant(9000) }, entries, 0)).toEqual([
      { step: 'pay', visit: 1, durationMs: 1000, isOpen: false, attempts: 2, output: { paid: true }, error: undefined },
      { step: 'ask', visit: 1, durationMs: 3000, isOpen: false, attempts: 0, output: undefined, error: undefined },
      {
        step: 'pay',
        visit: 2,
        durationMs: 5000,
        isOpen: false,
        attempts: 1,
        output: { paid: false },
        error: undefined,
      },
    ]);
  });

  it('count to now where the step is open, and have the error of a step that fails without a worker', () => {
    const failed: Entry = {
      seq: 2,
      kind: 'step.failed',
      at: instant(1),
      step_id: 'ask',
      visit: 1,
      data: { error: { class: 'expression_failed', message: 'no such field' } },
    };
    const [ask] = visitsOf({ attempts: [] }, [entered('ask', 0), failed], Date.parse(instant(700)));
    expect(ask).toMatchObject({ durationMs: 700, isOpen: true, attempts: 0, error: 'no such field' });
  });
});

describe('two runs side by side', () => {
  const visit = (step: string, more: Partial<Visit> = {}): Visit => ({
    step,
    visit: 1,
    durationMs: 100,
    isOpen: false,
    attempts: 1,
    output: { a: 1, b: 2 },
    error: undefined,
    ...more,
  });
  const rows = (a: readonly Visit[], b: readonly Visit[]) =>
    pairVisits(a, b).map(({ step, visit: no, differences }) => `${step}${no}: ${differences.join(', ') || 'same'}`);

  it('stand step by step and visit by visit, in the order of the first; what only the second has stands in its place', () => {
    expect(
      rows(
        [visit('one'), visit('two'), visit('two', { visit: 2 })],
        [visit('zero'), visit('one'), visit('extra'), visit('two')],
      ),
    ).toEqual(['zero1: only in B', 'one1: same', 'extra1: only in B', 'two1: same', 'two2: only in A']);
  });

  it('differ in output, attempts, error, time and whether the step is open', () => {
    const against = (more: Partial<Visit>) => rows([visit('one')], [visit('one', more)])[0];
    expect(against({ output: { b: 2, a: 1 } })).toBe('one1: same');
    expect(against({ output: { a: 1 } })).toBe('one1: output');
    expect(against({ output: undefined })).toBe('one1: output');
    expect(against({ attempts: 2 })).toBe('one1: attempts');
    expect(against({ error: 'no' })).toBe('one1: error');
    expect(against({ durationMs: 150 })).toBe('one1: same');
    expect(against({ durationMs: 151 })).toBe('one1: slower');
    expect(against({ durationMs: 66 })).toBe('one1: faster');
    expect(against({ isOpen: true, durationMs: 9000 })).toBe('one1: open');
    // Nobody waits for the difference.
    expect(rows([visit('one', { durationMs: 1 })], [visit('one', { durationMs: 5 })])[0]).toBe('one1: same');
  });
});

describe('a run to compare with', () => {
  const run = (run_id: string, ms: number, definition_version = 1) => ({
    run_id,
    created_at: instant(ms),
    definition_version,
  });
  it('is the nearest of the same version, before or after; without one, the nearest of another; never itself', () => {
    const here = run('here', 100);
    const rows = [run('far', 0), run('near', 130), run('newer', 101, 2), here];
    expect(nearestRun(here, rows)?.run_id).toBe('near');
    expect(nearestRun(here, [run('newer', 101, 2), run('old', 0, 3)])?.run_id).toBe('newer');
    expect(nearestRun(here, [here])).toBeUndefined();
  });
});
