package dev.svc;

/**
 * What serves a step.
 *
 * <p>It may run more than once, unless the delivery of the step is {@code at_most_once}: hand {@link
 * Step#key()} to whatever it does to the world. What it returns is the output of the step. It throws
 * {@link RetryableException} to be tried again and {@link StepFailureException} for a class of its own;
 * anything else is fatal. When the work is of no more use, its thread is interrupted.
 *
 * @param <I> what the input of the step is read as
 */
@FunctionalInterface
public interface StepBody<I> {
  /**
   * Runs.
   *
   * @param step what it works with
   * @param input the input of the step; null where it has none
   * @return the output of the step, anything that Jackson writes
   * @throws Exception whatever it likes: its class is {@code fatal}, and its message is kept
   */
  Object run(Step step, I input) throws Exception;
}
