import { describe, expect, it } from 'vitest';
import type { components } from '../../src/api/types.ts';
import { loopOf } from '../../src/model/run-loops.ts';

type Attempt = components['schemas']['Attempt'];
const visits = (step: string, ...outputs: readonly unknown[]): Attempt[] =>
  outputs.map((output, index) => ({
    lease_id: `${step}${index}`,
    step_id: step,
    visit: index + 1,
    attempt: 1,
    status: 'succeeded',
    worker_id: 'w',
    offered_at: '2026-11-20T09:00:00Z',
    span_id: '0'.repeat(16),
    output,
  }));

describe('a loop of a run', () => {
  it('is a step that gave the same result three times in a row, whatever the order of its members', () => {
    expect(loopOf(visits('ask', { a: 1, b: 2 }, { b: 2, a: 1 }))).toBeUndefined();
    expect(loopOf(visits('ask', { a: 1, b: 2 }, { b: 2, a: 1 }, { a: 1, b: 2 }))).toEqual({ step: 'ask', times: 3 });
  });

  it('is none where the last result differs, and counts only what came after another result', () => {
    expect(loopOf(visits('ask', 1, 1, 1, 2))).toBeUndefined();
    expect(loopOf(visits('ask', 2, 1, 1, 1))).toEqual({ step: 'ask', times: 3 });
    expect(loopOf(visits('ask', undefined, undefined, undefined))).toEqual({ step: 'ask', times: 3 });
  });

  it('does not count attempts that failed, and names the step that repeats most', () => {
    const failed = visits('pay', 1, 1, 1).map((attempt): Attempt => ({ ...attempt, status: 'failed' }));
    expect(loopOf(failed)).toBeUndefined();
    expect(loopOf([...visits('ask', 1, 1, 1), ...visits('think', 2, 2, 2, 2)])).toEqual({ step: 'think', times: 4 });
    expect(loopOf([])).toBeUndefined();
  });
});
