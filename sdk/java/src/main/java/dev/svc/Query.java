package dev.svc;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The parameters of a read, by the names that the API has for them: {@code Query.with("status",
 * "failed").and("limit", 10)}.
 */
public final class Query {
  private static final Query NONE = new Query(Map.of());

  private final Map<String, Object> parameters;

  private Query(Map<String, Object> parameters) {
    this.parameters = parameters;
  }

  /**
   * A read without parameters.
   *
   * @return a query
   */
  public static Query none() {
    return NONE;
  }

  /**
   * A query with one parameter.
   *
   * @param name its name, such as {@code status} or {@code correlation.request_id}
   * @param value its value; a text, a number or a boolean
   * @return a query
   */
  public static Query with(String name, Object value) {
    return NONE.and(name, value);
  }

  /**
   * The same query with one more parameter.
   *
   * @param name its name
   * @param value its value; a text, a number or a boolean
   * @return another query
   */
  public Query and(String name, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(parameters);
    more.put(Objects.requireNonNull(name, "name"), Objects.requireNonNull(value, "value"));
    return new Query(Collections.unmodifiableMap(more));
  }

  Map<String, Object> parameters() {
    return parameters;
  }
}
