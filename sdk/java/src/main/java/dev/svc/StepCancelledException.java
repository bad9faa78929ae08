package dev.svc;

/** Thrown by {@code Step.throwIfCancelled()}: the work of the body is of no more use. */
public final class StepCancelledException extends SvcException {
  private static final long serialVersionUID = 1L;

  /** Why. */
  private final CancelReason reason;

  StepCancelledException(CancelReason reason) {
    super(reason.words());
    this.reason = reason;
  }

  /**
   * Why the work is of no more use.
   *
   * @return the reason
   */
  public CancelReason reason() {
    return reason;
  }
}
