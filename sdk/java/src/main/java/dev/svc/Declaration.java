package dev.svc;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * That a body starts, told while it runs already. What it comes to is reported behind it, never before.
 */
final class Declaration {
  private final Signal over = new Signal();
  private final CompletableFuture<Void> answered = new CompletableFuture<>();
  private volatile boolean hasLeft;
  private volatile LeaseCalls.Answer answer;
  private volatile boolean isReporting;

  /** Fires when nobody needs its answer any more: it is not repeated then. */
  Signal over() {
    return over;
  }

  /** With the lock of the queue in which it stands. */
  boolean hasLeft() {
    return hasLeft;
  }

  void leave() {
    hasLeft = true;
  }

  boolean isTaken() {
    LeaseCalls.Answer given = answer;
    return given != null && given.kind() == LeaseCalls.Kind.TAKEN;
  }

  /** The answer, where it is not that the body may run; null where a report is on its way, whose answer counts. */
  LeaseCalls.Answer refusal() {
    LeaseCalls.Answer given = answer;
    return given == null || given.kind() == LeaseCalls.Kind.TAKEN || isReporting ? null : given;
  }

  /** Takes the answer, the first of several, and lets those go on that wait for it. */
  void settle(LeaseCalls.Answer given, Consumer<LeaseCalls.Answer> onRefusal) {
    LeaseCalls.Answer refusal;
    synchronized (this) {
      if (answer != null) {
        return;
      }
      answer = given;
      refusal = refusal();
    }
    if (refusal != null) {
      onRefusal.accept(refusal);
    }
    answered.complete(null);
  }

  /** From now on the answer to a report counts. Returns the refusal, where that was first. */
  synchronized LeaseCalls.Answer beginReport() {
    LeaseCalls.Answer refusal = refusal();
    isReporting = refusal == null;
    return refusal;
  }

  /** The report did not leave: it goes on when this is answered. */
  void holdReport(Runnable goOn) {
    synchronized (this) {
      isReporting = false;
    }
    answered.thenRun(goOn);
  }

  /** Waits for the answer. */
  LeaseCalls.Answer await() {
    answered.join();
    return answer;
  }
}
