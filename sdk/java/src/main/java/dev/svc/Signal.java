package dev.svc;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Fires once. Threads wait for it; callbacks run in the thread that fires it. */
final class Signal {
  private final CountDownLatch latch = new CountDownLatch(1);
  private final Map<Object, Runnable> callbacks = new LinkedHashMap<>();

  boolean fired() {
    return latch.getCount() == 0;
  }

  void fire() {
    List<Runnable> called;
    synchronized (callbacks) {
      if (fired()) {
        return;
      }
      latch.countDown();
      called = new ArrayList<>(callbacks.values());
      callbacks.clear();
    }
    for (Runnable callback : called) {
      try {
        callback.run();
      } catch (RuntimeException e) {
        // One that fails must not keep the others from being called.
        continue;
      }
    }
  }

  /** Waits for so long at most. Returns whether it has fired. */
  boolean await(long nanos) throws InterruptedException {
    return latch.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Calls back when it fires, at once if it has. Returns what takes the callback away again. */
  Runnable onFire(Runnable callback) {
    Object key = new Object();
    synchronized (callbacks) {
      if (!fired()) {
        callbacks.put(key, callback);
        return () -> {
          synchronized (callbacks) {
            callbacks.remove(key);
          }
        };
      }
    }
    callback.run();
    return () -> {};
  }
}
