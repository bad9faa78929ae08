/** What the tally reads of one test, as the test runner reports it. */
export type TestOutcome = {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending';
  /** Why it was skipped, where it says so. */
  readonly note?: string | undefined;
};

export type Tally = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One line for each thing that an outcome alone does not tell: why a test was skipped, what never ran. */
  readonly remarks: readonly string[];
};

/**
 * Counts a run. Skipped is not passed, and a test that is skipped without a reason, or that never came to an end, is
 * counted as failed: nothing leaves the suite silently.
 * @param broken what failed outside of any test: files that could not be loaded, set-up, errors nobody caught
 */
export const tally = (outcomes: readonly TestOutcome[], broken: readonly string[]): Tally => {
  const remarks = broken.map((what) => `failed: ${what}`);
  let passed = 0;
  let failed = broken.length;
  let skipped = 0;
  for (const { name, state, note } of outcomes) {
    if (state === 'passed') passed += 1;
    else if (state === 'failed') failed += 1;
    else if (state === 'skipped' && note !== undefined && note !== '') {
      skipped += 1;
      remarks.push(`skipped: ${name}: ${note}`);
    } else {
      failed += 1;
      remarks.push(`failed: ${name}: ${state === 'skipped' ? 'skipped without a reason' : 'never ended'}`);
    }
  }
  return { passed, failed, skipped, remarks };
};

const inWords = (ms: number): string => {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

/** The line before the last: how long it all took, and each part of it. Nothing is judged by it: machines differ. */
export const durationLine = (parts: Readonly<Record<string, number>>): string => {
  const total = Object.values(parts).reduce((sum, ms) => sum + ms, 0);
  const each = Object.entries(parts).map(([part, ms]) => `${part} ${inWords(ms)}`);
  return `took ${inWords(total)}: ${each.join(', ')}`;
};

/** The last line of a run: `12 passed, 0 failed`, and `, 1 skipped` when any were. */
export const tallyLine = ({ passed, failed, skipped }: Pick<Tally, 'passed' | 'failed' | 'skipped'>): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
