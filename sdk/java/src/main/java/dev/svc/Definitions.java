package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.svc.wire.DefinitionOverview;
import dev.svc.wire.DefinitionState;
import dev.svc.wire.DefinitionVersion;
import dev.svc.wire.ListDefinitionsResponse;
import dev.svc.wire.StoredDefinition;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** Definitions of workflows. Calls throw as those of {@link SvcClient} do. */
public final class Definitions {
  private static final String PATH = "/v1/api/definitions";

  private final Api api;

  Definitions(Api api) {
    this.api = api;
  }

  /**
   * Stores definitions without a worker, all or none: runs can be started before the first worker is
   * there.
   *
   * @param definitions definitions as JSON, such as {@code Workflow.definition()}
   * @return what became of each
   * @throws ServiceException {@code definition_invalid}, or {@code definition_conflict} where a version
   *     has other content
   */
  public List<StoredDefinition> store(Collection<? extends JsonNode> definitions) {
    api.spec.ensure(api.closing);
    JsonNode answer = api.call(Request.post(PATH, bodyOf(definitions)));
    return Api.list(StoredDefinition.class, answer, "definitions");
  }

  /**
   * Stores nothing, and says of each definition what is wrong with it.
   *
   * @param definitions definitions as JSON
   * @return an object for each: {@code id}, {@code version}, {@code faults}
   */
  public List<ObjectNode> check(Collection<? extends JsonNode> definitions) {
    Request request = Request.post(PATH, bodyOf(definitions)).with(Map.of("check", true));
    return Api.list(ObjectNode.class, api.call(request), "definitions");
  }

  /**
   * Those of the project, where one is set, and those of the service.
   *
   * @param query {@code limit}, {@code cursor}
   * @return a page
   */
  public ListDefinitionsResponse list(Query query) {
    return api.get(ListDefinitionsResponse.class, PATH, api.query(query.parameters()));
  }

  /**
   * The project's own where it owns one of that id, else the service's.
   *
   * @param id its id
   * @return its versions, with their open runs and workers
   */
  public DefinitionOverview get(String id) {
    return api.get(DefinitionOverview.class, path(id), api.query(Map.of()));
  }

  /**
   * One version, with its content.
   *
   * @param id its id
   * @param version the version
   * @return the version
   */
  public DefinitionVersion getVersion(String id, long version) {
    return api.get(DefinitionVersion.class, path(id) + "/versions/" + version, api.query(Map.of()));
  }

  /**
   * Pauses a definition in all its versions: starts stay queued, and no step of its runs is offered.
   *
   * @param id its id
   * @param reason why; null for none
   * @return its state
   */
  public DefinitionState pause(String id, String reason) {
    return api.post(DefinitionState.class, path(id) + "/pause", body(reason));
  }

  /**
   * Resumes a paused definition. Runs that were paused by name stay paused.
   *
   * @param id its id
   * @param reason why; null for none
   * @return its state
   */
  public DefinitionState resume(String id, String reason) {
    return api.post(DefinitionState.class, path(id) + "/resume", body(reason));
  }

  private ObjectNode body(String reason) {
    ObjectNode body = api.projectBody();
    return reason == null ? body : body.put("reason", reason);
  }

  private byte[] bodyOf(Collection<? extends JsonNode> definitions) {
    ObjectNode body = api.projectBody();
    ArrayNode list = body.putArray("definitions");
    definitions.forEach(list::add);
    return Json.encodeOwn(body);
  }

  private static String path(String id) {
    return PATH + "/" + Api.segment(id);
  }
}
