package dev.svc;

import static dev.svc.Suite.equal;
import static dev.svc.Suite.thrown;
import static dev.svc.Suite.yes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Workflows, hearts, usage, and a worker before a scripted service. */
final class WorkerTests {
  static final String DEFINITION =
      "{\"id\":\"w\",\"version\":1,\"steps\":[{\"id\":\"a\",\"kind\":\"task\"},{\"id\":\"b\",\"kind\":\"sleep\"}]}";
  static final String LEASE =
      "{\"leases\":[{\"lease_id\":\"l-1\",\"run_id\":\"r-1\",\"project\":\"p\",\"definition_id\":\"w\","
          + "\"definition_version\":1,\"step_id\":\"a\",\"visit\":1,\"attempt\":1,\"delivery\":\"at_least_once\","
          + "\"input\":{\"n\":INPUT},\"steps\":{},\"state\":{},\"correlation\":{},\"step_key\":\"k\","
          + "\"trace_id\":\"5b8efff798038103d269b633813fc60c\",\"span_id\":\"eee19b7ec3c1b174\","
          + "\"lease_expires_at\":\"2026-11-20T09:00:30Z\"}]}";

  private static final String TAKEN = "{\"status\":200,\"body\":{\"run_status\":\"running\"}}";

  private WorkerTests() {}

  static void add(Suite suite) {
    suite.test("a workflow takes one body for each task it has, and for nothing else", WorkerTests::bodies);
    suite.test("a worker names the task that has no body, and runs once", WorkerTests::refusals);
    suite.test("usage is added up by model, and what nobody counted stays absent", WorkerTests::usage);
    suite.test("details that were not answered travel again, unless newer ones came", WorkerTests::details);
    suite.test("a heart that is told it is over beats no more", WorkerTests::over);
    suite.test("a report waits for leases in motion, and not long for one that does not end", WorkerTests::together);
    suite.test("an answer that makes trouble for one lease reaches the others", WorkerTests::trouble);
    suite.test("much short work is all done, and what waits for one another runs at once", WorkerTests::pool);
    suite.test("bodies run on the executor of the user, with their input as a record", WorkerTests::executor);
    suite.test("a body that ends at once is declared and reported in one batch", WorkerTests::early);
    suite.test("a body that blocks its thread is declared", WorkerTests::blocked);
    suite.test("a body whose declaration is refused is cancelled, and not reported", WorkerTests::refused);
    suite.test("the body of a second attempt waits for its declaration", WorkerTests::again);
    suite.test("an input of another shape fails the step as fatal", WorkerTests::shapes);
    suite.test("an interrupt of the thread of run stops the worker, whose body is interrupted after the grace", WorkerTests::interrupts);
  }

  private static void together() throws Exception {
    Scripted.Script script =
        (path, number) -> Scripted.Answer.ok("{\"completes\":[" + "{\"status\":200,\"body\":{}},".repeat(4) + "{}]}");
    try (Scripted service = new Scripted(script);
        Http http = new Http(service.settings())) {
      StepCalls calls = new StepCalls(http, "w", null, () -> false, leases -> {}, Runnable::run);
      // One that does not end holds up nobody for long.
      calls.motion().begin();
      calls.motion().await();
      CountDownLatch answered = new CountDownLatch(4);
      calls.motion().begin();
      for (int n = 0; n < 4; n++) {
        calls.submit(report("l-" + n), (answer, error) -> answered.countDown());
      }
      calls.motion().end();
      yes(answered.await(60, TimeUnit.SECONDS), "all are answered");
      calls.close();
      long items =
          service.asked.stream().mapToLong(asked -> asked.body().split("\"lease_id\"", -1).length - 1).sum();
      equal(4L, items, "items");
    }
  }

  /** The thread that sends goes on, and answers the others. */
  private static void trouble() throws Exception {
    Scripted.Script script =
        (path, number) -> Scripted.Answer.ok("{\"completes\":[{\"status\":200,\"body\":{}},{\"status\":200,\"body\":{}}]}");
    try (Scripted service = new Scripted(script);
        Http http = new Http(service.settings())) {
      StepCalls calls = new StepCalls(http, "w", null, () -> false, leases -> {}, Runnable::run);
      // More than there are threads that send.
      for (int round = 0; round < 4; round++) {
        CountDownLatch answered = new CountDownLatch(1);
        calls.motion().begin();
        calls.submit(
            report("bad"),
            (answer, error) -> {
              throw new IllegalStateException("a fault of whoever reads the answer");
            });
        calls.submit(report("good"), (answer, error) -> answered.countDown());
        calls.motion().end();
        yes(answered.await(60, TimeUnit.SECONDS), "the other is answered");
      }
      calls.close();
    }
  }

