import type { DecodeContext, DecodedBatch } from '../decoded.ts';
import { parseRequest } from './groups.ts';
import { decodeLogs } from './logs.ts';
import { decodeMetrics } from './metrics.ts';
import { decodeTracesJson } from './traces-json.ts';

/**
 * Decodes an OTLP export request in JSON, and maps it.
 *
 * Ids are read as hex or base64, 64-bit integers as text or number (exactly in both), enums as number or name. Member
 * names are lowerCamelCase as OTLP demands, or those of the protobuf files. Names that nobody knows are passed over, as
 * OTLP demands too. A signal that cannot be kept is refused alone.
 * @param body the request, not compressed; never changed
 * @throws Refusal `invalid_body` when the body is not JSON (the message then begins `body is not valid JSON`) or no
 * request; `payload_too_large` above `context.maxSignals` signals, or above the bounds on JSON
 * @see Interface specification, "OTLP ingest", "OTLP attribute mapping"
 */
export const decodeOtlpJson = (
  signal: 'traces' | 'logs' | 'metrics',
  body: Uint8Array,
  context: DecodeContext,
): DecodedBatch => {
  switch (signal) {
    case 'traces':
      return decodeTracesJson(body, context);
    case 'logs':
      return decodeLogs(parseRequest(body, 'logs', context), context);
    case 'metrics':
      return decodeMetrics(parseRequest(body, 'metrics', context), context);
    default:
      return signal satisfies never;
  }
};
