import { Refusal, type Result } from '../model/failure.ts';
import { recordIdOf } from '../model/ids.ts';
import { type SignalName, signalNames } from '../model/signal.ts';
import type { DecodeContext, DecodedBatch, SignalRefusal } from './decoded.ts';
import { decodeAspectNote } from './native/aspect-note.ts';
import { decodeFeedback } from './native/feedback.ts';
import { decodeNativeLog } from './native/log.ts';
import { decodeNativeMetric } from './native/metric.ts';
import { decodeScore } from './native/score.ts';
import { decodeNativeSpan } from './native/span.ts';
import { tooManySignals } from './otlp/bounds.ts';

export { decodeAspectNote } from './native/aspect-note.ts';
export { decodeFeedback } from './native/feedback.ts';
export { decodeNativeLog } from './native/log.ts';
export { decodeNativeMetric } from './native/metric.ts';
export { decodeScore } from './native/score.ts';
export { decodeNativeSpan } from './native/span.ts';

const INGEST_KEY = 'ingest_key';
const LONGEST_INGEST_KEY = 512;

const refuse = (batch: number, message: string, field?: string): Refusal =>
  new Refusal({ code: 'invalid_body', message: `batch ${batch} ${message}`, ...(field !== undefined && { field }) });

/** The arrays of a batch object, checked before any signal is read. */
const openBatch = (
  element: unknown,
  batch: number,
): { ingestKey?: string; signals: Map<SignalName, readonly unknown[]> } => {
  if (typeof element !== 'object' || element === null || Array.isArray(element))
    throw refuse(batch, 'must be a JSON object with arrays of signals');
  const members = element as Readonly<Record<string, unknown>>;
  const signals = new Map<SignalName, readonly unknown[]>();
  let ingestKey: string | undefined;
  for (const name of Object.keys(members)) {
    const value = members[name];
    if (value === null || value === undefined) continue;
    const signal = signalNames.find((known) => known === name);
    if (signal !== undefined) {
      if (!Array.isArray(value)) throw refuse(batch, `has ${name} that are not an array`, name);
      signals.set(signal, value);
    } else if (name === INGEST_KEY) {
      // An empty one is a key that was never made: taken as none, a resend would be stored twice.
      if (typeof value !== 'string' || value === '' || value.length > LONGEST_INGEST_KEY)
        throw refuse(
          batch,
          `has an ${INGEST_KEY} that is not a string of 1 to ${LONGEST_INGEST_KEY} characters; leave it out where there is none`,
          name,
        );
      ingestKey = value;
    } else {
      // A misspelt array would lose all of its signals in silence.
      throw refuse(
        batch,
        `has the unknown member ${JSON.stringify(name.slice(0, 64))}; the members are ${INGEST_KEY}, ${signalNames.join(', ')}`,
        name,
      );
    }
  }
  return { ...(ingestKey !== undefined && { ingestKey }), signals };
};

/**
 * Decodes one batch object of the native ingest. A signal that cannot be kept is refused alone.
 * @param element the batch, as parsed by `parseJsonText`
 * @param batchIndex position of the batch in the request; named in each refusal
 * @throws Refusal `invalid_body` when the element is no batch: then the whole request is refused; `payload_too_large`
 * when this batch alone has more than `context.maxSignals` signals
 * @see Interface specification, "Native ingest"; Interface decisions, "4. Signals, native names"
 */
export const decodeNativeBatch = (element: unknown, batchIndex: number, context: DecodeContext): DecodedBatch => {
  const { ingestKey, signals } = openBatch(element, batchIndex);
  let found = 0;
  for (const list of signals.values()) found += list.length;
  if (found > context.maxSignals) throw tooManySignals(found, context.maxSignals);
  const refusals: SignalRefusal[] = [];

  const readAll = <T>(signal: SignalName, decode: (record: unknown, context: DecodeContext) => Result<T>): T[] => {
    const kept: T[] = [];
    (signals.get(signal) ?? []).forEach((record, index) => {
      // A batch with a key gets the same ids when it is sent again. They follow from the content too: another batch under a key that was
      // used before, long ago or by somebody else, must not replace what that one stored.
      const makeRecordId = (): string => recordIdOf(JSON.stringify([ingestKey, signal, index, record]));
      const result = decode(record, ingestKey === undefined ? context : { ...context, makeRecordId });
      if (result.ok) {
        kept.push(result.value);
        return;
      }
      const { code, message, field } = result.failure;
      refusals.push({
        batch: batchIndex,
        signal,
        index,
        code,
        message,
        ...(field !== undefined && field !== '' && { field }),
      });
    });
    return kept;
  };

  const batch = {
    spans: readAll('spans', decodeNativeSpan),
    logs: readAll('logs', decodeNativeLog),
    metrics: readAll('metrics', decodeNativeMetric),
    scores: readAll('scores', decodeScore),
    feedback: readAll('feedback', decodeFeedback),
    aspectNotes: readAll('aspect_notes', decodeAspectNote),
  };
  return { ...(ingestKey !== undefined && { ingestKey }), batch, refusals };
};
