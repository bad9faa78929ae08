package dev.svc.conformance;

import static dev.svc.conformance.Fixture.as;
import static dev.svc.conformance.Fixture.millis;
import static dev.svc.conformance.Fixture.object;
import static dev.svc.conformance.Fixture.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.ExportCounters;
import dev.svc.Instrumentation;
import dev.svc.Span;
import dev.svc.SpanAddress;
import dev.svc.wire.AspectNoteInput;
import dev.svc.wire.CorrelationInput;
import dev.svc.wire.FeedbackInput;
import dev.svc.wire.LogRecordInput;
import dev.svc.wire.MetricPointInput;
import dev.svc.wire.ScoreInput;
import dev.svc.wire.SpanKind;
import dev.svc.wire.Usage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/** The verbs of instrumentation. */
final class SignalVerbs {
  private static final Map<String, Level> LEVELS =
      Map.of("debug", Level.FINE, "info", Level.INFO, "warn", Level.WARNING, "error", Level.SEVERE);

  private final Supplier<Instrumentation> made;
  private final OpenTelemetry openTelemetry;
  private final Map<String, Fixture.Verb> verbs = new HashMap<>();

  /** Takes null where there is no OpenTelemetry. */
  SignalVerbs(Supplier<Instrumentation> made, OpenTelemetry openTelemetry) {
    this.made = made;
    this.openTelemetry = openTelemetry;
  }

  private Instrumentation svc() {
    return made.get();
  }

  Map<String, Fixture.Verb> verbs() {
    verbs.put("span", this::span);
    if (openTelemetry != null) {
      verbs.put("otel.span", this::otelSpan);
    }
    verbs.put("log", w -> done(() -> svc().log(as(w, LogRecordInput.class))));
    verbs.put("metric", w -> done(() -> svc().metric(as(w, MetricPointInput.class))));
    verbs.put("score", w -> done(() -> svc().score(scoreOf(w))));
    verbs.put("feedback", w -> done(() -> svc().feedback(feedbackOf(w))));
    verbs.put("aspect_note", w -> done(() -> svc().aspectNote(as(w, AspectNoteInput.class))));
    verbs.put("hostile", w -> done(() -> svc().span(text(w, "name")).input(hostile(text(w, "what"))).end()));
    verbs.put("burst", this::burst);
    verbs.put("counters", w -> counters());
    verbs.put("flush", w -> Map.of("flushed", svc().flush(millis(w, "timeout_ms", 5000))));
    verbs.put("close", w -> done(() -> svc().close(millis(w, "timeout_ms", 5000))));
    verbs.put("log.native", w -> done(() -> Logger.getLogger("app").log(LEVELS.get(text(w, "level")), text(w, "message"))));
    return verbs;
  }

  static ScoreInput scoreOf(JsonNode w) {
    return as(w, ScoreInput.class);
  }

  /** A scale of feedback is a part of its metadata. */
  static FeedbackInput feedbackOf(JsonNode w) {
    ObjectNode body = w.deepCopy();
    for (String name : List.of("scale_min", "scale_max")) {
      if (body.has(name)) {
        body.withObject("/metadata").set(name, body.remove(name));
      }
    }
    return as(body, FeedbackInput.class);
  }

  private static Object done(Runnable work) {
    work.run();
    return null;
  }

  /** Sets what is given, on a span of any origin. */
  static void set(Span span, JsonNode w) {
    if (w.has("kind")) {
      span.kind(new SpanKind(text(w, "kind")));
    }
    span.input(w.get("input")).output(w.get("output")).model(text(w, "model")).provider(text(w, "provider"));
    span.entityName(text(w, "entity_name"));
    if (w.has("usage")) {
      span.usage(as(w.get("usage"), Usage.class));
    }
    w.path("attributes").fields().forEachRemaining(each -> span.attribute(each.getKey(), each.getValue()));
    for (JsonNode event : w.path("events")) {
      Map<String, JsonNode> attributes = new HashMap<>();
      event.path("attributes").fields().forEachRemaining(each -> attributes.put(each.getKey(), each.getValue()));
      span.event(text(event, "name"), attributes);
    }
  }

  private Object span(ObjectNode w) {
    Span span =
        w.has("traceparent") ? svc().spanFrom(text(w, "name"), text(w, "traceparent")) : svc().span(text(w, "name"));
    if (w.has("correlation")) {
      span.correlation(as(w.get("correlation"), CorrelationInput.class));
    }
    ObjectNode told = object().put("trace_id", span.traceId()).put("span_id", span.spanId());
    try {
      span.run(
          entered -> {
            set(entered, w);
            told.put("traceparent", svc().traceparent().orElseThrow());
            Callable<ArrayNode> inside = () -> runInside(w.path("inside"));
            told.set("inside", w.path("hop").asBoolean() ? onAnotherThread(svc().wrap(inside)) : inside.call());
            if (w.has("error")) {
              throw new IllegalStateException(text(w, "error"));
            }
          });
    } catch (Exception e) {
      told.put("raised", e.getMessage());
    }
    return told;
  }

  private Object otelSpan(ObjectNode w) throws Exception {
    ObjectNode told = object();
    SpanAddress span = openTelemetry.under(() -> told.set("inside", runInside(w.path("inside"))));
    return told.put("trace_id", span.traceId()).put("span_id", span.spanId());
  }

  private ArrayNode runInside(JsonNode requests) throws Exception {
    ArrayNode results = Fixture.JSON.createArrayNode();
    for (JsonNode request : requests) {
      ObjectNode with = request.has("with") ? (ObjectNode) request.get("with") : object();
      Object result = verbs.get(text(request, "do")).call(with);
      results.add(result == null ? object() : Fixture.JSON.valueToTree(result));
    }
    return results;
  }

  private static ArrayNode onAnotherThread(Callable<ArrayNode> work) throws Exception {
    FutureTask<ArrayNode> task = new FutureTask<>(work);
    new Thread(task).start();
    return task.get();
  }

  private static final class Throws {
    @SuppressWarnings("unused")
    public String getName() {
      throw new IllegalStateException("no JSON of this");
    }
  }

  private static Object hostile(String what) {
    List<Object> cycle = new ArrayList<>();
    cycle.add(cycle);
    return Map.of(
            "cycle", cycle,
            "nan", Double.NaN,
            "huge", "x".repeat(8 * 1024 * 1024),
            "bad_text", "a\ud800b",
            "throws", new Throws())
        .get(what);
  }

  private Object burst(ObjectNode w) throws Exception {
    int count = w.get("count").intValue();
    String prefix = w.path("prefix").asText("burst-");
    String payload = w.has("payload_bytes") ? "x".repeat(w.get("payload_bytes").intValue()) : null;
    if (!w.has("threads")) {
      record(prefix, count, payload);
      return null;
    }
    int threads = w.get("threads").intValue();
    List<Thread> started = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      String own = prefix + i + "-";
      Thread thread = new Thread(() -> record(own, count / threads, payload));
      thread.start();
      started.add(thread);
    }
    for (Thread thread : started) {
      thread.join();
    }
    return null;
  }

  private void record(String prefix, int count, String payload) {
    for (int i = 0; i < count; i++) {
      svc().span(prefix + i).input(payload).end();
    }
  }

  private ObjectNode counters() {
    ExportCounters counters = svc().counters();
    ObjectNode told = object().put("sent", counters.sent()).put("dropped", counters.dropped());
    return told.put("refused", counters.refused()).put("failed", counters.failed()).put("invalid", counters.invalid());
  }
}
