import { describe, expect, it } from 'vitest';
import {
  budgetBar,
  burnPlace,
  burnStateOf,
  explainBudget,
  formatObjective,
  formatReading,
  formatRemaining,
  inOrder,
  type Monitor,
  type Slo,
  stateOfMonitor,
  stateOfSlo,
  uptimeText,
  wordOfWatch,
} from '../../src/model/watch.ts';

const aMonitor = (change: Partial<Monitor> = {}): Monitor => ({
  id: 'errors',
  name: 'errors',
  project: 'default',
  min_samples: 20,
  condition: 'nominal',
  samples: 20,
  detail: '',
  evaluated_at: '2026-11-22T10:00:00Z',
  enabled: true,
  watch: 'error_rate',
  compare: 'above',
  threshold: 0.05,
  window_seconds: 900,
  ...change,
});

const anSlo = (change: Partial<Slo> = {}): Slo => ({
  id: 'works',
  name: 'works',
  project: 'default',
  min_samples: 20,
  condition: 'nominal',
  samples: 12_400,
  detail: '',
  objective: 0.995,
  window_days: 30,
  success_rate: 1 - 41 / 12_400,
  budget_remaining: 1 - 41 / 62,
  burn_rate_1h: 1,
  burn_rate_6h: 1,
  ...change,
});

describe('a monitor', () => {
  it('holds below `min_samples` and not at it', () => {
    expect([19, 20].map((samples) => stateOfMonitor(aMonitor({ samples })))).toEqual(['holding', 'nominal']);
  });
  it('stays tripped while it holds: silence is no recovery', () => {
    expect(stateOfMonitor(aMonitor({ samples: 0, condition: 'tripped' }))).toBe('tripped');
    expect(stateOfMonitor(aMonitor({ samples: 0, condition: 'acknowledged' }))).toBe('acknowledged');
  });
  it('does not hold before its first reading, and is disabled where it is', () => {
    const { evaluated_at: _none, ...unread } = aMonitor({ samples: 0 });
    expect(stateOfMonitor(unread)).toBe('nominal');
    expect(stateOfMonitor(aMonitor({ enabled: false, samples: 0 }))).toBe('disabled');
  });
  it('is read in the unit of what it watches; without a reading it is a dash', () => {
    expect(formatReading('error_rate', 0.083)).toBe('8.3 %');
    expect(formatReading('latency_p95', 8375)).toBe('8.38 s');
    expect(formatReading('cost', 0.05)).toBe('$0.05');
    expect(formatReading('score_mean', 0.73804)).toBe('0.738');
    expect(formatReading('trace_count', 1234)).toBe('1,234');
    expect(formatReading('cost', undefined)).toBe('—');
    expect(wordOfWatch(aMonitor({ watch: 'score_mean', scorer_id: 'polite' }))).toBe('Mean score of polite');
  });
  it('stands before those that are better off', () => {
    const all = [
      aMonitor({ name: 'a' }),
      aMonitor({ name: 'b', samples: 3 }),
      aMonitor({ name: 'c', condition: 'acknowledged' }),
      aMonitor({ name: 'e', condition: 'tripped' }),
      aMonitor({ name: 'd', condition: 'tripped' }),
    ];
    expect(inOrder(all, stateOfMonitor).map(({ name }) => name)).toEqual(['d', 'e', 'c', 'b', 'a']);
  });
});

describe('the error budget', () => {
  it('is spelled out', () => {
    expect(explainBudget(anSlo())).toBe('99.5 % of 12,400 runs allows 62 failures; 41 failed, 21 are left.');
  });
  it('says by how much it is overspent', () => {
    const spent = anSlo({ samples: 1000, success_rate: 0.99, budget_remaining: -1 });
    expect(explainBudget(spent)).toBe(
      '99.5 % of 1,000 runs allows 5 failures; 10 failed, so the budget is overspent by 5.',
    );
    expect(formatRemaining(-1)).toBe('−100 %');
  });
  it('is not known where nothing was read', () => {
    const { success_rate: _a, budget_remaining: _b, ...unread } = anSlo();
    expect(explainBudget(unread)).toBe('Nothing could be read in the window, so no budget is known.');
  });
  it('is drawn right of zero while it is left, and left of zero when it is overspent', () => {
    expect(budgetBar(0.25)).toEqual({ zero: 0, from: 0, width: 0.25 });
    expect(budgetBar(0)).toEqual({ zero: 0, from: 0, width: 0 });
    expect(budgetBar(-1)).toEqual({ zero: 0.5, from: 0, width: 0.5 });
    expect(budgetBar(-3)).toEqual({ zero: 0.75, from: 0, width: 0.75 });
  });
  it('never rounds a rate up to a hundred', () => {
    expect([0.995, 0.99999999, 1, 0.887552].map(formatObjective)).toEqual([
      '99.5 %',
      '99.9999 %',
      '100 %',
      '88.7552 %',
    ]);
  });
});

describe('burn rates', () => {
  it.each([
    [15, 7, 'critical'],
    [14.4, 7, 'recovering'],
    [15, 6, 'increasing'],
    [15, 5, 'increasing'],
    [10, 7, 'recovering'],
    [14.4, 6, 'acceptable'],
  ])('%f over one hour and %f over six are %s', (burn_rate_1h, burn_rate_6h, state) => {
    expect(burnStateOf(anSlo({ burn_rate_1h, burn_rate_6h }))).toBe(state);
  });
  it('are unknown where one was not read', () => {
    const { burn_rate_1h: _none, ...unread } = anSlo();
    expect(burnStateOf(unread)).toBe('unknown');
  });
  it('share a logarithmic axis from a tenth to a hundred', () => {
    expect([0, 0.1, 1, 10, 100, 1000].map((rate) => Number(burnPlace(rate).toFixed(4)))).toEqual([
      0, 0, 0.3333, 0.6667, 1, 1,
    ]);
  });
  it('of an objective hold while the last hour has too few runs', () => {
    expect(stateOfSlo(anSlo({ detail: 'the last hour holds fewer than min_samples 20, so the condition stays' }))).toBe(
      'holding',
    );
    expect(stateOfSlo(anSlo())).toBe('nominal');
  });
});

it('2.4 rule 4: a condition carries since when it is rebuilt, in whole minutes', () => {
  expect([12, 59, 60, 92, 3_600].map(uptimeText)).toEqual(['12 s', '59 s', '1 min', '1 min', '1 h']);
});
