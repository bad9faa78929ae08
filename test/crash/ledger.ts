import { randomBytes } from 'node:crypto';

/** A small seeded generator, so that a failing campaign is played again from the printed number. @see Mulberry32 */
export const seededRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** What one batch was, and what the daemon said of it: `unknown` is a call whose answer never came. */
export type Entry = {
  readonly traceId: string;
  readonly door: 'otlp' | 'native';
  readonly ingestKey?: string;
  readonly spans: number;
  readonly body: string;
  outcome: 'unknown' | 'acknowledged';
};

const TOKENS = { input: 1000, output: 100 } as const;
/** gpt-4o-mini at 0.15 and 0.60 US dollars a million tokens. */
export const COST_PER_SPAN = (TOKENS.input * 0.15 + TOKENS.output * 0.6) / 1e6;

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/**
 * One OTLP/JSON request: a trace of `spans` priced model calls, all below one root.
 * @param filler is added to each output, so that a batch weighs something
 */
export const otlpEntry = (spans: number, now: bigint, filler = ''): Entry => {
  const traceId = hex(16);
  const rootId = hex(8);
  const attribute = (key: string, value: string | number) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  });
  const body = JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', 'crash')] },
        scopeSpans: [
          {
            scope: { name: 'crash' },
            spans: Array.from({ length: spans }, (_, index) => ({
              traceId,
              spanId: index === 0 ? rootId : hex(8),
              ...(index === 0 ? {} : { parentSpanId: rootId }),
              name: `call ${index}`,
              startTimeUnixNano: String(now + BigInt(index)),
              endTimeUnixNano: String(now + BigInt(index) + 1_000_000n),
              attributes: [
                attribute('gen_ai.operation.name', 'chat'),
                attribute('gen_ai.system', 'openai'),
                attribute('gen_ai.request.model', 'gpt-4o-mini'),
                attribute('gen_ai.usage.input_tokens', TOKENS.input),
                attribute('gen_ai.usage.output_tokens', TOKENS.output),
                attribute('input.value', `question ${index} of batch ${traceId}`),
                attribute('output.value', `answer ${index} ${filler}`),
              ],
            })),
          },
        ],
      },
    ],
  });
  return { traceId, door: 'otlp', spans, body, outcome: 'unknown' };
};

/** One keyed native batch that holds all six signals about one trace. */
export const nativeEntry = (spans: number, now: bigint, filler = ''): Entry => {
  const traceId = hex(16);
  const ingestKey = `key-${traceId}`;
  const at = new Date(Number(now / 1_000_000n)).toISOString();
  const body = JSON.stringify({
    ingest_key: ingestKey,
    spans: Array.from({ length: spans }, (_, index) => ({
      trace_id: traceId,
      span_id: hex(8),
      name: `call ${index}`,
      kind: 'model_generation',
      start_time: at,
      end_time: at,
      model: 'gpt-4o-mini',
      usage: { input_tokens: TOKENS.input, output_tokens: TOKENS.output },
      input: `question ${index} of batch ${traceId}`,
      output: `answer ${index} ${filler}`,
    })),
    logs: [{ timestamp: at, severity: 'info', message: `log of ${traceId}`, trace_id: traceId }],
    metrics: [{ name: `crash_${traceId}`, type: 'gauge', timestamp: at, value: 1 }],
    scores: [{ score_id: '', trace_id: traceId, scorer_id: 'quality', value: 0.5, timestamp: at }],
    feedback: [{ feedback_id: '', trace_id: traceId, kind: 'thumbs', value: 'up', timestamp: at }],
    aspect_notes: [{ trace_id: traceId, aspect: 'tone', text: 'Friendly.', timestamp: at }],
  });
  return { traceId, door: 'native', ingestKey, spans, body, outcome: 'unknown' };
};
