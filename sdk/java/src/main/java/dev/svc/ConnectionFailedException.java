package dev.svc;

/**
 * No answer: not reached, broken off, too late, or unreadable. What became of the call is unknown.
 */
public final class ConnectionFailedException extends SvcException {
  private static final long serialVersionUID = 1L;

  ConnectionFailedException(String message) {
    super(message);
  }

  ConnectionFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
