package dev.svc;

import static dev.svc.Suite.equal;
import static dev.svc.Suite.thrown;
import static dev.svc.Suite.yes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.wire.Severity;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** What is recorded, and what becomes of it. */
final class InstrumentationTests {
  private InstrumentationTests() {}

  static void add(Suite suite) {
    suite.test("an exception goes through a span as it was, and marks it", InstrumentationTests::failures);
    suite.test("a checked exception of a body is known to the compiler, and none is asked for without one", InstrumentationTests::checked);
    suite.test("a span is carried to another thread, which has its own again afterwards", InstrumentationTests::carried);
    suite.test("a span that is closed on another thread changes nothing there", InstrumentationTests::closedElsewhere);
    suite.test("what JSON cannot say is counted, and half a surrogate pair is sent", InstrumentationTests::hostile);
    suite.test("a full queue keeps the newest, and counts the others exactly", InstrumentationTests::overflow);
    suite.test("a queue has a bound in bytes: one more pushes out the oldest", InstrumentationTests::bytes);
    suite.test("disabled instrumentation gives valid spans and sends nothing", InstrumentationTests::disabled);
    suite.test("times of java.time are written as text", InstrumentationTests::times);
    suite.test("a bridge that throws is counted, and the span goes on", InstrumentationTests::bridges);
    suite.test("flush is false when its time is over, and close breaks off what is on its way", InstrumentationTests::stalled);
  }

  private static Instrumentation.Builder builder(Scripted service) {
    return Instrumentation.builder()
        .settings(service.settings())
        .delay(Duration.ofMillis(1))
        .retry(new RetryPolicy(1, Duration.ZERO, Duration.ZERO));
  }

  private static Scripted taking() throws IOException {
    return new Scripted((path, number) -> Scripted.Answer.ok("{\"accepted\":1,\"rejected\":0}"));
  }

  private static List<JsonNode> arrived(Scripted service, String list) throws JsonProcessingException {
    List<JsonNode> found = new ArrayList<>();
    for (Scripted.Asked asked : service.asked) {
      Suite.JSON.readTree(asked.body()).path(list).forEach(found::add);
    }
    return found;
  }

  private static void failures() throws Exception {
    try (Scripted service = taking()) {
      IllegalStateException raised = new IllegalStateException("no");
      try (Instrumentation svc = builder(service).build()) {
        yes(thrown(IllegalStateException.class, () -> svc.span("a").call(span -> raise(raised))) == raised, "the same");
        yes(svc.traceparent().isEmpty(), "the thread has left the span");
      }
      JsonNode span = arrived(service, "spans").get(0);
      equal("error", span.get("status").textValue(), "the status");
      equal("no", span.get("error").get("message").textValue(), "the message");
      equal("java.lang.IllegalStateException", span.get("error").get("type").textValue(), "the type");
    }
  }

  private static Object raise(RuntimeException error) {
    throw error;
  }

  private static void checked() throws Exception {
    try (Scripted service = taking();
        Instrumentation svc = builder(service).build()) {
      // Neither line needs a `throws` or a cast: that is the test.
      int one = svc.span("a").call(span -> 1);
      try {
        svc.span("b").run(span -> InstrumentationTests.read());
      } catch (IOException e) {
        equal("cannot be read", e.getMessage(), "the error");
      }
      equal(1, one, "what the body returns");
    }
  }

  private static void read() throws IOException {
    throw new IOException("cannot be read");
  }

  private static void carried() throws Exception {
    ExecutorService pool = Executors.newSingleThreadExecutor(Threads.daemons("pool"));
    try (Scripted service = taking();
        Instrumentation svc = builder(service).build()) {
      Span outer = svc.span("outer");
      String inside = outer.call(span -> pool.submit(svc.wrap(() -> svc.traceparent().orElse("none"))).get());
      equal(outer.traceparent(), inside, "inside");
      equal(Optional.empty(), pool.submit(svc::traceparent).get(), "afterwards");
      svc.span("other").run(span -> svc.wrap(pool).execute(() -> svc.span("child").end()));
      pool.submit(() -> null).get();
      yes(svc.flush(Duration.ofSeconds(10)), "flushed");
      JsonNode child = find(arrived(service, "spans"), "child");
      equal(find(arrived(service, "spans"), "other").get("span_id"), child.get("parent_span_id"), "its parent");
    } finally {
      pool.shutdownNow();
    }
  }

  private static JsonNode find(List<JsonNode> spans, String name) {
    return spans.stream().filter(span -> span.get("name").textValue().equals(name)).findFirst().orElseThrow();
  }

  private static void closedElsewhere() throws Exception {
    try (Scripted service = taking();
        Instrumentation svc = builder(service).build()) {
      Span span = svc.span("a").enter();
      Thread other = new Thread(() -> svc.span("b").run(inner -> closeAndLook(svc, span, inner)));
      other.start();
      other.join();
      yes(svc.flush(Duration.ofSeconds(10)), "flushed");
      equal(2, arrived(service, "spans").size(), "both ended, once");
      equal("ok", find(arrived(service, "spans"), "b").get("status").textValue(), "the other thread kept its span");
    }
  }

