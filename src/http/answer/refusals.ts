import type { SignalRefusal } from '../../ingest/decoded.ts';
import { warningOf } from '../../ingest/doubtful-times.ts';
import type { IngestResult } from '../../ingest/pipeline.ts';

/** How many different reasons an OTLP answer names; a batch may be refused for thousands, mostly the same. */
const NAMED_REASONS = 5;

/** Refusals in a sentence: each reason once with its count, the commonest first. */
export const summarise = (refusals: readonly SignalRefusal[]): string => {
  const counts = new Map<string, number>();
  for (const { message } of refusals) counts.set(message, (counts.get(message) ?? 0) + 1);
  const reasons = [...counts].toSorted((a, b) => b[1] - a[1]);
  const named = reasons
    .slice(0, NAMED_REASONS)
    .map(([message, count]) => (count === 1 ? message : `${message} (${count} times)`));
  const unnamed = reasons.slice(NAMED_REASONS).reduce((sum, [, count]) => sum + count, 0);
  return unnamed === 0 ? named.join('; ') : `${named.join('; ')}; and ${unnamed} more`;
};

/**
 * What OTLP tells a sender beside the number of refused signals: why they were refused, and what is doubtful about those that were
 * stored. Empty when there is nothing to say.
 * @see opentelemetry-proto, `ExportTracePartialSuccess.error_message`: with nothing rejected it is a warning
 */
export const partialSuccessText = ({ refusals, doubtfulTimes }: IngestResult): string =>
  [summarise(refusals), warningOf(doubtfulTimes)].filter((text) => text !== '').join('; ');
