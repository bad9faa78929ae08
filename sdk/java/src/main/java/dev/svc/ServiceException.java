package dev.svc;

import java.time.Duration;
import java.util.Optional;

/** The service answered, and refused. Branch on {@link #code()}. */
public final class ServiceException extends SvcException {
  private static final long serialVersionUID = 1L;

  /** The code of the problem. */
  private final String code;

  /** The status of the answer. */
  private final int status;

  /** The parameter at fault; null where there is none. */
  private final String field;

  /** The id of the request; null where the answer has none. */
  private final String requestId;

  /** What the service asks to wait; null where it asks for nothing. */
  private final Duration retryAfter;

  ServiceException(
      String message,
      String code,
      int status,
      String field,
      String requestId,
      Duration retryAfter) {
    super(message);
    this.code = code;
    this.status = status;
    this.field = field;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }

  /**
   * Stable and machine-readable: {@code not_found}, {@code input_invalid}, {@code run_terminal}.
   *
   * @return the code of the problem; {@code http_503} where the answer names none
   */
  public String code() {
    return code;
  }

  /**
   * The HTTP status.
   *
   * @return the status of the answer
   */
  public int status() {
    return status;
  }

  /**
   * The one parameter at fault, where there is one.
   *
   * @return its name
   */
  public Optional<String> field() {
    return Optional.ofNullable(field);
  }

  /**
   * What the logs of the service know this request by.
   *
   * @return the id of the request
   */
  public Optional<String> requestId() {
    return Optional.ofNullable(requestId);
  }

  /**
   * What the service asks to wait before another try.
   *
   * @return at least so long
   */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  /**
   * Whether a later try may help: 429, and the 5xx that say "later". Never another 4xx.
   *
   * @return whether it may
   */
  public boolean isRetryable() {
    if (code.equals("runs_disabled")) {
      return false;
    }
    return status == 429 || status == 502 || status == 503 || status == 504;
  }
}
