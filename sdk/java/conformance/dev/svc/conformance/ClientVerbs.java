package dev.svc.conformance;

import static dev.svc.conformance.Fixture.as;
import static dev.svc.conformance.Fixture.millis;
import static dev.svc.conformance.Fixture.object;
import static dev.svc.conformance.Fixture.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.BulkActions;
import dev.svc.CallInterruptedException;
import dev.svc.Query;
import dev.svc.StartOptions;
import dev.svc.SvcClient;
import dev.svc.wire.BulkAction;
import dev.svc.wire.ChangedSchedule;
import dev.svc.wire.EventOutcome;
import dev.svc.wire.JournalEntry;
import dev.svc.wire.RestartRun;
import dev.svc.wire.Run;
import dev.svc.wire.RunCorrelation;
import dev.svc.wire.RunFilter;
import dev.svc.wire.ScheduleInput;
import dev.svc.wire.StartedBulk;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The verbs of the client. */
final class ClientVerbs {
  private final Supplier<SvcClient> made;

  ClientVerbs(Supplier<SvcClient> made) {
    this.made = made;
  }

  private SvcClient client() {
    return made.get();
  }

  Map<String, Fixture.Verb> verbs() {
    Map<String, Fixture.Verb> verbs = new HashMap<>();
    verbs.put("client.start", this::start);
    verbs.put("client.wait", w -> object().set("output", client().await(text(w, "run_id"), JsonNode.class)));
    verbs.put("client.watch", this::watch);
    verbs.put("client.get", w -> client().getRun(text(w, "run_id")));
    verbs.put("client.journal", w -> client().journal(text(w, "run_id"), query(w.without("run_id"))));
    verbs.put("client.cause", w -> client().stepCause(text(w, "run_id"), text(w, "step_id")));
    verbs.put("client.list", w -> client().listRuns(query(w)));
    verbs.put("client.signal", this::signal);
    verbs.put("client.publish", this::publish);
    verbs.put("client.cancel", w -> client().cancel(text(w, "run_id"), text(w, "reason")));
    verbs.put("client.pause", w -> client().pause(text(w, "run_id"), text(w, "reason")));
    verbs.put("client.resume", w -> client().resume(text(w, "run_id"), text(w, "reason")));
    verbs.put("client.restart", w -> client().restart(text(w, "run_id"), as(w, RestartRun.class), JsonNode.class).run());
    verbs.put("client.store_definitions", w -> Map.of("definitions", client().definitions().store(definitions(w))));
    verbs.put("client.check_definitions", w -> Map.of("definitions", client().definitions().check(definitions(w))));
    verbs.put("client.pause_definition", w -> client().definitions().pause(text(w, "id"), text(w, "reason")));
    verbs.put("client.resume_definition", w -> client().definitions().resume(text(w, "id"), text(w, "reason")));
    verbs.put("client.create_schedule", w -> client().schedules().create(scheduleOf(w)));
    verbs.put("client.replace_schedule", this::replaceSchedule);
    verbs.put("client.get_schedule", w -> client().schedules().get(text(w, "id")));
    verbs.put("client.pause_schedule", w -> client().schedules().pause(text(w, "id")));
    verbs.put("client.resume_schedule", w -> client().schedules().resume(text(w, "id")));
    verbs.put("client.trigger_schedule", w -> client().schedules().trigger(text(w, "id")));
    verbs.put("client.delete_schedule", this::deleteSchedule);
    verbs.put("client.list_schedules", w -> client().schedules().list(query(w)));
    verbs.put("client.count_bulk", w -> bulk(w, client().bulk()::count));
    verbs.put("client.start_bulk", w -> bulk(w, client().bulk()::start));
    verbs.put("client.get_bulk", w -> client().bulk().get(text(w, "bulk_id")));
    verbs.put("client.stop_bulk", w -> client().bulk().stop(text(w, "bulk_id")));
    verbs.put("client.list_workers", w -> client().listWorkers(query(w)));
    verbs.put("client.read", w -> client().read(text(w, "path"), query(w.path("query"))));
    verbs.put("client.close", this::close);
    return verbs;
  }

