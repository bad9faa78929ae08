package dev.svc;

/** A run has not ended within the time that its caller gave it. The run goes on. */
public final class AwaitTimeoutException extends SvcException {
  private static final long serialVersionUID = 1L;

  AwaitTimeoutException(String runId) {
    super("run " + runId + " has not ended in time");
  }
}
