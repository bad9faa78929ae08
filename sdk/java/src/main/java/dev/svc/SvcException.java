package dev.svc;

/** What this library throws of its own. */
public class SvcException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param message what happened
   */
  public SvcException(String message) {
    super(message);
  }

  /**
   * Makes one.
   *
   * @param message what happened
   * @param cause why
   */
  public SvcException(String message, Throwable cause) {
    super(message, cause);
  }
}
