package dev.svc;

import dev.svc.wire.EventOutcome;
import dev.svc.wire.JournalEntry;
import dev.svc.wire.Run;
import dev.svc.wire.RunDetail;
import java.time.Duration;
import java.util.stream.Stream;

/**
 * A run, and what can be done with it.
 *
 * @param <T> what its output is read as
 */
public final class RunHandle<T> {
  private final SvcClient client;
  private final Run run;
  private final Class<T> output;

  RunHandle(SvcClient client, Run run, Class<T> output) {
    this.client = client;
    this.run = run;
    this.output = output;
  }

  /**
   * The run as it was when this handle was made.
   *
   * @return the run
   */
  public Run run() {
    return run;
  }

  /**
   * The id of the run.
   *
   * @return the id
   */
  public String id() {
    return run.runId();
  }

  /**
   * The run as it is now, with its attempts, timers and waits.
   *
   * @return the run
   */
  public RunDetail get() {
    return client.getRun(id());
  }

  /**
   * Every entry of its journal once, in order, until the run ends.
   *
   * @return a stream to close
   * @see SvcClient#watch(String, long)
   */
  public Stream<JournalEntry> watch() {
    return client.watch(id(), -1);
  }

  /**
   * Waits for its end.
   *
   * @return its output; null where it is null
   * @throws RunFailedException with the run, when it did not succeed
   */
  public T await() {
    return client.await(id(), output);
  }

  /**
   * Waits for its end.
   *
   * @param atMost how long
   * @return its output; null where it is null
   * @throws RunFailedException with the run, when it did not succeed
   * @throws AwaitTimeoutException when the time is over
   */
  public T await(Duration atMost) {
    return client.await(id(), output, atMost);
  }

  /**
   * Gives an event to the run's own open wait.
   *
   * @param event the name of the event
   * @param payload an object
   * @return what became of it
   */
  public EventOutcome signal(String event, Object payload) {
    return client.signal(id(), event, payload);
  }

  /**
   * Ends the run and its children.
   *
   * @param reason why; null for none
   * @return the run
   */
  public Run cancel(String reason) {
    return client.cancel(id(), reason);
  }

  /**
   * Pauses the run and its children.
   *
   * @param reason why; null for none
   * @return the run
   */
  public Run pause(String reason) {
    return client.pause(id(), reason);
  }

  /**
   * Resumes the paused run.
   *
   * @param reason why; null for none
   * @return the run
   */
  public Run resume(String reason) {
    return client.resume(id(), reason);
  }

  @Override
  public String toString() {
    return "RunHandle[" + id() + "]";
  }
}
