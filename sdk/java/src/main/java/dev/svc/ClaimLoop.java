package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.wire.Claim;
import dev.svc.wire.Registration;
import dev.svc.wire.RunDetail;
import dev.svc.wire.WorkerInput;
import java.time.Duration;

/** Registers a worker, and claims steps for its free slots until it stops. */
final class ClaimLoop {
  // What one claim may ask for. See spec/openapi.yaml, `Claim`.
  private static final int CLAIM_LIMIT = 1000;

  /** A claim that is not answered so long after its wait is over, is lost. */
  private static final Duration CLAIM_SLACK = Duration.ofSeconds(15);

  private static final int WARN_AFTER_FAILURES = 3;

  /** The worker, as its claims see it. */
  interface Slots {
    /** Free slots, once there are any; 0 now and then, for who stops. */
    int awaitFree() throws InterruptedException;

    void onRegistered(Registration registration);

    void onLeases(JsonNode leases);
  }

  private final Http http;
  private final SpecCheck spec;
  private final WorkerInput worker;
  private final String runId;
  private final Duration claimWait;
  private final Signal stopping;
  private final System.Logger log;
  private final Slots slots;

  ClaimLoop(
      Http http,
      WorkerInput worker,
      String runId,
      Duration claimWait,
      Signal stopping,
      System.Logger log,
      Slots slots) {
    this.http = http;
    this.spec = new SpecCheck(http);
    this.worker = worker;
    this.runId = runId;
    this.claimWait = claimWait;
    this.stopping = stopping;
    this.log = log;
    this.slots = slots;
  }

  /** Returns when the worker stops, or its one run has ended; throws where the service refuses the worker. */
  void run() {
    register();
    int failures = 0;
    while (!stopping.fired()) {
      int free = awaitFree();
      if (free <= 0) {
        continue;
      }
      try {
        JsonNode leases = claim(free);
        failures = 0;
        slots.onLeases(leases);
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

  private int awaitFree() {
    try {
      return slots.awaitFree();
    } catch (InterruptedException e) {
      // Nobody but this library has the thread; whoever interrupts it means the worker.
      stopping.fire();
      return 0;
    }
  }

  private void register() {
    spec.ensure(stopping);
    Request request = Request.post("/v1/api/workers/register", Json.encodeOwn(worker));
    JsonNode answer = Retries.UNTIL_ANSWERED.call(() -> http.call(request, stopping), stopping);
    slots.onRegistered(Json.decode(answer, Registration.class));
  }

  private boolean isForgotten(RuntimeException e) {
    // With one run to serve, it may be the run that is not there.
    return e instanceof ServiceException
        && ((ServiceException) e).status() == 404
        && (runId == null || ((ServiceException) e).field().filter("worker_id"::equals).isPresent());
  }

  private JsonNode claim(int free) {
    Claim claim =
        Claim.builder()
            .workerId(worker.workerId())
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
