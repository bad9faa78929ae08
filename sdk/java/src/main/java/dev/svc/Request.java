package dev.svc;

import java.time.Duration;
import java.util.Map;

/**
 * One call of the API.
 *
 * @param method the method
 * @param path from the root of the service: {@code /v1/api/runs}
 * @param query the query; null values are left out
 * @param body JSON that was written already; null for none
 * @param headers further headers
 * @param timeout how long the complete answer may take; of a stream, its beginning
 */
record Request(
    String method,
    String path,
    Map<String, ?> query,
    byte[] body,
    Map<String, String> headers,
    Duration timeout) {

  static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

  static Request get(String path) {
    return new Request("GET", path, Map.of(), null, Map.of(), null);
  }

  static Request get(String path, Map<String, ?> query) {
    return new Request("GET", path, query, null, Map.of(), null);
  }

  static Request post(String path, byte[] body) {
    return new Request("POST", path, Map.of(), body, Map.of(), null);
  }

  Request within(Duration limit) {
    return new Request(method, path, query, body, headers, limit);
  }

  Request with(Map<String, ?> parameters) {
    return new Request(method, path, parameters, body, headers, timeout);
  }

  @Override
  public String toString() {
    return method + " " + path;
  }
}
