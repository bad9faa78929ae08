package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;

/**
 * Runs the unit tests, and prints a line of JSON for each: Debian has no JUnit that javac alone could run. {@code
 * --list} prints their names.
 */
public final class Suite {
  static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, Test> tests = new LinkedHashMap<>();

  private Suite() {}

  /** One test. */
  @FunctionalInterface
  interface Test {
    void run() throws Exception;
  }

  void test(String sentence, Test test) {
    if (tests.put(sentence, test) != null) {
      throw new IllegalArgumentException("two tests say: " + sentence);
    }
  }

  /**
   * Runs all, or lists them.
   *
   * @param arguments {@code --list}, or nothing
   * @throws IOException when a result cannot be written
   */
  public static void main(String[] arguments) throws IOException {
    Suite suite = new Suite();
    VectorTests.add(suite);
    HttpTests.add(suite);
    InstrumentationTests.add(suite);
    LeaseTests.add(suite);
    WorkerTests.add(suite);
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    if (arguments.length > 0 && arguments[0].equals("--list")) {
      out.println(JSON.writeValueAsString(suite.tests.keySet()));
      return;
    }
    for (Map.Entry<String, Test> each : suite.tests.entrySet()) {
      String text = "";
      try {
        each.getValue().run();
      } catch (Throwable e) {
        StringWriter stack = new StringWriter();
        e.printStackTrace(new PrintWriter(stack));
        text = stack.toString();
      }
      String state = text.isEmpty() ? "passed" : "failed";
      out.println(JSON.writeValueAsString(Map.of("test", each.getKey(), "state", state, "text", text)));
    }
  }

  /** The root of the library: sdk/java. */
  static Path root() {
    return Path.of(Objects.requireNonNull(System.getProperty("svc.root"), "svc.root"));
  }

  static JsonNode vectors(String name) throws IOException {
    return JSON.readTree(Files.readString(root().resolve("../conformance/vectors/" + name + ".json"))).get("cases");
  }

  static void equal(Object expected, Object actual, String what) {
    if (!Objects.equals(expected, actual)) {
      throw new AssertionError(what + ": expected " + expected + ", and it is " + actual);
    }
  }

  static void yes(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  static <E extends Throwable> E thrown(Class<E> type, Callable<?> call) {
    try {
      call.call();
    } catch (Throwable e) {
      if (type.isInstance(e)) {
        return type.cast(e);
      }
      throw new AssertionError("another error than " + type.getSimpleName(), e);
    }
    throw new AssertionError("no " + type.getSimpleName());
  }

  static void until(String what, BooleanSupplier holds) throws InterruptedException {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (!holds.getAsBoolean()) {
      yes(System.nanoTime() < deadline, what);
      Thread.sleep(5);
    }
  }
}
