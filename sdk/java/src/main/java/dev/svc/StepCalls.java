package dev.svc;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * The calls of all leases of one worker. Those that come together travel together, and the steps that
 * follow come back in the same answer. A service that does not know the batch gets each by itself.
 */
final class StepCalls {
  // See docs/worker-protocol.md, "Many calls in one".
  private static final int BATCH_ITEMS = 1000;

  /** Larger reports go by themselves: nobody waits until they are through. */
  private static final int LARGE_BYTES = 256 * 1024;

  private static final int BATCH_BYTES = 1024 * 1024;

  /** The service writes one batch while it reads the next. */
  private static final int BATCHES_AT_ONCE = 2;

  private static final int CLAIM_LIMIT = 1000;

  /** The calls that the holder of a lease makes on it, in the order of a batch. */
  enum Verb {
    STARTED("started", "started"),
    HEARTBEAT("heartbeat", "heartbeats"),
    COMPLETE("complete", "completes"),
    FAIL("fail", "fails");

    private final String path;
    private final String list;

    Verb(String path, String list) {
      this.path = path;
      this.list = list;
    }
  }

  /**
   * One call; its body is a JSON object that is not empty, and a signal breaks it off. One that frees a
   * slot ends its lease, and a step may be claimed with it; not so where a report before it was one.
   * {@code declaration} is that of its lease where the body may begin before it is answered; null elsewhere.
   */
  record Call(
      Verb verb,
      String leaseId,
      byte[] body,
      Duration timeout,
      Signal cut,
      boolean freesSlot,
      Declaration declaration) {}

  /** A call under way; it is settled once. */
  private static final class Item {
    private final Call call;
    /** Its answer sets its lease going. */
    private final boolean moves;

    private final AtomicReference<BiConsumer<JsonNode, RuntimeException>> onAnswer;
    private volatile Runnable forgetCut = () -> {};

    Item(Call call, boolean moves, BiConsumer<JsonNode, RuntimeException> onAnswer) {
      this.call = call;
      this.moves = moves;
      this.onAnswer = new AtomicReference<>(onAnswer);
    }

    /** The answer may have come before. */
    void breakOffBy(Runnable forget) {
      forgetCut = forget;
      if (onAnswer.get() == null) {
        forget.run();
      }
    }

    void settle(JsonNode answer, RuntimeException error) {
      BiConsumer<JsonNode, RuntimeException> waiting = onAnswer.getAndSet(null);
      if (waiting != null) {
        forgetCut.run();
        waiting.accept(answer, error);
      }
    }
  }

  private final Http http;
  private final String workerId;
  private final String runId;
  private final BooleanSupplier claims;
  private final Consumer<JsonNode> onLeases;
  private final Executor pool;
  private final Motion motion = new Motion();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ready = lock.newCondition();
  private final ArrayDeque<Item> queue = new ArrayDeque<>();
  private int senders;
  private volatile boolean knowsBatch = true;
  private boolean closed;

  /**
   * Asks {@code claims} whether a report may claim what fills the slot that it frees; {@code onLeases}
   * takes what came.
   */
  StepCalls(
      Http http,
      String workerId,
      String runId,
      BooleanSupplier claims,
      Consumer<JsonNode> onLeases,
      Executor pool) {
    this.http = http;
    this.workerId = workerId;
    this.runId = runId;
    this.claims = claims;
    this.onLeases = onLeases;
    this.pool = pool;
  }

  /**
   * Of the leases of the worker: a batch waits until they have said what they have to say. An answer to a
   * call that was submitted, other than a heartbeat, sets its lease going.
   */
  Motion motion() {
    return motion;
  }

  /** Makes one call, one try, and throws as {@link Http#call} does. */
  JsonNode make(Call call) {
    if (goesAlone(call)) {
      return alone(call);
    }
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    enqueue(new Item(call, false, (body, error) -> settle(answer, body, error)));
    try {
      return answer.join();
    } catch (CompletionException e) {
      throw (RuntimeException) e.getCause();
    }
  }

  private static void settle(CompletableFuture<JsonNode> answer, JsonNode body, RuntimeException error) {
    if (error == null) {
      answer.complete(body);
    } else {
      answer.completeExceptionally(error);
    }
  }

  /** The same for who must not wait. Where no thread can be started, {@code onAnswer} gets that as an error. */
  void submit(Call call, BiConsumer<JsonNode, RuntimeException> onAnswer) {
    boolean isEarly = call.verb() == Verb.STARTED && call.declaration() != null;
    Item item = new Item(call, call.verb() != Verb.HEARTBEAT && !isEarly, onAnswer);
    if (goesAlone(call)) {
      if (isEarly) {
        call.declaration().leave();
      }
      settleApart(item);
    } else {
      enqueue(item);
    }
  }

