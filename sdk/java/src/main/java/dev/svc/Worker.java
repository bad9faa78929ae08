package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.wire.Claim;
import dev.svc.wire.Lease;
import dev.svc.wire.Registration;
import dev.svc.wire.RunDetail;
import dev.svc.wire.WorkerInput;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

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
  // What one claim may ask for, and what one worker may say of itself. See spec/openapi.yaml.
  private static final int CLAIM_LIMIT = 1000;
  private static final int CONCURRENCY_LIMIT = 100_000;

  /** A claim that is not answered so long after its wait is over, is lost. */
  private static final Duration CLAIM_SLACK = Duration.ofSeconds(15);

  private static final int WARN_AFTER_FAILURES = 3;

  /** How long a shutdown waits for the thread that called run to finish its own work. */
  private static final Duration SHUTDOWN_SLACK = Duration.ofSeconds(2);

  private final Settings settings;
  private final Json json;
  private final Map<Held, Workflow> workflows = new LinkedHashMap<>();
  private final String workerId;
  private final int concurrency;
  private final String name;
  private final String version;
  private final String runId;
  private final Duration claimWait;
  private final Duration grace;
  private final Duration settle;
  private final Executor executor;
  private final boolean stopOnShutdown;
  private final System.Logger log;
  private final boolean ownsInstrumentation;
  private final Instrumentation instrumentation;
  private final Http http;
  private final SpecCheck spec;
  private final Signal stopping = new Signal();
  private final Signal force = new Signal();
  private final Signal ended = new Signal();
  private final Signal claimsEnded = new Signal();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ExecutorService pool = Executors.newCachedThreadPool(Threads.daemons("svc-step"));
  private final ScheduledThreadPoolExecutor timers =
      new ScheduledThreadPoolExecutor(1, Threads.daemons("svc-hearts"));
  private final StepCalls calls;
  private boolean ran;
  private int active;
  private volatile LeaseHost host;
  private volatile RuntimeException error;

  /** A definition in one version. */
  private record Held(String id, long version) {}

  private Worker(Builder given) {
    settings = given.settings == null ? Settings.fromEnvironment() : given.settings;
    if (!settings.problems().isEmpty()) {
      throw new IllegalArgumentException(String.join("; ", settings.problems()));
    }
    if (given.concurrency < 1 || given.concurrency > CONCURRENCY_LIMIT) {
      throw new IllegalArgumentException(
          "concurrency is a whole number from 1 to " + CONCURRENCY_LIMIT + ", not " + given.concurrency);
    }
    for (Workflow workflow : given.workflows) {
      if (workflows.put(new Held(workflow.id(), workflow.version()), workflow) != null) {
        throw new IllegalArgumentException("workflow " + workflow + " is given twice");
      }
      if (!workflow.withoutBody().isEmpty()) {
        throw new IllegalArgumentException(
            "workflow " + workflow + " has no body for: " + String.join(", ", workflow.withoutBody()));
      }
    }
    json = given.json;
    workerId = given.workerId == null ? newWorkerId() : given.workerId;
    concurrency = given.concurrency;
    name = given.name;
    version = given.version;
    runId = given.runId;
    claimWait = given.claimWait;
    grace = given.grace;
    settle = given.settle;
    executor = given.executor;
    stopOnShutdown = given.stopOnShutdown;
    log = given.log;
    ownsInstrumentation = given.instrumentation == null;
    instrumentation =
        ownsInstrumentation ? Instrumentation.builder().settings(settings).build() : given.instrumentation;
    http = new Http(settings);
    spec = new SpecCheck(http);
    timers.setRemoveOnCancelPolicy(true);
    calls = new StepCalls(http, workerId, runId, () -> !stopping.fired(), this::serveAll, pool);
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
    public Builder mapper(com.fasterxml.jackson.databind.ObjectMapper mapper) {
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
    lock.lock();
    try {
      if (ran) {
        throw new IllegalStateException("a worker runs once: make another");
      }
      ran = true;
    } finally {
      lock.unlock();
    }
    Thread hook = stopOnShutdown ? hookFor(Thread.currentThread()) : null;
    Threads.daemon("svc-claims", this::claimSteps).start();
    boolean interrupted = !awaitEndOfClaims();
    try {
      drain();
    } finally {
      ended.fire();
      forget(hook);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (error != null) {
      throw error;
    }
  }

  private Thread hookFor(Thread runner) {
    Runnable work =
        () -> {
          stop();
          try {
            // What follows run in the program, such as closing a client, has a moment too.
            TimeUnit.NANOSECONDS.timedJoin(runner, SHUTDOWN_SLACK.toNanos());
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        };
    Thread hook = new Thread(work, "svc-shutdown");
    try {
      Runtime.getRuntime().addShutdownHook(hook);
    } catch (IllegalStateException e) {
      // It shuts down already.
      stopping.fire();
    }
    return hook;
  }

  private static void forget(Thread hook) {
    try {
      if (hook != null) {
        Runtime.getRuntime().removeShutdownHook(hook);
      }
    } catch (IllegalStateException e) {
      // It runs: that is what it was for.
      return;
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
    boolean isRunning;
    lock.lock();
    try {
      isRunning = ran;
    } finally {
      lock.unlock();
    }
    try {
      while (isRunning && !ended.await(TimeUnit.DAYS.toNanos(1))) {
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
    if (!awaitIdle(grace)) {
      force.fire();
      // Twice: once for the bodies, once for the reports of those that did end.
      awaitIdle(settle.multipliedBy(2));
    }
    // What is still on its way is cut.
    http.close();
    calls.close();
    awaitIdle(Duration.ofSeconds(1));
    timers.shutdownNow();
    pool.shutdown();
    if (ownsInstrumentation) {
      instrumentation.close();
    } else {
      instrumentation.flush(Duration.ofSeconds(5));
    }
  }

  /** Waits through an interrupt: whoever sends it wants the worker to end, and that is under way. */
  private boolean awaitIdle(Duration atMost) {
    long deadline = System.nanoTime() + atMost.toNanos();
    boolean interrupted = false;
    lock.lock();
    try {
      while (active > 0) {
        try {
          if (changed.awaitNanos(deadline - System.nanoTime()) <= 0) {
            return active == 0;
          }
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      return true;
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void serveAll(JsonNode leases) {
    // Also of a worker that was stopped meanwhile: they are its own, and their bodies have the time of bodies.
    for (JsonNode lease : leases) {
      try {
        serve(Json.decode(lease, Lease.class));
      } catch (ConnectionFailedException e) {
        // It lapses, and comes again.
        log.log(System.Logger.Level.ERROR, "an offer cannot be read: {0}", e.getMessage());
      }
    }
  }

  private void serve(Lease lease) {
    Workflow workflow = workflows.get(new Held(lease.definitionId(), lease.definitionVersion()));
    Workflow.Bound body = workflow == null ? null : workflow.bodyOf(lease.stepId());
    ServedLease served = new ServedLease(host, lease, body);
    Signal counted = new Signal();
    lock.lock();
    try {
      active++;
    } finally {
      lock.unlock();
    }
    counted.onFire(this::release);
    served
        .leftBehind()
        .onFire(
            () -> {
              String words = "{0}: its body did not end in time; the service gives the step to another worker";
              log.log(System.Logger.Level.WARNING, words, served.name());
              counted.fire();
            });
    try {
      pool.execute(
          () -> {
            served.serve();
            counted.fire();
          });
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      log.log(System.Logger.Level.ERROR, "no thread can be started for {0}; its offer lapses", served.name());
      counted.fire();
    }
  }

  private void release() {
    lock.lock();
    try {
      active--;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void onRunEnd(String ofRun) {
    // The one run that this worker serves is over.
    if (ofRun.equals(runId)) {
      stopping.fire();
    }
  }

  private void register() {
    spec.ensure(stopping);
    WorkerInput worker =
        WorkerInput.builder()
            .workerId(workerId)
            .definitions(workflows.values().stream().map(Workflow::definition).toList())
            .name(name)
            .version(version)
            .project(settings.project().orElse(null))
            .concurrency((long) concurrency)
            .build();
    Request request = Request.post("/v1/api/workers/register", Json.encodeOwn(worker));
    JsonNode answer = Retries.UNTIL_ANSWERED.call(() -> http.call(request, stopping), stopping);
    Registration registration = Json.decode(answer, Registration.class);
    host =
        new LeaseHost(
            calls,
            workerId,
            Duration.ofMillis(Math.max(1, registration.heartbeatMs())),
            Duration.ofMillis(registration.leaseTtlMs()),
            instrumentation,
            json,
            log,
            timers,
            executor,
            force,
            settle,
            this::onRunEnd);
    log.log(
        System.Logger.Level.INFO,
        "{0} is registered at {1} and serves {2}, up to {3} steps at once",
        workerId,
        settings.safeEndpoint(),
        String.join(", ", workflows.keySet().stream().map(held -> held.id + "@" + held.version).toList()),
        Integer.toString(concurrency));
  }

  private void claimSteps() {
    try {
      claimLoop();
    } catch (RuntimeException e) {
      // While it stops, a claim that was broken off is no fault.
      if (!stopping.fired()) {
        error = e;
      }
    } finally {
      claimsEnded.fire();
    }
  }

  private void claimLoop() {
    register();
    int failures = 0;
    while (!stopping.fired()) {
      int free = awaitFreeSlot();
      if (free <= 0) {
        continue;
      }
      try {
        JsonNode leases = claim(free);
        failures = 0;
        serveAll(leases);
        if (leases.isEmpty() && runId != null && hasEnded()) {
          return;
        }
      } catch (ConnectionFailedException | ServiceException e) {
        if (stopping.fired()) {
          return;
        }
        if (!isForgotten(e) && !Retries.isRetryable(e)) {
          throw e;
        }
        failures++;
        if (failures == WARN_AFTER_FAILURES) {
          log.log(System.Logger.Level.WARNING, "the service does not answer claims: {0}", e.getMessage());
        }
        long wait = Math.max(Retries.askedNanos(e), Retries.UNTIL_ANSWERED.backoffNanos(failures));
        // A service that was away may be another one, with an older file.
        if (!Retries.pause(wait, stopping)) {
          register();
        }
      }
    }
  }

  private boolean isForgotten(RuntimeException e) {
    // With one run to serve, it may be the run that is not there.
    return e instanceof ServiceException
        && ((ServiceException) e).status() == 404
        && (runId == null || ((ServiceException) e).field().filter("worker_id"::equals).isPresent());
  }

  /** Free slots, once there are any; 0 now and then, for who stops. */
  private int awaitFreeSlot() {
    lock.lock();
    try {
      if (active >= concurrency) {
        changed.await(200, TimeUnit.MILLISECONDS);
      }
      return concurrency - active;
    } catch (InterruptedException e) {
      // Nobody but this library has the thread; whoever interrupts it means the worker.
      stopping.fire();
      return 0;
    } finally {
      lock.unlock();
    }
  }

  private JsonNode claim(int free) {
    Claim claim =
        Claim.builder()
            .workerId(workerId)
            .max((long) Math.min(CLAIM_LIMIT, free))
            .waitMs(claimWait.toMillis())
            .runId(runId)
            .build();
    Request request = Request.post("/v1/api/steps/claim", Json.encodeOwn(claim));
    // Hanging up gives back what was on its way to us.
    JsonNode answer = http.call(request.within(claimWait.plus(CLAIM_SLACK)), stopping);
    JsonNode leases = answer == null ? null : answer.get("leases");
    if (leases == null || !leases.isArray()) {
      throw new ConnectionFailedException("the answer to a claim lacks `leases`");
    }
    return leases;
  }

  /**
   * Whether the one run is over: a claim on a run that has ended is answered as one that found nothing. A
   * key that may serve steps need not be one that may read runs: then the worker goes on until it is
   * stopped.
   */
  private boolean hasEnded() {
    try {
      JsonNode answer = http.call(Request.get("/v1/api/runs/" + Api.segment(runId)), stopping);
      return Api.isOver(Json.decode(answer, RunDetail.class).status());
    } catch (ServiceException e) {
      if (e.status() != 401 && e.status() != 403) {
        throw e;
      }
      return false;
    }
  }
}
