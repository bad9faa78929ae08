import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.Instrumentation;
import dev.svc.Settings;
import dev.svc.SvcClient;
import dev.svc.SvcException;
import dev.svc.Worker;
import dev.svc.Workflow;
import dev.svc.wire.RunStatus;
import dev.svc.wire.SpanKind;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** What the library costs. See bench/sdk/README.md for its two verbs and what they print. */
public final class Bench {
  private static final int SPANS = 50_000;
  private static final int OFFERED = 300_000;
  private static final int RATE = 100_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private Bench() {}

  /**
   * Measures, and prints figures.
   *
   * @param arguments {@code spans}, or {@code runs} with a plan on standard input
   * @throws Exception when something cannot be measured
   */
  public static void main(String[] arguments) throws Exception {
    Object figures = arguments[0].equals("spans") ? spans() : runs(JSON.readTree(System.in));
    System.out.println(JSON.writeValueAsString(figures));
    System.exit(0);
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** A service that takes connections and what is sent, and never answers. */
  private static String listening() throws IOException {
    ServerSocket server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    daemon(
        () -> {
          while (true) {
            try {
              Socket socket = server.accept();
              InputStream in = socket.getInputStream();
              daemon(() -> swallow(in));
            } catch (IOException e) {
              return;
            }
          }
        });
    return "http://127.0.0.1:" + server.getLocalPort();
  }

  private static void swallow(InputStream in) {
    try {
      in.transferTo(OutputStream.nullOutputStream());
    } catch (IOException e) {
      return;
    }
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

  private static ObjectNode spans() throws Exception {
    String url = listening();
    ObjectNode figures = JSON.createObjectNode();
    figures.set("stalled", stalled(url));
    figures.set("record", cost(url));
    return figures;
  }

  private static ObjectNode cost(String url) {
    Instrumentation svc = tracer(url);
    for (int i = 0; i < 1000; i++) {
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
    for (int i = 0; i < OFFERED; i++) {
      record(svc, i, question);
      if (i % 10_000 == 0) {
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

  /** A worker and a client, each run started and awaited, so many at a time, for so many seconds. */
  private static ObjectNode runs(JsonNode plan) throws Exception {
    Settings settings = Settings.builder().endpoint(plan.get("url").textValue()).enabled(false).build();
    List<Long> millis = Collections.synchronizedList(new ArrayList<>());
    double seconds = plan.get("seconds").doubleValue();
    long began = System.nanoTime();
    long measured = began + (long) (seconds / 5 * 1e9);
    long ends = began + (long) (seconds * 1e9);
    String id = plan.get("definition").textValue();
    try (SvcClient client = SvcClient.builder().settings(settings).build()) {
      JsonNode definition = client.definitions().getVersion(id, 1).definition();
      Workflow workflow = Workflow.of(definition);
      ArrayNode steps = (ArrayNode) definition.get("steps");
      for (JsonNode step : steps) {
        workflow.step(step.get("id").textValue(), JsonNode.class, (given, input) -> true);
      }
      try (Worker worker =
          Worker.builder(client).workflows(workflow).concurrency(plan.get("inFlight").intValue()).build()) {
        daemon(worker::run);
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < plan.get("inFlight").intValue(); i++) {
          callers.add(daemon(() -> call(client, id, measured, ends, millis)));
        }
        for (Thread caller : callers) {
          caller.join();
        }
      }
      if (millis.isEmpty()) {
        throw new IllegalStateException("no run was done in " + seconds + " s");
      }
      long[] sorted = millis.stream().mapToLong(Long::longValue).sorted().toArray();
      ObjectNode figures = JSON.createObjectNode().put("runs", sorted.length);
      figures.put("stepsPerSecond", sorted.length * steps.size() / (seconds * 4 / 5));
      figures.put("runP50Ms", sorted[sorted.length / 2]);
      return figures.put("runP99Ms", sorted[sorted.length * 99 / 100]);
    }
  }

  private static void call(SvcClient client, String id, long measured, long ends, List<Long> millis) {
    while (System.nanoTime() - ends < 0) {
      long from = System.nanoTime();
      try {
        var run = client.start(id, JSON.createObjectNode(), JsonNode.class, start -> start.waitFor(Duration.ofSeconds(30)));
        if (!RunStatus.SUCCEEDED.equals(run.run().status())) {
          throw new IllegalStateException("run " + run.id() + " is " + run.run().status());
        }
      } catch (SvcException e) {
        System.err.println(e.getMessage());
        continue;
      }
      long now = System.nanoTime();
      if (now - measured >= 0 && now - ends <= 0) {
        millis.add((now - from) / 1_000_000);
      }
    }
  }
}
