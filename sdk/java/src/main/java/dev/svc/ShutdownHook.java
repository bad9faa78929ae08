package dev.svc;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Stops a worker when the virtual machine shuts down, and holds that up until it has ended. */
final class ShutdownHook {
  /** How long it waits for the thread that called run to do what its program does behind that. */
  private static final Duration SLACK = Duration.ofSeconds(2);

  private final Thread thread;

  ShutdownHook(Worker worker, Thread runner) {
    thread =
        new Thread(
            () -> {
              worker.stop();
              try {
                TimeUnit.NANOSECONDS.timedJoin(runner, SLACK.toNanos());
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "svc-shutdown");
    // Where it shuts down already, this throws, and the worker does not begin.
    Runtime.getRuntime().addShutdownHook(thread);
  }

  void remove() {
    try {
      Runtime.getRuntime().removeShutdownHook(thread);
    } catch (IllegalStateException e) {
      // It runs: that is what it was for.
      return;
    }
  }
}
