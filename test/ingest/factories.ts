import type { DecodeContext, DecodedBatch } from '../../src/ingest/decoded.ts';
import { decodeOtlpJson } from '../../src/ingest/otlp/json.ts';
import { decodeTracesProtobuf } from '../../src/ingest/otlp/protobuf.ts';
import type { Span } from '../../src/model/span.ts';
import { aRequest, aWireSpan, encodeTraces, encodeTracesJson, type WireSpan } from './otlp/request-codec.ts';

export const RECEIVED_AT = 1_700_000_100_000_000_000n;

export const aContext = (changes: Partial<DecodeContext> = {}): DecodeContext => ({
  receivedAt: RECEIVED_AT,
  defaultProject: 'the-default',
  maxSignals: 10_000,
  ...changes,
});

export const decodeBoth = (
  spans: readonly WireSpan[],
  resource: Record<string, unknown> = {},
  scopeName?: string,
): { protobuf: DecodedBatch; json: DecodedBatch } => {
  const request = aRequest(spans, resource, scopeName);
  return {
    protobuf: decodeTracesProtobuf(encodeTraces(request), aContext()),
    json: decodeOtlpJson('traces', encodeTracesJson(request), aContext()),
  };
};

/** The one span that these attributes make, through the protobuf door. */
export const mapped = (
  attributes: Record<string, unknown>,
  resource: Record<string, unknown> = {},
  rest: WireSpan = {},
  scopeName?: string,
): Span => {
  const [span] = decodeBoth([aWireSpan(attributes, rest)], resource, scopeName).protobuf.batch.spans;
  if (span === undefined) throw new Error('the span was refused');
  return span;
};
