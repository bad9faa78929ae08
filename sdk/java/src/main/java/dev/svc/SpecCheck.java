package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.wire.Spec;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Asks the service once for its {@code spec_version}. Without an answer it is asked again the next
 * time. Those who ask together share one call.
 */
final class SpecCheck {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final Http http;
  /** Opens at the end of the call under way; null while there is none. */
  private final AtomicReference<CountDownLatch> asking = new AtomicReference<>();

  private volatile boolean known;
  private volatile String incompatible;

  SpecCheck(Http http) {
    this.http = http;
  }

  /** Throws IncompatibleServerException on another major version. No answer is no fault. */
  void ensure(Signal signal) {
    if (!known) {
      CountDownLatch own = new CountDownLatch(1);
      CountDownLatch other = asking.compareAndExchange(null, own);
      if (other == null) {
        try {
          ask(signal);
        } finally {
          asking.set(null);
          own.countDown();
        }
      } else {
        await(other);
      }
    }
    if (incompatible != null) {
      throw new IncompatibleServerException(incompatible, Spec.VERSION);
    }
  }

  private void ask(Signal signal) {
    // Another call may have ended between the look and the turn.
    if (known) {
      return;
    }
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

  private static void await(CountDownLatch asked) {
    try {
      asked.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CallInterruptedException("GET /healthz was interrupted");
    }
  }

  private static String major(String version) {
    int dot = version.indexOf('.');
    return dot < 0 ? version : version.substring(0, dot);
  }
}
