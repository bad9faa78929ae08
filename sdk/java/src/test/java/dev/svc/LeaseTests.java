package dev.svc;

import static dev.svc.Suite.equal;
import static dev.svc.Suite.yes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.svc.wire.Lease;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;

/** Declarations, and single leases before a scripted service. */
final class LeaseTests {
  private static final LeaseCalls.Answer TAKEN = new LeaseCalls.Answer(LeaseCalls.Kind.TAKEN, "", null);
  private static final LeaseCalls.Answer FENCED = new LeaseCalls.Answer(LeaseCalls.Kind.REFUSED, "fenced", null);
  private static final Scripted.Answer AWAY = new Scripted.Answer(503, "{\"code\":\"unavailable\",\"message\":\"away\"}");

  private LeaseTests() {}

  static void add(Suite suite) {
    suite.test("a refused declaration counts, unless a report is on its way", LeaseTests::refusal);
    suite.test("a report that did not leave goes on when its declaration is answered", LeaseTests::held);
    suite.test("an output and a failure that were not answered are reported again", LeaseTests::again);
    suite.test("a report that overtook its declaration is sent again behind it, once", LeaseTests::overtaken);
    suite.test("a refused output is reported as a failure, and a refused failure as a plain one", LeaseTests::rejected);
    suite.test("a lease that no thread can be started for ends, and beats no more", LeaseTests::noThread);
  }

  private static void refusal() {
    List<LeaseCalls.Answer> told = new ArrayList<>();
    Declaration first = new Declaration();
    yes(first.refusal() == null && !first.isTaken(), "nothing is known");
    first.settle(FENCED, told::add);
    equal(List.of(FENCED), told, "who runs the body is told");
    equal(FENCED, first.beginReport(), "nothing is reported");
    equal(FENCED, first.refusal(), "the refusal");
    first.settle(TAKEN, told::add);
    yes(!first.isTaken() && told.size() == 1, "the first answer counts");

    Declaration second = new Declaration();
    yes(second.beginReport() == null, "the report may go");
    second.settle(FENCED, told::add);
    yes(told.size() == 1 && second.refusal() == null, "the answer to the report counts");
    equal(FENCED, second.await(), "the answer");

    Declaration third = new Declaration();
    third.settle(TAKEN, told::add);
    yes(third.isTaken() && third.refusal() == null && told.size() == 1, "the body may run");
  }

  private static void held() {
    List<String> said = new ArrayList<>();
    Declaration declaration = new Declaration();
    yes(declaration.beginReport() == null, "the report may go");
    declaration.holdReport(() -> said.add("on"));
    equal(List.of(), said, "it waits");
    declaration.settle(FENCED, answer -> said.add("refused"));
    equal(List.of("refused", "on"), said, "in this order");
    equal(FENCED, declaration.beginReport(), "and it does not go");
    declaration.holdReport(() -> said.add("at once"));
    equal(List.of("refused", "on", "at once"), said, "what is answered holds up nothing");
  }

  /** One lease of a worker, whose calls go one by one to a service that answers as the script says. */
  private static final class Stage implements AutoCloseable {
    final Scripted service;
    final ScheduledThreadPoolExecutor timers = new ScheduledThreadPoolExecutor(1, Threads.daemons("timers"));
    final CountDownLatch ended = new CountDownLatch(1);
    private final BodyPool pool = new BodyPool(Threads.daemons("lease"));
    private final Http http;
    private final StepCalls calls;
    private final Instrumentation instrumentation;
    private final LeaseHost host;

    Stage(Scripted.Script script) throws Exception {
      // A service that knows no batch.
      service =
          new Scripted(
              (path, number) -> path.endsWith("/batch") ? new Scripted.Answer(404, "") : script.answer(path, number));
      http = new Http(service.settings());
      calls = new StepCalls(http, "w", null, () -> false, leases -> {}, pool);
      instrumentation = Instrumentation.builder().settings(service.settings()).build();
      timers.setRemoveOnCancelPolicy(true);
      host =
          new LeaseHost(
              calls,
              "w",
              Json.encodeOwn(JsonNodeFactory.instance.objectNode().put("worker_id", "w")),
              Duration.ofSeconds(10),
              Duration.ofSeconds(30),
              instrumentation,
              Json.OWN,
              System.getLogger("dev.svc.test"),
              timers,
              null,
              new Signal(),
              Duration.ofSeconds(5),
              run -> {});
    }

