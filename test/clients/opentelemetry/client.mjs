// The OpenTelemetry JS SDK as its documentation sets it up: traces in protobuf or JSON, logs and metrics in JSON, gzip; or all
// three over gRPC, whose exporters are set up by OTEL_EXPORTER_OTLP_*.
import { metrics, SpanStatusCode, trace } from '@opentelemetry/api';
import * as api from '@opentelemetry/api';
import { OTLPLogExporter as GrpcLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPMetricExporter as GrpcMetricExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter as GrpcTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';

const { SVC_URL, OTLP_ENCODING, OTLP_COMPRESSION, PAYLOAD_BYTES } = process.env;
const compression = OTLP_COMPRESSION ?? 'none';
const TraceExporter = OTLP_ENCODING === 'protobuf' ? ProtobufTraceExporter : JsonTraceExporter;
const exporters =
  OTLP_ENCODING === 'grpc'
    ? { traces: new GrpcTraceExporter(), metrics: new GrpcMetricExporter(), logs: new GrpcLogExporter() }
    : {
        traces: new TraceExporter({ url: `${SVC_URL}/v1/traces`, compression }),
        metrics: new OTLPMetricExporter({ url: `${SVC_URL}/v1/metrics`, compression }),
        logs: new OTLPLogExporter({ url: `${SVC_URL}/v1/logs`, compression }),
      };
const sdk = new NodeSDK({
  resource: resourceFromAttributes({
    'service.name': 'refund-bot',
    'service.version': '1.4.0',
    'deployment.environment.name': 'staging',
  }),
  traceExporter: exporters.traces,
  metricReaders: [new PeriodicExportingMetricReader({ exporter: exporters.metrics, exportIntervalMillis: 60_000 })],
  logRecordProcessors: [new BatchLogRecordProcessor({ exporter: exporters.logs })],
});
sdk.start();

const meter = metrics.getMeter('refund-bot');
meter.createCounter('refunds', { unit: '1' }).add(3, { region: 'eu' });
meter.createGauge('queue_depth').record(7);
meter.createHistogram('refund_amount', { unit: 'USD' }).record(42.5);

const tracer = trace.getTracer('refund-bot');
await tracer.startActiveSpan('handle refund', async (root) => {
  root.setAttributes({ 'gen_ai.conversation.id': 'conversation-1', 'user.id': 'user-1', 'svc.tags': ['gold', 'eu'] });
  tracer.startActiveSpan('chat gpt-4o-mini', (span) => {
    span.setAttributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 50,
      'gen_ai.usage.cache_read.input_tokens': 400,
      'gen_ai.input.messages': JSON.stringify([
        {
          role: 'user',
          parts: [{ type: 'text', content: `Refund order A-17${'x'.repeat(Number(PAYLOAD_BYTES ?? 0))}` }],
        },
      ]),
      'gen_ai.output.messages': JSON.stringify([
        { role: 'assistant', parts: [{ type: 'text', content: 'The refund was approved.' }] },
      ]),
    });
    span.end();
  });
  tracer.startActiveSpan('pay', (span) => {
    span.setAttribute('openinference.span.kind', 'TOOL');
    span.recordException(new TypeError('card declined'));
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
  const logger = api.logs.getLogger('refund-bot.pay');
  logger.emit({ severityNumber: 17, severityText: 'ERROR', body: 'card declined' });
  logger.emit({ severityNumber: 9, body: { order: 'A-17', steps: ['check', 'pay'] } });
  root.end();
});
// What could not be sent is reported here; what an application makes of that is its own affair.
await sdk.shutdown().catch((error) => console.error(error.message));
