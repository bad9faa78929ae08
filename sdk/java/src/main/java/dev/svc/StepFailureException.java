package dev.svc;

import java.time.Duration;
import java.util.Optional;

/**
 * Thrown by a body: fail with a class of its choice.
 *
 * <p>{@code rate_limited} is tried again and spends no budget, {@code fatal} is not; any other is one
 * of your own, for {@code on_error} to match. A class that the service keeps for itself is refused by
 * it, and the step fails as {@code fatal}.
 */
public final class StepFailureException extends SvcException {
  private static final long serialVersionUID = 1L;

  /** The class of the failure. */
  private final String errorClass;

  /** A code of your own; null where there is none. */
  private final String code;

  /** At least so long until the next try; null where nothing was asked for. */
  private final Duration retryAfter;

  /**
   * Fails with a class.
   *
   * @param errorClass the class, such as {@code rate_limited} or one of your own
   * @param message why; it is kept in the journal of the run
   */
  public StepFailureException(String errorClass, String message) {
    this(errorClass, null, message, null);
  }

  /**
   * Fails with a class and a code.
   *
   * @param errorClass the class, such as {@code rate_limited} or one of your own
   * @param code a code for {@code on_error} to match; null for none
   * @param message why; it is kept in the journal of the run
   * @param retryAfter at least so long until the next try; null where nothing is asked for
   */
  public StepFailureException(
      String errorClass, String code, String message, Duration retryAfter) {
    super(message);
    this.errorClass = errorClass == null || errorClass.isEmpty() ? "fatal" : errorClass;
    this.code = code == null || code.isEmpty() ? null : code;
    this.retryAfter = retryAfter;
  }

  /**
   * The class of the failure.
   *
   * @return the class
   */
  public String errorClass() {
    return errorClass;
  }

  /**
   * The code that goes with the class.
   *
   * @return the code
   */
  public Optional<String> code() {
    return Optional.ofNullable(code);
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