  private static Query query(JsonNode members) {
    Query query = Query.none();
    for (Iterator<Map.Entry<String, JsonNode>> each = members.fields(); each.hasNext(); ) {
      Map.Entry<String, JsonNode> member = each.next();
      query = query.and(member.getKey(), member.getValue().asText());
    }
    return query;
  }

  private Run start(ObjectNode w) {
    Consumer<StartOptions> options =
        start -> {
          start.idempotencyKey(text(w, "idempotency_key")).startAt(text(w, "start_at"));
          if (w.has("version")) {
            start.version(w.get("version").longValue());
          }
          if (w.has("correlation")) {
            start.correlation(as(w.get("correlation"), RunCorrelation.class));
          }
          if (w.has("wait_ms")) {
            start.waitFor(millis(w, "wait_ms", 0));
          }
          if (w.has("priority")) {
            start.priority(w.get("priority").intValue());
          }
        };
    SvcClient in = w.has("project") ? client().forProject(text(w, "project")) : client();
    return in.start(text(w, "definition_id"), w.get("input"), JsonNode.class, options).run();
  }

  private ObjectNode watch(ObjectNode w) {
    ArrayNode seqs = Fixture.JSON.createArrayNode();
    long limit = w.path("limit").asLong(Long.MAX_VALUE);
    try (Stream<JournalEntry> entries = client().watch(text(w, "run_id"), w.path("after").asLong(-1))) {
      for (Iterator<JournalEntry> each = entries.iterator(); seqs.size() < limit && each.hasNext(); ) {
        JournalEntry entry = each.next();
        seqs.add(entry.seq());
        ObjectNode event = object().put("event", "watch.entry").put("seq", entry.seq());
        Fixture.emit(event.put("kind", entry.kind().value()).put("call", w.get("call").longValue()));
      }
    } catch (CallInterruptedException e) {
      return object().set("seqs", seqs);
    }
    return object().set("seqs", seqs);
  }

  private EventOutcome signal(ObjectNode w) {
    String runId = text(w, "run_id");
    String event = text(w, "event");
    return w.has("event_id")
        ? client().signal(runId, event, w.get("payload"), text(w, "event_id"))
        : client().signal(runId, event, w.get("payload"));
  }

  private EventOutcome publish(ObjectNode w) {
    SvcClient in = w.has("project") ? client().forProject(text(w, "project")) : client();
    String event = text(w, "event");
    return w.has("event_id")
        ? in.publish(event, text(w, "key"), w.get("payload"), text(w, "event_id"))
        : in.publish(event, text(w, "key"), w.get("payload"));
  }

  private static List<JsonNode> definitions(ObjectNode w) {
    List<JsonNode> definitions = new ArrayList<>();
    w.get("definitions").forEach(definitions::add);
    return definitions;
  }

  private static ScheduleInput scheduleOf(ObjectNode w) {
    return as(object().put("id", text(w, "id")).setAll((ObjectNode) w.get("schedule")), ScheduleInput.class);
  }

  private Object replaceSchedule(ObjectNode w) {
    return client().schedules().replace(text(w, "id"), as(w.get("schedule"), ChangedSchedule.class));
  }

  private Object deleteSchedule(ObjectNode w) {
    client().schedules().delete(text(w, "id"));
    return null;
  }

  @FunctionalInterface
  private interface BulkCall {
    StartedBulk call(BulkAction action, RunFilter filter, Consumer<BulkActions.Options> options);
  }

  private static StartedBulk bulk(ObjectNode w, BulkCall call) {
    Consumer<BulkActions.Options> options =
        given ->
            given
                .reason(text(w, "reason"))
                .event(text(w, "event"), w.get("payload"))
                .idempotencyKey(text(w, "idempotency_key"));
    return call.call(new BulkAction(text(w, "action")), as(w.get("filter"), RunFilter.class), options);
  }

  private Object close(ObjectNode w) {
    client().close();
    return null;
  }
}
