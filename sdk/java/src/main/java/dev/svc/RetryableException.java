package dev.svc;

import java.time.Duration;
import java.util.Optional;

/** Thrown by a body: try the step again, within the retry budget of its step. */
public final class RetryableException extends SvcException {
  private static final long serialVersionUID = 1L;

  /** At least so long until the next try; null where the step's own backoff decides. */
  private final Duration retryAfter;

  /**
   * The step's own backoff decides when.
   *
   * @param message why; it is kept in the journal of the run
   */
  public RetryableException(String message) {
    super(message);
    this.retryAfter = null;
  }

  /**
   * The step's own backoff decides when.
   *
   * @param message why; it is kept in the journal of the run
   * @param cause what failed; it does not leave this process
   */
  public RetryableException(String message, Throwable cause) {
    super(message, cause);
    this.retryAfter = null;
  }

  /**
   * Tried again no sooner than asked.
   *
   * @param message why; it is kept in the journal of the run
   * @param retryAfter at least so long until the next try
   */
  public RetryableException(String message, Duration retryAfter) {
    super(message);
    this.retryAfter = retryAfter;
  }

  /**
   * The least time until the next try.
   *
   * @return what was asked for
   */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }
}
