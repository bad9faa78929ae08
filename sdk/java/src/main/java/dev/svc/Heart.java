package dev.svc;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Beats from now on until it is stopped. */
final class Heart {
  /** Details that change quickly travel together. */
  private static final long DETAILS_DELAY_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** What a heartbeat found. */
  enum Pulse {
    /** The next one in time. */
    AGAIN,
    /** Nobody answered: the next one sooner. */
    SOONER,
    /** None shall follow. */
    OVER
  }

  /** Sends one heartbeat, and calls back with what it found; it neither throws nor blocks. */
  @FunctionalInterface
  interface Beat {
    void send(byte[] details, Signal cut, Consumer<Pulse> found);
  }

  private final ScheduledExecutorService timers;
  private final long nanos;
  private final Beat beat;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition settled = lock.newCondition();
  private final Signal cut = new Signal();
  private byte[] details;
  private boolean inFlight;
  private boolean stopped;
  private long last = System.nanoTime();
  private ScheduledFuture<?> next;

  Heart(ScheduledExecutorService timers, long nanos, Beat beat) {
    this.timers = timers;
    this.nanos = nanos;
    this.beat = beat;
    schedule(nanos);
  }

  /** With the lock: the next beat comes so long after the last. */
  private void schedule(long after) {
    if (next != null) {
      next.cancel(false);
    }
    if (stopped) {
      return;
    }
    try {
      long left = Math.max(0, last + after - System.nanoTime());
      next = timers.schedule(this::beatNow, left, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      // The worker has ended: nobody waits for a beat.
      stopped = true;
    }
  }

  private void beatNow() {
    byte[] sent;
    lock.lock();
    try {
      if (stopped || inFlight) {
        return;
      }
      if (next != null) {
        next.cancel(false);
      }
      sent = details;
      details = null;
      last = System.nanoTime();
      inFlight = true;
    } finally {
      lock.unlock();
    }
    beat.send(sent, cut, found -> found(sent, found));
  }

  private void found(byte[] sent, Pulse pulse) {
    lock.lock();
    try {
      inFlight = false;
      if (pulse == Pulse.OVER) {
        stopped = true;
      }
      // Details that did not arrive are sent again, unless newer ones came meanwhile.
      if (pulse == Pulse.SOONER && details == null) {
        details = sent;
      }
      long wait = pulse == Pulse.SOONER ? nanos / 4 : nanos;
      schedule(details == null ? wait : Math.min(wait, DETAILS_DELAY_NANOS));
      settled.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Takes details, as JSON, for the next beat, which comes within a second. */
  void tell(byte[] told) {
    lock.lock();
    try {
      details = told;
      if (!inFlight) {
        schedule(Math.min(nanos, DETAILS_DELAY_NANOS));
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns when the details given so far have arrived, or no beat shall follow, or the time is over. */
  void flush(long atMost) {
    long end = System.nanoTime() + atMost;
    if (!await(end, () -> !inFlight, () -> details != null && !stopped && !inFlight)) {
      return;
    }
    // At once; where nobody answers, the beats that follow it repeat the details.
    beatNow();
    await(end, () -> !inFlight && (details == null || stopped), () -> true);
  }

  private boolean await(long end, BooleanSupplier condition, BooleanSupplier then) {
    lock.lock();
    try {
      long left = end - System.nanoTime();
      while (!condition.getAsBoolean() && left > 0) {
        left = settled.awaitNanos(left);
      }
      return then.getAsBoolean();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  void stop() {
    lock.lock();
    try {
      stopped = true;
      if (next != null) {
        next.cancel(false);
      }
      settled.signalAll();
    } finally {
      lock.unlock();
    }
    cut.fire();
  }
}
