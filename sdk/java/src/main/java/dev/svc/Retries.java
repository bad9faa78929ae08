package dev.svc;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * How a call is tried again.
 *
 * @param attempts tries in all, the first included; 0 for no bound
 * @param baseMs the most that is waited after the first try, in milliseconds
 * @param maxMs the most that is ever waited, in milliseconds
 * @param withinNanos no try begins later than this after the first; below 0 for no bound
 */
record Retries(int attempts, double baseMs, double maxMs, long withinNanos) {
  /** For what must arrive: it ends by an answer, or by its signal. */
  static final Retries UNTIL_ANSWERED = new Retries(0, 200, 5000, -1);

  static Retries of(RetryPolicy policy) {
    return new Retries(policy.attempts(), policy.base().toNanos() / 1e6, policy.max().toNanos() / 1e6, -1);
  }

  /** As often as it likes for so long. */
  Retries patiently(Duration time) {
    return new Retries(0, baseMs, maxMs, time.toNanos());
  }

  /** No longer than that. */
  Retries within(long nanos) {
    return new Retries(attempts, baseMs, maxMs, withinNanos < 0 ? nanos : Math.min(nanos, withinNanos));
  }

  /** Full jitter: so that many callers do not come back at once. Nanoseconds. */
  long backoffNanos(int attempt) {
    return (long) (ThreadLocalRandom.current().nextDouble() * mostMs(attempt) * 1e6);
  }

  /** The bound of the wait after a try, in milliseconds. */
  double mostMs(int attempt) {
    return Math.min(maxMs, baseMs * Math.pow(2, Math.min(attempt - 1, 30)));
  }

  static boolean isRetryable(RuntimeException error) {
    return error instanceof ConnectionFailedException
        || (error instanceof ServiceException && ((ServiceException) error).isRetryable());
  }

  /** What the service asked to wait, in nanoseconds; 0 where it asked for nothing. */
  static long askedNanos(RuntimeException error) {
    return error instanceof ServiceException
        ? ((ServiceException) error).retryAfter().map(Duration::toNanos).orElse(0L)
        : 0;
  }

  /**
   * Calls until it succeeds, until it fails for good, or until this policy or the signal ends it.
   * Throws the last error; when the signal fires during a wait, the error before it.
   */
  <T> T call(Supplier<T> call, Signal signal) {
    long started = System.nanoTime();
    for (int attempt = 1; ; attempt++) {
      try {
        return call.get();
      } catch (ConnectionFailedException | ServiceException e) {
        boolean spent = attempts > 0 && attempt >= attempts;
        if (spent || !isRetryable(e) || (signal != null && signal.fired())) {
          throw e;
        }
        long wait = Math.max(askedNanos(e), backoffNanos(attempt));
        if (withinNanos >= 0 && System.nanoTime() - started + wait > withinNanos) {
          throw e;
        }
        if (pause(wait, signal)) {
          throw e;
        }
      }
    }
  }

  /** Waits. Returns whether the signal fired meanwhile. */
  static boolean pause(long nanos, Signal signal) {
    try {
      if (signal != null) {
        return signal.await(nanos);
      }
      TimeUnit.NANOSECONDS.sleep(nanos);
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CallInterruptedException("the wait was interrupted");
    }
  }
}
