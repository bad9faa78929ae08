// The OpenAI client under OpenInference's instrumentation.
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { setSession, setUser } from '@arizeai/openinference-core';
import { context } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import OpenAI from 'openai';

const { SVC_URL, MODEL_URL, OTLP_ENCODING } = process.env;
const TraceExporter = OTLP_ENCODING === 'protobuf' ? ProtobufTraceExporter : JsonTraceExporter;
const provider = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new TraceExporter({ url: `${SVC_URL}/v1/traces` }))],
});
provider.register();
const instrumentation = new OpenAIInstrumentation();
instrumentation.manuallyInstrument(OpenAI);

const client = new OpenAI({ apiKey: 'none', baseURL: MODEL_URL });
const inSession = setUser(setSession(context.active(), { sessionId: 'session-oi' }), { userId: 'user-oi' });
await context.with(inSession, () =>
  client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You handle refunds.' },
      { role: 'user', content: 'Refund order A-17' },
    ],
  }),
);
await provider.forceFlush();
await provider.shutdown();
