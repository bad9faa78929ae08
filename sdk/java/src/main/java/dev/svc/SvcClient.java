package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.EventOutcome;
import dev.svc.wire.GetStepCauseResponse;
import dev.svc.wire.JournalEntry;
import dev.svc.wire.ListParkedEventsResponse;
import dev.svc.wire.ListRunEventsResponse;
import dev.svc.wire.ListRunsResponse;
import dev.svc.wire.ListWorkersResponse;
import dev.svc.wire.RestartRun;
import dev.svc.wire.Run;
import dev.svc.wire.RunDetail;
import dev.svc.wire.RunInput;
import dev.svc.wire.RunStatus;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Talks to the service on behalf of who starts, follows and steers runs. Safe for threads.
 *
 * <p>Every call is tried again on 429, on a 5xx that says "later" and when there is no answer; that is
 * safe, because starts and events carry a key of their own. Calls block, and throw {@link
 * ServiceException} when the service refuses, {@link ConnectionFailedException} when it does not
 * answer, and {@link CallInterruptedException} when the thread is interrupted.
 *
 * <pre>{@code
 * try (var client = SvcClient.create()) {
 *   var run = client.start("refund", new Order(40), Receipt.class);
 *   Receipt receipt = run.await(Duration.ofMinutes(5));
 * }
 * }</pre>
 */
public final class SvcClient implements AutoCloseable {
  /** How long one call asks the service to wait for the end of a run; it may answer sooner. */
  private static final Duration END_WAIT = Duration.ofSeconds(20);

  /** A call that is not answered so long after its wait is over, is lost. */
  private static final Duration WAIT_SLACK = Duration.ofSeconds(15);

  /** Answered sooner than this, a call was not held: the next one waits a moment. */
  private static final long HELD_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Api api;

  private SvcClient(Api api) {
    this.api = api;
  }

  /**
   * A client with the settings of the environment.
   *
   * @return a client to close
   * @throws IllegalArgumentException when a setting cannot be used
   */
  public static SvcClient create() {
    return builder().build();
  }

  /**
   * Begins with the settings of the environment.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Makes an {@link SvcClient}. */
  public static final class Builder {
    private Settings settings;
    private Json json = Json.OWN;
    private Duration timeout = Request.DEFAULT_TIMEOUT;
    private Duration streamIdle = Duration.ofSeconds(50);
    private RetryPolicy retry = new RetryPolicy(5, Duration.ofMillis(200), Duration.ofSeconds(10));

    private Builder() {}

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
     * Writes inputs and reads outputs of runs.
     *
     * @param mapper a mapper of yours, with the modules that your types need
     * @return this
     */
    public Builder mapper(ObjectMapper mapper) {
      this.json = new Json(mapper);
      return this;
    }

    /**
     * How long one try of one call may take.
     *
     * @param timeout 30 seconds unless set
     * @return this
     */
    public Builder timeout(Duration timeout) {
      this.timeout = timeout;
      return this;
    }

    /**
     * A followed journal that is silent so long is taken for dead, and replaced. The service writes a
     * comment every 15 seconds.
     *
     * @param streamIdle 50 seconds unless set
     * @return this
     */
    public Builder streamIdle(Duration streamIdle) {
      this.streamIdle = streamIdle;
      return this;
    }

    /**
     * How calls are tried again.
     *
     * @param retry five tries, with 200 ms to 10 s between them, unless set
     * @return this
     */
    public Builder retry(RetryPolicy retry) {
      this.retry = retry;
      return this;
    }

    /**
     * Makes the client; nothing is called yet.
     *
     * @return a client to close
     * @throws IllegalArgumentException when a setting cannot be used
     */
    public SvcClient build() {
      Settings used = settings == null ? Settings.fromEnvironment() : settings;
      if (!used.callerProblems().isEmpty()) {
        throw new IllegalArgumentException(String.join("; ", used.callerProblems()));
      }
      return new SvcClient(new Api(used, json, timeout, streamIdle, retry));
    }
  }

  /**
   * The same client for another project. Both share their connections: closing one closes both.
   *
   * @param project the project
   * @return a view of this client
   */
  public SvcClient forProject(String project) {
    return new SvcClient(api.in(project));
  }

  Settings settings() {
    return api.settings;
  }

  Json json() {
    return api.json;
  }

