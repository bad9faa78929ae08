package dev.svc;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts the leases that an answer has set going, until each has come as far as it comes by itself: its
 * body has begun, or its slot is free. What they ask for meanwhile travels together.
 */
final class Motion {
  /** Nobody waits longer: bodies that keep all processors busy may hold up others that are about to begin. */
  private static final long LIMIT_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition still = lock.newCondition();
  private int count;

  void begin() {
    lock.lock();
    try {
      count++;
    } finally {
      lock.unlock();
    }
  }

  void end() {
    lock.lock();
    try {
      // One that was given up as too slow comes late.
      if (count > 0 && --count == 0) {
        still.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns when nothing moves, or the limit has passed, or the thread is interrupted. */
  void await() {
    lock.lock();
    try {
      long left = LIMIT_NANOS;
      while (count > 0 && left > 0) {
        left = still.awaitNanos(left);
      }
      if (count > 0) {
        // Those who wait next begin to count anew.
        count = 0;
        still.signalAll();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }
}
