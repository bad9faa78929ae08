package dev.svc;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts the leases that an answer has set going, until each has come as far as it comes by itself: its
 * body has begun, or its slot is free. One whose body begins before its declaration has left moves until
 * its report stands in line. What they ask for meanwhile travels together.
 */
final class Motion {
  /** Nobody waits longer: bodies that keep all processors busy may hold up others that are about to begin. */
  private static final long LIMIT_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** Nor so long where none comes any further: bodies that block their threads hold up nobody. */
  private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition still = lock.newCondition();
  private int count;
  private long moved;

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
      moved++;
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
      long end = System.nanoTime() + LIMIT_NANOS;
      long left = STEP_NANOS;
      long before = moved;
      while (count > 0 && left > 0) {
        left = still.awaitNanos(left);
        if (left <= 0 && moved != before) {
          before = moved;
          left = Math.min(STEP_NANOS, end - System.nanoTime());
        }
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
