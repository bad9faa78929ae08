package dev.svc.conformance;

import dev.svc.ContextBridge;
import dev.svc.SpanAddress;
import dev.svc.otel.OtelBridge;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Scope;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;

/** The API of OpenTelemetry: no more of it is needed for an active span. */
public final class BridgedSpans implements OpenTelemetry {
  @Override
  public ContextBridge bridge() {
    return new OtelBridge();
  }

  @Override
  public SpanAddress under(Callable<?> inside) throws Exception {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    String spanId = String.format("%016x", random.nextLong(1, Long.MAX_VALUE));
    String traceId = String.format("%016x", random.nextLong(1, Long.MAX_VALUE)) + spanId;
    SpanContext span = SpanContext.create(traceId, spanId, TraceFlags.getSampled(), TraceState.getDefault());
    try (Scope active = Span.wrap(span).makeCurrent()) {
      inside.call();
    }
    return new SpanAddress(traceId, spanId);
  }
}
