package dev.svc;

/**
 * The thread that waited for an answer was interrupted. The call was broken off, its connection is
 * closed, and the interrupt flag of the thread is set again.
 */
public final class CallInterruptedException extends SvcException {
  private static final long serialVersionUID = 1L;

  CallInterruptedException(String message) {
    super(message);
  }
}