  /**
   * Starts by the clock.
   *
   * @return the calls
   */
  public Schedules schedules() {
    return new Schedules(api);
  }

  /**
   * Actions on many runs at once.
   *
   * @return the calls
   */
  public BulkActions bulk() {
    return new BulkActions(api);
  }

  /**
   * Traces, and what was judged of them.
   *
   * @return the calls
   */
  public Traces traces() {
    return new Traces(api);
  }

  /**
   * Definitions of workflows.
   *
   * @return the calls
   */
  public Definitions definitions() {
    return new Definitions(api);
  }

  /**
   * Starts a run of the highest version of a definition.
   *
   * @param definitionId the id of the definition
   * @param input anything that Jackson writes
   * @return a handle; its output is JSON
   * @throws IncompatibleServerException where the service has another major {@code spec_version}
   * @throws IllegalArgumentException when the input is not JSON
   */
  public RunHandle<JsonNode> start(String definitionId, Object input) {
    return start(definitionId, input, JsonNode.class, options -> {});
  }

  /**
   * Starts a run of the highest version of a definition.
   *
   * @param definitionId the id of the definition
   * @param input anything that Jackson writes
   * @param output what the output of the run is read as
   * @param <T> what the output of the run is read as
   * @return a handle
   * @throws IncompatibleServerException where the service has another major {@code spec_version}
   * @throws IllegalArgumentException when the input is not JSON
   */
  public <T> RunHandle<T> start(String definitionId, Object input, Class<T> output) {
    return start(definitionId, input, output, options -> {});
  }

  /**
   * Starts a run of a definition: {@code client.start("refund", order, Receipt.class, options ->
   * options.idempotencyKey("order-17"))}.
   *
   * @param definitionId the id of the definition
   * @param input anything that Jackson writes
   * @param output what the output of the run is read as
   * @param options how it is started
   * @param <T> what the output of the run is read as
   * @return a handle
   * @throws IncompatibleServerException where the service has another major {@code spec_version}
   * @throws IllegalArgumentException when the input is not JSON
   */
  public <T> RunHandle<T> start(
      String definitionId, Object input, Class<T> output, Consumer<StartOptions> options) {
    StartOptions chosen = new StartOptions();
    options.accept(chosen);
    RunInput run =
        chosen
            .apply(RunInput.builder(), UUID.randomUUID().toString())
            .definitionId(definitionId)
            .project(api.project)
            .input(api.tree("the input", input))
            .build();
    api.spec.ensure(api.closing);
    Request request = Request.post("/v1/api/runs", Json.encodeOwn(run));
    if (chosen.waitFor() != null) {
      Duration held = chosen.waitFor().plus(WAIT_SLACK);
      request = request.within(held.compareTo(api.timeout) > 0 ? held : api.timeout);
    }
    return new RunHandle<>(this, Json.decode(api.call(request), Run.class), output);
  }

  /**
   * A handle of a run that was started elsewhere.
   *
   * @param runId the id of the run
   * @param output what its output is read as
   * @param <T> what its output is read as
   * @return a handle
   */
  public <T> RunHandle<T> attach(String runId, Class<T> output) {
    return new RunHandle<>(this, api.get(Run.class, run(runId), Map.of()), output);
  }

  /**
   * The run with its attempts, timers, waits and children.
   *
   * @param runId the id of the run
   * @return the run as it is now
   */
  public RunDetail getRun(String runId) {
    return api.get(RunDetail.class, run(runId), Map.of());
  }

  /**
   * Runs, newest-updated first.
   *
   * @param query {@code status}, {@code definition_id}, {@code user_id}, {@code session_id}, {@code
   *     parent_run_id}, {@code waiting_on}, {@code from}, {@code to}, {@code correlation.request_id},
   *     {@code limit}, {@code cursor}
   * @return a page
   */
  public ListRunsResponse listRuns(Query query) {
    return api.get(ListRunsResponse.class, "/v1/api/runs", api.query(query.parameters()));
  }

  /**
   * A page of the run's journal.
   *
   * @param runId the id of the run
   * @param query {@code after}: a sequence number; {@code limit}
   * @return a page
   */
  public ListRunEventsResponse journal(String runId, Query query) {
    return api.get(ListRunEventsResponse.class, run(runId) + "/events", query.parameters());
  }

