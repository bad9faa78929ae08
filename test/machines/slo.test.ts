import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  budgetRemaining,
  burnRate,
  judgeBurn,
  SLO_MACHINE_VERSION,
  sloMachine,
  successRate,
} from '../../src/machines/slo.ts';
import type { RunShare, SloReading } from '../../src/model/watch.ts';
import { play, runWatchMachineSuite, type Watching } from './watch-rows.ts';

const rule = { objective: 0.995, minSamples: 20 };
const aReading = (hour: RunShare, sixHours: RunShare): SloReading => ({ window: sixHours, hour, sixHours });
const of = (runs: number, failed: number): RunShare => ({ runs, failed });

const watching: Watching<SloReading> = {
  machine: sloMachine,
  version: SLO_MACHINE_VERSION,
  rule,
  outside: aReading(of(100, 8), of(600, 24)),
  inside: aReading(of(100, 7), of(600, 24)),
  fewOutside: aReading(of(19, 19), of(600, 300)),
  fewInside: aReading(of(19, 0), of(600, 0)),
};
runWatchMachineSuite('SLO', watching);

describe('SLO | evaluation | burn rate above 14.4 over the last hour AND above 6 over the last six hours', () => {
  it.each([
    ['7.2 % in the hour is 14.4 exactly: not above', of(1000, 72), of(6000, 600), 'inside'],
    ['a little more trips, with the six hours above 6', of(1000, 73), of(6000, 181), 'outside'],
    ['3 % in the six hours is 6 exactly: not above', of(1000, 73), of(6000, 180), 'inside'],
    ['the hour alone does not trip', of(1000, 1000), of(6000, 0), 'inside'],
    ['the six hours alone do not', of(1000, 0), of(6000, 6000), 'inside'],
    ['19 runs in the hour are silence', of(19, 19), of(6000, 6000), 'silent'],
    ['20 are not', of(20, 20), of(6000, 6000), 'outside'],
    ['an empty hour is silence', of(0, 0), of(6000, 6000), 'silent'],
  ] as const)('%s', (_name, hour, sixHours, expected) =>
    expect(judgeBurn(rule, aReading(hour, sixHours))).toBe(expected),
  );

  it('those thresholds correspond to about a 7.2 % error rate on a 99.5 % objective', () =>
    expect([burnRate(0.995, of(1000, 72)), burnRate(0.995, of(1000, 30))]).toEqual([14.4, 6]));

  it('a steady 5 % failure rate exhausts the budget early without tripping', () => {
    const steady = { window: of(100_000, 5000), hour: of(1000, 50), sixHours: of(6000, 300) };
    expect(budgetRemaining(0.995, steady.window)).toBe(-9);
    const { snapshot, reports } = play(
      watching,
      Array.from({ length: 100 }, (_, at) => ({ type: 'evaluation.ended' as const, at, reading: steady })),
    );
    expect([snapshot.value, reports]).toEqual(['nominal', []]);
  });
});

describe('what an SLO is read as', () => {
  it('success rate, budget and burn of no runs are unknown, not zero and not one', () => {
    const none = of(0, 0);
    expect([successRate(none), budgetRemaining(0.9, none), burnRate(0.9, none)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each([
    [0.99, of(1000, 0), 1, 1],
    [0.99, of(1000, 5), 0.995, 0.5],
    [0.99, of(1000, 10), 0.99, 0],
    [0.99, of(1000, 30), 0.97, -2],
    [0.5, of(10, 10), 0, -1],
  ])('objective %f, %j: success rate %f, budget remaining %f (may be negative)', (objective, share, rate, budget) =>
    expect([successRate(share), budgetRemaining(objective, share)]).toEqual([rate, budget]),
  );

  it('the budget is gone exactly when the failures are those that the objective allows', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_999 }), fc.integer({ min: 1, max: 1_000 }), (allowed, times) => {
        const objective = (10_000 - allowed) / 10_000;
        expect(Math.abs(budgetRemaining(objective, of(10_000 * times, allowed * times)) ?? 1)).toBeLessThan(1e-9);
        expect(burnRate(objective, of(10_000 * times, allowed * times))).toBeCloseTo(1, 9);
      }),
    ));
});
