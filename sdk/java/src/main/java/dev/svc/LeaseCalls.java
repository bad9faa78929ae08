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
import java.util.function.Consumer;

/** The worker calls of one lease, and what their answers mean. */
final class LeaseCalls {
  private static final int MESSAGE_LIMIT_CHARACTERS = 8 * 1024;
  private static final Set<String> REFUSALS =
      Set.of("already_applied", "fenced", "run_terminal", "not_started");

  private final LeaseHost host;
  private final Lease lease;

  LeaseCalls(LeaseHost host, Lease lease) {
    this.host = host;
    this.lease = lease;
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

  Answer started(How how) {
    return call(StepCalls.Verb.STARTED, Json.encodeOwn(body()), how);
  }

  Answer complete(byte[] report, How how) {
    return call(StepCalls.Verb.COMPLETE, report, how);
  }

  Answer fail(Failure failure, List<ObjectNode> usage, How how) {
    ObjectNode error = JsonNodeFactory.instance.objectNode().put("class", failure.errorClass());
    if (failure.code() != null) {
      error.put("code", failure.code());
    }
    ObjectNode report = body().set("error", error.put("message", cut(failure.message())));
    if (failure.retryAfterMs() >= 0) {
      report.put("retry_after_ms", failure.retryAfterMs());
    }
    putUsage(report, usage);
    return call(StepCalls.Verb.FAIL, Json.encodeOwn(report), how);
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

  private Answer call(StepCalls.Verb verb, byte[] body, How how) {
    StepCalls.Call call =
        new StepCalls.Call(verb, lease.leaseId(), body, Request.DEFAULT_TIMEOUT, null);
    JsonNode answer;
    try {
      // The signal ends the waiting between tries. A call on its way goes on: it may be the one that lands.
      answer = how.retries().call(() -> host.calls().make(call), how.signal());
    } catch (SvcException e) {
      return read(null, e);
    }
    return read(answer, null);
  }

  /** Sends one heartbeat, and calls back with what it found. */
  void beat(byte[] details, Signal cut, Consumer<Answer> found) {
    byte[] body = Json.encodeOwn(body());
    if (details != null) {
      byte[] start = ",\"details\":".getBytes(StandardCharsets.UTF_8);
      ByteBuffer joined =
          ByteBuffer.allocate(body.length + start.length + details.length);
      joined.put(body, 0, body.length - 1).put(start).put(details).put((byte) '}');
      body = joined.array();
    }
    Duration limit =
        host.leaseTtl().compareTo(Request.DEFAULT_TIMEOUT) < 0 ? host.leaseTtl() : Request.DEFAULT_TIMEOUT;
    StepCalls.Call call =
        new StepCalls.Call(StepCalls.Verb.HEARTBEAT, lease.leaseId(), body, limit, cut);
    host.calls().submit(call, (answer, error) -> found.accept(read(answer, error)));
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
