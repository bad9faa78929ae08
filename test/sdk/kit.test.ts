import { describe, expect, it } from 'vitest';
import { parseExclusions } from '../../sdk/conformance/kit/exclusions.ts';
import { junitOf } from '../../sdk/conformance/kit/junit.ts';
import type { Outcome } from '../../sdk/conformance/kit/play.ts';
import { scenarios } from '../../sdk/conformance/scenarios/all.ts';
import { runConformance } from '../../sdk/conformance/run.ts';
import type { Scenario } from '../../sdk/conformance/kit/scenario.ts';

const run = async (...argv: string[]): Promise<{ code: number; text: string }> => {
  const lines: string[] = [];
  const code = await runConformance(argv, (line) => lines.push(line));
  return { code, text: lines.join('\n') };
};

describe('the command line of the kit', () => {
  it('refuses what it does not know with exit 2, naming it', async () => {
    for (const [argv, words] of [
      [[], 'the command of the fixture is missing'],
      [['--only', 'nothing', '--', 'x'], 'no scenario is named nothing'],
      [['--jobs', '0', '--', 'x'], '--jobs is a whole number from 1 to 64'],
      [['--jobs', '65', '--', 'x'], '--jobs is a whole number from 1 to 64'],
      [['--wrong', '--', 'x'], "Unknown option '--wrong'"],
      [['--exclude', '/nowhere/exclusions.json', '--', 'x'], 'no such file'],
    ] as const) {
      const { code, text } = await run(...argv);
      expect(code).toBe(2);
      expect(text).toContain(words);
      expect(text).toContain('usage: svc conformance');
    }
  });

  it('lists scenarios by number, name or area', async () => {
    expect((await run('--list')).text.split('\n')).toHaveLength(scenarios.length);
    expect((await run('--list', '--only', '34,client/wait-output')).text).toMatch(
      /^ 34 client\/idempotency-key: .*\n 44 client\/wait-output: [^\n]*$/,
    );
    const areas = (await run('--list', '--only', 'settings')).text.split('\n');
    expect(areas).toHaveLength(8);
  });
});

describe('exclusions', () => {
  const of = (rows: unknown): unknown => parseExclusions(JSON.stringify(rows), scenarios);

  it('name a scenario and a reason', () => {
    expect(of([{ scenario: 'worker/int64', reason: 'numbers are doubles' }])).toEqual(
      new Map([['worker/int64', 'numbers are doubles']]),
    );
  });

  it('are refused without a reason, or for a scenario that is not there', () => {
    expect(() => of([{ scenario: 'worker/int64', reason: ' ' }])).toThrow(
      'the exclusion of worker/int64 has no reason',
    );
    expect(() => of([{ scenario: 'worker/int64' }])).toThrow('has no reason');
    expect(() => of([{ scenario: 'worker/int65', reason: 'r' }])).toThrow('there is no scenario "worker/int65"');
    expect(() => of({})).toThrow('exclusions are a list');
  });
});

describe('the JUnit report', () => {
  const scenario: Scenario = { number: 7, name: 'client/cut', sentence: 'A "cut" is <safe>', play: async () => {} };
  const outcomes: Outcome[] = [
    { scenario, state: 'passed', ms: 1500 },
    { scenario, state: 'failed', ms: 10, message: 'expected <a> & got "b"\nat \u0000 last' },
    { scenario, state: 'excluded', ms: 10, message: 'a reason' },
    { scenario, state: 'skipped', ms: 10, message: 'no fork' },
    { scenario, state: 'needlessly excluded', ms: 10, message: 'it passes' },
  ];

  it('counts an exclusion that is not needed as a failure, and skipped is not passed', () => {
    const report = junitOf('lib <1>', outcomes, 2000);
    expect(report).toContain('<testsuites tests="5" failures="2" errors="0" skipped="2" time="2.000">');
    expect(report).toContain('<testsuite name="lib &lt;1&gt;"');
    expect(report).toContain(
      '<testcase classname="conformance.client" name="7 cut: A &quot;cut&quot; is &lt;safe&gt;" time="1.500"/>',
    );
  });

  it('holds messages as XML may', () => {
    const report = junitOf('lib', outcomes, 0);
    expect(report).toContain('<failure message="expected &lt;a&gt; &amp; got &quot;b&quot;&#10;at \ufffd last"/>');
    expect(report).toContain('<skipped message="a reason"/>');
    expect(report).not.toContain('\u0000');
  });
});
