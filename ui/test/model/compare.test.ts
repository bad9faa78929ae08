import { describe, expect, it } from 'vitest';
import {
  type ComparedScorer,
  diffWords,
  explainVerdict,
  formatDelta,
  pairCases,
  type Ran,
  verdictOf,
} from '../../src/model/compare.ts';

const aScorer = (change: Partial<ComparedScorer> = {}): ComparedScorer => ({
  scorer_id: 'polite',
  baseline: { mean: 0.8, count: 40 },
  candidate: { mean: 0.6, count: 40 },
  delta: -0.2,
  p_value: 0.0004,
  decidable: true,
  regressed: true,
  ...change,
});
const aRan = (traceId: string, input: unknown, value: number): Ran => ({
  traceId,
  input,
  output: 'x',
  value,
  reason: undefined,
});

describe('a verdict', () => {
  it('is not given while a side has too few scores, whatever the means say', () => {
    const few = aScorer({ decidable: false, regressed: false, candidate: { mean: 0.1, count: 12 } });
    expect([verdictOf(few), explainVerdict(few)]).toEqual(['not decidable', 'not decidable (12 of 20)']);
  });
  it('is that of the service where it regressed', () => {
    expect([verdictOf(aScorer()), explainVerdict(aScorer())]).toEqual(['regressed', 'regressed, p < 0.001']);
  });
  it.each([
    [0.1, 0.049, 'improved'],
    [0.1, 0.05, 'no difference shown'],
    [-0.1, 0.2, 'no difference shown'],
  ])('of a delta of %f with p %f is: %s', (delta, p_value, verdict) => {
    expect(verdictOf(aScorer({ regressed: false, delta, p_value }))).toBe(verdict);
  });
  it('of a delta has its sign', () => {
    expect([0.075, -0.2574, 0].map(formatDelta)).toEqual(['+0.075', '−0.257', '0']);
  });
});

describe('cases', () => {
  it('are paired by equal input, whatever the order of its members, those that lost most first', () => {
    const { pairs, alone } = pairCases(
      [aRan('b1', { q: 1, l: 'en' }, 1), aRan('b2', 'two', 1), aRan('b3', 'alone', 1)],
      [aRan('c1', { l: 'en', q: 1 }, 0.9), aRan('c2', 'two', 0.1)],
    );
    expect(pairs.map(({ baseline, candidate }) => [baseline.traceId, candidate.traceId])).toEqual([
      ['b2', 'c2'],
      ['b1', 'c1'],
    ]);
    expect(alone).toEqual({ baseline: 1, candidate: 0 });
  });
  it('without an input have no partner', () => {
    expect(pairCases([aRan('b', undefined, 1)], [aRan('c', undefined, 1)]).pairs).toEqual([]);
  });
});

describe('a diff of words', () => {
  it('keeps what is the same', () => {
    expect(diffWords('it arrives safely on Friday', 'it arrives on Monday')).toEqual([
      { kind: 'same', text: 'it arrives ' },
      { kind: 'removed', text: 'safely ' },
      { kind: 'same', text: 'on ' },
      { kind: 'removed', text: 'Friday' },
      { kind: 'added', text: 'Monday' },
    ]);
    expect(diffWords('same', 'same')).toEqual([{ kind: 'same', text: 'same' }]);
    expect(diffWords('', 'new')).toEqual([{ kind: 'added', text: 'new' }]);
  });
  it('is not made of very long texts', () => {
    const words = (count: number): string => Array.from({ length: count }, () => 'w').join(' ');
    expect(diffWords(words(750), 'w')).toBeDefined();
    expect(diffWords(words(751), 'w')).toBeUndefined();
  });
});
