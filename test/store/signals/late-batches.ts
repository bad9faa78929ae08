import * as fc from 'fast-check';
import type { SignalBatch } from '../../../src/model/signal.ts';
import type { Span } from '../../../src/model/span.ts';
import { aScore, aSpan, spanIdOf, T0 } from './factories.ts';

/** Spans of a trace with the ids of these numbers. */
export const spansOf = (traceId: string, from: number, to: number): Span[] =>
  Array.from({ length: to - from }, (_, n) => aSpan({ traceId, spanId: spanIdOf(from + n) }));

/** A batch that adds spans to one of three traces, or replaces some, and may judge it. */
export const aDrawnBatch = fc.record({
  trace: fc.nat(2),
  from: fc.nat(60),
  spans: fc.integer({ min: 1, max: 50 }),
  user: fc.constantFrom('ann', 'bob', undefined),
  start: fc.nat(3),
  score: fc.option(fc.nat(3), { nil: undefined }),
});
type DrawnBatch = typeof aDrawnBatch extends fc.Arbitrary<infer T> ? T : never;

/** What a drawn batch sends. @param ids of the three traces */
export const batchOf = (
  { trace, from, spans, user, start, score }: DrawnBatch,
  ids: readonly string[],
): Partial<SignalBatch> => {
  const traceId = ids[trace] ?? '';
  return {
    spans: spansOf(traceId, from, from + spans).map((span) => ({
      ...span,
      startTime: T0 + BigInt(start),
      correlation: { ...span.correlation, ...(user === undefined ? {} : { userId: user }) },
    })),
    scores: score === undefined ? [] : [aScore({ scoreId: `${traceId}/${score}`, traceId, value: score / 3 })],
  };
};
