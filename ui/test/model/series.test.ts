import { describe, expect, it } from 'vitest';
import {
  alignSeries,
  bucketFor,
  countedBy,
  formatMetric,
  NO_KEY,
  OTHERS,
  timeRange,
  stack,
  tickTexts,
} from '../../src/model/series.ts';
import { windowOf } from '../../src/model/time-range.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 22, 10, minute)).toISOString();
const first = Date.parse(at(0)) / 1000;

describe('series of a report', () => {
  it('stand on one axis without holes, and what was not priced is a gap, not a zero', () => {
    const points = [
      { time: at(0), key: 'a', count: 2, total_cost: 1 },
      { time: at(10), key: 'a', count: 3 },
      { time: at(10), key: 'b', count: 1, total_cost: 4 },
    ];
    expect(alignSeries(points, ['a', 'b'], 'cost', 300)).toEqual({
      times: [first, first + 300, first + 600],
      series: [
        { name: 'a', values: [1, null, null] },
        { name: 'b', values: [null, null, 4] },
      ],
    });
    expect(alignSeries(points, ['a'], 'count', 300).series).toEqual([
      { name: 'a', values: [2, null, 3] },
      { name: OTHERS, values: [null, null, 1] },
    ]);
  });
  it('leave out a group of which nothing was priced, and name what has no key', () => {
    const points = [{ time: at(0), count: 2 }];
    expect(alignSeries(points, [undefined], 'cost', 300).series).toEqual([]);
    expect(alignSeries(points, [undefined], 'count', 300).series).toEqual([{ name: NO_KEY, values: [2] }]);
    expect(alignSeries([], ['a'], 'cost', 300)).toEqual({ times: [], series: [] });
  });
  it('add up when stacked, over gaps', () => {
    const stacked = stack({
      times: [1, 2],
      series: [
        { name: 'a', values: [1, null] },
        { name: 'b', values: [2, 3] },
      ],
    });
    expect(stacked.series.map(({ values }) => values)).toEqual([
      [1, null],
      [3, 3],
    ]);
  });
  it('have the finest bucket with at most 200 bars', () => {
    expect(bucketFor(at(0), at(100 / 60))).toBe('30s');
    expect(
      [100, 100.5].map((minutes) => bucketFor(at(0), new Date(Date.parse(at(0)) + minutes * 6e4).toISOString())),
    ).toEqual(['30s', '5m']);
    expect(bucketFor('2026-11-15T00:00:00Z', '2026-11-22T00:00:00Z')).toBe('1h');
    expect(bucketFor('2026-10-01T00:00:00Z', '2026-11-22T00:00:00Z')).toBe('1d');
  });
  it('write money that is not known as a dash', () => {
    expect(formatMetric('cost', null, 'USD')).toBe('—');
    expect(formatMetric('cost', 0.5, 'EUR')).toBe('€0.50');
    expect(formatMetric('count', 12_400, undefined)).toBe('12.4K');
  });
  it('count calls when grouped by what a call has, and runs otherwise', () => {
    expect(['model', 'provider', 'entity_name', 'status', 'session_id'].map(countedBy)).toEqual([
      'Model calls',
      'Model calls',
      'Model calls',
      'Runs',
      'Runs',
    ]);
  });
  it('name the day below the first tick of it', () => {
    expect(tickTexts([first, first + 3600, first + 15 * 3600], 3600, 'utc')).toEqual([
      '10:00\n11-22',
      '11:00',
      '01:00\n11-23',
    ]);
    expect(tickTexts([first], 86_400, 'utc')).toEqual(['11-22']);
    expect(tickTexts([first], 30, 'utc')).toEqual(['10:00:00\n11-22']);
  });
});

describe('the window of a report', () => {
  const now = Date.parse('2026-11-22T00:00:00Z');
  it('is seven days up to now where nobody says', () => {
    const week = ['2026-11-15T00:00:00.000Z', '2026-11-22T00:00:00.000Z'];
    expect(windowOf(undefined, undefined, now)).toEqual(week);
    expect(windowOf('nonsense', undefined, now)).toEqual(week);
  });
  it('counts back from now, and takes times as they are', () => {
    expect(windowOf('-24h', '-0s', now)).toEqual(['2026-11-21T00:00:00.000Z', '2026-11-22T00:00:00.000Z']);
    expect(windowOf('2026-11-01T00:00:00Z', '-1d', now)).toEqual([
      '2026-11-01T00:00:00.000Z',
      '2026-11-21T00:00:00.000Z',
    ]);
  });
});

describe('the times that a chart shows', () => {
  it.each([
    ['lines from the first point to the last', [100, 200, 300], false, [100, 300]],
    ['bars with half a bucket on either side', [100, 200, 300], true, [50, 350]],
    ['a single point within an hour', [4_000], false, [2_200, 5_800]],
    ['a single bar within an hour', [4_000], true, [2_200, 5_800]],
  ])('%s', (_, times, isBars, range) => {
    expect(timeRange(times, isBars)).toEqual(range);
  });
});