  private static StepCalls.Call report(String lease) {
    byte[] body = "{\"worker_id\":\"w\"}".getBytes(StandardCharsets.UTF_8);
    return new StepCalls.Call(StepCalls.Verb.COMPLETE, lease, body, Duration.ofSeconds(60), null, false, null);
  }

  private static void pool() throws Exception {
    BodyPool pool = new BodyPool(Threads.daemons("test"));
    for (int round = 0; round < 200; round++) {
      CountDownLatch done = new CountDownLatch(20);
      for (int n = 0; n < 20; n++) {
        pool.execute(done::countDown);
      }
      yes(done.await(60, TimeUnit.SECONDS), "all of a round is done");
    }
    CountDownLatch all = new CountDownLatch(8);
    CountDownLatch met = new CountDownLatch(8);
    for (int n = 0; n < 8; n++) {
      pool.execute(
          () -> {
            all.countDown();
            try {
              all.await();
              met.countDown();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          });
    }
    yes(met.await(60, TimeUnit.SECONDS), "each met the others");
    pool.close();
  }

  record Input(long n) {}

  private static void bodies() {
    Workflow workflow = Workflow.parse(DEFINITION);
    thrown(IllegalArgumentException.class, () -> workflow.step("b", Input.class, (step, input) -> null));
    thrown(IllegalArgumentException.class, () -> workflow.step("c", Input.class, (step, input) -> null));
    workflow.step("a", Input.class, (step, input) -> null);
    thrown(IllegalArgumentException.class, () -> workflow.step("a", Input.class, (step, input) -> null));
    thrown(IllegalArgumentException.class, () -> Workflow.parse("{\"id\":\"w\",\"steps\":[]}"));
    thrown(IllegalArgumentException.class, () -> Workflow.parse("{"));
  }

  private static void refusals() {
    Worker.Builder without = Worker.builder().workflows(Workflow.parse(DEFINITION));
    String said = thrown(IllegalArgumentException.class, without::build).getMessage();
    yes(said.endsWith("no body for: a"), said);
    thrown(IllegalArgumentException.class, () -> Worker.builder().concurrency(0).build());
    Worker stopped = Worker.builder().build();
    stopped.stop();
    stopped.run();
    thrown(IllegalStateException.class, () -> run(stopped));
  }

  private static Object run(Worker worker) {
    worker.run();
    return null;
  }

  private static ObjectNode counts(long in) {
    ObjectNode counts = JsonNodeFactory.instance.objectNode().put("input_tokens", in);
    counts.putObject("input_details").put("cached_tokens", 1);
    return counts;
  }

  private static void usage() {
    UsageTotals totals = new UsageTotals();
    yes(!totals.hasModelSpan() && totals.list().isEmpty(), "nothing yet");
    totals.add("m", counts(2));
    totals.add("n", counts(5));
    totals.add("m", counts(3).put("output_tokens", 7));
    totals.add("m", null);
    equal(
        "[{\"model\":\"m\",\"input_tokens\":5,\"input_details\":{\"cached_tokens\":2},\"output_tokens\":7}, "
            + "{\"model\":\"n\",\"input_tokens\":5,\"input_details\":{\"cached_tokens\":1}}]",
        totals.list().toString(),
        "the sums");
    yes(totals.hasModelSpan(), "a model span");
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void details() throws Exception {
    ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor(Threads.daemons("timers"));
    List<String> sent = new CopyOnWriteArrayList<>();
    List<Consumer<Heart.Pulse>> waiting = new CopyOnWriteArrayList<>();
    Heart heart =
        new Heart(
            timers,
            TimeUnit.MILLISECONDS.toNanos(20),
            (details, cut, found) -> {
              sent.add(details == null ? "" : new String(details, StandardCharsets.UTF_8));
              waiting.add(found);
            });
    try {
      heart.tell(text("1"));
      Suite.until("the first beat", () -> waiting.size() == 1);
      waiting.get(0).accept(Heart.Pulse.SOONER);
      Suite.until("the second beat", () -> waiting.size() == 2);
      heart.tell(text("2"));
      waiting.get(1).accept(Heart.Pulse.SOONER);
      Suite.until("the third beat", () -> waiting.size() == 3);
      waiting.get(2).accept(Heart.Pulse.AGAIN);
      Suite.until("the fourth beat", () -> waiting.size() == 4);
      equal(List.of("1", "1", "2", ""), sent, "the details");
    } finally {
      heart.stop();
      timers.shutdownNow();
    }
  }

  private static void over() throws Exception {
    ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor(Threads.daemons("timers"));
    List<String> sent = new CopyOnWriteArrayList<>();
    Heart heart =
        new Heart(
            timers,
            TimeUnit.MILLISECONDS.toNanos(5),
            (details, cut, found) -> {
              sent.add("");
              found.accept(Heart.Pulse.OVER);
            });
    try {
      Suite.until("the first beat", () -> sent.size() == 1);
      heart.tell(text("1"));
      heart.flush(TimeUnit.SECONDS.toNanos(1));
      Thread.sleep(50);
      equal(1, sent.size(), "beats");
    } finally {
      timers.shutdownNow();
    }
  }

  /** A service that offers one lease, and takes what comes of it. */
  private static Scripted service(String input) throws Exception {
    boolean[] offered = new boolean[1];
    return new Scripted(
        (path, number) -> {
          if (path.endsWith("/register")) {
            return Scripted.Answer.ok("{\"worker_id\":\"w\",\"lease_ttl_ms\":30000,\"heartbeat_ms\":10000,\"definitions\":[]}");
          }
          if (path.endsWith("/claim")) {
            boolean first = !offered[0];
            offered[0] = true;
            return first ? Scripted.Answer.ok(LEASE.replace("INPUT", input)) : null;
          }
          return path.endsWith("/batch") ? new Scripted.Answer(404, "") : Scripted.Answer.ok("{\"run_status\":\"running\"}");
        });
  }

  /** One that knows the batch, offers so many leases one after the other, and answers each declaration so. */
  private static Scripted batching(int leases, int attempt, String declared) throws Exception {
    AtomicInteger offered = new AtomicInteger();
    return new Scripted(
        (path, number) -> {
          if (path.endsWith("/register")) {
            return Scripted.Answer.ok("{\"worker_id\":\"w\",\"lease_ttl_ms\":30000,\"heartbeat_ms\":10000,\"definitions\":[]}");
          }
          if (path.endsWith("/claim")) {
            boolean isLeft = offered.getAndIncrement() < leases;
            String lease = LEASE.replace("INPUT", "1").replace("\"attempt\":1", "\"attempt\":" + attempt);
            return isLeft ? Scripted.Answer.ok(lease) : null;
          }
          return Scripted.Answer.ok(
              "{\"started\":[" + declared + "],\"completes\":[" + TAKEN + "],\"fails\":[" + TAKEN + "],\"leases\":[]}");
        });
  }

  private static List<JsonNode> batches(Scripted service, int atLeast) throws Exception {
    List<JsonNode> batches = new ArrayList<>();
    Suite.until(
        "batches",
        () -> service.asked.stream().filter(call -> call.path().endsWith("/batch")).count() >= atLeast);
    for (Scripted.Asked call : service.asked) {
      if (call.path().endsWith("/batch")) {
        batches.add(Suite.JSON.readTree(call.body()));
      }
    }
    return batches;
  }

  private static void early() throws Exception {
    try (Scripted service = batching(2000, 1, TAKEN);
        Worker worker = builder(service, (step, input) -> "done").concurrency(1).build()) {
      new Thread(worker::run).start();
      // The body of one or the other begins too late for that, where the machine is busy.
      Suite.until(
          "a batch with a declaration and a report",
          () ->
              service.asked.stream()
                  .anyMatch(call -> call.body().contains("\"started\":[") && call.body().contains("\"completes\":[")));
    }
  }

  private static void blocked() throws Exception {
    CountDownLatch release = new CountDownLatch(1);
    StepBody<Input> body =
        (step, input) -> {
          release.await();
          return "done";
        };
    try (Scripted service = batching(1, 1, TAKEN);
        Worker worker = builder(service, body).build()) {
      new Thread(worker::run).start();
      JsonNode batch = batches(service, 1).get(0);
      equal("l-1", batch.at("/started/0/lease_id").asText(), "the declaration");
      yes(!batch.has("completes"), "nothing is reported yet");
      release.countDown();
      equal("done", batches(service, 2).get(1).at("/completes/0/output").asText(), "the report");
    }
  }

  private static void refused() throws Exception {
    for (String code : List.of("fenced", "run_terminal")) {
      CountDownLatch cancelled = new CountDownLatch(1);
      List<CancelReason> reasons = new CopyOnWriteArrayList<>();
      StepBody<Input> body =
          (step, input) -> {
            try {
              Thread.sleep(60_000);
            } catch (InterruptedException e) {
              step.cancelReason().ifPresent(reasons::add);
              cancelled.countDown();
            }
            return null;
          };
      String refusal = "{\"status\":409,\"body\":{\"code\":\"" + code + "\",\"message\":\"no\"}}";
      try (Scripted service = batching(1, 1, refusal)) {
        Worker worker = builder(service, body).build();
        Thread runner = new Thread(worker::run);
        runner.start();
        yes(cancelled.await(20, TimeUnit.SECONDS), "the body is cancelled");
        worker.stop();
        runner.join(20_000);
        equal(List.of(CancelReason.valueOf(code.toUpperCase(Locale.ROOT))), reasons, "the reason");
        for (JsonNode batch : batches(service, 1)) {
          yes(!batch.has("completes") && !batch.has("fails"), "nothing is reported");
        }
        worker.close();
      }
    }
  }

  private static void again() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    StepBody<Input> body =
        (step, input) -> {
          began.countDown();
          return null;
        };
    String refusal = "{\"status\":409,\"body\":{\"code\":\"fenced\",\"message\":\"no\"}}";
    try (Scripted service = batching(1, 2, refusal)) {
      Worker worker = builder(service, body).build();
      Thread runner = new Thread(worker::run);
      runner.start();
      batches(service, 1);
      worker.stop();
      runner.join(20_000);
      equal(1L, began.getCount(), "bodies that have not begun");
      worker.close();
    }
  }

  private static JsonNode report(Scripted service, String verb) throws Exception {
    String path = "/v1/api/steps/l-1/" + verb;
    Suite.until("a call " + path, () -> service.asked.stream().anyMatch(call -> call.path().equals(path)));
    String body = service.asked.stream().filter(call -> call.path().equals(path)).findFirst().orElseThrow().body();
    return Suite.JSON.readTree(body);
  }

  private static Worker.Builder builder(Scripted service, StepBody<Input> body) {
    Worker.Builder builder = Worker.builder().settings(service.settings());
    return builder.workflows(Workflow.parse(DEFINITION).step("a", Input.class, body));
  }

  private static void executor() throws Exception {
    ExecutorService pool = Executors.newSingleThreadExecutor(Threads.daemons("of-the-user"));
    try (Scripted service = service("9007199254740993");
        Worker worker =
            builder(service, (step, input) -> Thread.currentThread().getName() + " " + input.n()).executor(pool).build()) {
      Thread runner = new Thread(worker::run);
      runner.start();
      equal("of-the-user-1 9007199254740993", report(service, "complete").get("output").textValue(), "the output");
      worker.stop();
      runner.join(5000);
      yes(!runner.isAlive(), "run returned");
      yes(!pool.isShutdown(), "the executor is the user's");
    } finally {
      pool.shutdownNow();
    }
  }

  private static void shapes() throws Exception {
    try (Scripted service = service("{}");
        Worker worker = builder(service, (step, input) -> input).build()) {
      new Thread(worker::run).start();
      JsonNode error = report(service, "fail").get("error");
      equal("fatal", error.get("class").textValue(), "the class");
      equal("invalid_input", error.get("code").textValue(), "the code");
    }
  }

  private static void interrupts() throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    StepBody<Input> body =
        (step, input) -> {
          running.countDown();
          Thread.sleep(60_000);
          return null;
        };
    try (Scripted service = service("1");
        Worker worker = builder(service, body).grace(Duration.ofMillis(50)).build()) {
      Thread runner = new Thread(worker::run);
      runner.start();
      yes(running.await(20, TimeUnit.SECONDS), "the body runs");
      runner.interrupt();
      equal("worker_stopping", report(service, "fail").get("error").get("code").textValue(), "the code");
      runner.join(10_000);
      yes(!runner.isAlive(), "run returned");
    }
  }
}
