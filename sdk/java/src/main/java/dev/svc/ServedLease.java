package dev.svc;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.Delivery;
import dev.svc.wire.Lease;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * One lease, from its offer to its end: declares it started, keeps it alive while the body runs, reports
 * what came of it, and does what the protocol asks on each of the four refusals.
 */
final class ServedLease {
  private static final LeaseCalls.Failure GIVEN_BACK =
      // Not the fault of the step: the class that spends no budget, here with no wait.
      new LeaseCalls.Failure("rate_limited", "worker_stopping", "the worker stopped while the step ran", 0);

  private final LeaseHost host;
  private final Lease lease;
  private final Workflow.Bound body;
  /**
   * Of a body that begins before it is answered, so that what the body gives may travel with it; else null. Not where it
   * may run once only, and not in a second attempt: in the first it may have ended its process before that declared it.
   */
  private final Declaration declaration;

  private final LeaseCalls calls;
  private final Executor threads;
  private final Runnable onEnd;
  private final Signal interruption = new Signal();
  private final Signal leftBehind = new Signal();
  private final UsageTotals totals = new UsageTotals();
  /** Until its report stands in line. */
  private final AtomicBoolean moves = new AtomicBoolean();

  private final Object bodyLock = new Object();
  private Thread bodyThread;
  private volatile CancelReason reason;
  private volatile Heart heart;
  private volatile Runnable forgetForce = () -> {};
  private volatile Runnable forgetDeclaring = () -> {};

  /** What an attempt came to; the failure is null for an output. */
  private record Report(
      StepCalls.Call call, LeaseCalls.Failure failure, List<ObjectNode> usage, LeaseCalls.How how) {}

  /**
   * Takes null for the body when this worker does not hold the definition, the version or the step; runs on
   * {@code threads} what must wait, and {@code onEnd}, maybe more than once, when all is over.
   */
  ServedLease(LeaseHost host, Lease lease, Workflow.Bound body, Executor threads, Runnable onEnd) {
    this.host = host;
    this.lease = lease;
    this.body = body;
    boolean isEarly =
        body != null
            && lease.delivery().equals(Delivery.AT_LEAST_ONCE)
            && lease.attempt() == 1
            && !host.force().fired();
    this.declaration = isEarly ? new Declaration() : null;
    this.calls = new LeaseCalls(host, lease, declaration);
    this.threads = threads;
    this.onEnd = onEnd;
  }

  /** Fires when the body did not end in time: its worker no longer waits for it. */
  Signal leftBehind() {
    return leftBehind;
  }

  String name() {
    return lease.definitionId() + "@" + lease.definitionVersion() + "/" + lease.stepId() + " of run " + lease.runId();
  }

  /**
   * Declares the lease started, and goes on by itself; only its body, and what must wait, has a thread. Where
   * this worker does not hold the step, nothing is declared. Neither throws nor waits.
   */
  void begin() {
    if (body == null) {
      goOn(this::refuseUnheld);
    } else if (declaration != null) {
      moves.set(true);
      host.calls().motion().begin();
      forgetDeclaring = host.force().onFire(declaration.over()::fire);
      // It stands in line before the body begins.
      calls.declare(this::onFirstDeclared);
      runOnThread(this::runDeclared);
    } else {
      calls.declare(first -> goOn(() -> startAndRun(first)));
    }
  }

  /** Goes on with a thread. */
  private void goOn(Runnable work) {
    runOnThread(
        () -> {
          host.calls().motion().end();
          work.run();
        });
  }