  /**
   * Submits a report that travels with the declaration of its lease. Does nothing, and returns false, where that has
   * left, or where they cannot share a batch: then the report waits for its answer.
   */
  boolean submitBehind(Call call, BiConsumer<JsonNode, RuntimeException> onAnswer) {
    Item item = new Item(call, true, onAnswer);
    lock.lock();
    try {
      if (call.declaration().hasLeft() || goesAlone(call) || closed) {
        return false;
      }
      // Its declaration stands in line, so somebody sends.
      queue.add(item);
      ready.signal();
    } finally {
      lock.unlock();
    }
    return true;
  }

  /** Ends the threads; what still waits is answered as broken off. */
  void close() {
    List<Item> left;
    lock.lock();
    try {
      closed = true;
      left = new ArrayList<>(queue);
      queue.clear();
      ready.signalAll();
    } finally {
      lock.unlock();
    }
    left.forEach(item -> item.settle(null, ended()));
  }

  private static ConnectionFailedException ended() {
    return new ConnectionFailedException("the worker has ended");
  }

  private static ConnectionFailedException noThread() {
    return new ConnectionFailedException("no thread can be started for a call");
  }

  private boolean goesAlone(Call call) {
    return !knowsBatch || call.body().length > LARGE_BYTES;
  }

  private JsonNode alone(Call call) {
    String path = "/v1/api/steps/" + Api.segment(call.leaseId()) + "/" + call.verb().path;
    return http.call(Request.post(path, call.body()).within(call.timeout()), call.cut());
  }

  private void settleApart(Item item) {
    try {
      pool.execute(
          () -> {
            JsonNode answer;
            try {
              answer = alone(item.call);
            } catch (SvcException e) {
              item.settle(null, e);
              return;
            }
            item.settle(answer, null);
          });
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      item.settle(null, noThread());
    }
  }

  /** What is called on a lease comes after its declaration here, too. */
  private void eachApart(List<Item> items) {
    Map<String, List<Item>> behind = new HashMap<>();
    for (Item item : items) {
      if (item.call.verb() == Verb.STARTED) {
        behind.put(item.call.leaseId(), new ArrayList<>());
      }
    }
    for (Item item : items) {
      List<Item> waiting = behind.get(item.call.leaseId());
      if (item.call.verb() != Verb.STARTED && waiting != null) {
        waiting.add(item);
      }
    }
    for (Item item : items) {
      List<Item> waiting = behind.get(item.call.leaseId());
      if (item.call.verb() == Verb.STARTED && waiting != null && !waiting.isEmpty()) {
        BiConsumer<JsonNode, RuntimeException> settled =
            (answer, error) -> {
              item.settle(answer, error);
              waiting.forEach(this::settleApart);
            };
        settleApart(new Item(item.call, false, settled));
      } else if (item.call.verb() == Verb.STARTED || waiting == null) {
        settleApart(item);
      }
    }
  }

  private void enqueue(Item item) {
    ConnectionFailedException problem = null;
    lock.lock();
    try {
      if (closed) {
        problem = ended();
      } else if (senders == BATCHES_AT_ONCE || addSender() || senders > 0) {
        queue.add(item);
        ready.signal();
      } else {
        problem = noThread();
      }
    } finally {
      lock.unlock();
    }
    if (problem != null) {
      item.settle(null, problem);
    } else if (item.call.cut() != null) {
      item.breakOffBy(item.call.cut().onFire(() -> breakOff(item)));
    }
  }

  /** Starts one more thread that sends; with the lock. Where that fails, the next call tries again. */
  private boolean addSender() {
    try {
      Threads.daemon("svc-steps-" + (senders + 1), this::work).start();
    } catch (OutOfMemoryError e) {
      return false;
    }
    senders++;
    return true;
  }

  private void breakOff(Item item) {
    lock.lock();
    try {
      queue.remove(item);
    } finally {
      lock.unlock();
    }
    item.settle(null, new ConnectionFailedException("the call " + item.call.verb().path + " was broken off"));
  }

  private void work() {
    while (true) {
      List<Item> items;
      lock.lock();
      try {
        while (queue.isEmpty() && !closed) {
          ready.awaitUninterruptibly();
        }
      } finally {
        lock.unlock();
      }
      // What can go on comes first, so that what is ready together travels together.
      motion.await();
      lock.lock();
      try {
        if (closed) {
          return;
        }
        items = take();
      } finally {
        lock.unlock();
      }
      if (!items.isEmpty()) {
        sendSafely(items);
      }
    }
  }

