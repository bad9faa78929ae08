// The OpenTelemetry Java SDK, configured by itself from OTEL_*: spans, logs and metrics, over OTLP by gRPC or HTTP.
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;

public final class Client {
  public static void main(String[] args) {
    OpenTelemetrySdk sdk = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
    String payload = "x".repeat(Integer.parseInt(System.getenv().getOrDefault("PAYLOAD_BYTES", "0")));
    refund(sdk, payload);
    sdk.getLogsBridge().get("refund-bot.pay").logRecordBuilder()
        .setSeverity(Severity.ERROR).setBody("card declined").emit();
    sdk.getMeter("refund-bot").counterBuilder("refunds").build().add(1);
    sdk.getMeter("refund-bot").histogramBuilder("refund_amount").build().record(42.5);
    sdk.close();
  }

  private static void refund(OpenTelemetry telemetry, String payload) {
    Tracer tracer = telemetry.getTracer("refund-bot", "1.4.0");
    Span root = tracer.spanBuilder("handle refund")
        .setAttribute("session.id", "conversation-1")
        .setAttribute("user.id", "user-1")
        .setAttribute("gen_ai.operation.name", "invoke_agent")
        .startSpan();
    try (Scope scope = root.makeCurrent()) {
      tracer.spanBuilder("chat gpt-4o-mini")
          .setAttribute("gen_ai.operation.name", "chat")
          .setAttribute("gen_ai.provider.name", "openai")
          .setAttribute("gen_ai.request.model", "gpt-4o-mini")
          .setAttribute(AttributeKey.longKey("gen_ai.usage.input_tokens"), 1000L)
          .setAttribute(AttributeKey.longKey("gen_ai.usage.output_tokens"), 50L)
          .setAttribute(AttributeKey.longKey("gen_ai.usage.cache_read.input_tokens"), 400L)
          .setAttribute("gen_ai.input.messages",
              "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Refund order A-17" + payload + "\"}]}]")
          .setAttribute("gen_ai.output.messages",
              "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"The refund was approved.\"}]}]")
          .startSpan()
          .end();
      Span pay = tracer.spanBuilder("pay")
          .setAttribute("gen_ai.operation.name", "execute_tool")
          .setAttribute("gen_ai.tool.name", "pay")
          .startSpan();
      pay.recordException(new IllegalStateException("card declined"));
      pay.setStatus(StatusCode.ERROR, "card declined");
      pay.end();
    }
    root.end();
  }
}
