package dev.svc.conformance;

import static dev.svc.conformance.Fixture.millis;
import static dev.svc.conformance.Fixture.object;
import static dev.svc.conformance.Fixture.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.Instrumentation;
import dev.svc.LogHandler;
import dev.svc.RetryPolicy;
import dev.svc.Settings;
import dev.svc.SvcClient;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.logging.Level;
import java.util.logging.Logger;

/** The objects of one process, and the verbs that are about them. */
final class World {
  private static final List<String> CAPABILITIES =
      List.of("threads", "log_bridge", "blocking_bodies", "int64", "batch");

  /** Null where the class path has none. */
  private final OpenTelemetry openTelemetry = ServiceLoader.load(OpenTelemetry.class).findFirst().orElse(null);

  private final Map<String, Fixture.Verb> verbs = new HashMap<>();
  /** A logger that nobody holds is forgotten with its handlers. */
  private final List<Logger> loggers = new ArrayList<>();

  private final WorkerVerbs workers = new WorkerVerbs(this::settings, this::instrumentation);
  private ObjectNode code = object();
  private SvcClient client;
  private Instrumentation instrumentation;

  World() {
    verbs.putAll(new ClientVerbs(this::client).verbs());
    verbs.putAll(new SignalVerbs(this::instrumentation, openTelemetry).verbs());
    verbs.putAll(workers.verbs());
    verbs.put("exit", this::exit);
    verbs.put("hello", w -> hello());
    verbs.put("configure", this::configure);
  }

  Fixture.Verb verb(String name) {
    return verbs.get(name);
  }

  private ObjectNode hello() {
    ObjectNode told = object().put("language", "java").put("library", "dev.svc:svc-sdk").put("version", "0.1.0");
    List<String> capabilities = new ArrayList<>(CAPABILITIES);
    if (openTelemetry != null) {
      capabilities.add("otel_bridge");
    }
    return told.set("capabilities", Fixture.JSON.valueToTree(capabilities));
  }

  private synchronized Object configure(ObjectNode w) {
    code = w;
    instrumentation();
    return Map.of("problems", settings().problems());
  }

  private Settings settings() {
    Settings.Builder settings = Settings.builder();
    settings.endpoint(text(code, "endpoint")).apiKey(text(code, "api_key")).project(text(code, "project"));
    settings.environment(text(code, "environment")).serviceName(text(code, "service_name"));
    settings.serviceVersion(text(code, "service_version"));
    if (code.has("sample")) {
      settings.sample(code.get("sample").doubleValue());
    }
    if (code.has("enabled")) {
      settings.enabled(code.get("enabled").booleanValue());
    }
    return settings.build();
  }

  private RetryPolicy retry() {
    JsonNode given = code.get("retry");
    return new RetryPolicy(given.get("attempts").intValue(), millis(given, "base_ms", 0), millis(given, "max_ms", 0));
  }

  private synchronized Instrumentation instrumentation() {
    if (instrumentation == null) {
      Instrumentation.Builder builder = Instrumentation.builder().settings(settings());
      if (code.has("max_queued")) {
        builder.maxQueued(code.get("max_queued").intValue());
      }
      if (code.has("max_queued_bytes")) {
        builder.maxQueuedBytes(code.get("max_queued_bytes").longValue());
      }
      if (code.has("batch_size")) {
        builder.batchSize(code.get("batch_size").intValue());
      }
      if (code.has("delay_ms")) {
        builder.delay(millis(code, "delay_ms", 0));
      }
      if (code.has("retry")) {
        builder.retry(retry());
      }
      if (openTelemetry != null) {
        builder.bridge(openTelemetry.bridge());
      }
      instrumentation = builder.build();
      Logger logger = Logger.getLogger("app");
      logger.setUseParentHandlers(false);
      logger.setLevel(Level.ALL);
      logger.addHandler(new LogHandler(instrumentation));
      loggers.add(logger);
    }
    return instrumentation;
  }

  private Object exit(ObjectNode w) {
    workers.close();
    if (client != null) {
      client.close();
    }
    if (instrumentation != null) {
      instrumentation.close();
    }
    System.exit(w.path("code").asInt(0));
    return null;
  }

  private synchronized SvcClient client() {
    if (client == null) {
      SvcClient.Builder builder = SvcClient.builder().settings(settings());
      if (code.has("timeout_ms")) {
        builder.timeout(millis(code, "timeout_ms", 0));
      }
      if (code.has("stream_idle_ms")) {
        builder.streamIdle(millis(code, "stream_idle_ms", 0));
      }
      if (code.has("retry")) {
        builder.retry(retry());
      }
      client = builder.build();
    }
    return client;
  }
}
