package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Sends signals in the background, in batches, one batch at a time. Adding never throws and never
 * waits for the network: what is queued is text already, in a bounded queue that drops its oldest.
 */
final class ExportQueue {
  static final RetryPolicy RETRY =
      new RetryPolicy(8, Duration.ofMillis(500), Duration.ofSeconds(30));
  private static final int BATCH_BYTES = 4 * 1024 * 1024;

  /** The lists of a batch. */
  enum Kind {
    SPANS("spans"),
    LOGS("logs"),
    METRICS("metrics"),
    SCORES("scores"),
    FEEDBACK("feedback"),
    ASPECT_NOTES("aspect_notes");

    private final byte[] start;

    Kind(String name) {
      start = (",\"" + name + "\":[").getBytes(StandardCharsets.UTF_8);
    }
  }

  /** The bounds of a queue, and how it sends. */
  record Bounds(int maxQueued, long maxQueuedBytes, int batchSize, long delayNanos, RetryPolicy retry) {}

  private record Item(Kind kind, byte[] text) {}

  private final Http http;
  private final Bounds bounds;
  private final Retries retries;
  private final Consumer<Signal> beforeSend;
  private final Signal givenUp = new Signal();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition wake = lock.newCondition();
  private final Condition settled = lock.newCondition();
  private final ArrayDeque<Item> items = new ArrayDeque<>();
  private long bytes;

  /** Signals that ever came into the queue. The first that still waits is number added - items. */
  private long added;

  /** The number of the first signal of the batch that is being sent; -1 while none is. */
  private long underWay = -1;

  /** Calls of flush that wait: then nothing waits for others to travel with. */
  private int hurried;

  private boolean closed;
  private Thread thread;
  private long sent;
  private long dropped;
  private long refused;
  private long failed;
  private long invalid;

  ExportQueue(Http http, Bounds bounds, Consumer<Signal> beforeSend) {
    this.http = http;
    this.bounds = bounds;
    this.retries = Retries.of(bounds.retry());
    this.beforeSend = beforeSend;
  }

  ExportCounters counters() {
    lock.lock();
    try {
      return new ExportCounters(sent, dropped, refused, failed, invalid);
    } finally {
      lock.unlock();
    }
  }

  void addInvalid() {
    lock.lock();
    try {
      invalid++;
    } finally {
      lock.unlock();
    }
  }

  /** Takes a signal as JSON; null for one that JSON cannot say, which is counted. */
  void add(Kind kind, byte[] text) {
    lock.lock();
    try {
      if (text == null || closed || text.length > Math.min(BATCH_BYTES, bounds.maxQueuedBytes())) {
        dropped++;
        return;
      }
      items.add(new Item(kind, text));
      bytes += text.length;
      added++;
      while (items.size() > bounds.maxQueued() || bytes > bounds.maxQueuedBytes()) {
        bytes -= items.remove().text.length;
        dropped++;
      }
      if (thread == null) {
        start();
      } else if (items.size() == 1 || items.size() == bounds.batchSize()) {
        wake.signal();
      }
    } finally {
      lock.unlock();
    }
  }

  private void start() {
    Thread made = Threads.daemon("svc-export", this::work);
    try {
      made.start();
    } catch (OutOfMemoryError e) {
      // No thread can be started now; the next signal tries again.
      return;
    }
    thread = made;
  }

  private void work() {
    while (true) {
      List<Item> batch;
      lock.lock();
      try {
        while (items.isEmpty() && !closed) {
          wake.awaitUninterruptibly();
        }
        if (items.isEmpty() || givenUp.fired()) {
          return;
        }
        long left = bounds.delayNanos();
        while (!closed && hurried == 0 && items.size() < bounds.batchSize() && left > 0) {
          left = wake.awaitNanos(left);
        }
        batch = take();
      } catch (InterruptedException e) {
        // Nobody but this library has the thread; whoever stops it means it.
        return;
      } finally {
        lock.unlock();
      }
      if (!batch.isEmpty()) {
        send(batch);
      }
    }
  }

