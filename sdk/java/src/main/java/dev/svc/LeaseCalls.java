package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.Lease;
import dev.svc.wire.RunStatus;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** The worker calls of one lease, and what their answers mean. */
final class LeaseCalls {
  private static final int MESSAGE_LIMIT_CHARACTERS = 8 * 1024;
  private static final Set<String> REFUSALS =
      Set.of("already_applied", "fenced", "run_terminal", "not_started");

  private final LeaseHost host;
  private final Lease lease;
  /** A report said that the slot is free. A second one must not have it claimed again. */
  private final AtomicBoolean hasFreed = new AtomicBoolean();

  /** Null where the body waits for its answer. */
  private final Declaration declaration;

  LeaseCalls(LeaseHost host, Lease lease, Declaration declaration) {
    this.host = host;
    this.lease = lease;
    this.declaration = declaration;
  }

  enum Kind {
    TAKEN,
    /** By the state of the lease: one of the four refusals. */
    REFUSED,
    /** For another reason: a bug, a key, a body that is too large. */
    REJECTED,
    UNANSWERED
  }

  /** An answer; the reason is that of a refusal, the error that of a rejection. */
  record Answer(Kind kind, String reason, ServiceException error) {
    boolean isRefused(String why) {
      return kind == Kind.REFUSED && reason.equals(why);
    }
  }

  /** How long to try one call: by a policy, until the signal; null for none. */
  record How(Retries retries, Signal signal) {}

  /** What a body that failed means by it; a wait below 0 is none. */
  record Failure(String errorClass, String code, String message, long retryAfterMs) {}

  ObjectNode body() {
    return JsonNodeFactory.instance.objectNode().put("worker_id", host.workerId());
  }

  /**
   * Sends the first declaration that the body starts, without waiting for its answer, so that those of all leases
   * that came together travel together; {@code answered} takes what {@link #started} needs.
   */
  void declare(Consumer<First> answered) {
    submit(callOf(StepCalls.Verb.STARTED, host.workerBody()), answered);
  }

  /** Goes on from the answer to the first declaration. */
  Answer started(First first, How how) {
    return call(StepCalls.Verb.STARTED, host.workerBody(), first, how);
  }

  /** What came of a first try: its answer, or why there is none. */
  record First(JsonNode body, RuntimeException error) {
    JsonNode get() {
      if (error != null) {
        throw error;
      }
      return body;
    }
  }

  StepCalls.Call callOf(StepCalls.Verb verb, byte[] body) {
    boolean isReport = verb == StepCalls.Verb.COMPLETE || verb == StepCalls.Verb.FAIL;
    boolean freesSlot = isReport && hasFreed.compareAndSet(false, true);
    return new StepCalls.Call(verb, lease.leaseId(), body, Request.DEFAULT_TIMEOUT, null, freesSlot, declaration);
  }

  /** Sends a call without waiting for its answer; {@code answered} takes what came of it. */
  void submit(StepCalls.Call call, Consumer<First> answered) {
    host.calls().submit(call, (body, error) -> answered.accept(new First(body, error)));
  }

  /** The same, with the declaration of the lease. Returns false where that has left: nothing is sent then. */
  boolean submitBehind(StepCalls.Call call, Consumer<First> answered) {
    return host.calls().submitBehind(call, (body, error) -> answered.accept(new First(body, error)));
  }

  /** Reports a failure, and waits for the answer. */
  Answer fail(Failure failure, List<ObjectNode> usage, How how) {
    return call(StepCalls.Verb.FAIL, bodyOf(failure, usage), null, how);
  }

  byte[] bodyOf(Failure failure, List<ObjectNode> usage) {
    ObjectNode error = JsonNodeFactory.instance.objectNode().put("class", failure.errorClass());
    if (failure.code() != null) {
      error.put("code", failure.code());
    }
    ObjectNode report = body().set("error", error.put("message", cut(failure.message())));
    if (failure.retryAfterMs() >= 0) {
      report.put("retry_after_ms", failure.retryAfterMs());
    }
    putUsage(report, usage);
    return Json.encodeOwn(report);
  }

  static void putUsage(ObjectNode report, List<ObjectNode> usage) {
    if (!usage.isEmpty()) {
      ArrayNode list = report.putArray("usage");
      list.addAll(usage);
    }
  }

  static String cut(String message) {
    return message.length() > MESSAGE_LIMIT_CHARACTERS
        ? message.substring(0, MESSAGE_LIMIT_CHARACTERS)
        : message;
  }

  /** Calls until it is answered; {@code first} is what came of a try that was made before, null for none. */
  Answer call(StepCalls.Verb verb, byte[] body, First first, How how) {
    AtomicReference<First> made = new AtomicReference<>(first);
    JsonNode answer;
    try {
      // The signal ends the waiting between tries. A call on its way goes on: it may be the one that lands.
      answer =
          how.retries()
              .call(
                  () -> {
                    First before = made.getAndSet(null);
                    return before == null ? host.calls().make(callOf(verb, body)) : before.get();
                  },
                  how.signal());
    } catch (SvcException e) {
      return read(null, e);
    }
    return read(answer, null);
  }

  /** Sends one heartbeat, and calls back with what it found. */
  void beat(byte[] details, Signal cut, Consumer<Answer> found) {
    byte[] body = host.workerBody();
    if (details != null) {
      byte[] start = ",\"details\":".getBytes(StandardCharsets.UTF_8);
      ByteBuffer joined =
          ByteBuffer.allocate(body.length + start.length + details.length);
      joined.put(body, 0, body.length - 1).put(start).put(details).put((byte) '}');
      body = joined.array();
    }
    // Given up in time for another one, over another connection, before the lease is over.
    long nanos = Math.max(host.heartbeat().toNanos(), host.leaseTtl().toNanos() / 3);
    Duration limit = Duration.ofNanos(Math.min(nanos, Request.DEFAULT_TIMEOUT.toNanos()));
    StepCalls.Call call =
        new StepCalls.Call(StepCalls.Verb.HEARTBEAT, lease.leaseId(), body, limit, cut, false, null);
    host.calls().submit(call, (answer, error) -> found.accept(read(answer, error)));
  }

  /** What the answer to a first try means. */
  Answer read(First first) {
    return read(first.body(), first.error());
  }

  private Answer read(JsonNode answer, RuntimeException error) {
    if (error == null) {
      String status = answer == null ? "" : answer.path("run_status").asText();
      if (Api.isOver(new RunStatus(status))) {
        host.onRunEnd().accept(lease.runId());
      }
      return new Answer(Kind.TAKEN, "", null);
    }
    ServiceException refusal = error instanceof ServiceException ? (ServiceException) error : null;
    // A fault of the service says nothing about the report; the step must not fail for it.
    if (refusal == null || refusal.status() >= 500 || refusal.isRetryable()) {
      return new Answer(Kind.UNANSWERED, "", null);
    }
    if (refusal.code().equals("run_terminal")) {
      host.onRunEnd().accept(lease.runId());
    }
    if (refusal.status() == 409 && REFUSALS.contains(refusal.code())) {
      return new Answer(Kind.REFUSED, refusal.code(), null);
    }
    return new Answer(Kind.REJECTED, "", refusal);
  }
}
