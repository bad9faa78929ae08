package dev.svc;

import static dev.svc.Suite.equal;
import static dev.svc.Suite.thrown;
import static dev.svc.Suite.yes;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** Calls, their answers, and what breaks them off. */
final class HttpTests {
  private static final RetryPolicy QUICK = new RetryPolicy(3, Duration.ofMillis(1), Duration.ofMillis(2));

  private HttpTests() {}

  static void add(Suite suite) {
    suite.test("a call that meets 503 twice is made a third time, and 404 once", HttpTests::retries);
    suite.test("an interrupt breaks a call off, and the flag of the thread is set again", HttpTests::interrupts);
    suite.test("a call without an answer ends within its time", HttpTests::timeouts);
    suite.test("closing a client breaks off what waits, and later calls", HttpTests::closing);
    suite.test("the key is in no text of settings, and in no error", HttpTests::keys);
    suite.test("an answer that is no JSON is a connection error", HttpTests::broken);
    suite.test("events are read however their bytes are cut", HttpTests::events);
    suite.test("an output of another shape is named, and so is an input that is not JSON", HttpTests::shapes);
    suite.test("the README holds the examples that are compiled", HttpTests::readme);
  }

  private static SvcClient client(Scripted service) {
    return SvcClient.builder().settings(service.settings()).retry(QUICK).timeout(Duration.ofSeconds(5)).build();
  }

  private static void retries() throws Exception {
    Scripted.Script script =
        (path, number) -> {
          if (path.endsWith("gone")) {
            return new Scripted.Answer(404, "{\"code\":\"not_found\",\"message\":\"no such run\"}");
          }
          return number < 2 ? new Scripted.Answer(503, "<h1>later</h1>") : Scripted.Answer.ok("{\"a\":1}");
        };
    try (Scripted service = new Scripted(script);
        SvcClient client = client(service)) {
      equal(1, client.read("/v1/api/x", Query.with("limit", 2)).get("a").intValue(), "the answer");
      equal(3, service.asked.size(), "calls");
      ServiceException refusal = thrown(ServiceException.class, () -> client.read("/v1/api/gone", Query.none()));
      equal("not_found", refusal.code(), "the code");
      equal(4, service.asked.size(), "calls");
    }
  }

  private static void interrupts() throws Exception {
    try (Scripted service = new Scripted((path, number) -> null);
        SvcClient client = client(service)) {
      AtomicReference<Throwable> found = new AtomicReference<>();
      AtomicReference<Boolean> flag = new AtomicReference<>();
      Thread caller =
          new Thread(
              () -> {
                found.set(thrown(CallInterruptedException.class, () -> client.getRun("r-1")));
                flag.set(Thread.currentThread().isInterrupted());
              });
      caller.start();
      Suite.until("it was called", () -> service.asked.size() == 1);
      caller.interrupt();
      caller.join(5000);
      yes(found.get() != null, "the call ended");
      equal(true, flag.get(), "the flag");
      equal(1, service.asked.size(), "calls");
    }
  }

  private static void timeouts() throws Exception {
    try (Scripted service = new Scripted((path, number) -> null);
        SvcClient client =
            SvcClient.builder()
                .settings(service.settings())
                .retry(new RetryPolicy(1, Duration.ZERO, Duration.ZERO))
                .timeout(Duration.ofMillis(200))
                .build()) {
      long began = System.nanoTime();
      thrown(ConnectionFailedException.class, () -> client.getRun("r-1"));
      long took = Duration.ofNanos(System.nanoTime() - began).toMillis();
      yes(took >= 200 && took < 4000, "it took " + took + " ms");
    }
  }

  private static void closing() throws Exception {
    try (Scripted service = new Scripted((path, number) -> null)) {
      SvcClient client = client(service);
      Thread closer =
          new Thread(
              () -> {
                try {
                  Suite.until("it was called", () -> service.asked.size() == 1);
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
                client.close();
              });
      closer.start();
      thrown(ConnectionFailedException.class, () -> client.await("r-1", JsonNode.class));
      closer.join();
      thrown(ConnectionFailedException.class, () -> client.getRun("r-1"));
      equal(1, service.asked.size(), "calls");
    }
  }

  private static void keys() throws Exception {
    try (Scripted service = new Scripted((path, number) -> new Scripted.Answer(401, ""));
        SvcClient client = client(service)) {
      String shown = service.settings() + " " + client;
      String said = thrown(ServiceException.class, () -> client.getRun("r-1")).toString();
      yes(!(shown + said).contains("key-of-the-test"), "the key is shown");
      Settings bad = Settings.builder().apiKey("secret\nkey").endpoint("http://u:secret@h").build(java.util.Map.of());
      yes(!(bad.problems() + bad.toString()).contains("secret"), "a bad key is shown");
      thrown(IllegalArgumentException.class, () -> SvcClient.builder().settings(bad).build());
    }
  }

  private static void broken() throws Exception {
    try (Scripted service = new Scripted((path, number) -> Scripted.Answer.ok("{\"a\":"));
        SvcClient client = client(service)) {
      thrown(ConnectionFailedException.class, () -> client.read("/v1/api/x", Query.none()));
      equal(3, service.asked.size(), "calls");
    }
  }

  private static void events() {
    String text = ": hello\r\nid: 1\r\ndata: {\"a\":\r\ndata:\"ü€😀\"}\r\n\r\nevent: x\ndata\n\ndatabase: no\n\rdata: z\r\r";
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    for (int size = 1; size <= bytes.length; size++) {
      List<List<ByteBuffer>> pieces = new ArrayList<>();
      for (int at = 0; at < bytes.length; at += size) {
        pieces.add(List.of(ByteBuffer.wrap(bytes, at, Math.min(size, bytes.length - at))));
      }
      pieces.add(List.of());
      Iterator<List<ByteBuffer>> source = pieces.iterator();
      EventStream stream = new EventStream(idle -> source.next(), Duration.ofSeconds(1));
      equal("{\"a\":\n\"ü€😀\"}", stream.next(), "the first in pieces of " + size);
      equal("", stream.next(), "the second in pieces of " + size);
      equal("z", stream.next(), "the third in pieces of " + size);
      equal(null, stream.next(), "the end in pieces of " + size);
    }
  }

  record Receipt(double amount) {}

  private static void shapes() throws Exception {
    String run =
        "{\"run_id\":\"r-1\",\"trace_id\":\"t\",\"project\":\"p\",\"definition_id\":\"d\",\"definition_version\":1,"
            + "\"status\":\"succeeded\",\"output\":{\"amount\":\"much\",\"more\":1}}";
    try (Scripted service = new Scripted((path, number) -> Scripted.Answer.ok(run));
        SvcClient client = client(service)) {
      thrown(IllegalArgumentException.class, () -> client.await("r-1", Receipt.class));
      equal("much", client.await("r-1", JsonNode.class).get("amount").textValue(), "as JSON");
      thrown(IllegalArgumentException.class, () -> client.start("d", new Object()));
    }
  }

  private static void readme() throws Exception {
    String readme = Files.readString(Suite.root().resolve("README.md"));
    for (String name : List.of("Instrument", "RunAndWorker")) {
      String example = Files.readString(Suite.root().resolve("examples/readme/" + name + ".java"));
      yes(readme.contains("```java\n" + example + "```\n"), "the README has another " + name);
    }
  }
}
