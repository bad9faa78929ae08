import type { Counters } from '../model/counters.ts';
import type { SignalBatch } from '../model/signal.ts';
import { parseTimestamp, type UnixNano } from '../model/time.ts';

/** Nothing that sends signals is older; a time before it is in another unit than nanoseconds, or its clock is not set. */
export const EARLIEST_PLAUSIBLE: UnixNano = parseTimestamp('2000-01-01T00:00:00Z') ?? 0n;

/** What can be wrong with the times of a signal. A signal has one doubt at most: the first that applies. */
export const timeDoubts = ['seconds', 'milliseconds', 'microseconds', 'before_2000', 'ends_before_start'] as const;
export type TimeDoubt = (typeof timeDoubts)[number];
/** How many signals each doubt applies to. */
export type DoubtfulTimes = Readonly<Record<TimeDoubt, number>>;

/** The counter of each. */
export const counterOfDoubt = {
  seconds: 'timesInSeconds',
  milliseconds: 'timesInMilliseconds',
  microseconds: 'timesInMicroseconds',
  before_2000: 'timesBefore2000',
  ends_before_start: 'endsBeforeStart',
} as const satisfies Record<TimeDoubt, keyof Counters>;

export const noDoubts: DoubtfulTimes = {
  seconds: 0,
  milliseconds: 0,
  microseconds: 0,
  before_2000: 0,
  ends_before_start: 0,
};

/**
 * Times of the years 1973 to 5138 in the coarser units, read as nanoseconds, stand apart by a factor of a thousand: the same
 * count is never plausible in two of them.
 */
const unitBounds = [
  [100_000_000n, 'before_2000'],
  [100_000_000_000n, 'seconds'],
  [100_000_000_000_000n, 'milliseconds'],
  [100_000_000_000_000_000n, 'microseconds'],
  [EARLIEST_PLAUSIBLE, 'before_2000'],
] as const satisfies readonly (readonly [UnixNano, TimeDoubt])[];

/** What is doubtful about the times of one signal. @param end absent for what has one time only, or has not ended */
export const doubtOf = (start: UnixNano, end?: UnixNano): TimeDoubt | undefined => {
  if (start < EARLIEST_PLAUSIBLE) return unitBounds.find(([bound]) => start < bound)?.[1];
  return end !== undefined && end < start ? 'ends_before_start' : undefined;
};

/** Counts the doubtful times of a batch. Nothing about the signals changes: they are stored as they were sent. */
export const countDoubtfulTimes = (batch: Pick<SignalBatch, 'spans' | 'logs' | 'metrics'>): DoubtfulTimes => {
  let counts: Record<TimeDoubt, number> | undefined;
  const note = (doubt: TimeDoubt | undefined): void => {
    if (doubt === undefined) return;
    counts ??= { ...noDoubts };
    counts[doubt] += 1;
  };
  for (const { startTime, endTime } of batch.spans) note(doubtOf(startTime, endTime));
  for (const { timestamp } of batch.logs) note(doubtOf(timestamp));
  for (const { timestamp } of batch.metrics) note(doubtOf(timestamp));
  return counts ?? noDoubts;
};

export const addDoubts = (one: DoubtfulTimes, other: DoubtfulTimes): DoubtfulTimes => {
  if (other === noDoubts) return one;
  const sum = { ...one };
  for (const doubt of timeDoubts) sum[doubt] += other[doubt];
  return sum;
};

/** What each doubt means, said of one signal or of several. */
const meanings: Readonly<Record<TimeDoubt, readonly [one: string, several: string]>> = {
  seconds: ['has a time in seconds where nanoseconds belong', 'have times in seconds where nanoseconds belong'],
  milliseconds: [
    'has a time in milliseconds where nanoseconds belong',
    'have times in milliseconds where nanoseconds belong',
  ],
  microseconds: [
    'has a time in microseconds where nanoseconds belong',
    'have times in microseconds where nanoseconds belong',
  ],
  before_2000: ['has a time before the year 2000', 'have times before the year 2000'],
  ends_before_start: ['ends before it starts', 'end before they start'],
};

/** A warning for the sender, each doubt once with its count; the empty text where there is none. */
export const warningOf = (doubts: DoubtfulTimes): string => {
  const said = timeDoubts.flatMap((doubt) => {
    const count = doubts[doubt];
    const [one, several] = meanings[doubt];
    if (count === 0) return [];
    return [count === 1 ? `1 signal ${one}` : `${count} signals ${several}`];
  });
  return said.length === 0 ? '' : `stored as sent, but ${said.join('; ')}: correct the sender`;
};
