package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.svc.wire.Registration;
import dev.svc.wire.WorkerInput;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Registers its workflows, claims steps, runs their bodies, and reports what came of them.
 *
 * <p>It takes no more steps than it has free slots. Claims, heartbeats and reports never share a thread
 * with bodies; all its threads are daemons, and named {@code svc-}.
 *
 * <pre>{@code
 * Worker.builder().workflows(refund).concurrency(10).stopOnShutdown().build().run();
 * }</pre>
 */
public final class Worker implements AutoCloseable {
  // What one worker may say of itself. See spec/openapi.yaml, `NewWorker`.
  private static final int CONCURRENCY_LIMIT = 100_000;

  private final Json json;
  private final List<Workflow> workflows;
  private final String workerId;
  private final int concurrency;
  private final String runId;
  private final Duration grace;
  private final Duration settle;
  private final Executor executor;
  private final boolean stopOnShutdown;
  private final System.Logger log;
  private final boolean ownsInstrumentation;
  private final Instrumentation instrumentation;
  private final Http http;
  private final Signal stopping = new Signal();
  private final Signal force = new Signal();
  private final Signal ended = new Signal();
  private final Signal claimsEnded = new Signal();
  private final BodyPool pool = new BodyPool(Threads.daemons("svc-step"));
  private final ScheduledThreadPoolExecutor timers =
      new ScheduledThreadPoolExecutor(1, Threads.daemons("svc-hearts"));
  private final ServedLeases leases;
  private final StepCalls calls;
  private final ClaimLoop claims;
  private final AtomicBoolean ran = new AtomicBoolean();
  private volatile RuntimeException error;

  private Worker(Builder given) {
    Settings settings = given.settings == null ? Settings.fromEnvironment() : given.settings;
    if (!settings.problems().isEmpty()) {
      throw new IllegalArgumentException(String.join("; ", settings.problems()));
    }
    if (given.concurrency < 1 || given.concurrency > CONCURRENCY_LIMIT) {
      throw new IllegalArgumentException(
          "concurrency is a whole number from 1 to " + CONCURRENCY_LIMIT + ", not " + given.concurrency);
    }
    json = given.json;
    workerId = given.workerId == null ? newWorkerId() : given.workerId;
    concurrency = given.concurrency;
    runId = given.runId;
    grace = given.grace;
    settle = given.settle;
    executor = given.executor;
    stopOnShutdown = given.stopOnShutdown;
    log = given.log;
    workflows = List.copyOf(given.workflows);
    leases = new ServedLeases(workflows, concurrency, pool, log);
    ownsInstrumentation = given.instrumentation == null;
    instrumentation =
        ownsInstrumentation ? Instrumentation.builder().settings(settings).build() : given.instrumentation;
    http = new Http(settings);
    timers.setRemoveOnCancelPolicy(true);
    calls = new StepCalls(http, workerId, runId, () -> !stopping.fired(), leases::serve, pool);
    WorkerInput said =
        WorkerInput.builder()
            .workerId(workerId)
            .definitions(workflows.stream().map(Workflow::definition).toList())
            .name(given.name)
            .version(given.version)
            .project(settings.project().orElse(null))
            .concurrency((long) concurrency)
            .build();
    claims = new ClaimLoop(http, said, runId, given.claimWait, stopping, log, new Slots(settings));
  }

  /** What the loop of claims asks for, and tells. */
  private final class Slots implements ClaimLoop.Slots {
    private final Settings settings;

    Slots(Settings settings) {
      this.settings = settings;
    }

    @Override
    public int awaitFree() throws InterruptedException {
      leases.awaitRoom();
      // Slots that are freed together are filled by one claim.
      calls.motion().await();
      return leases.free();
    }

    @Override
    public void onRegistered(Registration registration) {
      Duration heartbeat = Duration.ofMillis(Math.max(1, registration.heartbeatMs()));
      Duration leaseTtl = Duration.ofMillis(registration.leaseTtlMs());
      leases.serveFor(
          new LeaseHost(
              calls,
              workerId,
              Json.encodeOwn(JsonNodeFactory.instance.objectNode().put("worker_id", workerId)),
              heartbeat,
              leaseTtl,
              instrumentation,
              json,
              log,
              timers,
              executor,
              force,
              settle,
              Worker.this::onRunEnd));
      log.log(
          System.Logger.Level.INFO,
          "{0} is registered at {1} and serves {2}, up to {3} steps at once",
          workerId,
          settings.safeEndpoint(),
          String.join(", ", workflows.stream().map(held -> held.id() + "@" + held.version()).toList()),
          Integer.toString(concurrency));
    }

