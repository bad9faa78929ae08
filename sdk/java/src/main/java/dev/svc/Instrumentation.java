package dev.svc;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.AspectNoteInput;
import dev.svc.wire.CorrelationInput;
import dev.svc.wire.FeedbackInput;
import dev.svc.wire.LogRecordInput;
import dev.svc.wire.MetricPointInput;
import dev.svc.wire.MetricType;
import dev.svc.wire.ScoreInput;
import dev.svc.wire.Severity;
import dev.svc.wire.Temporality;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;

/**
 * Records traces, logs, metrics, scores, feedback and aspect notes, and sends them in the background.
 *
 * <p>Nothing here throws into the code that it watches because of the service or of a value, and nothing
 * here makes it wait; what cannot be delivered is counted. Safe for threads. {@link #close} sends what is
 * queued, for five seconds at most: call it before the program ends.
 *
 * <pre>{@code
 * String text = svc.span("draft").kind(SpanKind.MODEL_GENERATION).model("gpt-4o-mini").call(span -> {
 *   var reply = callModel(question);
 *   span.output(reply.text()).usage(reply.tokensIn(), reply.tokensOut());
 *   return reply.text();
 * });
 * }</pre>
 */
public final class Instrumentation implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.svc");
  private static final Duration CLOSE_TIME = Duration.ofSeconds(5);

  private final Settings settings;
  private final Http http;
  private final SpecCheck spec;
  private final SpanHost host;
  private final Belongs base;
  private final ExportQueue queue;
  private final AtomicBoolean warned = new AtomicBoolean();

  private Instrumentation(Builder given) {
    settings = given.settings == null ? Settings.fromEnvironment() : given.settings;
    for (String problem : settings.problems()) {
      LOG.log(System.Logger.Level.WARNING, "instrumentation: {0}", problem);
    }
    // Its own connections: what user code does with others cannot hold it up.
    http = new Http(settings);
    spec = new SpecCheck(http);
    ExportQueue.Bounds bounds =
        new ExportQueue.Bounds(
            given.maxQueued, given.maxQueuedBytes, given.batchSize, given.delay.toNanos(), given.retry);
    queue = new ExportQueue(http, bounds, this::checkSpec);
    base = Belongs.of(settings);
    TraceContext.Realm realm = TraceContext.Realm.of(settings);
    SpanWriter writer = new SpanWriter(given.json);
    host = new SpanHost(realm, queue, writer, settings.sample(), settings.enabled(), given.bridge);
    if (given.closeOnShutdown) {
      Runtime.getRuntime().addShutdownHook(new Thread(this::close, "svc-shutdown"));
    }
  }

  /**
   * Instrumentation with the settings of the environment.
   *
   * @return instrumentation to close
   */
  public static Instrumentation create() {
    return builder().build();
  }

  /**
   * Begins with the settings of the environment.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Makes {@link Instrumentation}. */
  public static final class Builder {
    private Settings settings;
    private Json json = Json.OWN;
    private int maxQueued = 10_000;
    private long maxQueuedBytes = 32L * 1024 * 1024;
    private int batchSize = 500;
    private Duration delay = Duration.ofMillis(500);
    private RetryPolicy retry = ExportQueue.RETRY;
    private ContextBridge bridge;
    private boolean closeOnShutdown;

    private Builder() {}

    /**
     * Where the service is, and what signals say of this process. A setting that cannot be used falls
     * back to its default, and is named in {@link Settings#problems()} and in the log.
     *
     * @param settings instead of those of the environment
     * @return this
     */
    public Builder settings(Settings settings) {
      this.settings = settings;
      return this;
    }

    /**
     * Writes inputs, outputs and attributes.
     *
     * @param mapper a mapper of yours, with the modules that your types need
     * @return this
     */
    public Builder mapper(ObjectMapper mapper) {
      this.json = new Json(mapper);
      return this;
    }

    /**
     * How many signals wait in memory while the service is slow or away; the oldest go first.
     *
     * @param maxQueued 10,000 unless set
     * @return this
     */
    public Builder maxQueued(int maxQueued) {
      this.maxQueued = Math.max(1, maxQueued);
      return this;
    }

    /**
     * How many bytes of signals wait in memory.
     *
     * @param maxQueuedBytes 32 MiB unless set
     * @return this
     */
    public Builder maxQueuedBytes(long maxQueuedBytes) {
      this.maxQueuedBytes = Math.max(1, maxQueuedBytes);
      return this;
    }

    /**
     * How many signals travel together at most.
     *
     * @param batchSize 500 unless set
     * @return this
     */
    public Builder batchSize(int batchSize) {
      this.batchSize = Math.max(1, batchSize);
      return this;
    }

    /**
     * How long a signal waits for others to travel with.
     *
     * @param delay 500 ms unless set
     * @return this
     */
    public Builder delay(Duration delay) {
      this.delay = delay;
      return this;
    }

    /**
     * How a batch is tried again.
     *
     * @param retry eight tries, with 500 ms to 30 s between them, unless set
     * @return this
     */
    public Builder retry(RetryPolicy retry) {
      this.retry = retry;
      return this;
    }

    /**
     * Another tracing library whose spans nest with ours, such as that of the artifact {@code svc-otel}.
     *
     * @param bridge the bridge
     * @return this
     */
    public Builder bridge(ContextBridge bridge) {
      this.bridge = bridge;
      return this;
    }

    /**
     * Closes it when the virtual machine shuts down, which then takes up to five seconds.
     *
     * @return this
     */
    public Builder closeOnShutdown() {
      this.closeOnShutdown = true;
      return this;
    }

    /**
     * Makes it; nothing is called yet.
     *
     * @return instrumentation to close
     */
    public Instrumentation build() {
      return new Instrumentation(this);
    }
  }

  private void checkSpec(Signal signal) {
    try {
      spec.ensure(signal);
    } catch (IncompatibleServerException e) {
      if (warned.compareAndSet(false, true)) {
        LOG.log(System.Logger.Level.WARNING, "instrumentation: {0}", e.getMessage());
      }
    }
  }

  /**
   * Starts a span below the span around the call. {@link Span#call} runs code under it; {@link Span#enter}
   * is for try-with-resources, and {@link Span#end} alone for a span that is no parent.
   *
   * @param name what is done
   * @return a span to end
   */
  public Span span(String name) {
    TraceContext around = TraceContext.Active.find(host.realm());
    SpanAddress parent = around == null ? null : new SpanAddress(around.traceId(), around.spanId());
    if (host.bridge() != null) {
      parent = bridged().orElse(parent);
    }
    return span(name, around, parent);
  }

  /**
   * Starts a span that continues the trace of an incoming request.
   *
   * @param name what is done
   * @param traceparent the header of the request; null or a malformed one begins a new trace
   * @return a span to end
   */
  public Span spanFrom(String name, String traceparent) {
    SpanAddress parent = traceparent == null ? null : SpanAddress.parse(traceparent);
    return span(name, TraceContext.Active.find(host.realm()), parent);
  }

  private Span span(String name, TraceContext around, SpanAddress parent) {
    return new Span(host, name, around, parent, around == null ? base : around.belongs());
  }

  private Optional<SpanAddress> bridged() {
    try {
      return host.bridge().current();
    } catch (RuntimeException e) {
      queue.addInvalid();
      return Optional.empty();
    }
  }

  /** Runs code under a span that somebody else records: a step of a run. */
  <T> T under(TraceContext given, Callable<T> body) throws Exception {
    TraceContext context =
        new TraceContext(given.traceId(), given.spanId(), base.and(given.belongs()), given.usage());
    TraceContext.Active outer = TraceContext.Active.current();
    TraceContext.Active.set(new TraceContext.Active(host.realm(), context, outer));
    ContextBridge.Scope scope = host.attach(context);
    try {
      return body.call();
    } finally {
      if (scope != null) {
        host.detach(scope);
      }
      TraceContext.Active.set(outer);
    }
  }

  /**
   * The span around the call, for outgoing requests.
   *
   * @return the value of a {@code traceparent} header; empty outside of any span
   */
  public Optional<String> traceparent() {
    TraceContext around = TraceContext.Active.find(host.realm());
    return around == null ? Optional.empty() : Optional.of(host.traceparent(around.traceId(), around.spanId()));
  }

  /**
   * Sets the {@code traceparent} of the span around the call: {@code svc.inject(request::header)}.
   *
   * @param setter takes the name and the value of a header; not called outside of any span
   */
  public void inject(BiConsumer<String, String> setter) {
    traceparent().ifPresent(value -> setter.accept("traceparent", value));
  }

  /**
   * Carries the span around this call to another thread.
   *
   * @param work what runs there
   * @return the same, under the span
   */
  public Runnable wrap(Runnable work) {
    Callable<Void> carried =
        wrap(
            () -> {
              work.run();
              return null;
            });
    return () -> {
      try {
        carried.call();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException("a Runnable throws nothing else", e);
      }
    };
  }

  /**
   * Carries the span around this call to another thread.
   *
   * @param work what runs there
   * @param <T> what it returns
   * @return the same, under the span
   */
  public <T> Callable<T> wrap(Callable<T> work) {
    return host.carry(work);
  }

  /**
   * Carries the span around each {@code execute} to the thread of the work.
   *
   * @param executor what runs the work
   * @return an executor that carries spans
   */
  public Executor wrap(Executor executor) {
    return work -> executor.execute(wrap(work));
  }

  /**
   * Records a log line, of the span around the call where there is one.
   *
   * @param severity how bad it is
   * @param message what happened
   */
  public void log(Severity severity, String message) {
    log(severity, message, null, Map.of());
  }

  /**
   * Records a log line, of the span around the call where there is one.
   *
   * @param severity how bad it is
   * @param message what happened
   * @param logger who says so; null for nobody
   * @param attributes by name, anything that Jackson writes
   */
  public void log(Severity severity, String message, String logger, Map<String, ?> attributes) {
    TraceContext around = TraceContext.Active.find(host.realm());
    if (!(around == null ? settings.enabled() : host.keeps(around.traceId()))) {
      return;
    }
    byte[] text =
        host.writer()
            .object(
                out -> {
                  out.writeStringField("timestamp", TraceIds.now());
                  out.writeStringField("severity", severity.value());
                  SpanWriter.text(out, "message", message);
                  SpanWriter.text(out, "logger", logger);
                  if (around != null) {
                    out.writeStringField("trace_id", around.traceId());
                    out.writeStringField("span_id", around.spanId());
                  }
                  host.writer().attributes(out, "attributes", attributes);
                  SpanWriter.belongs(out, around == null ? base : around.belongs());
                });
    queue.add(ExportQueue.Kind.LOGS, text);
  }

  /**
   * Records a log line with all that it may say.
   *
   * @param log the line; its time, its span and its correlation are those of the call where it has none
   */
  public void log(LogRecordInput log) {
    TraceContext around = TraceContext.Active.find(host.realm());
    String traceId = log.traceId() == null && around != null ? around.traceId() : log.traceId();
    if (!(traceId == null ? settings.enabled() : host.keeps(traceId))) {
      return;
    }
    ObjectNode body = Json.ownTree(log);
    if (log.traceId() == null && around != null) {
      body.put("trace_id", around.traceId()).put("span_id", around.spanId());
    }
    add(ExportQueue.Kind.LOGS, body, log.correlation());
  }

  /**
   * Counts.
   *
   * @param name the name of the counter
   * @param value what came since the last call
   */
  public void counter(String name, double value) {
    metric(MetricPointInput.builder().name(name).type(MetricType.COUNTER).value(value).build());
  }

  /**
   * Says how much there is now.
   *
   * @param name the name of the gauge
   * @param value how much
   */
  public void gauge(String name, double value) {
    metric(MetricPointInput.builder().name(name).type(MetricType.GAUGE).value(value).build());
  }

  /**
   * Says how values of the time since the last call are spread.
   *
   * @param name the name of the histogram
   * @param bounds the bounds between the buckets
   * @param bucketCounts one more than there are bounds
   * @param sum the sum of all values
   */
  public void histogram(String name, List<Double> bounds, List<Long> bucketCounts, double sum) {
    long count = bucketCounts.stream().mapToLong(Long::longValue).sum();
    metric(
        MetricPointInput.builder()
            .name(name)
            .type(MetricType.HISTOGRAM)
            .bounds(bounds)
            .bucketCounts(bucketCounts)
            .count(count)
            .sum(sum)
            .build());
  }

  /**
   * Records a point of a metric with all that it may say.
   *
   * @param point the point; counters and histograms are deltas unless it says otherwise
   */
  public void metric(MetricPointInput point) {
    if (!settings.enabled()) {
      return;
    }
    if (!Validity.isPoint(point)) {
      queue.addInvalid();
      return;
    }
    ObjectNode body = Json.ownTree(point);
    if (point.temporality() == null && !MetricType.GAUGE.equals(point.type())) {
      body.put("temporality", Temporality.DELTA.value());
    }
    add(ExportQueue.Kind.METRICS, body, point.correlation());
  }

  /**
   * Records a machine's evaluation of a trace or a span; of the trace around the call where it names none.
   *
   * @param score the score; its scale, {@code min} and {@code max}, is part of it
   */
  public void score(ScoreInput score) {
    if (!settings.enabled()) {
      return;
    }
    if (!Validity.isScore(score)) {
      queue.addInvalid();
      return;
    }
    ObjectNode body = Json.ownTree(score);
    withDefault(body, "score_id", "");
    withDefault(body, "source", "live");
    addAbout(ExportQueue.Kind.SCORES, body, score.correlation());
  }

  /**
   * Records a person's judgement of a trace or a span; of the trace around the call where it names none.
   * It is counted by kind, and never averaged with anything.
   *
   * @param feedback the judgement; its {@code authorId} is stored as sent: send a pseudonymous one
   */
  public void feedback(FeedbackInput feedback) {
    if (settings.enabled()) {
      ObjectNode body = Json.ownTree(feedback);
      withDefault(body, "feedback_id", "");
      addAbout(ExportQueue.Kind.FEEDBACK, body, feedback.correlation());
    }
  }

  /**
   * Records one sentence that a model wrote about a run; about the trace around the call where it names
   * none.
   *
   * @param note the sentence
   */
  public void aspectNote(AspectNoteInput note) {
    if (!settings.enabled()) {
      return;
    }
    ObjectNode body = Json.ownTree(note);
    TraceContext around = TraceContext.Active.find(host.realm());
    if (!body.has("trace_id") && around != null) {
      body.put("trace_id", around.traceId());
    }
    if (body.has("trace_id")) {
      add(ExportQueue.Kind.ASPECT_NOTES, body, note.correlation());
    } else {
      queue.addInvalid();
    }
  }

  private void addAbout(ExportQueue.Kind kind, ObjectNode body, CorrelationInput correlation) {
    TraceContext around = TraceContext.Active.find(host.realm());
    boolean isNamed = body.has("trace_id") || body.has("span_id");
    if (!isNamed && around == null) {
      queue.addInvalid();
      return;
    }
    if (!isNamed) {
      body.put("trace_id", around.traceId());
    }
    add(kind, body, correlation);
  }

  private void add(ExportQueue.Kind kind, ObjectNode body, CorrelationInput given) {
    withDefault(body, "timestamp", TraceIds.now());
    TraceContext around = TraceContext.Active.find(host.realm());
    Belongs belongs = around == null ? base : around.belongs();
    ObjectNode members = belongs.and(given == null ? null : Json.ownTree(given)).members();
    if (!members.isEmpty()) {
      body.set("correlation", members);
    }
    queue.add(kind, Json.textOf(body));
  }

  private static void withDefault(ObjectNode body, String name, String value) {
    if (!body.has(name)) {
      body.put(name, value);
    }
  }

  void countInvalid() {
    queue.addInvalid();
  }

  /**
   * What became of signals.
   *
   * @return counts since the start
   */
  public ExportCounters counters() {
    return queue.counters();
  }

  /**
   * Sends what is queued now.
   *
   * @param atMost how long
   * @return whether it went out, or was refused, within that time
   */
  public boolean flush(Duration atMost) {
    return !settings.enabled() || queue.flush(atMost.toNanos());
  }

  /** Sends what is queued for five seconds at most, then stops. What is recorded later is dropped. */
  @Override
  public void close() {
    close(CLOSE_TIME);
  }

  /**
   * Sends what is queued, then stops. What is recorded later is dropped.
   *
   * @param atMost how long
   */
  public void close(Duration atMost) {
    queue.close(atMost.toNanos());
    http.close();
  }
}
