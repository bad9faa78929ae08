package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.wire.JournalEntry;
import dev.svc.wire.JournalKind;
import dev.svc.wire.ListRunEventsResponse;
import dev.svc.wire.RunDetail;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Follows the journal of one run, over broken connections and restarts of the service. */
final class JournalWatch extends Spliterators.AbstractSpliterator<JournalEntry> {
  private final Api api;
  private final String runId;
  private final Signal stop = new Signal();
  private final Runnable forgetClosing;
  private final Queue<JournalEntry> read = new ArrayDeque<>();
  private long last;
  private int failures;
  private Long thereAt;
  private Http.Exchange connection;
  private EventStream events;
  private boolean over;

  JournalWatch(Api api, String runId, long after) {
    super(Long.MAX_VALUE, Spliterator.ORDERED | Spliterator.NONNULL | Spliterator.DISTINCT);
    this.api = api;
    this.runId = runId;
    this.last = after;
    this.thereAt = api.answeredAt();
    this.forgetClosing = api.closing.onFire(stop::fire);
  }

  Stream<JournalEntry> stream() {
    return StreamSupport.stream(this, false).onClose(this::end);
  }

  private void end() {
    // Whoever reads meanwhile, in another thread, sees the stream end.
    stop.fire();
    forgetClosing.run();
  }

  @Override
  public boolean tryAdvance(Consumer<? super JournalEntry> action) {
    JournalEntry entry = next();
    if (entry == null) {
      disconnect();
      end();
      return false;
    }
    action.accept(entry);
    return true;
  }

  private JournalEntry next() {
    while (true) {
      JournalEntry ready = read.poll();
      if (ready != null) {
        last = ready.seq();
        return ready;
      }
      if (over || stop.fired()) {
        return null;
      }
      try {
        JournalEntry entry = nextOfConnection();
        if (entry == null) {
          disconnect();
          if (stop.fired()) {
            return null;
          }
          readRest();
          continue;
        }
        failures = 0;
        if (entry.seq() <= last) {
          continue;
        }
        last = entry.seq();
        over = JournalKind.RUN_FINISHED.equals(entry.kind());
        return entry;
      } catch (ConnectionFailedException | ServiceException e) {
        onFailure(e);
      }
    }
  }

  private void onFailure(RuntimeException error) {
    if (connection != null) {
      // It was there until now, however long the run was silent.
      thereAt = System.nanoTime();
    }
    disconnect();
    if (stop.fired()) {
      return;
    }
    if (!Retries.isRetryable(error)) {
      throw error;
    }
    failures++;
    boolean patient = thereAt != null && System.nanoTime() - thereAt < Api.PATIENCE.toNanos();
    if (failures >= api.retry.attempts() && !patient) {
      throw error;
    }
    Retries.pause(Math.max(Retries.askedNanos(error), api.retry.backoffNanos(failures)), stop);
  }

  /** The next entry of the connection, which is opened where there is none; null at its end. */
  private JournalEntry nextOfConnection() {
    if (events == null) {
      Map<String, String> headers =
          last < 0
              ? Map.of("accept", "text/event-stream")
              : Map.of("accept", "text/event-stream", "last-event-id", Long.toString(last));
      String path = "/v1/api/runs/" + Api.segment(runId) + "/events";
      Duration timeout = api.timeout;
      connection = api.http.stream(new Request("GET", path, Map.of(), null, headers, timeout), stop);
      api.answered();
      events = new EventStream(connection::next, api.streamIdle);
    }
    String data = events.next();
    if (data == null) {
      return null;
    }
    JsonNode entry;
    try {
      entry = Json.parse(data.getBytes(StandardCharsets.UTF_8));
    } catch (Json.MismatchException e) {
      throw new ConnectionFailedException("the journal stream holds something that is not JSON");
    }
    return Json.decode(entry, JournalEntry.class);
  }

  private void disconnect() {
    events = null;
    if (connection != null) {
      connection.close();
      connection = null;
    }
  }

  /**
   * The stream ended in good order without the end of the run: the service stops, or the end lies
   * before the point from which we follow.
   *
   * <p>The run is read before its journal: when it had ended by then, the journal holds all there is;
   * the other way round, its end could be missed.
   */
  private void readRest() {
    String path = "/v1/api/runs/" + Api.segment(runId);
    RunDetail run = api.get(RunDetail.class, path, Map.of());
    List<JournalEntry> entries =
        api.get(ListRunEventsResponse.class, path + "/events", Map.of("after", last)).events();
    read.addAll(entries);
    if (entries.isEmpty()) {
      over = Api.isOver(run.status());
      if (!over) {
        Retries.pause(api.retry.backoffNanos(1), stop);
      }
    } else {
      over = JournalKind.RUN_FINISHED.equals(entries.get(entries.size() - 1).kind());
    }
  }
}
