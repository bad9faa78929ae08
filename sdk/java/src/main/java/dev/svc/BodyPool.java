package dev.svc;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that run bodies: as many as are needed at once, kept for those that follow. They wake one
 * after the other, so short work is done before each piece of it has woken a thread of its own.
 */
final class BodyPool implements Executor {
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final ThreadFactory threads;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ready = lock.newCondition();
  private final ArrayDeque<Runnable> work = new ArrayDeque<>();
  private int idle;
  /** A thread was woken or started, and has not come yet. */
  private boolean waking;
  private boolean closed;

  BodyPool(ThreadFactory threads) {
    this.threads = threads;
  }

  /** Throws RejectedExecutionException once it is closed, OutOfMemoryError where no thread can be started. */
  @Override
  public void execute(Runnable task) {
    lock.lock();
    try {
      if (closed) {
        throw new RejectedExecutionException("the worker has ended");
      }
      work.add(task);
      try {
        wake();
      } catch (OutOfMemoryError e) {
        work.removeLast();
        throw e;
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends the threads that have nothing to do, and the others behind their work. */
  void close() {
    lock.lock();
    try {
      closed = true;
      ready.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Sees to it that a thread comes for what waits; with the lock. */
  private void wake() {
    if (waking || work.isEmpty()) {
      return;
    }
    if (idle > 0) {
      ready.signal();
    } else {
      threads.newThread(this::serve).start();
    }
    waking = true;
  }

  private void serve() {
    lock.lock();
    try {
      waking = false;
      for (Runnable task = next(); task != null; task = next()) {
        lock.unlock();
        try {
          task.run();
        } finally {
          lock.lock();
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** What is to be done next; null for nothing any more. */
  private Runnable next() {
    long left = IDLE_NANOS;
    while (work.isEmpty()) {
      if (closed || left <= 0) {
        return null;
      }
      idle++;
      try {
        left = ready.awaitNanos(left);
      } catch (InterruptedException e) {
        // It was meant for the work before.
        continue;
      } finally {
        idle--;
        waking = false;
      }
    }
    Runnable task = work.remove();
    try {
      wake();
    } catch (OutOfMemoryError e) {
      // What waits is taken by the next thread that has nothing to do.
      waking = false;
    }
    return task;
  }
}
