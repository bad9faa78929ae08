import { describe, expect, it } from 'vitest';
import {
  addDoubts,
  countDoubtfulTimes,
  doubtOf,
  EARLIEST_PLAUSIBLE,
  noDoubts,
  warningOf,
} from '../../src/ingest/doubtful-times.ts';
import { emptyBatch } from '../../src/model/signal.ts';
import { parseTimestamp } from '../../src/model/time.ts';
import { aLog, aSpan, noon } from './signals.ts';

const nanosOf = (text: string): bigint => parseTimestamp(text) ?? 0n;

describe('the times of one signal', () => {
  it.each(['1973-03-03T12:00:00Z', '1999-12-31T00:00:00Z', '2026-11-20T12:00:00Z', '2100-01-01T00:00:00Z'])(
    'of %s are known for seconds, milliseconds and microseconds, whichever was sent for nanoseconds',
    (text) => {
      const nanos = nanosOf(text);
      expect(doubtOf(nanos / 1_000_000_000n)).toBe('seconds');
      expect(doubtOf(nanos / 1_000_000n)).toBe('milliseconds');
      expect(doubtOf(nanos / 1000n)).toBe('microseconds');
    },
  );

  it.each([
    [1n, 'before_2000'],
    [99_999_999n, 'before_2000'],
    [100_000_000n, 'seconds'],
    [99_999_999_999n, 'seconds'],
    [100_000_000_000n, 'milliseconds'],
    [99_999_999_999_999n, 'milliseconds'],
    [100_000_000_000_000n, 'microseconds'],
    [99_999_999_999_999_999n, 'microseconds'],
    [100_000_000_000_000_000n, 'before_2000'],
    [EARLIEST_PLAUSIBLE - 1n, 'before_2000'],
    [EARLIEST_PLAUSIBLE, undefined],
    [noon, undefined],
  ])('%s ns since 1970: %s', (start, doubt) => expect(doubtOf(start)).toBe(doubt));

  it('an end may be at the start, and not a nanosecond before it', () => {
    expect(doubtOf(noon, noon)).toBeUndefined();
    expect(doubtOf(noon, noon - 1n)).toBe('ends_before_start');
  });

  it('a start in another unit is one doubt, whatever the end', () =>
    expect(doubtOf(noon / 1_000_000n, 1n)).toBe('milliseconds'));
});

describe('a batch', () => {
  it('counts each signal once, spans, logs and metric points alike', () => {
    const inMilliseconds = noon / 1_000_000n;
    const point = {
      name: 'm',
      type: 'gauge',
      receivedAt: noon,
      attributes: {},
      correlation: { project: 'p' },
    } as const;
    const counted = countDoubtfulTimes({
      ...emptyBatch,
      spans: [
        aSpan(),
        aSpan({ startTime: inMilliseconds, endTime: inMilliseconds + 5n }),
        aSpan({ startTime: noon, endTime: noon - 1n }),
        aSpan({ startTime: noon, endTime: 1n }),
      ],
      logs: [aLog(), aLog({ timestamp: inMilliseconds })],
      metrics: [
        { ...point, timestamp: noon / 1000n, exemplars: [] },
        { ...point, timestamp: noon, exemplars: [] },
      ],
    });
    expect(counted).toEqual({ ...noDoubts, milliseconds: 2, microseconds: 1, ends_before_start: 2 });
    expect(addDoubts(counted, counted)).toEqual({
      ...noDoubts,
      milliseconds: 4,
      microseconds: 2,
      ends_before_start: 4,
    });
  });

  it('a span that has not ended has no end before its start', () => {
    const { endTime: _endTime, ...running } = aSpan();
    expect(countDoubtfulTimes({ ...emptyBatch, spans: [running] })).toEqual(noDoubts);
  });

  it('the warning says each doubt once, with its count, and nothing where there is none', () => {
    expect(warningOf(noDoubts)).toBe('');
    expect(warningOf({ ...noDoubts, seconds: 1, microseconds: 2, before_2000: 1, ends_before_start: 3 })).toBe(
      'stored as sent, but 1 signal has a time in seconds where nanoseconds belong; ' +
        '2 signals have times in microseconds where nanoseconds belong; ' +
        '1 signal has a time before the year 2000; 3 signals end before they start: correct the sender',
    );
  });
});