  /** Whatever one of them makes of its answer, the others are answered, and the thread goes on. */
  private void sendSafely(List<Item> items) {
    try {
      send(items);
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
      for (Item item : items) {
        try {
          item.settle(null, new ConnectionFailedException("a batch could not be read", e));
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError again) {
          continue;
        }
      }
    }
  }

  private List<Item> take() {
    List<Item> items = new ArrayList<>();
    int size = 0;
    while (!queue.isEmpty() && items.size() < BATCH_ITEMS) {
      size += queue.element().call.body().length;
      if (!items.isEmpty() && size > BATCH_BYTES) {
        break;
      }
      Item item = queue.remove();
      if (item.call.verb() == Verb.STARTED && item.call.declaration() != null) {
        item.call.declaration().leave();
      }
      items.add(item);
    }
    return items;
  }

  private void send(List<Item> items) {
    Duration timeout =
        items.stream().map(item -> item.call.timeout()).min(Duration::compareTo).orElse(Request.DEFAULT_TIMEOUT);
    JsonNode answer;
    try {
      answer = http.call(Request.post("/v1/api/steps/batch", bodyOf(items)).within(timeout), null);
    } catch (ServiceException e) {
      if (isOfBatch(e)) {
        knowsBatch = knowsBatch && e.status() != 404;
        eachApart(items);
      } else {
        items.forEach(item -> item.settle(null, e));
      }
      return;
    } catch (RuntimeException e) {
      items.forEach(item -> item.settle(null, new ConnectionFailedException("a batch got no answer", e)));
      return;
    }
    motion.begin();
    try {
      deliver(items, answer);
    } finally {
      motion.end();
    }
  }

  /**
   * Whether a refusal is about the call that holds the others, so that each is to be made by itself: one that
   * cannot be read spoils no other. A key or a limit holds for all of them.
   */
  private static boolean isOfBatch(ServiceException refusal) {
    int status = refusal.status();
    return status >= 400 && status < 500 && status != 401 && status != 403 && !refusal.isRetryable();
  }

  private byte[] bodyOf(List<Item> items) {
    ByteArrayOutputStream body = new ByteArrayOutputStream(1024);
    write(body, "{\"worker_id\":" + quoted(workerId));
    int freed = 0;
    for (Verb verb : Verb.values()) {
      boolean isFirst = true;
      for (Item item : items) {
        if (item.call.verb() != verb) {
          continue;
        }
        write(body, isFirst ? ",\"" + verb.list + "\":[" : ",");
        isFirst = false;
        write(body, "{\"lease_id\":" + quoted(item.call.leaseId()) + ",");
        body.write(item.call.body(), 1, item.call.body().length - 1);
        freed += item.call.freesSlot() ? 1 : 0;
      }
      if (!isFirst) {
        body.write(']');
      }
    }
    if (freed > 0 && claims.getAsBoolean()) {
      String own = runId == null ? "" : ",\"run_id\":" + quoted(runId);
      write(body, ",\"claim\":{\"max\":" + Math.min(freed, CLAIM_LIMIT) + ",\"wait_ms\":0" + own + "}");
    }
    body.write('}');
    return body.toByteArray();
  }

  private static String quoted(String text) {
    return "\"" + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + "\"";
  }

  private static void write(ByteArrayOutputStream body, String text) {
    body.writeBytes(text.getBytes(StandardCharsets.UTF_8));
  }

  private void deliver(List<Item> items, JsonNode answer) {
    JsonNode leases = answer == null ? null : answer.get("leases");
    // First: whoever counts free slots next must see what fills them.
    if (leases != null && leases.isArray() && !leases.isEmpty()) {
      onLeases.accept(leases);
    }
    for (Verb verb : Verb.values()) {
      JsonNode answers = answer == null ? null : answer.get(verb.list);
      Iterator<JsonNode> rest = answers == null ? List.<JsonNode>of().iterator() : answers.elements();
      for (Item item : items) {
        if (item.call.verb() != verb) {
          continue;
        }
        if (item.moves) {
          motion.begin();
        }
        JsonNode one = rest.hasNext() ? rest.next() : null;
        JsonNode status = one == null ? null : one.get("status");
        if (status == null || !status.isInt()) {
          item.settle(null, new ConnectionFailedException("the answer to a batch lacks an item"));
        } else if (status.intValue() >= 200 && status.intValue() <= 299) {
          item.settle(one.get("body"), null);
        } else {
          item.settle(null, Http.refusal(status.intValue(), one.get("body")));
        }
      }
    }
  }
}