  private static void closeAndLook(Instrumentation svc, Span span, Span inner) {
    span.close();
    equal(inner.traceparent(), svc.traceparent().orElse("none"), "around the other thread");
  }

  private static void hostile() throws Exception {
    List<Object> cycle = new ArrayList<>();
    cycle.add(cycle);
    try (Scripted service = taking();
        Instrumentation svc = builder(service).build()) {
      svc.span("cycle").input(cycle).end();
      svc.span("bean").input(new Object()).end();
      svc.span("half").input("a\ud800b").end();
      svc.log(Severity.INFO, "half \udc00");
      yes(svc.flush(Duration.ofSeconds(10)), "flushed");
      equal(new ExportCounters(2, 2, 0, 0, 0), svc.counters(), "counters");
      equal("a\ud800b", find(arrived(service, "spans"), "half").get("input").textValue(), "the text");
    }
  }

  private static void overflow() throws Exception {
    try (Scripted service = taking();
        Instrumentation svc = builder(service).maxQueued(10).delay(Duration.ofHours(1)).batchSize(1000).build()) {
      for (int i = 0; i < 25; i++) {
        svc.span("s" + i).end();
      }
      yes(svc.flush(Duration.ofSeconds(10)), "flushed");
      equal(new ExportCounters(10, 15, 0, 0, 0), svc.counters(), "counters");
      List<String> names = arrived(service, "spans").stream().map(span -> span.get("name").textValue()).toList();
      equal("s15", names.get(0), "the oldest of those that stayed");
      equal("s24", names.get(9), "the newest");
    }
  }

  private static void bytes() throws Exception {
    try (Scripted service = taking();
        Instrumentation svc = builder(service).maxQueuedBytes(25_000).delay(Duration.ofHours(1)).build()) {
      String payload = "x".repeat(10_000);
      svc.span("a").input(payload).end();
      svc.span("b").input(payload).end();
      equal(0L, svc.counters().dropped(), "two of them fit");
      svc.span("c").input(payload).end();
      equal(1L, svc.counters().dropped(), "the third pushes one out");
      yes(svc.flush(Duration.ofSeconds(10)), "flushed");
      equal("b", arrived(service, "spans").get(0).get("name").textValue(), "the oldest went");
    }
  }

  private static void disabled() throws Exception {
    try (Scripted service = taking()) {
      Settings off = Settings.builder().endpoint(service.settings().endpoint()).enabled(false).build(Map.of());
      try (Instrumentation svc = Instrumentation.builder().settings(off).build()) {
        Span span = svc.span("a");
        yes(span.call(Span::traceparent).matches("00-[0-9a-f]{32}-[0-9a-f]{16}-00"), "a traceparent");
        svc.log(Severity.INFO, "a");
        svc.counter("c", 1);
        yes(svc.flush(Duration.ofSeconds(1)), "flushed");
      }
      equal(0, service.asked.size(), "calls");
    }
  }

  record Event(Instant at, Duration took) {}

  private static void times() throws Exception {
    try (Scripted service = taking();
        Instrumentation svc = builder(service).build()) {
      svc.span("a").input(new Event(Instant.EPOCH, Duration.ofSeconds(90))).end();
      yes(svc.flush(Duration.ofSeconds(10)), "flushed");
      JsonNode input = arrived(service, "spans").get(0).get("input");
      equal("{\"at\":\"1970-01-01T00:00:00Z\",\"took\":\"PT1M30S\"}", input.toString(), "the input");
    }
  }

  private static final class BrokenBridge implements ContextBridge {
    @Override
    public Optional<SpanAddress> current() {
      throw new IllegalStateException("current");
    }

    @Override
    public Scope attach(SpanAddress span, boolean sampled) {
      throw new IllegalStateException("attach");
    }
  }

  private static void bridges() throws Exception {
    try (Scripted service = taking();
        Instrumentation svc = builder(service).bridge(new BrokenBridge()).build()) {
      equal(7, svc.span("a").<Integer, RuntimeException>call(span -> 7), "what the body returns");
      yes(svc.flush(Duration.ofSeconds(10)), "flushed");
      equal(new ExportCounters(1, 0, 0, 0, 2), svc.counters(), "counters");
    }
  }

  private static void stalled() throws Exception {
    try (Scripted service = new Scripted((path, number) -> null)) {
      Instrumentation svc = builder(service).build();
      svc.span("a").end();
      yes(!svc.flush(Duration.ofMillis(100)), "nothing can have gone out");
      long began = System.nanoTime();
      svc.close(Duration.ofMillis(100));
      yes(System.nanoTime() - began < Duration.ofSeconds(4).toNanos(), "it closed in time");
      svc.span("late").end();
      equal(new ExportCounters(0, 1, 0, 1, 0), svc.counters(), "counters");
    }
  }
}
