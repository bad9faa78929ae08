package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.wire.Lease;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The leases that a worker serves at once, and the slots that they leave free. */
final class ServedLeases {
  private static final long STOP_POLL_MS = 200;

  private final Map<Held, Workflow> workflows = new HashMap<>();
  private final int slots;
  private final Executor threads;
  private final System.Logger log;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private int active;
  private volatile LeaseHost host;

  /** A definition in one version. */
  private record Held(String id, long version) {}

  /** Throws IllegalArgumentException where a workflow is given twice, or a task has no body. */
  ServedLeases(List<Workflow> workflows, int slots, Executor threads, System.Logger log) {
    for (Workflow workflow : workflows) {
      if (this.workflows.put(new Held(workflow.id(), workflow.version()), workflow) != null) {
        throw new IllegalArgumentException("workflow " + workflow + " is given twice");
      }
      if (!workflow.withoutBody().isEmpty()) {
        throw new IllegalArgumentException(
            "workflow " + workflow + " has no body for: " + String.join(", ", workflow.withoutBody()));
      }
    }
    this.slots = slots;
    this.threads = threads;
    this.log = log;
  }

  /** What those need that are served from now on. */
  void serveFor(LeaseHost host) {
    this.host = host;
  }

  int free() {
    lock.lock();
    try {
      return slots - active;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for a free slot, and not for long: whoever asks may have to stop. */
  void awaitRoom() throws InterruptedException {
    lock.lock();
    try {
      if (active >= slots) {
        changed.await(STOP_POLL_MS, TimeUnit.MILLISECONDS);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Waits through an interrupt: whoever sends it wants the worker to end, and that is under way. */
  boolean awaitIdle(Duration atMost) {
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

  /** Begins those that were offered; neither throws nor waits. */
  void serve(JsonNode offered) {
    // Also of a worker that was stopped meanwhile: they are its own, and their bodies have the time of bodies.
    for (JsonNode lease : offered) {
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
    Signal counted = new Signal();
    ServedLease served = new ServedLease(host, lease, body, threads, counted::fire);
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
    served.begin();
  }

  private void release() {
    lock.lock();
    try {
      active--;
      // Whoever waits, waits for one of these.
      if (active == 0 || active == slots - 1) {
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }
}
