import { MAX_UNIX_NANO, type UnixNano } from '../../model/time.ts';
import type { TraceFilter } from './query.ts';
import type { TraceFacet } from './trace-facets.ts';

/** Figures of a trace that a filter bounds. */
export type TraceFigure = 'startTime' | 'durationNs' | 'totalCost' | 'errorCount';

/**
 * One condition on a trace, as data, from which engines print their statements. A trace must meet all conditions of a query.
 *
 * - `has`: the trace has this value of the property.
 * - `bound`: the figure is known, and on this side of the value.
 * - `mean_below`: the mean of the scorer's version that judged the trace last is below the value.
 * - `text`: a span of the trace is found by the search. @see search-text.ts
 */
export type TraceCondition =
  | { readonly kind: 'has'; readonly facet: TraceFacet; readonly value: string }
  | {
      readonly kind: 'bound';
      readonly figure: TraceFigure;
      readonly is: 'at_least' | 'at_most' | 'below';
      readonly value: bigint | number;
    }
  | { readonly kind: 'mean_below'; readonly scorerId: string; readonly value: number }
  | { readonly kind: 'text'; readonly q: string };

const has =
  (facet: TraceFacet) =>
  (value: string): TraceCondition => ({ kind: 'has', facet, value });

const bound = (
  figure: TraceFigure,
  is: (TraceCondition & { kind: 'bound' })['is'],
  value: bigint | number,
): TraceCondition => ({ kind: 'bound', figure, is, value });

const NANOS_PER_MILLI = 1_000_000;

/**
 * A duration in nanoseconds: the nearest, as the product of 8.2 ms falls just short of it in floating point; at most what a
 * duration can be, as a filter may name any number.
 */
const nanosOf = (millis: number): UnixNano => {
  const nanos = Math.round(millis * NANOS_PER_MILLI);
  return nanos < Number(MAX_UNIX_NANO) ? BigInt(nanos) : MAX_UNIX_NANO;
};

type Reading<F extends keyof TraceFilter> = (
  value: NonNullable<TraceFilter[F]>,
  filter: TraceFilter,
) => TraceCondition | undefined;

/**
 * The condition of each filter of the trace list, one row a filter. The narrowest stand first: an engine that must begin with
 * one of several begins there.
 */
const readings: { readonly [F in keyof Required<TraceFilter>]: Reading<F> } = {
  runId: has('runId'),
  sessionId: has('sessionId'),
  threadId: has('threadId'),
  userId: has('userId'),
  experimentId: has('experimentId'),
  name: has('name'),
  entityName: has('entityName'),
  tag: has('tag'),
  model: has('model'),
  provider: has('provider'),
  kind: has('kind'),
  status: has('status'),
  hasError: (wanted) => (wanted ? has('hasError')('yes') : bound('errorCount', 'at_most', 0)),
  hasFeedback: has('feedback'),
  hasScore: has('score'),
  environment: has('environment'),
  serviceName: has('serviceName'),
  serviceVersion: has('serviceVersion'),
  release: has('release'),
  from: (time) => bound('startTime', 'at_least', time),
  to: (time) => bound('startTime', 'below', time),
  // No cost is below zero, so a bound of zero keeps the traces whose cost is unknown.
  minCost: (cost) => (cost > 0 ? bound('totalCost', 'at_least', cost) : undefined),
  maxCost: (cost) => bound('totalCost', 'at_most', cost),
  minDurationMs: (millis) => bound('durationNs', 'at_least', nanosOf(millis)),
  maxDurationMs: (millis) => bound('durationNs', 'at_most', nanosOf(millis)),
  scoreBelow: (value, { hasScore: scorerId }) =>
    scorerId === undefined ? undefined : { kind: 'mean_below', scorerId, value },
  q: (q) => ({ kind: 'text', q }),
};

const names = Object.keys(readings) as (keyof TraceFilter)[];

/** What a filter demands of a trace, in the order of the table above. */
export const traceConditions = (filter: TraceFilter): TraceCondition[] => {
  const read = <F extends keyof TraceFilter>(name: F, reading: Reading<F>): TraceCondition[] => {
    const value = filter[name];
    const condition = value === undefined ? undefined : reading(value, filter);
    return condition === undefined ? [] : [condition];
  };
  return names.flatMap((name) => read(name, readings[name] as Reading<keyof TraceFilter>));
};
