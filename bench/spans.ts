import {
  type WireRequest,
  type WireSpan,
  attributesOf,
  encodeTraces,
  encodeTracesJson,
} from '../test/ingest/otlp/request-codec.ts';
import { proseFrom } from './prose.ts';

/**
 * Realistic traces for benchmarks: an agent with four model calls and three tool calls a trace, in two styles that
 * instrumentations write (OpenTelemetry GenAI and OpenInference), some twenty attributes and 1.2 KB of prose a span.
 * The same seed gives the same bytes.
 */
const randomFrom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
};

const MODELS = ['gpt-4o-mini', 'gpt-4.1', 'claude-sonnet-4-20250514', 'gemini-2.5-flash'] as const;

export type TraceBodies = {
  readonly protobuf: Buffer;
  readonly json: Buffer;
  readonly request: WireRequest;
  readonly spans: number;
};

/**
 * @param spans spans in the body, eight a trace
 * @param seed other seeds give other ids and texts
 */
const makeTraceRequest = (spans = 512, seed = 1): WireRequest => {
  const random = randomFrom(seed * 7919);
  const hex = (bytes: number): string => {
    let text = '';
    while (text.length < bytes * 2)
      text += Math.floor(random() * 65536)
        .toString(16)
        .padStart(4, '0');
    return text.slice(0, bytes * 2 - 1) + '1';
  };
  const prose = proseFrom(seed);
  const list: WireSpan[] = [];
  // Of this minute: old spans would be what a retention takes first.
  const start = BigInt(Math.floor(Date.now() / 60_000) * 60 + seed) * 1_000_000_000n;
  while (list.length < spans) {
    const traceId = hex(16);
    const root = hex(8);
    const session = `session-${hex(6)}`;
    const user = `user-${hex(4)}`;
    const style = list.length % 16 === 0 ? 'openinference' : 'gen_ai';
    const common = {
      'session.id': session,
      'user.id': user,
      'svc.tags': ['bench', 'refunds'],
      'deployment.ring': 'blue',
    };
    for (let i = 0; i < 8 && list.length < spans; i++) {
      const at = start + BigInt(list.length) * 1_000_000n + BigInt(Math.floor(random() * 1000));
      const model = MODELS[Math.floor(random() * MODELS.length)] as string;
      const input = JSON.stringify([{ role: 'user', content: prose(720) }]);
      const output = JSON.stringify([{ role: 'assistant', content: prose(400) }]);
      const inTokens = 100 + Math.floor(random() * 900);
      const outTokens = 20 + Math.floor(random() * 300);
      let attributes: Record<string, unknown>;
      if (i === 0)
        attributes = {
          ...common,
          ...(style === 'gen_ai'
            ? {
                'gen_ai.operation.name': 'invoke_agent',
                'gen_ai.agent.name': 'refund-agent',
                'gen_ai.agent.id': hex(8),
              }
            : { 'openinference.span.kind': 'AGENT', 'agent.name': 'refund-agent' }),
          'input.value': input,
          'output.value': output,
          'input.mime_type': 'application/json',
          'output.mime_type': 'application/json',
          'agent.iterations': 4,
          'agent.budget': 0.25,
          'agent.streaming': false,
          'app.tenant': `tenant-${Math.floor(random() * 20)}`,
          'app.region': 'eu-west-1',
          'code.function.name': 'runAgent',
          'code.file.path': 'src/agents/refund.ts',
          'thread.id': 1,
        };
      else if (i % 2 === 1)
        attributes = {
          ...common,
          ...(style === 'gen_ai'
            ? {
                'gen_ai.operation.name': 'chat',
                'gen_ai.system': 'openai',
                'gen_ai.request.model': model,
                'gen_ai.response.model': model,
                'gen_ai.response.id': `chatcmpl-${hex(12)}`,
                'gen_ai.response.finish_reasons': ['stop'],
                'gen_ai.request.temperature': 0.2,
                'gen_ai.request.max_tokens': 1024,
                'gen_ai.usage.input_tokens': inTokens,
                'gen_ai.usage.output_tokens': outTokens,
                'gen_ai.usage.cache_read.input_tokens': Math.floor(inTokens / 3),
                'gen_ai.prompt': input,
                'gen_ai.completion': output,
              }
            : {
                'openinference.span.kind': 'LLM',
                'llm.model_name': model,
                'llm.provider': 'openai',
                'llm.system': 'openai',
                'llm.invocation_parameters': '{"temperature":0.2,"max_tokens":1024}',
                'llm.token_count.prompt': inTokens,
                'llm.token_count.completion': outTokens,
                'llm.token_count.total': inTokens + outTokens,
                'llm.token_count.prompt_details.cache_read': Math.floor(inTokens / 3),
                'input.value': input,
                'output.value': output,
                'input.mime_type': 'application/json',
                'output.mime_type': 'application/json',
              }),
          'server.address': 'api.openai.com',
          'server.port': 443,
          'http.response.status_code': 200,
          'app.tenant': `tenant-${Math.floor(random() * 20)}`,
        };
      else
        attributes = {
          ...common,
          ...(style === 'gen_ai'
            ? {
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': 'lookup_order',
                'gen_ai.tool.type': 'function',
              }
            : { 'openinference.span.kind': 'TOOL', 'tool.name': 'lookup_order' }),
          'gen_ai.tool.call.id': `call_${hex(12)}`,
          'input.value': input,
          'output.value': output,
          'input.mime_type': 'application/json',
          'output.mime_type': 'application/json',
          'tool.cached': false,
          'tool.duration_ms': random() * 100,
          'db.system.name': 'postgresql',
          'db.collection.name': 'orders',
          'app.tenant': `tenant-${Math.floor(random() * 20)}`,
          'app.region': 'eu-west-1',
          'code.function.name': 'lookupOrder',
        };
      list.push({
        traceId,
        spanId: i === 0 ? root : hex(8),
        ...(i > 0 && { parentSpanId: root }),
        name: i === 0 ? 'invoke_agent refund-agent' : i % 2 === 1 ? `chat ${model}` : 'execute_tool lookup_order',
        kind: i % 2 === 1 ? 3 : 1,
        startTimeUnixNano: at.toString(),
        endTimeUnixNano: (at + 250_000_000n).toString(),
        attributes: attributesOf(attributes),
        status: { code: random() < 0.02 ? 2 : 0 },
      });
    }
  }
  return {
    resourceSpans: [
      {
        resource: {
          attributes: attributesOf({
            'service.name': 'refunds',
            'service.version': '1.42.0',
            'deployment.environment.name': 'production',
            'telemetry.sdk.language': 'nodejs',
            'telemetry.sdk.name': 'opentelemetry',
            'telemetry.sdk.version': '2.12.0',
            'process.pid': 4242,
            'host.name': 'worker-7',
          }),
        },
        scopeSpans: [{ scope: { name: '@example/instrumentation', version: '0.9.0' }, spans: list }],
      },
    ],
  };
};

/** One request in both encodings. */
export const makeTraceBodies = (spans = 512, seed = 1): TraceBodies => {
  const request = makeTraceRequest(spans, seed);
  return { protobuf: encodeTraces(request), json: encodeTracesJson(request), request, spans };
};
