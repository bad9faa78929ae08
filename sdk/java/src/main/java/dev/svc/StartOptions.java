package dev.svc;

import dev.svc.wire.RunCorrelation;
import dev.svc.wire.RunInput;
import java.time.Duration;
import java.time.Instant;

/** How a run is started, beside its definition and its input. */
public final class StartOptions {
  private Long version;
  private String idempotencyKey;
  private RunCorrelation correlation;
  private Duration waitFor;
  private String startAt;
  private Long priority;

  StartOptions() {}

  /**
   * Starts this version, not the highest.
   *
   * @param version the version of the definition
   * @return this
   */
  public StartOptions version(long version) {
    this.version = version;
    return this;
  }

  /**
   * The same key again gives the run that it started first. Without one, a new one makes a retry of
   * the call safe.
   *
   * @param idempotencyKey the key
   * @return this
   */
  public StartOptions idempotencyKey(String idempotencyKey) {
    this.idempotencyKey = idempotencyKey;
    return this;
  }

  /**
   * What the run belongs to, such as a user and a session.
   *
   * @param correlation its members
   * @return this
   */
  public StartOptions correlation(RunCorrelation correlation) {
    this.correlation = correlation;
    return this;
  }

  /**
   * How long the call waits for the end of the run, which may still be open in its answer.
   *
   * @param waitFor up to 60 seconds
   * @return this
   */
  public StartOptions waitFor(Duration waitFor) {
    this.waitFor = waitFor;
    return this;
  }

  /**
   * When the run begins.
   *
   * @param startAt a moment
   * @return this
   */
  public StartOptions startAt(Instant startAt) {
    return startAt(startAt.toString());
  }

  /**
   * When the run begins.
   *
   * @param startAt RFC 3339, or from now as {@code +10m}
   * @return this
   */
  public StartOptions startAt(String startAt) {
    this.startAt = startAt;
    return this;
  }

  /**
   * Steps of a higher priority are offered first.
   *
   * @param priority from -100 to 100
   * @return this
   */
  public StartOptions priority(int priority) {
    this.priority = (long) priority;
    return this;
  }

  Duration waitFor() {
    return waitFor;
  }

  RunInput.Builder apply(RunInput.Builder run, String freshKey) {
    return run.definitionVersion(version)
        .idempotencyKey(idempotencyKey == null ? freshKey : idempotencyKey)
        .correlation(correlation)
        .waitMs(waitFor == null ? null : waitFor.toMillis())
        .startAt(startAt)
        .priority(priority);
  }
}
