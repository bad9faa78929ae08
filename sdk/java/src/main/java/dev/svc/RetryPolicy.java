package dev.svc;

import java.time.Duration;

/**
 * How often a call is tried, and how it waits in between: a random time up to {@code base}, then up
 * to twice of that and so on, and never over {@code max}.
 *
 * @param attempts tries in all, the first included; at least 1
 * @param base the most that is waited after the first try
 * @param max the most that is ever waited, unless the service asks for more
 */
public record RetryPolicy(int attempts, Duration base, Duration max) {
  /**
   * Refuses what is no policy.
   *
   * @param attempts tries in all, the first included; at least 1
   * @param base the most that is waited after the first try
   * @param max the most that is ever waited, unless the service asks for more
   */
  public RetryPolicy {
    if (attempts < 1 || base.isNegative() || max.isNegative()) {
      throw new IllegalArgumentException("a policy has at least one try, and waits that are not negative");
    }
  }
}
