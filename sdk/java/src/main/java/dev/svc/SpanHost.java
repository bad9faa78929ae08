package dev.svc;

import java.util.concurrent.Callable;

/**
 * What spans need of their instrumentation.
 *
 * @param realm whose spans nest
 * @param queue takes what is recorded
 * @param writer writes it
 * @param sample the fraction of traces to keep
 * @param enabled whether anything is recorded
 * @param bridge another tracing library; null where there is none
 */
record SpanHost(
    TraceContext.Realm realm,
    ExportQueue queue,
    SpanWriter writer,
    double sample,
    boolean enabled,
    ContextBridge bridge) {

  boolean keeps(String traceId) {
    return enabled && TraceIds.isSampled(traceId, sample);
  }

  String traceparent(String traceId, String spanId) {
    return "00-" + traceId + "-" + spanId + (keeps(traceId) ? "-01" : "-00");
  }

  /** Tells the bridge; null where there is none, or where it fails. */
  ContextBridge.Scope attach(TraceContext context) {
    if (bridge == null) {
      return null;
    }
    try {
      SpanAddress address = new SpanAddress(context.traceId(), context.spanId());
      return bridge.attach(address, keeps(context.traceId()));
    } catch (RuntimeException e) {
      queue.addInvalid();
      return null;
    }
  }

  void detach(ContextBridge.Scope scope) {
    try {
      scope.close();
    } catch (RuntimeException e) {
      queue.addInvalid();
    }
  }

  /** The same work, under the span around this call, wherever it runs. */
  <T> Callable<T> carry(Callable<T> work) {
    TraceContext.Active carried = TraceContext.Active.current();
    TraceContext context = TraceContext.Active.find(realm);
    return () -> {
      TraceContext.Active before = TraceContext.Active.current();
      TraceContext.Active.set(carried);
      ContextBridge.Scope scope = context == null ? null : attach(context);
      try {
        return work.call();
      } finally {
        if (scope != null) {
          detach(scope);
        }
        TraceContext.Active.set(before);
      }
    };
  }
}
