import { describe, expect, it } from 'vitest';
import { durationLine, tally, tallyLine } from '../../tools/tally.ts';

describe('the line before it', () => {
  it('says how long each part took and all of it, in minutes from sixty seconds on', () => {
    expect(durationLine({ checks: 59_400, tests: 600_600 })).toBe('took 11 min 0 s: checks 59 s, tests 10 min 1 s');
    expect(durationLine({ checks: 499, tests: 59_500 })).toBe('took 1 min 0 s: checks 0 s, tests 1 min 0 s');
  });
});

describe('the last line of a test run', () => {
  it('counts passed and failed, and skipped only when any were', () => {
    expect(tallyLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed');
    expect(tallyLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
  });

  it('counts a test that was skipped with a reason as skipped, and prints the reason', () => {
    const run = tally([{ name: 'a > b', state: 'skipped', note: 'needs a full disk' }], []);
    expect(run).toMatchObject({ passed: 0, failed: 0, skipped: 1 });
    expect(run.remarks).toEqual(['skipped: a > b: needs a full disk']);
  });

  it('counts a test that was skipped without a reason, or that never ended, as failed', () => {
    const run = tally(
      [
        { name: 'a', state: 'skipped' },
        { name: 'b', state: 'pending' },
        { name: 'c', state: 'passed' },
      ],
      [],
    );
    expect(run).toMatchObject({ passed: 1, failed: 2, skipped: 0 });
    expect(run.remarks).toEqual(['failed: a: skipped without a reason', 'failed: b: never ended']);
  });

  it('counts what failed outside of any test', () => {
    expect(tally([{ name: 'a', state: 'passed' }], ['x.test.ts could not be run'])).toMatchObject({
      passed: 1,
      failed: 1,
    });
  });
});
