import { describe, expect, it } from 'vitest';
import { explainErasure } from '../../src/model/people.ts';
import {
  configOf,
  formatScore,
  groupScores,
  idsIn,
  judgeOf,
  nameOfScorer,
  type Score,
} from '../../src/model/scores.ts';

const aScore = (change: Partial<Score> = {}): Score => ({
  score_id: 's',
  scorer_id: 'polite',
  value: 0.5,
  min: 0,
  max: 1,
  source: 'live',
  timestamp: '2026-11-22T10:00:00Z',
  received_at: '2026-11-22T10:00:00Z',
  correlation: { project: 'default' },
  ...change,
});

describe('scores', () => {
  it('lie in tenths of their range, the last of which holds its upper end', () => {
    const [group] = groupScores([0, 0.0999, 0.1, 0.9, 1].map((value) => aScore({ value })));
    expect(group?.bins).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    expect(group?.count).toBe(5);
  });
  it('of other versions and ranges stand apart', () => {
    const groups = groupScores([
      aScore({ scorer_version: '2' }),
      aScore({ scorer_version: '1', value: 1 }),
      aScore({ scorer_version: '1', value: 0 }),
      aScore({ scorer_id: 'length', max: 500, value: 250 }),
    ]);
    expect(groups.map(({ scorerId, version, count, mean }) => [scorerId, version, count, mean])).toEqual([
      ['length', undefined, 1, 250],
      ['polite', '1', 2, 0.5],
      ['polite', '2', 1, 0.5],
    ]);
  });
  it('name their range where it is not 0 to 1, their version and their judge', () => {
    expect(formatScore(aScore({ value: 0.73804 }))).toBe('0.738');
    expect(formatScore(aScore({ value: 212, max: 500 }))).toBe('212 of 0 to 500');
    expect([nameOfScorer('a', undefined), nameOfScorer('a', '2')]).toEqual(['a', 'a v2']);
    expect([judgeOf(aScore({ metadata: { judge_model: 'llama3' } })), judgeOf(aScore())]).toEqual([
      'llama3',
      undefined,
    ]);
  });
});

describe('a form of scorers', () => {
  it('gives the settings that were filled in, numbers as numbers', () => {
    expect(configOf({ max_ms: '5000', contains: ' refund ', tool_name: '', case_sensitive: 'true' })).toEqual({
      max_ms: 5000,
      contains: 'refund',
      case_sensitive: true,
    });
  });
  it('takes ids one a line or with commas', () => {
    expect(idsIn(' a\nb, c,\n')).toEqual(['a', 'b', 'c']);
    expect(idsIn('  ')).toEqual([]);
  });
});

it('an erasure says what it did, and what is still to be removed', () => {
  const erased = { runs_erased: 1, traces_erased: 2, deletes_pending: true, note: 'Parked events expire.' };
  expect(explainErasure(erased)).toEqual([
    '1 run and 2 traces erased.',
    'Bytes of traces are still to be removed from the store.',
    'Parked events expire.',
  ]);
  expect(explainErasure({ ...erased, views_erased: 1 })[1]).toBe('1 saved view that named the person erased.');
  expect(explainErasure({ ...erased, deletes_pending: false })[1]).toBe('Nothing waits to be removed.');
});
