package dev.svc.conformance;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.CallInterruptedException;
import dev.svc.ConnectionFailedException;
import dev.svc.IncompatibleServerException;
import dev.svc.RunFailedException;
import dev.svc.ServiceException;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Joins the conformance kit to this library, through its public interface alone. */
public final class Fixture {
  static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private static final OutputStream OUT = new FileOutputStream(FileDescriptor.out);
  private static final Map<Long, Thread> UNDER_WAY = new ConcurrentHashMap<>();

  private Fixture() {}

  /** One verb of the protocol. */
  @FunctionalInterface
  interface Verb {
    Object call(ObjectNode with) throws Exception;
  }

  static void emit(Object line) {
    try {
      byte[] text = JSON.writeValueAsBytes(line);
      synchronized (OUT) {
        OUT.write(text);
        OUT.write('\n');
        OUT.flush();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static ObjectNode object() {
    return JSON.createObjectNode();
  }

  static <T> T as(JsonNode value, Class<T> type) {
    return JSON.convertValue(value, type);
  }

  static String text(JsonNode with, String name) {
    return with.hasNonNull(name) ? with.get(name).textValue() : null;
  }

  static Duration millis(JsonNode with, String name, long otherwise) {
    return Duration.ofMillis(with.path(name).asLong(otherwise));
  }

  /**
   * Serves requests until standard input ends.
   *
   * @param arguments none
   * @throws IOException when standard input cannot be read
   */
  public static void main(String[] arguments) throws IOException {
    World world = new World();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      long id = request.get("id").longValue();
      Thread thread = new Thread(() -> serve(world, id, request), "request-" + id);
      thread.setDaemon(true);
      UNDER_WAY.put(id, thread);
      thread.start();
    }
    Runtime.getRuntime().halt(0);
  }

  private static void serve(World world, long id, JsonNode request) {
    String name = request.get("do").textValue();
    ObjectNode with = request.has("with") ? (ObjectNode) request.get("with") : object();
    ObjectNode answer = object().put("id", id);
    try {
      if (name.equals("cancel_call")) {
        Thread called = UNDER_WAY.get(with.get("call").longValue());
        if (called != null) {
          called.interrupt();
        }
        answer.set("ok", object());
      } else {
        Verb verb = world.verb(name);
        if (verb == null) {
          throw new UnsupportedOperationException(name);
        }
        if (name.equals("client.watch")) {
          with.put("call", id);
        }
        Object result = verb.call(with);
        answer.set("ok", result == null ? object() : JSON.valueToTree(result));
      }
    } catch (Throwable e) {
      answer.set("error", errorOf(e));
    } finally {
      UNDER_WAY.remove(id);
    }
    emit(answer);
  }

  private static ObjectNode errorOf(Throwable error) {
    ObjectNode told = object().put("message", String.valueOf(error.getMessage()));
    if (error instanceof ServiceException) {
      ServiceException refusal = (ServiceException) error;
      told.put("type", "ServiceError").put("status", refusal.status()).put("code", refusal.code());
      refusal.field().ifPresent(field -> told.put("field", field));
      refusal.requestId().ifPresent(requestId -> told.put("request_id", requestId));
      refusal.retryAfter().ifPresent(wait -> told.put("retry_after_ms", wait.toMillis()));
      return told;
    }
    if (error instanceof RunFailedException) {
      return told.put("type", "RunFailed").set("run", JSON.valueToTree(((RunFailedException) error).run()));
    }
    return told.put("type", typeOf(error));
  }

  private static String typeOf(Throwable error) {
    if (error instanceof ConnectionFailedException) {
      return "ConnectionError";
    }
    if (error instanceof IncompatibleServerException) {
      return "IncompatibleServer";
    }
    if (error instanceof CallInterruptedException || error instanceof InterruptedException) {
      return "Cancelled";
    }
    if (error instanceof IllegalArgumentException) {
      return "InvalidArgument";
    }
    return error instanceof UnsupportedOperationException ? "Unsupported" : "Unexpected";
  }
}
