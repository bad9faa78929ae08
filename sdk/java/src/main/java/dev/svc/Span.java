package dev.svc;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.CorrelationInput;
import dev.svc.wire.CostInput;
import dev.svc.wire.SpanKind;
import dev.svc.wire.Usage;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A span that runs. Its methods may be called until its end, in any order and from any thread; none of
 * them throws because of the service or of what it was given.
 *
 * <p>{@link #call} runs code under it, ends it, and marks it where the code throws. In a
 * try-with-resources statement, {@link #enter} makes it the parent of what the block records; an
 * exception of the block is seen by {@link #fail} alone.
 */
public final class Span implements AutoCloseable {
  private static final int STACK_LIMIT_CHARACTERS = 32 * 1024;

  private final SpanHost host;
  private final TraceContext around;
  private final String traceId;
  private final String spanId = TraceIds.newSpanId();
  private final String parentId;
  private final String name;
  private final Instant startedAt = Instant.now();
  private final long startedTick = System.nanoTime();
  private Belongs belongs;
  private SpanKind kind = SpanKind.GENERIC;
  private Object input;
  private Object output;
  private String model;
  private String provider;
  private String entityName;
  private Usage usage;
  private CostInput cost;
  private Map<String, Object> attributes;
  private List<Event> events;
  private Fault fault;
  private boolean ended;
  private Entered entered;

  private record Event(String name, String time, Map<String, ?> attributes) {}

  private record Fault(String message, String type, String stack) {}

  private record Entered(
      Thread thread, TraceContext.Active outer, TraceContext.Active own, ContextBridge.Scope scope) {}

  Span(SpanHost host, String name, TraceContext around, SpanAddress parent, Belongs belongs) {
    this.host = host;
    this.name = name;
    this.around = around;
    this.belongs = belongs;
    this.traceId = parent == null ? TraceIds.newTraceId() : parent.traceId();
    this.parentId = parent == null ? null : parent.spanId();
  }

  /** Code that runs under a span. */
  @FunctionalInterface
  public interface Body<T, E extends Exception> {
    /**
     * Runs.
     *
     * @param span the span around it
     * @return what {@link Span#call} returns
     * @throws E whatever it likes
     */
    T call(Span span) throws E;
  }

  /** Code that runs under a span and returns nothing. */
  @FunctionalInterface
  public interface Action<E extends Exception> {
    /**
     * Runs.
     *
     * @param span the span around it
     * @throws E whatever it likes
     */
    void run(Span span) throws E;
  }

  /**
   * The trace that it belongs to.
   *
   * @return 32 lowercase hex characters
   */
  public String traceId() {
    return traceId;
  }

  /**
   * Its id.
   *
   * @return 16 lowercase hex characters
   */
  public String spanId() {
    return spanId;
  }

  /**
   * The {@code traceparent} header for a service that continues this trace.
   *
   * @return the value of the header
   */
  public String traceparent() {
    return host.traceparent(traceId, spanId);
  }

  /**
   * What kind of operation it is.
   *
   * @param kind {@link SpanKind#GENERIC} unless set
   * @return this
   */
  public synchronized Span kind(SpanKind kind) {
    this.kind = kind == null ? SpanKind.GENERIC : kind;
    return this;
  }

  /**
   * What went in.
   *
   * @param input anything that Jackson writes; written when the span ends
   * @return this
   */
  public synchronized Span input(Object input) {
    this.input = input;
    return this;
  }

  /**
   * What came out.
   *
   * @param output anything that Jackson writes; written when the span ends
   * @return this
   */
  public synchronized Span output(Object output) {
    this.output = output;
    return this;
  }

  /**
   * The model that was called.
   *
   * @param model its name
   * @return this
   */
  public synchronized Span model(String model) {
    this.model = model;
    return this;
  }

  /**
   * Who serves the model.
   *
   * @param provider its name
   * @return this
   */
  public synchronized Span provider(String provider) {
    this.provider = provider;
    return this;
  }

  /**
   * The agent, tool or retriever that this is an operation of.
   *
   * @param entityName its name
   * @return this
   */
  public synchronized Span entityName(String entityName) {
    this.entityName = entityName;
    return this;
  }

  /**
   * The tokens of this model call; on a step of a run they are reported as the step's usage too.
   *
   * @param usage the counts; what is not known is left out
   * @return this
   */
  public synchronized Span usage(Usage usage) {
    this.usage = usage;
    return this;
  }

  /**
   * The tokens of this model call.
   *
   * @param inputTokens tokens that went in
   * @param outputTokens tokens that came out
   * @return this
   */
  public Span usage(long inputTokens, long outputTokens) {
    return usage(Usage.builder().inputTokens(inputTokens).outputTokens(outputTokens).build());
  }

  /**
   * What it cost, where you know it; else the service prices its usage.
   *
   * @param cost the cost
   * @return this
   */
  public synchronized Span cost(CostInput cost) {
    this.cost = cost;
    return this;
  }

  /**
   * Adds an attribute.
   *
   * @param key its name
   * @param value anything that Jackson writes
   * @return this
   */
  public synchronized Span attribute(String key, Object value) {
    if (attributes == null) {
      attributes = new LinkedHashMap<>();
    }
    attributes.put(key, value);
    return this;
  }

  /**
   * Adds attributes.
   *
   * @param more by name
   * @return this
   */
  public Span attributes(Map<String, ?> more) {
    if (more != null) {
      more.forEach(this::attribute);
    }
    return this;
  }

  /**
   * What it belongs to, beside what the span around it says. Set it before the span is entered: what is
   * recorded inside has it too.
   *
   * @param correlation such as the user and the session
   * @return this
   */
  public synchronized Span correlation(CorrelationInput correlation) {
    if (correlation != null) {
      belongs = belongs.and(Json.ownTree(correlation));
    }
    return this;
  }

  /**
   * Marks a moment.
   *
   * @param event its name
   * @return this
   */
  public Span event(String event) {
    return event(event, Map.of());
  }

  /**
   * Marks a moment.
   *
   * @param event its name
   * @param about its attributes
   * @return this
   */
  public synchronized Span event(String event, Map<String, ?> about) {
    if (events == null) {
      events = new ArrayList<>();
    }
    events.add(new Event(event, TraceIds.now(), about));
    return this;
  }

  /**
   * Marks the span as failed.
   *
   * @param error why
   * @return this
   */
  public Span fail(Throwable error) {
    Fault made;
    try {
      StringWriter stack = new StringWriter();
      error.printStackTrace(new PrintWriter(stack));
      String text = stack.toString();
      String message = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
      int length = Math.min(text.length(), STACK_LIMIT_CHARACTERS);
      made = new Fault(message, error.getClass().getName(), text.substring(0, length));
    } catch (RuntimeException e) {
      host.queue().addInvalid();
      return this;
    }
    synchronized (this) {
      fault = made;
    }
    return this;
  }

  /**
   * Marks the span as failed.
   *
   * @param message why
   * @return this
   */
  public synchronized Span fail(String message) {
    fault = new Fault(message, null, null);
    return this;
  }

  /**
   * Runs code under it, and ends it. An exception marks it, and goes on.
   *
   * @param body the code
   * @param <T> what it returns
   * @param <E> what it may throw
   * @return what the code returned
   * @throws E what the code threw
   */
  public <T, E extends Exception> T call(Body<T, E> body) throws E {
    enter();
    try {
      return body.call(this);
    } catch (Throwable e) {
      fail(e);
      throw e;
    } finally {
      close();
    }
  }

  /**
   * Runs code under it, and ends it. An exception marks it, and goes on.
   *
   * @param action the code
   * @param <E> what it may throw
   * @throws E what the code threw
   */
  public <E extends Exception> void run(Action<E> action) throws E {
    this.<Void, E>call(
        span -> {
          action.run(span);
          return null;
        });
  }

  /**
   * Makes it the parent of what this thread records, until {@link #close}.
   *
   * @return this, for try-with-resources
   */
  public synchronized Span enter() {
    if (entered == null && !ended) {
      TraceContext.UsageSink usages = around == null ? null : around.usage();
      TraceContext context = new TraceContext(traceId, spanId, belongs, usages);
      entered = open(context);
    }
    return this;
  }

  private Entered open(TraceContext context) {
    TraceContext.Active outer = TraceContext.Active.current();
    TraceContext.Active own = new TraceContext.Active(host.realm(), context, outer);
    TraceContext.Active.set(own);
    return new Entered(Thread.currentThread(), outer, own, host.attach(context));
  }

  /** Leaves it, on the thread that entered it, and ends it. */
  @Override
  public void close() {
    Entered left;
    synchronized (this) {
      left = entered;
      entered = null;
    }
    if (left != null && left.thread() == Thread.currentThread()) {
      if (left.scope() != null) {
        host.detach(left.scope());
      }
      // Where another one was entered since and not left, it is not this one's to undo.
      if (TraceContext.Active.current() == left.own()) {
        TraceContext.Active.set(left.outer());
      }
    }
    end();
  }

  /** Ends it, once; a second call does nothing. */
  public void end() {
    long lasted = System.nanoTime() - startedTick;
    synchronized (this) {
      if (ended) {
        return;
      }
      ended = true;
    }
    try {
      boolean isModel = SpanKind.MODEL_GENERATION.equals(kind);
      if (around != null && around.usage() != null && (usage != null || isModel)) {
        ObjectNode counts = usage == null ? null : Json.ownTree(usage);
        around.usage().add(model, counts);
      }
      if (host.keeps(traceId)) {
        host.queue().add(ExportQueue.Kind.SPANS, host.writer().object(out -> write(out, lasted)));
      }
    } catch (RuntimeException e) {
      host.queue().addInvalid();
    }
  }

  private void write(JsonGenerator out, long lasted) throws IOException {
    SpanWriter writer = host.writer();
    out.writeStringField("trace_id", traceId);
    out.writeStringField("span_id", spanId);
    SpanWriter.text(out, "parent_span_id", parentId);
    SpanWriter.text(out, "name", name);
    out.writeStringField("kind", kind.value());
    out.writeStringField("status", fault == null ? "ok" : "error");
    out.writeStringField("start_time", TraceIds.timestamp(startedAt.getEpochSecond(), startedAt.getNano()));
    Instant endedAt = startedAt.plusNanos(lasted);
    out.writeStringField("end_time", TraceIds.timestamp(endedAt.getEpochSecond(), endedAt.getNano()));
    writer.value(out, "input", input);
    writer.value(out, "output", output);
    SpanWriter.text(out, "model", model);
    SpanWriter.text(out, "provider", provider);
    SpanWriter.text(out, "entity_name", entityName);
    SpanWriter.model(out, "usage", usage);
    SpanWriter.model(out, "cost", cost);
    if (fault != null) {
      out.writeObjectFieldStart("error");
      SpanWriter.text(out, "message", fault.message());
      SpanWriter.text(out, "type", fault.type());
      SpanWriter.text(out, "stack", fault.stack());
      out.writeEndObject();
    }
    SpanWriter.belongs(out, belongs);
    writer.attributes(out, "attributes", attributes);
    if (events != null) {
      out.writeArrayFieldStart("events");
      for (Event event : events) {
        out.writeStartObject();
        out.writeStringField("name", event.name());
        out.writeStringField("time", event.time());
        writer.attributes(out, "attributes", event.attributes());
        out.writeEndObject();
      }
      out.writeEndArray();
    }
  }
}
