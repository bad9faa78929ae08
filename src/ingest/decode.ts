import { Refusal } from '../model/failure.ts';
import { countSignals } from '../model/signal.ts';
import type { DecodeContext, DecodedBatch } from './decoded.ts';
import { looksDense, parseCounted } from './json-text.ts';
import { KeyCount, MOST_KEYS } from './keys.ts';
import { manyBatches } from './limits.ts';
import { decodeNativeBatch } from './native.ts';
import { decodeOtlpJson } from './otlp/json.ts';
import { decodeLogs } from './otlp/logs.ts';
import { decodeMetrics } from './otlp/metrics.ts';
import { readProtobufTree } from './otlp/protobuf-tree.ts';
import { decodeTracesProtobuf } from './otlp/protobuf.ts';
import { jsonBoundsWithin, WorkCount } from './work.ts';

export type OtlpSignal = 'traces' | 'logs' | 'metrics';

/** Bytes to decode, and as what. The bytes are never changed, so that decoding may start again elsewhere. */
export type Payload =
  | { readonly kind: 'otlp_protobuf'; readonly signal: OtlpSignal; readonly body: Uint8Array }
  | { readonly kind: 'otlp_json'; readonly signal: OtlpSignal; readonly body: Uint8Array }
  /** One batch object or an array of them. */
  | { readonly kind: 'native'; readonly body: Uint8Array }
  /** One batch object: the `element`-th of a stream. */
  | { readonly kind: 'native_line'; readonly body: Uint8Array; readonly element: number };

/**
 * Largest bodies that are decoded on the main thread, in bytes: those that take a few milliseconds. Larger ones would
 * hold everybody up for longer than handing them to the decode thread and back costs.
 */
const MAIN_THREAD_BYTES = { protobuf: 3 * 1024 * 1024, json: 2 * 1024 * 1024, tree: 512 * 1024 } as const;
/** The same while others want the event loop: those that take less than a millisecond, and leave it little garbage. */
export const SHORT_BYTES = 64 * 1024;

/** So small that whatever it holds is read in less time than handing it over takes. */
const TINY_BYTES = 4 * 1024;

/** Whether decoding takes a few milliseconds at most, by the size of the body; else it would be better off the main thread. */
export const isLight = (payload: Payload): boolean => {
  if (payload.body.length <= TINY_BYTES) return true;
  if (payload.kind !== 'otlp_protobuf')
    return payload.body.length <= MAIN_THREAD_BYTES.json && !looksDense(payload.body);
  return payload.body.length <= (payload.signal === 'traces' ? MAIN_THREAD_BYTES.protobuf : MAIN_THREAD_BYTES.tree);
};

/** Whether decoding is too short to delay other work on the event loop. */
export const isShort = (payload: Payload): boolean => payload.body.length <= SHORT_BYTES;

const tooManyBatches = (maxSignals: number): Refusal =>
  new Refusal({ code: 'payload_too_large', message: manyBatches(maxSignals) });

/** Members down to here are those that the protocol names: of a batch, of its lists, of its signals. */
const BATCH_DEPTH = 3;
const OPEN_ARRAY = 0x5b;

const keysOf = (context: DecodeContext): KeyCount => new KeyCount(context.maxKeys ?? MOST_KEYS);

/** The first byte that is no white space. */
const firstByte = (body: Uint8Array): number | undefined => {
  let at = 0;
  while (at < body.length && (body[at] as number) <= 0x20) at += 1;
  return body[at];
};

/** Parses one line of a stream. What cannot be read is named by its position, as the sender has no other way to find it. */
const parseLine = (line: Uint8Array, element: number, maxWork: number | undefined, keys: KeyCount): unknown => {
  try {
    return parseCounted(line, jsonBoundsWithin(line.length, maxWork), keys, BATCH_DEPTH);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal({ ...error.failure, message: `batch ${element} of the stream: ${error.failure.message}` });
  }
};

const decodeOtlpProtobuf = (
  signal: OtlpSignal,
  body: Uint8Array,
  context: DecodeContext,
  nodeBudget: number | undefined,
): DecodedBatch => {
  switch (signal) {
    case 'traces':
      return decodeTracesProtobuf(body, context, nodeBudget);
    case 'logs':
      return decodeLogs(readProtobufTree('logs', body, nodeBudget, context.maxKeys), context);
    case 'metrics':
      return decodeMetrics(readProtobufTree('metrics', body, nodeBudget, context.maxKeys), context);
    default:
      return signal satisfies never;
  }
};

const decodeElements = (payload: Payload, context: DecodeContext, nodeBudget?: number): DecodedBatch[] => {
  switch (payload.kind) {
    case 'otlp_protobuf':
      return [decodeOtlpProtobuf(payload.signal, payload.body, context, nodeBudget)];
    case 'otlp_json':
      return [decodeOtlpJson(payload.signal, payload.body, context)];
    case 'native': {
      const isList = firstByte(payload.body) === OPEN_ARRAY;
      const bounds = jsonBoundsWithin(payload.body.length, context.maxWork);
      const parsed = parseCounted(payload.body, bounds, keysOf(context), isList ? BATCH_DEPTH + 1 : BATCH_DEPTH);
      const elements: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
      if (elements.length > context.maxSignals) throw tooManyBatches(context.maxSignals);
      const batches = elements.map((element, index) => decodeNativeBatch(element, index, context));
      let found = 0;
      let empty = 0;
      for (const { batch, refusals } of batches) {
        const signals = countSignals(batch) + refusals.length;
        found += signals;
        if (signals === 0) empty += 1;
      }
      // Signals alone over the bound are refused where all of a request are counted.
      if (found <= context.maxSignals && found + empty > context.maxSignals) throw tooManyBatches(context.maxSignals);
      return batches;
    }
    default: {
      const keys = keysOf(context);
      const parsed = parseLine(payload.body, payload.element, context.maxWork, keys);
      return [{ ...decodeNativeBatch(parsed, payload.element, context), keys: keys.count }];
    }
  }
};

/**
 * Decodes one payload into its batch elements, in the order of the request.
 * @param nodeBudget bounds the work on a protobuf body; without it the work is bounded by the body's size alone
 * @param count has counted earlier payloads of the request
 * @throws Refusal when the payload as a whole cannot be read, or is more work than it may be; BudgetExceeded
 */
export const decodePayload = (
  payload: Payload,
  context: DecodeContext,
  nodeBudget?: number,
  count = new WorkCount(),
): DecodedBatch[] => {
  const elements = decodeElements(payload, context, nodeBudget);
  if (context.maxWork === undefined) return elements;
  const work = count.add(payload.body.length, elements, context.maxWork);
  return payload.kind === 'native_line' ? elements.map((element) => ({ ...element, work })) : elements;
};
