package dev.svc;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A span, as a {@code traceparent} header names it.
 *
 * @param traceId 32 lowercase hex characters
 * @param spanId 16 lowercase hex characters
 */
public record SpanAddress(String traceId, String spanId) {
  private static final Pattern TRACEPARENT =
      Pattern.compile("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", Pattern.DOTALL);
  private static final String ZERO_TRACE = "0".repeat(32);
  private static final String ZERO_SPAN = "0".repeat(16);

  /** Reads a {@code traceparent}; null where it is malformed. W3C Trace Context, 3.2. */
  static SpanAddress parse(String header) {
    Matcher match = TRACEPARENT.matcher(header.strip());
    if (!match.matches()) {
      return null;
    }
    String version = match.group(1);
    if (version.equals("ff") || (version.equals("00") && match.group(4) != null)) {
      return null;
    }
    if (match.group(2).equals(ZERO_TRACE) || match.group(3).equals(ZERO_SPAN)) {
      return null;
    }
    return new SpanAddress(match.group(2), match.group(3));
  }
}