  private List<Item> take() {
    List<Item> batch = new ArrayList<>();
    underWay = items.isEmpty() ? -1 : added - items.size();
    long size = 0;
    while (!items.isEmpty() && batch.size() < bounds.batchSize()) {
      size += items.element().text.length;
      if (!batch.isEmpty() && size > BATCH_BYTES) {
        break;
      }
      Item item = items.remove();
      bytes -= item.text.length;
      batch.add(item);
    }
    return batch;
  }

  /** Sends one batch, and counts what became of it. Never throws. */
  private void send(List<Item> batch) {
    long refusedNow = 0;
    long failedNow = 0;
    try {
      beforeSend.accept(givenUp);
      // Written once: a batch is sent again under the same key.
      Request request = Request.post("/v1/ingest", bodyOf(batch));
      JsonNode answer = retries.call(() -> http.call(request, givenUp), givenUp);
      long told = answer == null ? 0 : answer.path("rejected").asLong(0);
      refusedNow = Math.max(0, Math.min(batch.size(), told));
    } catch (ServiceException e) {
      if (e.status() >= 400 && e.status() < 500 && e.status() != 429) {
        refusedNow = batch.size();
      } else {
        failedNow = batch.size();
      }
    } catch (RuntimeException | OutOfMemoryError e) {
      failedNow = batch.size();
    }
    lock.lock();
    try {
      sent += batch.size() - refusedNow - failedNow;
      refused += refusedNow;
      failed += failedNow;
      underWay = -1;
      settled.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static byte[] bodyOf(List<Item> batch) {
    Map<Kind, List<byte[]>> byKind = new EnumMap<>(Kind.class);
    int size = 128;
    for (Item item : batch) {
      byKind.computeIfAbsent(item.kind, kind -> new ArrayList<>()).add(item.text);
      size += item.text.length + 1;
    }
    ByteArrayOutputStream body = new ByteArrayOutputStream(size);
    // The key makes a resend after a lost answer count as a duplicate, so that nothing is stored twice.
    body.writeBytes(("{\"ingest_key\":\"" + UUID.randomUUID() + "\"").getBytes(StandardCharsets.UTF_8));
    byKind.forEach(
        (kind, texts) -> {
          body.writeBytes(kind.start);
          for (int i = 0; i < texts.size(); i++) {
            if (i > 0) {
              body.write(',');
            }
            body.writeBytes(texts.get(i));
          }
          body.write(']');
        });
    body.write('}');
    return body.toByteArray();
  }

  /** Sends what is queued. Returns whether all of it was settled within so long. */
  boolean flush(long nanos) {
    lock.lock();
    try {
      if (thread == null && !items.isEmpty() && !closed) {
        start();
      }
      long goal = added;
      hurried++;
      wake.signal();
      try {
        long left = nanos;
        while (!isSettled(goal)) {
          if (left <= 0) {
            return false;
          }
          left = settled.awaitNanos(left);
        }
        return true;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      } finally {
        hurried--;
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether all signals before this number were sent, refused, given up or pushed out. */
  private boolean isSettled(long number) {
    return added - items.size() >= number && (underWay < 0 || underWay >= number);
  }

  /** Sends what is queued for so long at most, then gives up the rest and stops. */
  void close(long nanos) {
    long deadline = System.nanoTime() + nanos;
    Thread working;
    lock.lock();
    try {
      closed = true;
      wake.signal();
      working = thread;
    } finally {
      lock.unlock();
    }
    boolean interrupted = join(working, deadline - System.nanoTime());
    givenUp.fire();
    // What was on its way is broken off now, and counted.
    interrupted |= join(working, TimeUnit.SECONDS.toNanos(1));
    lock.lock();
    try {
      failed += items.size();
      items.clear();
      bytes = 0;
      settled.signalAll();
    } finally {
      lock.unlock();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean join(Thread working, long nanos) {
    try {
      if (working != null && nanos > 0) {
        TimeUnit.NANOSECONDS.timedJoin(working, nanos);
      }
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }
}