  /**
   * Why a step was attempted: the journal entries that led to it, oldest last.
   *
   * @param runId the id of the run
   * @param stepId the id of the step
   * @return the last attempt and its chain
   */
  public GetStepCauseResponse stepCause(String runId, String stepId) {
    String path = run(runId) + "/steps/" + Api.segment(stepId) + "/cause";
    return api.get(GetStepCauseResponse.class, path, Map.of());
  }

  /**
   * Follows the journal of a run: every entry once, in order, across broken connections and restarts.
   * Ends when the run has ended, or when the stream or the client is closed. Reading blocks.
   *
   * @param runId the id of the run
   * @param after begins behind this sequence number; -1 for the beginning
   * @return a stream to close; closing it, from any thread, ends who reads it
   */
  public Stream<JournalEntry> watch(String runId, long after) {
    return new JournalWatch(api, runId, after).stream();
  }

  /**
   * Waits for the end of a run.
   *
   * @param runId the id of the run
   * @param output what its output is read as
   * @param <T> what its output is read as
   * @return its output; null where it is null
   * @throws RunFailedException with the run, when it did not succeed
   * @throws IllegalArgumentException when the output is not what it was to be read as
   */
  public <T> T await(String runId, Class<T> output) {
    return outputOf(endOf(runId, null), output);
  }

  /**
   * Waits for the end of a run.
   *
   * @param runId the id of the run
   * @param output what its output is read as
   * @param atMost how long
   * @param <T> what its output is read as
   * @return its output; null where it is null
   * @throws RunFailedException with the run, when it did not succeed
   * @throws AwaitTimeoutException when the time is over
   * @throws IllegalArgumentException when the output is not what it was to be read as
   */
  public <T> T await(String runId, Class<T> output, Duration atMost) {
    return outputOf(endOf(runId, System.nanoTime() + atMost.toNanos()), output);
  }

  private <T> T outputOf(RunDetail run, Class<T> output) {
    if (!RunStatus.SUCCEEDED.equals(run.status())) {
      throw new RunFailedException(run);
    }
    try {
      return run.output() == null ? null : api.json.read(run.output(), api.json.type(output));
    } catch (Json.MismatchException e) {
      throw new IllegalArgumentException(
          "the output of run " + run.runId() + " is no " + output.getName() + ": " + e.getMessage(), e);
    }
  }

  /** Asks for the end again and again; each call is held by the service. */
  private RunDetail endOf(String runId, Long deadline) {
    int unheld = 0;
    while (true) {
      long askedAt = System.nanoTime();
      long waitMs = END_WAIT.toMillis();
      Retries retries = api.answeredAt() == null ? api.retry : api.retry.patiently(Api.PATIENCE);
      if (deadline != null) {
        long left = deadline - askedAt;
        if (left <= 0) {
          throw new AwaitTimeoutException(runId);
        }
        waitMs = Math.min(waitMs, TimeUnit.NANOSECONDS.toMillis(left) + 1);
        retries = retries.within(left);
      }
      Request request =
          Request.get(run(runId), Map.of("wait_ms", waitMs)).within(WAIT_SLACK.plusMillis(waitMs));
      RunDetail run;
      try {
        run = Json.decode(api.call(request, retries), RunDetail.class);
      } catch (ConnectionFailedException e) {
        if (deadline != null && System.nanoTime() - deadline >= 0) {
          throw new AwaitTimeoutException(runId);
        }
        throw e;
      }
      if (Api.isOver(run.status())) {
        return run;
      }
      unheld = System.nanoTime() - askedAt < HELD_NANOS ? unheld + 1 : 0;
      if (unheld > 0) {
        Retries.pause(api.retry.backoffNanos(unheld), api.closing);
      }
      if (api.closing.fired()) {
        throw new ConnectionFailedException("the wait was broken off");
      }
    }
  }

  /**
   * Gives an event to one run's own open wait.
   *
   * @param runId the id of the run
   * @param event the name of the event
   * @param payload an object
   * @return what became of it
   * @throws ServiceException {@code conflict} when the run has no such wait, {@code run_terminal} when it
   *     has ended
   */
  public EventOutcome signal(String runId, String event, Object payload) {
    return signal(runId, event, payload, UUID.randomUUID().toString());
  }

