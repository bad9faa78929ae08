import { instantOf } from './position.ts';
import type { Position, TraceSort } from './query.ts';

/** What the order of a trace list compares; null of a trace that has no such figure. Such traces come last in both directions. */
export type TraceSortKey = bigint | number | null;

/** Which orders compare figures that a trace may not have. */
export const mayBeNull: Readonly<Record<TraceSort, boolean>> = {
  start_time: false,
  duration: true,
  cost: true,
  span_count: false,
  score: false,
};

/** Stands in a position for "no cost" and "no duration". */
const NO_KEY = '';

/** The key in a position, which comes back from a client, who may have made it up. */
export const sortKeyAt = (sort: TraceSort, part: Position[number] | undefined): TraceSortKey => {
  if (part === undefined || part === NO_KEY) return mayBeNull[sort] ? null : 0;
  return sort === 'start_time' || sort === 'duration' ? instantOf(part) : Number(part);
};

/** @param identity what tells traces with the same key apart */
export const tracePosition = (key: TraceSortKey, ...identity: Position): Position => [
  key === null ? NO_KEY : typeof key === 'bigint' ? key.toString() : key,
  ...identity,
];
