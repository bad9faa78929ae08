package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.FeedbackInput;
import dev.svc.wire.Lease;
import dev.svc.wire.ReportedUsage;
import dev.svc.wire.RunCorrelation;
import dev.svc.wire.ScoreInput;
import dev.svc.wire.Severity;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What the body of a step works with. Its methods may be called from any thread. */
public final class Step {
  /** See docs/worker-protocol.md, "Heartbeat". */
  private static final int DETAILS_LIMIT_BYTES = 64 * 1024;

  private final Lease lease;
  private final Instrumentation instrumentation;
  private final Json json;
  private final Supplier<CancelReason> reason;
  private final Signal interruption;
  private final Consumer<byte[]> teller;
  private final ObjectNode patch = JsonNodeFactory.instance.objectNode();
  private List<ReportedUsage> usage;

  Step(
      Lease lease,
      Instrumentation instrumentation,
      Json json,
      Supplier<CancelReason> reason,
      Signal interruption,
      Consumer<byte[]> teller) {
    this.lease = lease;
    this.instrumentation = instrumentation;
    this.json = json;
    this.reason = reason;
    this.interruption = interruption;
    this.teller = teller;
  }

  /**
   * The lease as it came: run, definition, step, visit, attempt and the rest.
   *
   * @return the lease
   */
  public Lease lease() {
    return lease;
  }

  /**
   * The id of the run.
   *
   * @return the id
   */
  public String runId() {
    return lease.runId();
  }

  /**
   * The id of the step.
   *
   * @return the id
   */
  public String stepId() {
    return lease.stepId();
  }

  /**
   * Attempts of this visit, this one included.
   *
   * @return 1 for the first
   */
  public long attempt() {
    return lease.attempt();
  }

  /**
   * The same for every attempt of this visit. Hand it on as the idempotency key of whatever the step does
   * to the world, and a second attempt does it no second time.
   *
   * @return the key
   */
  public String key() {
    return lease.stepKey();
  }

  /**
   * The state of the run, as it was when the step was leased.
   *
   * @return an object
   */
  public ObjectNode state() {
    return lease.state();
  }

  /**
   * The outputs of the steps before this one, by step id.
   *
   * @return an output for each; JSON null where it had none
   */
  public Map<String, JsonNode> outputs() {
    Map<String, JsonNode> outputs = new LinkedHashMap<>();
    lease
        .steps()
        .forEach(
            (id, step) ->
                outputs.put(id, step.output() == null ? JsonNodeFactory.instance.nullNode() : step.output()));
    return outputs;
  }

  /**
   * What the run belongs to.
   *
   * @return its correlation
   */
  public RunCorrelation correlation() {
    return lease.correlation();
  }

  /**
   * The details of the last {@link #heartbeat} of the attempt before this one.
   *
   * @return what was left there
   */
  public Optional<JsonNode> lastDetails() {
    return Optional.ofNullable(lease.lastDetails());
  }

  /**
   * When the run ends by itself, where its definition limits the time.
   *
   * @return the moment
   */
  public Optional<Instant> deadline() {
    return Optional.ofNullable(lease.deadlineAt()).map(Instant::parse);
  }

  /**
   * The step's span as a {@code traceparent} header, for calls to services that trace.
   *
   * @return the value of the header
   */
  public String traceparent() {
    return "00-" + lease.traceId() + "-" + lease.spanId() + "-01";
  }

  /**
   * Whether the work is of no more use: the run was cancelled, another worker has the step, or this
   * worker must stop. The thread of the body is interrupted then, too.
   *
   * @return whether it is
   */
  public boolean cancelled() {
    return reason.get() != null;
  }

  /**
   * Why the work is of no more use.
   *
   * @return the reason; empty while it is of use
   */
  public Optional<CancelReason> cancelReason() {
    return Optional.ofNullable(reason.get());
  }

  /**
   * Throws when the work is of no more use.
   *
   * @throws StepCancelledException with the reason
   */
  public void throwIfCancelled() {
    CancelReason why = reason.get();
    if (why != null) {
      throw new StepCancelledException(why);
    }
  }

  /**
   * Calls back when the work is of no more use, at once if it is: for what an interrupt does not end.
   *
   * @param callback must not block; runs on another thread
   */
  public void onCancel(Runnable callback) {
    interruption.onFire(callback);
  }

  /**
   * Leaves a mark for the next attempt, which finds it as {@link #lastDetails}. Sent within a second.
   *
   * @param details anything that Jackson writes, up to 64 KiB of JSON
   * @throws IllegalArgumentException when it is larger, or not JSON
   */
  public void heartbeat(Object details) {
    byte[] text;
    try {
      text = json.encode(details);
    } catch (Json.MismatchException e) {
      throw new IllegalArgumentException("heartbeat details are not JSON: " + e.getMessage(), e);
    }
    if (text.length > DETAILS_LIMIT_BYTES) {
      throw new IllegalArgumentException(
          "heartbeat details have " + text.length + " bytes as JSON, more than " + DETAILS_LIMIT_BYTES);
    }
    teller.accept(text);
  }

  /**
   * Merges into the state of the run when the step completes.
   *
   * @param key a top-level key, which replaces that of the run
   * @param value anything that Jackson writes
   * @return this
   * @throws IllegalArgumentException when it is not JSON
   */
  public Step patchState(String key, Object value) {
    try {
      JsonNode written = json.tree(value);
      synchronized (patch) {
        patch.set(key, written);
      }
      return this;
    } catch (Json.MismatchException e) {
      throw new IllegalArgumentException("a patch of the state is not JSON: " + e.getMessage(), e);
    }
  }

  /**
   * Reports the usage of the step, an entry a model. Without this call it is the sum of what the spans of
   * the body carry; with it, this alone. Where the body recorded no model span, the service makes one of
   * each entry, so that the trace holds tokens and money too; {@code record(false)} says that another
   * library has recorded it.
   *
   * @param entries what was used
   */
  public synchronized void reportUsage(ReportedUsage... entries) {
    usage = List.of(entries);
  }

  /**
   * A span of the step.
   *
   * @param name what is done
   * @return a span to end
   */
  public Span span(String name) {
    return instrumentation.span(name);
  }

  /**
   * Records a log line on the step's span.
   *
   * @param severity how bad it is
   * @param message what happened
   */
  public void log(Severity severity, String message) {
    log(severity, message, Map.of());
  }

  /**
   * Records a log line on the step's span.
   *
   * @param severity how bad it is
   * @param message what happened
   * @param attributes by name, anything that Jackson writes
   */
  public void log(Severity severity, String message, Map<String, ?> attributes) {
    instrumentation.log(severity, message, lease.definitionId(), attributes);
  }

  /**
   * Records an evaluation of the run's trace.
   *
   * @param score the score
   */
  public void score(ScoreInput score) {
    instrumentation.score(score);
  }

  /**
   * Records a judgement of the run's trace.
   *
   * @param feedback the judgement
   */
  public void feedback(FeedbackInput feedback) {
    instrumentation.feedback(feedback);
  }

  /** What the body patched so far; null where that is nothing. */
  ObjectNode patch() {
    synchronized (patch) {
      return patch.isEmpty() ? null : patch.deepCopy();
    }
  }

  /** What the body reported by hand; null where it did not. */
  synchronized List<ReportedUsage> usage() {
    return usage;
  }
}
