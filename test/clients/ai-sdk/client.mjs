// The AI SDK with its OpenTelemetry integration: one generateText with a tool, one streamText.
import { createOpenAI } from '@ai-sdk/openai';
import { OpenTelemetry } from '@ai-sdk/otel';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText, isStepCount, registerTelemetry, streamText, tool } from 'ai';
import { z } from 'zod';

const { SVC_URL, MODEL_URL, OTLP_ENCODING } = process.env;
const TraceExporter = OTLP_ENCODING === 'protobuf' ? ProtobufTraceExporter : JsonTraceExporter;
const sdk = new NodeSDK({ traceExporter: new TraceExporter({ url: `${SVC_URL}/v1/traces` }) });
sdk.start();
registerTelemetry(new OpenTelemetry());

const openai = createOpenAI({ apiKey: 'none', baseURL: MODEL_URL });
await generateText({
  model: openai.chat('gpt-4o-mini'),
  prompt: 'Refund order A-17',
  tools: {
    look_up_order: tool({
      description: 'Finds an order',
      inputSchema: z.object({ order: z.string() }),
      execute: async ({ order }) => ({ order, amount: 42 }),
    }),
  },
  stopWhen: isStepCount(3),
  telemetry: { isEnabled: true, functionId: 'refund' },
  experimental_telemetry: { isEnabled: true, functionId: 'refund' },
});
const stream = streamText({ model: openai.chat('gpt-4o-mini'), prompt: 'Summarise order A-17' });
await stream.consumeStream();
await sdk.shutdown();
