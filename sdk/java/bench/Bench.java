import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import dev.svc.Instrumentation;
import dev.svc.Settings;
import dev.svc.SvcClient;
import dev.svc.SvcException;
import dev.svc.Worker;
import dev.svc.Workflow;
import dev.svc.wire.RunStatus;
import dev.svc.wire.SpanKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

/** What the library costs. See bench/sdk/README.md for its two verbs and what they print. */
public final class Bench {
  private static final int WARM_UP = 10_000;
  private static final int SPANS = 50_000;
  private static final int OFFERED = 300_000;
  private static final int RATE = 100_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private Bench() {}

  /**
   * Measures, and prints figures.
   *
   * @param arguments {@code spans} and the address of a service that never answers, or {@code runs} with a plan on standard input
   * @throws Exception when something cannot be measured
   */
  public static void main(String[] arguments) throws Exception {
    Object figures = arguments[0].equals("spans") ? spans(arguments[1]) : runs(JSON.readTree(System.in));
    System.out.println(JSON.writeValueAsString(figures));
    System.exit(0);
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static Instrumentation tracer(String url) {
    return Instrumentation.builder().settings(Settings.builder().endpoint(url).build()).build();
  }

  private static void record(Instrumentation svc, int number, String question) {
    svc.span("draft")
        .kind(SpanKind.MODEL_GENERATION)
        .model("gpt-4o-mini")
        .input(question)
        .attribute("n", number)
        .run(span -> span.output("42").usage(12, 1));
  }

  private static ObjectNode spans(String url) throws Exception {
    ObjectNode figures = JSON.createObjectNode();
    figures.set("stalled", stalled(url));
    figures.set("record", cost(url));
    return figures;
  }

  private static ObjectNode cost(String url) {
    Instrumentation svc = tracer(url);
    for (int i = 0; i < WARM_UP; i++) {
      record(svc, i, "What is it all about?");
    }
    long[] taken = new long[SPANS];
    long cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    for (int i = 0; i < SPANS; i++) {
      long before = System.nanoTime();
      record(svc, i, "What is it all about?");
      taken[i] = System.nanoTime() - before;
    }
    cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu;
    svc.close(Duration.ZERO);
    Arrays.sort(taken);
    ObjectNode figures = JSON.createObjectNode().put("median_us", taken[SPANS / 2] / 1e3);
    return figures.put("p99_us", taken[SPANS / 100 * 99] / 1e3).put("cpu_us", cpu / 1e3 / SPANS);
  }

  private static double residentMb() throws IOException {
    return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096 / 1e6;
  }

  private static ObjectNode stalled(String url) throws Exception {
    Instrumentation svc = tracer(url);
    record(svc, -1, "");
    Thread.sleep(1000);
    String question = "x".repeat(4096);
    double before = residentMb();
    double most = before;
    long began = System.nanoTime();
    for (int i = 1; i <= OFFERED; i++) {
      record(svc, i, question);
      if (i % 1000 == 0) {
        most = Math.max(most, residentMb());
        long ahead = (long) (i * 1e9 / RATE) - (System.nanoTime() - began);
        Thread.sleep(Math.max(0, ahead / 1_000_000));
      }
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    long dropped = svc.counters().dropped();
    svc.close(Duration.ZERO);
    ObjectNode figures = JSON.createObjectNode().put("offered_per_s", Math.round(OFFERED / seconds));
    return figures.put("dropped", dropped).put("grew_mb", most - before);
  }

  private static long processorNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  /** A worker and a client in one process; each run is started and awaited, so many at a time. */
  private static ObjectNode runs(JsonNode plan) throws Exception {
    Settings settings = Settings.builder().endpoint(plan.get("url").textValue()).build();
    int inFlight = plan.get("inFlight").intValue();
    String id = plan.get("definition").textValue();
    LongAdder steps = new LongAdder();
    AtomicBoolean isOver = new AtomicBoolean();
    Queue<String> faults = new ConcurrentLinkedQueue<>();
    ObjectNode figures = JSON.createObjectNode();
    try (SvcClient client = SvcClient.builder().settings(settings).build()) {
      JsonNode definition = client.definitions().getVersion(id, 1).definition();
      Workflow workflow = Workflow.of(definition);
      for (JsonNode step : definition.get("steps")) {
        workflow.step(
            step.get("id").textValue(),
            JsonNode.class,
            (given, input) -> {
              steps.increment();
              return Map.of("ok", true);
            });
      }
      try (Worker worker = Worker.builder(client).workflows(workflow).concurrency(inFlight).build()) {
        daemon(worker::run);
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < inFlight; i++) {
          int number = i;
          callers.add(
              daemon(
                  () -> {
                    while (!isOver.get() && faults.isEmpty()) {
                      drive(client, id, number, faults);
                    }
                  }));
        }
        Thread.sleep(plan.get("warmUpSeconds").asInt() * 1000L);
        System.out.println("measuring");
        long began = System.nanoTime();
        long cpu = processorNanos();
        long before = steps.sum();
        Thread.sleep(plan.get("seconds").asInt() * 1000L);
        System.out.println("measured");
        figures.put("steps", steps.sum() - before).put("seconds", (System.nanoTime() - began) / 1e9);
        figures.put("cpu_us", (processorNanos() - cpu) / 1e3);
        isOver.set(true);
        for (Thread caller : callers) {
          caller.join();
        }
      }
    }
    if (!faults.isEmpty()) {
      throw new IllegalStateException(String.join("; ", faults));
    }
    return figures;
  }

  private static void drive(SvcClient client, String id, int number, Queue<String> faults) {
    ObjectNode input = JSON.createObjectNode().put("n", number);
    try {
      var run = client.start(id, input, JsonNode.class, start -> start.waitFor(Duration.ofSeconds(60)));
      if (!RunStatus.SUCCEEDED.equals(run.run().status())) {
        faults.add("run " + run.id() + " is " + run.run().status());
      }
    } catch (SvcException e) {
      faults.add(e.getMessage());
    }
  }
}
