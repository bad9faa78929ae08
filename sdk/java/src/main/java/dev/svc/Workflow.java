package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;

/**
 * A definition and the bodies of its tasks.
 *
 * <pre>{@code
 * var refund = Workflow.load(Path.of("refund.json")).step("pay", Order.class, (step, order) ->
 *     bank.pay(order.amount(), step.key()));
 * }</pre>
 */
public final class Workflow {
  private final ObjectNode definition;
  private final String id;
  private final long version;
  private final List<String> tasks;
  private final Map<String, Bound> bodies = new LinkedHashMap<>();

  /** A body, and what its input is read as. */
  record Bound(Type input, StepBody<Object> body) {}

  private Workflow(JsonNode given) {
    boolean isDefinition =
        given instanceof ObjectNode
            && given.path("id").isTextual()
            && given.path("version").isIntegralNumber()
            && given.path("steps").isArray();
    if (!isDefinition) {
      throw new IllegalArgumentException("a definition is an object with `id`, `version` and `steps`");
    }
    definition = given.deepCopy();
    id = given.get("id").textValue();
    version = given.get("version").longValue();
    tasks =
        StreamSupport.stream(given.get("steps").spliterator(), false)
            .filter(step -> step.path("kind").asText().equals("task") && step.path("id").isTextual())
            .map(step -> step.get("id").textValue())
            .toList();
  }

  /**
   * Takes a definition; the service says what is wrong with it when it is registered.
   *
   * @param definition the definition
   * @return a workflow without bodies
   * @throws IllegalArgumentException when it is none
   */
  public static Workflow of(JsonNode definition) {
    return new Workflow(definition);
  }

  /**
   * Reads a definition.
   *
   * @param definition JSON
   * @return a workflow without bodies
   * @throws IllegalArgumentException when it is none
   */
  public static Workflow parse(String definition) {
    try {
      return new Workflow(Json.parse(definition.getBytes(StandardCharsets.UTF_8)));
    } catch (Json.MismatchException e) {
      throw new IllegalArgumentException("a definition is JSON: " + e.getMessage(), e);
    }
  }

  /**
   * Reads a definition.
   *
   * @param file a file of JSON
   * @return a workflow without bodies
   * @throws IOException when it cannot be read
   * @throws IllegalArgumentException when it is none
   */
  public static Workflow load(Path file) throws IOException {
    return parse(Files.readString(file));
  }

  /**
   * Binds a body to a task.
   *
   * @param stepId the id of the task
   * @param input what its input is read as, such as a record; {@code JsonNode} reads anything
   * @param body what serves it
   * @param <I> what its input is read as
   * @return this
   * @throws IllegalArgumentException when there is no such task, or it has a body
   */
  public <I> Workflow step(String stepId, Class<I> input, StepBody<I> body) {
    if (!tasks.contains(stepId)) {
      throw new IllegalArgumentException("workflow " + this + " has no task \"" + stepId + "\"");
    }
    // The cast is made where the input is read: as this class.
    StepBody<Object> bound = (step, given) -> body.run(step, input.cast(given));
    if (bodies.putIfAbsent(stepId, new Bound(input, bound)) != null) {
      throw new IllegalArgumentException("step \"" + stepId + "\" of workflow " + this + " has a body already");
    }
    return this;
  }

  /**
   * The id of the definition.
   *
   * @return the id
   */
  public String id() {
    return id;
  }

  /**
   * The version of the definition.
   *
   * @return the version
   */
  public long version() {
    return version;
  }

  /**
   * The definition.
   *
   * @return a copy
   */
  public ObjectNode definition() {
    return definition.deepCopy();
  }

  Bound bodyOf(String stepId) {
    return bodies.get(stepId);
  }

  /** Tasks that no body serves yet. */
  List<String> withoutBody() {
    return tasks.stream().filter(task -> !bodies.containsKey(task)).toList();
  }

  @Override
  public String toString() {
    return id + " version " + version;
  }
}