  /**
   * Gives an event to one run's own open wait.
   *
   * @param runId the id of the run
   * @param event the name of the event
   * @param payload an object
   * @param eventId the same id again changes nothing
   * @return what became of it
   * @throws ServiceException {@code conflict} when the run has no such wait, {@code run_terminal} when it
   *     has ended
   */
  public EventOutcome signal(String runId, String event, Object payload, String eventId) {
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("event", event).put("event_id", eventId);
    body.set("payload", api.tree("the payload", payload));
    return api.post(EventOutcome.class, run(runId) + "/signal", body);
  }

  /**
   * Publishes an event to whichever run waits for it by name and key; it is held for 24 hours when none
   * does.
   *
   * @param event the name of the event
   * @param key what the run waits for it by
   * @param payload an object
   * @return what became of it
   */
  public EventOutcome publish(String event, String key, Object payload) {
    return publish(event, key, payload, UUID.randomUUID().toString());
  }

  /**
   * Publishes an event to whichever run waits for it by name and key; it is held for 24 hours when none
   * does.
   *
   * @param event the name of the event
   * @param key what the run waits for it by
   * @param payload an object
   * @param eventId the same id again changes nothing
   * @return what became of it
   */
  public EventOutcome publish(String event, String key, Object payload, String eventId) {
    ObjectNode body = api.projectBody().put("event", event).put("key", key).put("event_id", eventId);
    body.set("payload", api.tree("the payload", payload));
    return api.post(EventOutcome.class, "/v1/api/events", body);
  }

  /**
   * Ends a run and its children. A run that has ended is returned as it is.
   *
   * @param runId the id of the run
   * @param reason why; null for none
   * @return the run
   */
  public Run cancel(String runId, String reason) {
    return api.post(Run.class, run(runId) + "/cancel", Api.body("reason", reason));
  }

  /**
   * Pauses a run and its children: what a worker holds goes on, and nothing new is offered or starts.
   *
   * @param runId the id of the run
   * @param reason why; null for none
   * @return the run
   */
  public Run pause(String runId, String reason) {
    return api.post(Run.class, run(runId) + "/pause", Api.body("reason", reason));
  }

  /**
   * Resumes a paused run: what fell due or came meanwhile acts at once.
   *
   * @param runId the id of the run
   * @param reason why; null for none
   * @return the run
   */
  public Run resume(String runId, String reason) {
    return api.post(Run.class, run(runId) + "/resume", Api.body("reason", reason));
  }

  /**
   * Takes up an ended run as a new run, with the state and outputs of that moment. It begins at the step
   * that failed, unless {@code restart} names another. The ended run stays as it is.
   *
   * @param runId the id of the ended run
   * @param restart from where, and what is replaced; without an {@code idempotencyKey} a new one makes a
   *     retry of this call safe
   * @param output what the output of the new run is read as
   * @param <T> what the output of the new run is read as
   * @return a handle of the new run
   */
  public <T> RunHandle<T> restart(String runId, RestartRun restart, Class<T> output) {
    ObjectNode body = Json.ownTree(restart);
    if (restart.idempotencyKey() == null) {
      body.put("idempotency_key", UUID.randomUUID().toString());
    }
    return new RunHandle<>(this, api.post(Run.class, run(runId) + "/restart", body), output);
  }

  /**
   * Workers: those limited to the project, where one is set, and those limited to none.
   *
   * @param query {@code limit}, {@code cursor}
   * @return a page
   */
  public ListWorkersResponse listWorkers(Query query) {
    return api.get(ListWorkersResponse.class, "/v1/api/workers", api.query(query.parameters()));
  }

  /**
   * Events that no run has taken yet.
   *
   * @param query {@code limit}, {@code cursor}
   * @return a page
   */
  public ListParkedEventsResponse listParkedEvents(Query query) {
    return api.get(ListParkedEventsResponse.class, "/v1/api/events", api.query(query.parameters()));
  }

  /**
   * A read that has no method here: {@code read("/v1/api/sessions", Query.with("limit", 10))}.
   *
   * @param path from the root of the service
   * @param query its parameters
   * @return the body of the answer
   */
  public JsonNode read(String path, Query query) {
    return api.call(Request.get(path, query.parameters()));
  }

  /** Lets go of the connections; what is on its way is broken off. */
  @Override
  public void close() {
    api.close();
  }

  private static String run(String runId) {
    return "/v1/api/runs/" + Api.segment(runId);
  }
}
