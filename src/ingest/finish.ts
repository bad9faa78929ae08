import { countSignals, emptyBatch, type SignalBatch } from '../model/signal.ts';
import { batchLists } from './gate.ts';
import { priceSpans } from './price.ts';
import { builtinPriceBook } from './price-book.ts';
import { createRedactor, type RedactionSettings } from './redact.ts';

/** How signals are finished, as plain data that can be sent to a thread. */
export type FinishConfig = { readonly redaction: RedactionSettings };

/**
 * Builds what is done to every signal before it is written: redact, then price. Both know the signal alone, so the order of
 * signals and the thread they are finished on make no difference.
 * @see Interface specification, "Ingest pipeline", steps 3 and 4
 */
export const createFinish = ({ redaction }: FinishConfig): ((batch: SignalBatch) => SignalBatch) => {
  const redact = createRedactor(redaction);
  return (batch) => {
    const redacted = redact(batch);
    return { ...redacted, spans: priceSpans(redacted.spans, builtinPriceBook) };
  };
};

/** A batch in parts of at most so many signals each, in order; none for an empty batch, itself when it is small enough. */
export function* sliceBatch(batch: SignalBatch, signals: number): Generator<SignalBatch> {
  const count = countSignals(batch);
  if (count === 0) return;
  if (count <= signals) {
    yield batch;
    return;
  }
  for (const [list] of batchLists)
    for (let start = 0; start < batch[list].length; start += signals)
      yield { ...emptyBatch, [list]: batch[list].slice(start, start + signals) };
}
