package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.wire.Spec;
import java.time.Duration;

/**
 * Asks the service once for its {@code spec_version}. Without an answer it is asked again the next
 * time.
 */
final class SpecCheck {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final Http http;
  private volatile boolean known;
  private volatile String incompatible;

  SpecCheck(Http http) {
    this.http = http;
  }

  /** Throws IncompatibleServerException on another major version. No answer is no fault. */
  void ensure(Signal signal) {
    if (!known) {
      JsonNode answer;
      try {
        answer = http.call(Request.get("/healthz").within(TIMEOUT), signal);
      } catch (ConnectionFailedException | ServiceException e) {
        return;
      }
      JsonNode served = answer == null ? null : answer.get("spec_version");
      if (served != null && served.isTextual() && !major(served.textValue()).equals(major(Spec.VERSION))) {
        incompatible = served.textValue();
      }
      known = true;
    }
    if (incompatible != null) {
      throw new IncompatibleServerException(incompatible, Spec.VERSION);
    }
  }

  private static String major(String version) {
    int dot = version.indexOf('.');
    return dot < 0 ? version : version.substring(0, dot);
  }
}
