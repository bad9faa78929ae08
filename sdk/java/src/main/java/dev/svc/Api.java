package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.RunStatus;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How the calls of a client are made: its project, its time limits, its tries. */
final class Api {
  /** A service that was there once may be away so long, for a restart, before a follower gives up. */
  static final Duration PATIENCE = Duration.ofMinutes(5);

  final Settings settings;
  final Http http;
  final SpecCheck spec;
  final Json json;
  final Duration timeout;
  final Duration streamIdle;
  final Retries retry;
  final Signal closing;
  final String project;
  private final Answered answered;

  /** When the service answered last; shared by all views of one client. */
  private static final class Answered {
    private volatile Long at;
  }

  Api(Settings settings, Json json, Duration timeout, Duration streamIdle, RetryPolicy retry) {
    this.settings = settings;
    this.http = new Http(settings);
    this.spec = new SpecCheck(http);
    this.json = json;
    this.timeout = timeout;
    this.streamIdle = streamIdle;
    this.retry = Retries.of(retry);
    this.closing = new Signal();
    this.project = settings.project().orElse(null);
    this.answered = new Answered();
  }

  private Api(Api other, String project) {
    this.settings = other.settings;
    this.http = other.http;
    this.spec = other.spec;
    this.json = other.json;
    this.timeout = other.timeout;
    this.streamIdle = other.streamIdle;
    this.retry = other.retry;
    this.closing = other.closing;
    this.answered = other.answered;
    this.project = project;
  }

  Api in(String other) {
    return new Api(this, other);
  }

  void close() {
    closing.fire();
    http.close();
  }

  /** When the service answered last, by the monotonic clock; null where it never did. */
  Long answeredAt() {
    return answered.at;
  }

  void answered() {
    answered.at = System.nanoTime();
  }

  JsonNode once(Request request) {
    JsonNode answer = http.call(request.timeout() == null ? request.within(timeout) : request, closing);
    answered();
    return answer;
  }

  JsonNode call(Request request) {
    return call(request, retry);
  }

  JsonNode call(Request request, Retries retries) {
    return retries.call(() -> once(request), closing);
  }

  <T> T get(Class<T> model, String path, Map<String, ?> query) {
    return Json.decode(call(Request.get(path, query)), model);
  }

  <T> T post(Class<T> model, String path, Object body) {
    return Json.decode(call(Request.post(path, Json.encodeOwn(body))), model);
  }

  /** The query of a read that a project limits. */
  Map<String, Object> query(Map<String, ?> given) {
    Map<String, Object> query = new LinkedHashMap<>();
    query.put("project", project);
    query.putAll(given);
    return query;
  }

  /** A body without the members that are null. */
  static ObjectNode body(String name, String value) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    return value == null ? body : body.put(name, value);
  }

  ObjectNode projectBody() {
    return body("project", project);
  }

  /** A value of a user as JSON. Throws IllegalArgumentException on what is not JSON. */
  JsonNode tree(String what, Object value) {
    if (value == null) {
      return NullNode.getInstance();
    }
    try {
      return json.tree(value);
    } catch (Json.MismatchException e) {
      throw new IllegalArgumentException(what + " is not JSON: " + e.getMessage(), e);
    }
  }

  static <T> List<T> list(Class<T> model, JsonNode answer, String member) {
    JsonNode items = answer == null ? null : answer.get(member);
    if (items == null || !items.isArray()) {
      throw new ConnectionFailedException("the answer lacks `" + member + "`");
    }
    List<T> read = new ArrayList<>();
    items.forEach(item -> read.add(Json.decode(item, model)));
    return List.copyOf(read);
  }

  static String segment(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** Whether a run has ended: nothing about it changes any more. */
  static boolean isOver(RunStatus status) {
    return RunStatus.SUCCEEDED.equals(status)
        || RunStatus.FAILED.equals(status)
        || RunStatus.CANCELLED.equals(status);
  }
}
