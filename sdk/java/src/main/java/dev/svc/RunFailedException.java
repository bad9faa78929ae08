package dev.svc;

import dev.svc.wire.RunDetail;
import dev.svc.wire.RunError;
import dev.svc.wire.RunStatus;

/** A run that was awaited did not succeed. */
public final class RunFailedException extends SvcException {
  private static final long serialVersionUID = 1L;

  /** The run as it ended; null in a copy that was serialized. */
  private final transient RunDetail run;

  RunFailedException(RunDetail run) {
    super(messageOf(run));
    this.run = run;
  }

  /**
   * The run as it ended, with its error and its attempts.
   *
   * @return the run
   */
  public RunDetail run() {
    return run;
  }

  private static String messageOf(RunDetail run) {
    String ended = RunStatus.CANCELLED.equals(run.status()) ? " was cancelled" : " failed";
    RunError error = run.error();
    if (error == null) {
      return "run " + run.runId() + ended;
    }
    String code = error.code() == null ? "" : "/" + error.code();
    return "run " + run.runId() + ended + ": " + error.class_() + code + ": " + error.message();
  }
}
