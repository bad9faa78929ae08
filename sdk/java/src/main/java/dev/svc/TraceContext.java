package dev.svc;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * What code runs under: the span that new ones become children of.
 *
 * @param traceId the trace
 * @param spanId the span
 * @param belongs the correlation of what is recorded below
 * @param usage is told of model spans that end below; null where nobody counts
 */
record TraceContext(String traceId, String spanId, Belongs belongs, UsageSink usage) {

  /** Takes the usage of every model span, and of any other that carries some. */
  @FunctionalInterface
  interface UsageSink {
    void add(String model, ObjectNode usage);
  }

  /** A service as one caller sees it: spans of one realm nest, those of another are none of its business. */
  record Realm(String endpoint, String keyDigest) {
    static Realm of(Settings settings) {
      try {
        byte[] key = settings.apiKey().orElse("").getBytes(StandardCharsets.UTF_8);
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(key);
        return new Realm(settings.endpoint(), HexFormat.of().formatHex(digest));
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("every Java has SHA-256", e);
      }
    }
  }

  /** What a thread runs under: a context for each realm, the last entered first. */
  record Active(Realm realm, TraceContext context, Active outer) {
    private static final ThreadLocal<Active> CURRENT = new ThreadLocal<>();

    static Active current() {
      return CURRENT.get();
    }

    static void set(Active active) {
      if (active == null) {
        CURRENT.remove();
      } else {
        CURRENT.set(active);
      }
    }

    static TraceContext find(Realm realm) {
      for (Active active = CURRENT.get(); active != null; active = active.outer) {
        if (active.realm.equals(realm)) {
          return active.context;
        }
      }
      return null;
    }
  }
}