    @Override
    public void onLeases(JsonNode offered) {
      calls.motion().begin();
      try {
        leases.serve(offered);
      } finally {
        calls.motion().end();
      }
    }
  }

  private static String newWorkerId() {
    byte[] random = new byte[4];
    new SecureRandom().nextBytes(random);
    String host;
    try {
      host = InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      host = "java";
    }
    return host + "-" + ProcessHandle.current().pid() + "-" + HexFormat.of().formatHex(random);
  }

  /**
   * Begins with the settings of the environment.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Begins with the settings and the mapper of a client. The worker has connections of its own.
   *
   * @param client the client
   * @return a builder
   */
  public static Builder builder(SvcClient client) {
    Builder builder = new Builder();
    builder.settings = client.settings();
    builder.json = client.json();
    return builder;
  }

  /** Makes a {@link Worker}. */
  public static final class Builder {
    private final List<Workflow> workflows = new ArrayList<>();
    private Settings settings;
    private Json json = Json.OWN;
    private int concurrency = 10;
    private String workerId;
    private String name;
    private String version;
    private String runId;
    private Duration claimWait = Duration.ofSeconds(20);
    private Duration grace = Duration.ofSeconds(30);
    private Duration settle = Duration.ofSeconds(5);
    private Executor executor;
    private boolean stopOnShutdown;
    private Instrumentation instrumentation;
    private System.Logger log = System.getLogger("dev.svc.worker");

    private Builder() {}

    /**
     * What it serves. Several versions of one workflow may stand side by side through a deploy.
     *
     * @param more workflows with a body for each task
     * @return this
     */
    public Builder workflows(Workflow... more) {
      workflows.addAll(List.of(more));
      return this;
    }

    /**
     * Where the service is and who calls.
     *
     * @param settings instead of those of the environment
     * @return this
     */
    public Builder settings(Settings settings) {
      this.settings = settings;
      return this;
    }

    /**
     * Reads inputs and writes outputs of bodies.
     *
     * @param mapper a mapper of yours, with the modules that your types need
     * @return this
     */
    public Builder mapper(ObjectMapper mapper) {
      this.json = new Json(mapper);
      return this;
    }

    /**
     * How many bodies may run at once.
     *
     * @param concurrency 10 unless set
     * @return this
     */
    public Builder concurrency(int concurrency) {
      this.concurrency = concurrency;
      return this;
    }

    /**
     * Its id, which must be unique among workers.
     *
     * @param workerId made of host, process and a random part unless set
     * @return this
     */
    public Builder workerId(String workerId) {
      this.workerId = workerId;
      return this;
    }

    /**
     * What the service shows it as.
     *
     * @param name a name
     * @return this
     */
    public Builder name(String name) {
      this.name = name;
      return this;
    }

    /**
     * The version of your program.
     *
     * @param version any text
     * @return this
     */
    public Builder version(String version) {
      this.version = version;
      return this;
    }

    /**
     * Serves this run alone, and ends with it.
     *
     * @param runId the id of the run
     * @return this
     */
    public Builder runId(String runId) {
      this.runId = runId;
      return this;
    }

    /**
     * How long a claim may wait for work.
     *
     * @param claimWait 20 seconds unless set
     * @return this
     */
    public Builder claimWait(Duration claimWait) {
      this.claimWait = claimWait;
      return this;
    }

    /**
     * How long bodies may go on after a stop.
     *
     * @param grace 30 seconds unless set
     * @return this
     */
    public Builder grace(Duration grace) {
      this.grace = grace;
      return this;
    }

    /**
     * How long a body may take to end once it is cancelled because of a stop.
     *
     * @param settle 5 seconds unless set
     * @return this
     */
    public Builder settle(Duration settle) {
      this.settle = settle;
      return this;
    }

