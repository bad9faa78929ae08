package dev.svc;

/** Why the work of a body is of no more use. */
public enum CancelReason {
  /** Another worker has the step, or another lease ended this one. */
  FENCED("the step is no longer held by this worker"),
  /** The run ended, by a cancel above all. */
  RUN_TERMINAL("the run has ended"),
  /** This worker stops, and the time that it gives its bodies is over. */
  STOPPING("the worker is stopping");

  private final String words;

  CancelReason(String words) {
    this.words = words;
  }

  String words() {
    return words;
  }
}