    /** Serves it, on those of its threads that may be had, counted from 0. */
    void serve(StepBody<JsonNode> body, IntPredicate mayStart) throws Exception {
      AtomicInteger started = new AtomicInteger();
      Executor threads =
          work -> {
            if (!mayStart.test(started.getAndIncrement())) {
              throw new RejectedExecutionException("no thread");
            }
            pool.execute(work);
          };
      Workflow workflow = Workflow.parse(WorkerTests.DEFINITION).step("a", JsonNode.class, body);
      JsonNode offered = Suite.JSON.readTree(WorkerTests.LEASE.replace("INPUT", "1")).at("/leases/0");
      Lease lease = Json.decode(offered, Lease.class);
      new ServedLease(host, lease, workflow.bodyOf("a"), threads, ended::countDown).begin();
    }

    /** The calls on the lease so far, the declaration aside. */
    List<String> reports() {
      List<String> reports = new ArrayList<>();
      for (Scripted.Asked asked : service.asked) {
        String verb = asked.path().substring(asked.path().lastIndexOf('/') + 1);
        if (verb.equals("complete") || verb.equals("fail")) {
          reports.add(verb + " " + codeOf(asked.body()));
        }
      }
      return reports;
    }

    private static String codeOf(String body) {
      try {
        JsonNode report = Suite.JSON.readTree(body);
        return report.has("error") ? report.at("/error/code").asText("none") : report.get("output").asText();
      } catch (java.io.IOException e) {
        throw new java.io.UncheckedIOException(e);
      }
    }

    void awaitEnd() throws InterruptedException {
      yes(ended.await(20, TimeUnit.SECONDS), "the lease ends");
      Suite.until("a heart that is still", () -> timers.getQueue().isEmpty());
    }

    @Override
    public void close() {
      http.close();
      calls.close();
      pool.close();
      timers.shutdownNow();
      instrumentation.close(Duration.ZERO);
      service.close();
    }
  }

  private static Scripted.Answer taken() {
    return Scripted.Answer.ok("{\"run_status\":\"running\"}");
  }

  private static Scripted.Answer refused(int status, String code) {
    return new Scripted.Answer(status, "{\"code\":\"" + code + "\",\"message\":\"no\"}");
  }

  private static void again() throws Exception {
    StepBody<JsonNode> fails =
        (step, input) -> {
          throw new StepFailureException("fatal", "broken", "it broke", null);
        };
    for (String verb : List.of("complete", "fail")) {
      AtomicInteger asked = new AtomicInteger();
      Scripted.Script script =
          (path, number) -> path.endsWith("/" + verb) && asked.getAndIncrement() == 0 ? AWAY : taken();
      try (Stage stage = new Stage(script)) {
        stage.serve(verb.equals("fail") ? fails : (step, input) -> "done", number -> true);
        stage.awaitEnd();
        String report = verb.equals("fail") ? "fail broken" : "complete done";
        equal(List.of(report, report), stage.reports(), "the reports");
      }
    }
  }

  private static void overtaken() throws Exception {
    Scripted.Script script =
        (path, number) -> path.endsWith("/complete") ? refused(409, "not_started") : taken();
    try (Stage stage = new Stage(script)) {
      stage.serve((step, input) -> "done", number -> true);
      stage.awaitEnd();
      equal(List.of("complete done", "complete done"), stage.reports(), "the reports");
    }
  }

  private static void rejected() throws Exception {
    AtomicInteger fails = new AtomicInteger();
    Scripted.Script script =
        (path, number) -> {
          if (path.endsWith("/complete")) {
            return refused(413, "payload_too_large");
          }
          return path.endsWith("/fail") && fails.getAndIncrement() == 0 ? refused(422, "invalid") : taken();
        };
    try (Stage stage = new Stage(script)) {
      stage.serve((step, input) -> "done", number -> true);
      stage.awaitEnd();
      equal(
          List.of("complete done", "fail payload_too_large", "fail invalid_failure"), stage.reports(), "the reports");
    }
  }

  private static void noThread() throws Exception {
    Scripted.Script script = (path, number) -> path.endsWith("/complete") ? AWAY : taken();
    try (Stage stage = new Stage(script)) {
      // The second is needed to report again.
      stage.serve((step, input) -> "done", number -> number == 0);
      stage.awaitEnd();
      equal(List.of("complete done"), stage.reports(), "the reports");
    }
    try (Stage stage = new Stage(script)) {
      stage.serve((step, input) -> "done", number -> false);
      stage.awaitEnd();
      equal(List.of(), stage.reports(), "the reports");
    }
  }
}
