package dev.svc.conformance;

import static dev.svc.conformance.Fixture.as;
import static dev.svc.conformance.Fixture.object;
import static dev.svc.conformance.Fixture.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.CancelReason;
import dev.svc.RetryableException;
import dev.svc.Step;
import dev.svc.StepBody;
import dev.svc.StepFailureException;
import dev.svc.wire.ReportedUsage;
import dev.svc.wire.Severity;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** The body of every step: its input decides what it does. */
final class ScriptedBody implements StepBody<JsonNode> {
  private final Map<String, CountDownLatch> gates = new ConcurrentHashMap<>();

  void release(String name) {
    gate(name).countDown();
  }

  private CountDownLatch gate(String name) {
    return gates.computeIfAbsent(name, given -> new CountDownLatch(1));
  }

  @Override
  public Object run(Step step, JsonNode input) throws Exception {
    ObjectNode started = event("body.started", step).put("run_id", step.runId()).put("step_id", step.stepId());
    Fixture.emit(started.put("attempt", step.attempt()));
    try {
      return play(step, input);
    } catch (InterruptedException e) {
      cancelled(step);
      throw e;
    } finally {
      Fixture.emit(event("body.ended", step));
    }
  }

  private static ObjectNode event(String name, Step step) {
    return object().put("event", name).put("lease_id", step.lease().leaseId());
  }

  private static void cancelled(Step step) {
    String reason = step.cancelReason().map(CancelReason::name).orElse("none").toLowerCase(Locale.ROOT);
    Fixture.emit(event("body.cancelled", step).put("reason", reason));
  }

  private Object play(Step step, JsonNode input) throws Exception {
    if (input == null || !(input.has("script") || input.has("attempts"))) {
      return input;
    }
    JsonNode attempts = input.path("attempts");
    int at = (int) Math.min(step.attempt(), attempts.size()) - 1;
    for (JsonNode action : attempts.isEmpty() ? input.get("script") : attempts.get(at)) {
      Map.Entry<String, JsonNode> only = action.fields().next();
      switch (only.getKey()) {
        case "return":
          return only.getValue();
        case "return_not_json":
          return new Object();
        case "return_bytes":
          return "x".repeat(only.getValue().intValue());
        default:
          act(step, only.getKey(), only.getValue());
      }
    }
    return null;
  }

  private void act(Step step, String verb, JsonNode value) throws Exception {
    switch (verb) {
      case "sleep_ms", "block_ms" -> Thread.sleep(value.longValue());
      case "deaf_ms" -> deaf(step, value.longValue());
      case "await" -> gate(value.textValue()).await();
      case "emit" -> Fixture.emit(event("body.emit", step).set("value", value));
      case "emit_context" -> Fixture.emit(contextOf(step));
      case "beat" -> step.heartbeat(value);
      case "patch" -> value.fields().forEachRemaining(each -> step.patchState(each.getKey(), each.getValue()));
      case "usage" -> step.reportUsage(as(value.isArray() ? value : Fixture.JSON.createArrayNode().add(value), ReportedUsage[].class));
      case "span" -> step.span(text(value, "name")).run(span -> SignalVerbs.set(span, value));
      case "log" -> step.log(new Severity(text(value, "severity")), text(value, "message"), members(value.path("attributes")));
      case "score" -> step.score(SignalVerbs.scoreOf(value));
      case "feedback" -> step.feedback(SignalVerbs.feedbackOf(value));
      case "throw" -> raise(value);
      default -> throw new IllegalArgumentException("no action " + verb);
    }
  }

  private static Map<String, JsonNode> members(JsonNode value) {
    Map<String, JsonNode> members = new HashMap<>();
    value.fields().forEachRemaining(each -> members.put(each.getKey(), each.getValue()));
    return members;
  }

  private static void deaf(Step step, long millis) {
    long until = System.nanoTime() + Duration.ofMillis(millis).toNanos();
    for (long left = millis; left > 0; left = Duration.ofNanos(until - System.nanoTime()).toMillis()) {
      try {
        Thread.sleep(left);
      } catch (InterruptedException e) {
        cancelled(step);
      }
    }
  }

  private static void raise(JsonNode what) {
    String message = what.path("message").asText();
    Duration wait = what.has("retry_after_ms") ? Duration.ofNanos((long) (what.get("retry_after_ms").doubleValue() * 1e6)) : null;
    switch (text(what, "as")) {
      case "retryable" -> throw new RetryableException(message, wait);
      case "failure" -> throw new StepFailureException(text(what, "class"), text(what, "code"), message, wait);
      case "panic" -> throw new AssertionError(message);
      default -> throw new IllegalStateException(message);
    }
  }

  private static ObjectNode contextOf(Step step) {
    ObjectNode context = event("body.context", step).put("run_id", step.runId()).put("project", step.lease().project());
    context.put("definition_id", step.lease().definitionId()).put("definition_version", step.lease().definitionVersion());
    context.put("step_id", step.stepId()).put("visit", step.lease().visit()).put("attempt", step.attempt());
    context.put("step_key", step.key()).put("traceparent", step.traceparent());
    context.set("state", step.state());
    context.set("correlation", Fixture.JSON.valueToTree(step.correlation()));
    ObjectNode steps = context.putObject("steps");
    step.outputs().forEach((id, output) -> steps.putObject(id).set("output", output));
    step.lastDetails().ifPresent(details -> context.set("last_details", details));
    step.deadline().ifPresent(at -> context.put("deadline_at", at.toString()));
    return context;
  }
}
