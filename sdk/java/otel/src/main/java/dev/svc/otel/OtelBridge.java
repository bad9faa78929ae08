package dev.svc.otel;

import dev.svc.ContextBridge;
import dev.svc.SpanAddress;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import java.util.Optional;

/**
 * Makes an active OpenTelemetry span the parent of ours, and ours the parent of theirs. So calls that an
 * OpenTelemetry instrumentation watches nest below our spans, and carry our {@code traceparent}. It reads
 * and sets the context of the thread, and touches no provider.
 */
public final class OtelBridge implements ContextBridge {
  /** Makes a bridge. */
  public OtelBridge() {}

  @Override
  public Optional<SpanAddress> current() {
    SpanContext found = Span.current().getSpanContext();
    return found.isValid() ? Optional.of(new SpanAddress(found.getTraceId(), found.getSpanId())) : Optional.empty();
  }

  @Override
  public Scope attach(SpanAddress span, boolean sampled) {
    TraceFlags flags = sampled ? TraceFlags.getSampled() : TraceFlags.getDefault();
    SpanContext ours = SpanContext.create(span.traceId(), span.spanId(), flags, TraceState.getDefault());
    return Span.wrap(ours).makeCurrent()::close;
  }
}
