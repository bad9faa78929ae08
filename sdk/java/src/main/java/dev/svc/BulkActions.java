package dev.svc;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.Bulk;
import dev.svc.wire.BulkAction;
import dev.svc.wire.RunFilter;
import dev.svc.wire.StartedBulk;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

/** Actions on many runs at once. Calls throw as those of {@link SvcClient} do. */
public final class BulkActions {
  private final Api api;

  BulkActions(Api api) {
    this.api = api;
  }

  /** What goes with an action. */
  public static final class Options {
    private String reason;
    private String event;
    private Object payload;
    private String idempotencyKey;

    private Options() {}

    /**
     * Why; it is kept with each run.
     *
     * @param reason a sentence
     * @return this
     */
    public Options reason(String reason) {
      this.reason = reason;
      return this;
    }

    /**
     * What {@link BulkAction#SIGNAL} gives to each run.
     *
     * @param event the name of the event
     * @param payload an object
     * @return this
     */
    public Options event(String event, Object payload) {
      this.event = event;
      this.payload = payload;
      return this;
    }

    /**
     * The same key again gives the action that it began first, for as long as that is kept. Without
     * one, a new one makes a retry of the call safe. A count takes none.
     *
     * @param idempotencyKey the key
     * @return this
     */
    public Options idempotencyKey(String idempotencyKey) {
      this.idempotencyKey = idempotencyKey;
      return this;
    }
  }

  /**
   * How many runs match, and ten of them; nothing is begun.
   *
   * @param action what would be done
   * @param filter which runs; an empty one is refused by the service
   * @param options what goes with the action
   * @return the count
   */
  public StartedBulk count(BulkAction action, RunFilter filter, Consumer<Options> options) {
    return Json.decode(api.call(request(action, filter, options, true)), StartedBulk.class);
  }

  /**
   * Does something with all runs that match, in slices behind this call.
   *
   * @param action what is done
   * @param filter which runs; an empty one is refused by the service
   * @param options what goes with the action
   * @return its id and the count; no id: no run matched
   */
  public StartedBulk start(BulkAction action, RunFilter filter, Consumer<Options> options) {
    return Json.decode(api.call(request(action, filter, options, false)), StartedBulk.class);
  }

  /**
   * How far it is.
   *
   * @param bulkId its id
   * @return what was done and what was refused
   */
  public Bulk get(String bulkId) {
    return api.get(Bulk.class, path(bulkId), Map.of());
  }

  /**
   * Ends it; what was done stays done.
   *
   * @param bulkId its id
   * @return what was done and what was refused
   */
  public Bulk stop(String bulkId) {
    Request request = new Request("DELETE", path(bulkId), Map.of(), null, Map.of(), null);
    return Json.decode(api.call(request), Bulk.class);
  }

  private Request request(BulkAction action, RunFilter filter, Consumer<Options> given, boolean dryRun) {
    Options options = new Options();
    given.accept(options);
    ObjectNode which = Json.ownTree(filter);
    // An empty filter stays empty, which the service refuses: it would mean every run.
    if (!which.isEmpty() && api.project != null && !which.has("project")) {
      which.put("project", api.project);
    }
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.put("action", action.value()).put("dry_run", dryRun).set("filter", which);
    if (options.reason != null) {
      body.put("reason", options.reason);
    }
    if (options.event != null) {
      body.put("event", options.event);
    }
    if (options.payload != null) {
      body.set("payload", api.tree("the payload", options.payload));
    }
    if (!dryRun) {
      body.put("idempotency_key", options.idempotencyKey == null ? UUID.randomUUID().toString() : options.idempotencyKey);
    }
    return Request.post("/v1/api/runs/bulk", Json.encodeOwn(body));
  }

  private static String path(String bulkId) {
    return "/v1/api/runs/bulk/" + Api.segment(bulkId);
  }
}
