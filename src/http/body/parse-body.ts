import { parseCounted } from '../../ingest/json-text.ts';
import { KeyCount, mostKeys } from '../../ingest/keys.ts';
import { jsonBoundsWithin, WorkCount } from '../../ingest/work.ts';
import type { Json } from '../../model/json.ts';

/** Members of the body itself are those that the call names. */
const CALL_DEPTH = 1;

/**
 * Parses the JSON body of a call within the bounds that the ingest doors have: values, members, names, and the work of all that it
 * says. What a call brings is checked, redacted and stored on the main thread, and often kept beside signals, so it may cost no more
 * than they do. It is counted as a payload of a span before a schema or the redaction has seen it, so that no call is left out.
 *
 * Bodies of runs have the same bounds: what a state or an output says is read and written as often, and a name that is new costs the
 * reader alone several microseconds. Who keeps more than ten thousand things by their ids sends a list of them.
 * @param receivedBytes bytes received of it, before they were inflated
 * @param maxWork `mostWork` of as many, in nanoseconds
 * @throws Refusal `invalid_body`, `payload_too_large`
 */
export const parseBody = (bytes: Uint8Array, receivedBytes: number, maxWork: number): Json => {
  const keys = new KeyCount(mostKeys(receivedBytes));
  const body = parseCounted(bytes, jsonBoundsWithin(bytes.length, maxWork), keys, CALL_DEPTH);
  new WorkCount().addPayload(bytes.length, body, maxWork);
  return body;
};
