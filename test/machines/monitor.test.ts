import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeReading, MONITOR_MACHINE_VERSION, monitorMachine, type MonitorRule } from '../../src/machines/monitor.ts';
import type { Condition, MonitorReading, WatchEvent } from '../../src/model/watch.ts';
import { play, runWatchMachineSuite, type Watching } from './watch-rows.ts';

const above: MonitorRule = { compare: 'above', threshold: 0.5, minSamples: 20 };
const below: MonitorRule = { ...above, compare: 'below' };

const aMonitor = (rule: MonitorRule, outside: number, inside: number): Watching<MonitorReading> => ({
  machine: monitorMachine,
  version: MONITOR_MACHINE_VERSION,
  rule,
  outside: { value: outside, samples: 20 },
  inside: { value: inside, samples: 20 },
  fewOutside: { value: outside, samples: 19 },
  fewInside: { value: inside, samples: 19 },
});

runWatchMachineSuite('monitor above', aMonitor(above, 0.51, 0.5));
runWatchMachineSuite('monitor below', aMonitor(below, 0.49, 0.5));

describe('how a monitor judges a reading', () => {
  it.each([
    ['above', 0.5, 20, 'inside'],
    ['above', 0.500_000_1, 20, 'outside'],
    ['above', 0.500_000_1, 19, 'silent'],
    ['above', 0.4, 19, 'silent'],
    ['below', 0.5, 20, 'inside'],
    ['below', 0.499_999_9, 20, 'outside'],
    ['below', 0.499_999_9, 19, 'silent'],
    ['below', 0, 20, 'outside'],
    ['above', undefined, 20, 'silent'],
    ['below', undefined, 1000, 'silent'],
  ] as const)('compare %s the threshold 0.5: %s of %i samples is %s', (compare, value, samples, expected) =>
    expect(judgeReading({ ...above, compare }, { samples, ...(value === undefined ? {} : { value }) })).toBe(expected),
  );

  it('with min_samples 0 a window without any run is a reading where it has a value', () => {
    const rule = { ...below, minSamples: 0 };
    expect(judgeReading(rule, { value: 0, samples: 0 })).toBe('outside');
    expect(judgeReading(rule, { samples: 0 })).toBe('silent');
  });
});

/** The table in the plainest code. */
const naive = (rule: MonitorRule, events: readonly WatchEvent<MonitorReading>[]) => {
  let condition: Condition = 'nominal';
  const reports: string[] = [];
  for (const event of events) {
    if (event.type === 'trip.acknowledged') condition = condition === 'tripped' ? 'acknowledged' : condition;
    if (event.type !== 'evaluation.ended') continue;
    const { value, samples } = event.reading;
    if (value === undefined || samples < rule.minSamples) continue;
    const crosses = rule.compare === 'above' ? value > rule.threshold : value < rule.threshold;
    if (crosses && condition === 'nominal') {
      condition = 'tripped';
      reports.push('tripped');
    } else if (!crosses && condition !== 'nominal') {
      condition = 'nominal';
      reports.push('nominal');
    }
  }
  return { condition, reports };
};

describe('any sequence of evaluations', () => {
  const readings = fc.record(
    { value: fc.integer({ min: -3, max: 3 }), samples: fc.integer({ min: 0, max: 4 }) },
    { requiredKeys: ['samples'] },
  );
  const events = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: readings.map((reading) => ({ type: 'evaluation.ended' as const, at: 1, reading })) },
      { weight: 1, arbitrary: fc.constant({ type: 'evaluation.missed' as const, at: 1, note: 'n' }) },
      { weight: 2, arbitrary: fc.constant({ type: 'trip.acknowledged' as const, at: 1 }) },
    ),
    { maxLength: 40 },
  );
  const rules = fc.record({
    compare: fc.constantFrom('above' as const, 'below' as const),
    threshold: fc.integer({ min: -2, max: 2 }),
    minSamples: fc.integer({ min: 0, max: 3 }),
  });

  it('ends in the condition, with the reports, of a naive model; reports alternate, tripped first', () =>
    fc.assert(
      fc.property(rules, events, (rule, all) => {
        // The host hands an ack over to a tripped monitor alone.
        const taken: WatchEvent<MonitorReading>[] = [];
        for (const event of all)
          if (event.type !== 'trip.acknowledged' || naive(rule, taken).condition === 'tripped') taken.push(event);
        const { snapshot, reports } = play({ ...aMonitor(rule, 0, 0) }, taken);
        expect({ condition: snapshot.value, reports }).toEqual(naive(rule, taken));
        expect(reports).toEqual(reports.map((_, index) => (index % 2 === 0 ? 'tripped' : 'nominal')));
      }),
      { numRuns: 300 },
    ));
});
