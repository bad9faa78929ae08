"""The OpenTelemetry Python SDK by hand: spans, logs and metrics, over OTLP by HTTP or gRPC."""
import logging
import os

from opentelemetry import metrics, trace
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import StatusCode

signals = os.environ.get("SIGNALS", "traces").split(",")
if os.environ["TRANSPORT"] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

# Endpoint, headers and compression come from OTEL_EXPORTER_OTLP_*, as a user would set them.
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("refund-bot", "1.4.0")

with tracer.start_as_current_span(
    "handle refund",
    attributes={"session.id": "conversation-1", "user.id": "user-1", "gen_ai.operation.name": "invoke_agent"},
):
    with tracer.start_as_current_span(
        "chat gpt-4o-mini",
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.usage.input_tokens": 1000,
            "gen_ai.usage.output_tokens": 50,
            "gen_ai.usage.cache_read.input_tokens": 400,
        },
    ) as chat:
        payload = "x" * int(os.environ.get("PAYLOAD_BYTES", "0"))
        chat.set_attribute(
            "gen_ai.input.messages",
            '[{"role":"user","parts":[{"type":"text","content":"Refund order A-17' + payload + '"}]}]',
        )
        chat.set_attribute(
            "gen_ai.output.messages",
            '[{"role":"assistant","parts":[{"type":"text","content":"The refund was approved."}]}]',
        )
    with tracer.start_as_current_span("pay", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}) as pay:
        pay.record_exception(ValueError("card declined"))
        pay.set_status(StatusCode.ERROR, "card declined")

    if "logs" in signals:
        logger_provider = LoggerProvider()
        logger_provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
        logger = logging.getLogger("refund-bot.pay")
        logger.addHandler(LoggingHandler(logger_provider=logger_provider))
        logger.error("card declined")
        logger_provider.force_flush()
        logger_provider.shutdown()

if "metrics" in signals:
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    meter_provider = MeterProvider(metric_readers=[reader])
    metrics.set_meter_provider(meter_provider)
    meter = metrics.get_meter("refund-bot")
    meter.create_counter("refunds").add(1)
    meter.create_histogram("refund_amount", unit="USD").record(42.5)
    meter_provider.force_flush()
    meter_provider.shutdown()

provider.force_flush()
provider.shutdown()
