package dev.svc.conformance;

import static dev.svc.conformance.Fixture.millis;
import static dev.svc.conformance.Fixture.object;
import static dev.svc.conformance.Fixture.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.Instrumentation;
import dev.svc.Settings;
import dev.svc.Worker;
import dev.svc.Workflow;
import java.text.MessageFormat;
import java.util.Map;
import java.util.ResourceBundle;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** The verbs of workers. */
final class WorkerVerbs {
  private final Supplier<Settings> settings;
  private final Supplier<Instrumentation> instrumentation;
  private final Map<String, Worker> workers = new ConcurrentHashMap<>();
  private final ScriptedBody body = new ScriptedBody();

  WorkerVerbs(Supplier<Settings> settings, Supplier<Instrumentation> instrumentation) {
    this.settings = settings;
    this.instrumentation = instrumentation;
  }

  Map<String, Fixture.Verb> verbs() {
    return Map.of("worker.run", this::run, "worker.stop", this::stop, "release", this::release);
  }

  void close() {
    workers.values().forEach(Worker::close);
  }

  private static String nameOf(ObjectNode w) {
    return w.path("name").asText("w");
  }

  private Object run(ObjectNode w) {
    Worker.Builder builder = Worker.builder().settings(settings.get()).instrumentation(instrumentation.get());
    builder.logger(new WorkerLog()).workerId(text(w, "worker_id")).version(text(w, "version")).runId(text(w, "run_id"));
    for (JsonNode definition : w.get("definitions")) {
      Workflow workflow = Workflow.of(definition);
      for (JsonNode step : definition.get("steps")) {
        if (step.path("kind").asText().equals("task")) {
          workflow.step(text(step, "id"), JsonNode.class, body);
        }
      }
      builder.workflows(workflow);
    }
    if (w.has("concurrency")) {
      builder.concurrency(w.get("concurrency").intValue());
    }
    if (w.has("claim_wait_ms")) {
      builder.claimWait(millis(w, "claim_wait_ms", 0));
    }
    if (w.has("grace_ms")) {
      builder.grace(millis(w, "grace_ms", 0));
    }
    if (w.has("settle_ms")) {
      builder.settle(millis(w, "settle_ms", 0));
    }
    if (w.path("signals").asBoolean()) {
      builder.stopOnShutdown();
    }
    Worker worker = builder.build();
    workers.put(nameOf(w), worker);
    worker.run();
    return null;
  }

  private Object stop(ObjectNode w) {
    workers.get(nameOf(w)).stop();
    return null;
  }

  private Object release(ObjectNode w) {
    body.release(text(w, "name"));
    return null;
  }

  private static final class WorkerLog implements System.Logger {
    @Override
    public String getName() {
      return "fixture";
    }

    @Override
    public boolean isLoggable(Level level) {
      return true;
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
      String name = level == Level.WARNING ? "warn" : level.getName().toLowerCase(java.util.Locale.ROOT);
      Fixture.emit(object().put("event", "worker.log").put("level", name).put("message", message));
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
      log(level, bundle, MessageFormat.format(format, parameters), (Throwable) null);
    }
  }
}
