import { createRedactor, type RedactionSettings } from '../ingest/redact.ts';
import type { Json, JsonObject } from '../model/json.ts';
import { emptyBatch } from '../model/signal.ts';
import type { Span } from '../model/span.ts';

/** What of a record may hold a secret. */
export type Written = { readonly input?: Json; readonly expected?: Json; readonly metadata?: JsonObject };

/**
 * Builds the stage that takes secrets out of cases and experiments which clients write. They are judged by the rules of a span's
 * payloads and attributes. What is captured from stored runs went through it when the run arrived, and does not again: an
 * identifier that is hashed would be hashed twice.
 */
export const createRecordRedactor = (settings: RedactionSettings): ((record: Written) => Written) => {
  const redact = createRedactor(settings);
  return ({ input, expected, metadata }) => {
    const carrier: Span = {
      traceId: '',
      spanId: '',
      name: '',
      kind: 'generic',
      status: 'unset',
      startTime: 0n,
      receivedAt: 0n,
      isEvent: false,
      correlation: { project: '' },
      attributes: metadata ?? {},
      events: [],
      links: [],
      ...(input === undefined ? {} : { input }),
      ...(expected === undefined ? {} : { output: expected }),
    };
    const [redacted] = redact({ ...emptyBatch, spans: [carrier] }).spans;
    if (redacted === undefined) throw new Error('a redacted record is missing from its own batch');
    return {
      ...(redacted.input === undefined ? {} : { input: redacted.input }),
      ...(redacted.output === undefined ? {} : { expected: redacted.output }),
      ...(metadata === undefined ? {} : { metadata: redacted.attributes }),
    };
  };
};