    /**
     * Runs bodies, such as {@code Executors.newVirtualThreadPerTaskExecutor()}; each needs a thread at
     * once. Unless set, they run on threads of the worker.
     *
     * @param executor an executor of yours, which the worker does not shut down
     * @return this
     */
    public Builder executor(Executor executor) {
      this.executor = executor;
      return this;
    }

    /**
     * Stops the worker when the virtual machine shuts down, as by SIGTERM and SIGINT, and holds that up
     * until it has ended.
     *
     * @return this
     */
    public Builder stopOnShutdown() {
      this.stopOnShutdown = true;
      return this;
    }

    /**
     * Where spans of bodies go.
     *
     * @param instrumentation yours, which the worker flushes and does not close; else it makes its own
     * @return this
     */
    public Builder instrumentation(Instrumentation instrumentation) {
      this.instrumentation = instrumentation;
      return this;
    }

    /**
     * What it says of itself, without payloads and keys.
     *
     * @param log the logger {@code dev.svc.worker} unless set
     * @return this
     */
    public Builder logger(System.Logger log) {
      this.log = log;
      return this;
    }

    /**
     * Makes the worker; nothing is called yet.
     *
     * @return a worker to run
     * @throws IllegalArgumentException when a setting cannot be used, or a task has no body
     */
    public Worker build() {
      return new Worker(this);
    }
  }

  /**
   * Its id.
   *
   * @return unique among workers
   */
  public String workerId() {
    return workerId;
  }

  /**
   * Serves until {@link #stop}, or until the end of its one run. Once. An interrupt of the calling thread
   * stops it too.
   *
   * @throws ServiceException when the service refuses the worker itself: a bad key, a bad definition
   * @throws IncompatibleServerException where the service has another major {@code spec_version}
   */
  public void run() {
    if (!ran.compareAndSet(false, true)) {
      throw new IllegalStateException("a worker runs once: make another");
    }
    ShutdownHook hook = null;
    boolean interrupted = false;
    try {
      hook = stopOnShutdown ? new ShutdownHook(this, Thread.currentThread()) : null;
      Threads.daemon("svc-claims", this::claimSteps).start();
      interrupted = !awaitEndOfClaims();
      drain();
    } finally {
      ended.fire();
      if (hook != null) {
        hook.remove();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (error != null) {
      throw error;
    }
  }

  /** Returns when nothing more is claimed; whether the thread was not interrupted. */
  private boolean awaitEndOfClaims() {
    Runnable forgetStop = stopping.onFire(claimsEnded::fire);
    try {
      while (!claimsEnded.await(TimeUnit.DAYS.toNanos(1))) {
        continue;
      }
      return true;
    } catch (InterruptedException e) {
      return false;
    } finally {
      forgetStop.run();
    }
  }

  /**
   * Claims nothing more, lets bodies finish for the grace, then cancels them. Returns when all is over. May
   * be called from any thread, also before {@link #run}, which then returns at once.
   */
  public void stop() {
    stopping.fire();
    try {
      while (ran.get() && !ended.await(TimeUnit.DAYS.toNanos(1))) {
        continue;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops it. See {@link #stop}. */
  @Override
  public void close() {
    stop();
  }

  /** Lets bodies finish, then cancels them, then leaves behind those that do not listen. */
  private void drain() {
    stopping.fire();
    if (!leases.awaitIdle(grace)) {
      force.fire();
      // Twice: once for the bodies, once for the reports of those that did end.
      leases.awaitIdle(settle.multipliedBy(2));
    }
    // What is still on its way is cut.
    http.close();
    calls.close();
    leases.awaitIdle(Duration.ofSeconds(1));
    timers.shutdownNow();
    pool.close();
    if (ownsInstrumentation) {
      instrumentation.close();
    } else {
      instrumentation.flush(Duration.ofSeconds(5));
    }
  }

  private void onRunEnd(String ofRun) {
    // The one run that this worker serves is over.
    if (ofRun.equals(runId)) {
      stopping.fire();
    }
  }

  private void claimSteps() {
    try {
      claims.run();
    } catch (RuntimeException e) {
      // While it stops, a claim that was broken off is no fault.
      if (!stopping.fired()) {
        error = e;
      }
    } finally {
      claimsEnded.fire();
    }
  }
}