  private void runOnThread(Runnable work) {
    Runnable guarded =
        () -> {
          try {
            work.run();
          } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
            // Without its stack, which may hold payloads.
            log(System.Logger.Level.ERROR, messageOf(e));
            end();
          }
        };
    try {
      threads.execute(guarded);
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      log(System.Logger.Level.ERROR, "no thread can be started for it; another worker gets its step");
      end();
    }
  }

  private void end() {
    rest();
    forgetDeclaring.run();
    forgetForce.run();
    Heart beating = heart;
    if (beating != null) {
      beating.stop();
    }
    if (declaration != null) {
      declaration.over().fire();
      // Nobody will ask again.
      declaration.settle(new LeaseCalls.Answer(LeaseCalls.Kind.UNANSWERED, "", null), this::onRefusal);
    }
    onEnd.run();
  }

  private void rest() {
    if (moves.compareAndSet(true, false)) {
      host.calls().motion().end();
    }
  }

  private void log(System.Logger.Level level, String message) {
    host.log().log(level, "{0}: {1}", name(), message);
  }

  private static String messageOf(Throwable error) {
    try {
      String text = error.getMessage();
      return LeaseCalls.cut(text == null || text.isEmpty() ? error.getClass().getSimpleName() : text);
    } catch (RuntimeException e) {
      return error.getClass().getSimpleName();
    }
  }

  /** What an answer means for the lease. */
  private void settle(LeaseCalls.Answer answer) {
    if (answer.kind() == LeaseCalls.Kind.REJECTED) {
      String why = answer.error().code() + ": " + answer.error().getMessage();
      log(System.Logger.Level.ERROR, "the service refused a call: " + why);
    } else if (answer.isRefused("not_started")) {
      log(
          System.Logger.Level.ERROR,
          "the service never saw it started: a bug in this library, please report it");
    }
    // Already applied: our own earlier report landed, and its answer was lost. Fenced, or the run over:
    // nothing is left to do. Unanswered: the service finds out by itself.
  }

  private void refuseUnheld() {
    log(System.Logger.Level.WARNING, "this worker does not hold that step; another may serve it");
    String held = lease.definitionId() + " version " + lease.definitionVersion() + ", step " + lease.stepId();
    String message = "worker " + host.workerId() + " does not hold " + held;
    LeaseCalls.Failure failure = new LeaseCalls.Failure("unservable", null, message, -1);
    settle(calls.fail(failure, List.of(), new LeaseCalls.How(Retries.UNTIL_ANSWERED, host.force())));
    end();
  }

  private LeaseCalls.Answer started(LeaseCalls.First first, Signal stop) {
    // A late declaration is refused as fenced; one that is never answered must not be repeated without end.
    Retries untilTtl = Retries.UNTIL_ANSWERED.within(host.leaseTtl().toNanos());
    return calls.started(first, new LeaseCalls.How(untilTtl, stop));
  }

  private void onFirstDeclared(LeaseCalls.First first) {
    LeaseCalls.Answer answer = calls.read(first);
    if (answer.kind() != LeaseCalls.Kind.UNANSWERED || declaration.over().fired()) {
      declaration.settle(answer, this::onRefusal);
    } else {
      runOnThread(() -> declaration.settle(started(first, declaration.over()), this::onRefusal));
    }
  }

  /** The body had begun, and may not go on. */
  private void onRefusal(LeaseCalls.Answer answer) {
    Heart beating = heart;
    if (beating != null) {
      beating.stop();
    }
    if (answer.kind() == LeaseCalls.Kind.UNANSWERED && host.force().fired()) {
      interrupt(CancelReason.STOPPING);
    } else {
      interrupt(answer.isRefused("run_terminal") ? CancelReason.RUN_TERMINAL : CancelReason.FENCED);
    }
  }

  /** The answer to the declaration of a body that had begun, where it may not go on; else null. */
  private LeaseCalls.Answer refusal() {
    return declaration == null ? null : declaration.refusal();
  }

  private void startAndRun(LeaseCalls.First first) {
    LeaseCalls.Answer started = started(first, host.force());
    // Without its word that the body may run, the body does not run: its own earlier report is no such word.
    if (started.kind() != LeaseCalls.Kind.TAKEN) {
      settle(started);
      end();
      return;
    }
    runDeclared();
  }

  /** Runs the body of a lease whose declaration stands in line at least. */
  private void runDeclared() {
    // A worker that stops lets a last report go out, but does not wait for its answer without end.
    LeaseCalls.How lastly =
        new LeaseCalls.How(Retries.UNTIL_ANSWERED.within(host.settle().toNanos()), null);
    // The time of bodies was over before this one began: it must not.
    if (host.force().fired()) {
      reportFailure(GIVEN_BACK, List.of(), lastly);
      return;
    }
    Heart beating = new Heart(host.timers(), host.heartbeat().toNanos(), this::beat);
    heart = beating;
    if (refusal() != null) {
      beating.stop();
    }
    forgetForce = host.force().onFire(() -> force(beating));
    run(beating, lastly);
  }

  private void beat(byte[] details, Signal cut, Consumer<Heart.Pulse> found) {
    calls.beat(details, cut, answer -> found.accept(pulseOf(answer)));
  }

  private Heart.Pulse pulseOf(LeaseCalls.Answer answer) {
    if (answer.kind() == LeaseCalls.Kind.UNANSWERED) {
      return Heart.Pulse.SOONER;
    }
    if (answer.kind() != LeaseCalls.Kind.REFUSED || answer.isRefused("not_started")) {
      return Heart.Pulse.AGAIN;
    }
    // Another lease ended this one, or a cancel ended the run: the work is of no more use.
    if (answer.isRefused("fenced")) {
      interrupt(CancelReason.FENCED);
    } else if (answer.isRefused("run_terminal")) {
      interrupt(CancelReason.RUN_TERMINAL);
    }
    return Heart.Pulse.OVER;
  }

  private void interrupt(CancelReason why) {
    synchronized (bodyLock) {
      if (reason != null) {
        return;
      }
      reason = why;
      if (bodyThread != null) {
        bodyThread.interrupt();
      }
    }
    interruption.fire();
  }

  /** The worker must stop: a body that does not listen is left behind. */
  private void force(Heart heart) {
    interrupt(CancelReason.STOPPING);
    Runnable leave =
        () -> {
          heart.stop();
          leftBehind.fire();
        };
    try {
      host.timers().schedule(leave, host.settle().toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      leave.run();
    }
  }

  /** Runs the body, and reports what came of it. */
  private void run(Heart heart, LeaseCalls.How lastly) {
    Step step =
        new Step(lease, host.instrumentation(), host.json(), () -> reason, interruption, heart::tell);
    Result result = runBody(step);
    CancelReason why = reason;
    LeaseCalls.Answer refusal = refusal();
    if (refusal != null) {
      settle(refusal);
    }
    if (refusal != null
        || leftBehind.fired()
        || why == CancelReason.FENCED
        || why == CancelReason.RUN_TERMINAL) {
      end();
      return;
    }
    boolean isStopping = why == CancelReason.STOPPING;
    LeaseCalls.How how = isStopping ? lastly : new LeaseCalls.How(Retries.UNTIL_ANSWERED, interruption);
    List<ObjectNode> usage = usageOf(step);
    if (result.error() == null) {
      reportOutput(step, result.output(), usage, how);
      return;
    }
    // The mark for the next attempt goes first: after the report nobody takes it.
    rest();
    heart.flush((isStopping ? host.settle() : host.leaseTtl()).toNanos());
    boolean isGivenBack = isStopping && !isMeant(result.error());
    reportFailure(isGivenBack ? GIVEN_BACK : failureOf(result.error()), usage, how);
  }

  private void reportOutput(Step step, Object output, List<ObjectNode> usage, LeaseCalls.How how) {
    byte[] report;
    try {
      ObjectNode fields = calls.body();
      JsonNode written = output == null ? JsonNodeFactory.instance.nullNode() : host.json().tree(output);
      fields.set("output", written);
      if (step.patch() != null) {
        fields.set("state_patch", step.patch());
      }
      LeaseCalls.putUsage(fields, usage);
      report = Json.OWN.encode(fields);
    } catch (Json.MismatchException e) {
      String message = "the output of step " + lease.stepId() + " is not JSON: " + e.getMessage();
      reportFailure(new LeaseCalls.Failure("fatal", "invalid_output", message, -1), usage, how);
      return;
    }
    report(new Report(calls.callOf(StepCalls.Verb.COMPLETE, report), null, usage, how));
  }

  private void reportFailure(LeaseCalls.Failure failure, List<ObjectNode> usage, LeaseCalls.How how) {
    StepCalls.Call call = calls.callOf(StepCalls.Verb.FAIL, calls.bodyOf(failure, usage));
    report(new Report(call, failure, usage, how));
  }

  /**
   * Reports, behind the declaration: with it where that still stands in line, else when it is answered. Does not wait.
   * Where the declaration was refused, nothing is reported.
   */
  private void report(Report report) {
    Consumer<LeaseCalls.First> answered = first -> afterReport(report, first);
    if (declaration == null || declaration.isTaken()) {
      calls.submit(report.call(), answered);
      rest();
      return;
    }
    LeaseCalls.Answer refusal = declaration.beginReport();
    if (refusal != null) {
      settle(refusal);
      end();
      return;
    }
    boolean isUnderWay = calls.submitBehind(report.call(), answered);
    rest();
    if (!isUnderWay) {
      declaration.holdReport(() -> report(report));
    }
  }

  /** Nobody waits for the answer: a thread is needed again only where it is none, or no good one. */
  private void afterReport(Report report, LeaseCalls.First first) {
    LeaseCalls.Answer answer = calls.read(first);
    if (declaration != null && answer.isRefused("not_started")) {
      goOn(() -> reportOvertaken(report));
    } else if (answer.kind() == LeaseCalls.Kind.TAKEN || answer.kind() == LeaseCalls.Kind.REFUSED) {
      settle(answer);
      end();
      host.calls().motion().end();
    } else {
      goOn(() -> reportAgain(report, first));
    }
  }

  /** It came before its declaration, which was lost on its way, and is sent again behind it. */
  private void reportOvertaken(Report report) {
    LeaseCalls.Answer declared = declaration.await();
    if (declared.kind() == LeaseCalls.Kind.TAKEN) {
      reportAgain(report, null);
    } else {
      settle(declared);
      end();
    }
  }

  private void reportAgain(Report report, LeaseCalls.First first) {
    if (declaration != null) {
      // Both may be lost: again in their order. Whether the report was applied, its own answer says.
      declaration.await();
    }
    LeaseCalls.Answer answer = calls.call(report.call().verb(), report.call().body(), first, report.how());
    LeaseCalls.Failure failure = report.failure();
    if (answer.kind() == LeaseCalls.Kind.REJECTED && failure == null) {
      ServiceException error = answer.error();
      String message = "the service refused the output of step " + lease.stepId() + ": " + error.getMessage();
      failure = new LeaseCalls.Failure("fatal", error.code(), message, -1);
      answer = calls.fail(failure, report.usage(), report.how());
    }
    if (answer.kind() == LeaseCalls.Kind.REJECTED) {
      // A class that the service keeps for itself, a wait over its bound: the step fails, and says why.
      String message = failure.message() + " (reported as fatal: " + answer.error().getMessage() + ")";
      failure = new LeaseCalls.Failure("fatal", "invalid_failure", message, -1);
      answer = calls.fail(failure, List.of(), report.how());
    }
    settle(answer);
    end();
  }

  private static boolean isMeant(Throwable error) {
    return error instanceof RetryableException || error instanceof StepFailureException;
  }

  /** What a body that threw an error means by it. The message travels; the stack never does. */
  private static LeaseCalls.Failure failureOf(Throwable error) {
    String message = messageOf(error);
    if (error instanceof RetryableException) {
      long wait = waitMs(((RetryableException) error).retryAfter().orElse(null));
      return new LeaseCalls.Failure("retryable", null, message, wait);
    }
    if (error instanceof StepFailureException) {
      StepFailureException failure = (StepFailureException) error;
      long wait = waitMs(failure.retryAfter().orElse(null));
      return new LeaseCalls.Failure(failure.errorClass(), failure.code().orElse(null), message, wait);
    }
    return new LeaseCalls.Failure("fatal", null, message, -1);
  }

  /** Whole milliseconds, and no shorter than was asked; below 0 for none. */
  private static long waitMs(Duration wait) {
    if (wait == null || wait.isNegative()) {
      return -1;
    }
    Duration rest = wait.minusMillis(wait.toMillis());
    return wait.toMillis() + (rest.isZero() ? 0 : 1);
  }

  private List<ObjectNode> usageOf(Step step) {
    if (step.usage() == null) {
      return totals.list();
    }
    List<ObjectNode> entries = new ArrayList<>();
    for (Object entry : step.usage()) {
      ObjectNode members = Json.ownTree(entry);
      // Tokens of spans are on the spans. Usage that is reported by hand, beside no model span, would be in
      // no trace: the service is asked for a span of it.
      if (!totals.hasModelSpan() && !members.has("record")) {
        members.put("record", true);
      }
      entries.add(members);
    }
    return entries;
  }

  /** What a body returned, or threw. */
  private record Result(Object output, Throwable error) {}

  private Result runBody(Step step) {
    Object input;
    try {
      JavaType type = host.json().type(body.input());
      input = lease.input() == null ? null : host.json().read(lease.input(), type);
    } catch (Json.MismatchException e) {
      String message = "the input of step " + lease.stepId() + " is not what its body takes: " + e.getMessage();
      return new Result(null, new StepFailureException("fatal", "invalid_input", message, null));
    }
    if (host.executor() == null) {
      return runHere(step, input);
    }
    Result[] result = new Result[1];
    CountDownLatch ended = new CountDownLatch(1);
    try {
      host.executor()
          .execute(
              () -> {
                result[0] = runHere(step, input);
                ended.countDown();
              });
      ended.await();
      return result[0];
    } catch (RejectedExecutionException e) {
      return new Result(null, new RetryableException("the executor of the worker took no body", e));
    } catch (InterruptedException e) {
      // Nobody but this library has the thread that serves a lease.
      return new Result(null, e);
    }
  }

  private Result runHere(Step step, Object input) {
    Belongs belongs =
        new Belongs(
            () ->
                Json.ownTree(lease.correlation())
                    .put("project", lease.project())
                    .put("run_id", lease.runId()));
    TraceContext trace = new TraceContext(lease.traceId(), lease.spanId(), belongs, totals);
    synchronized (bodyLock) {
      bodyThread = Thread.currentThread();
      if (reason != null) {
        bodyThread.interrupt();
      }
    }
    try {
      Object output = host.instrumentation().under(trace, () -> body.body().run(step, input));
      return new Result(output, null);
    } catch (Throwable e) {
      return new Result(null, e);
    } finally {
      synchronized (bodyLock) {
        bodyThread = null;
      }
      // Whoever interrupted the body does not mean what this thread does next. A thread that is not ours
      // may have been interrupted by its owner.
      if (host.executor() == null || reason != null) {
        Thread.interrupted();
      }
    }
  }
}
