import type { DecodeContext, DecodedBatch } from '../decoded.ts';
import { decodeTracesJson } from './traces-json.ts';

/** @see Interface specification, "OTLP ingest" */
export const decodeOtlpJson = (
  signal: 'traces' | 'logs' | 'metrics',
  body: Uint8Array,
  context: DecodeContext,
): DecodedBatch => {
  if (signal === 'traces') return decodeTracesJson(body, context);
  throw new Error(`no decoder for ${signal} yet`);
};
