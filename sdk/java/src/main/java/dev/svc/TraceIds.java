package dev.svc;

import java.security.SecureRandom;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.concurrent.ThreadLocalRandom;

/** Ids, times and sampling of traces. */
final class TraceIds {
  private static final char[] HEX = "0123456789abcdef".toCharArray();

  /** The generator of a thread is fast, and may be seeded alike in processes that start together. */
  private static final long SALT = new SecureRandom().nextLong();

  /** The text of the last second: most signals share it. */
  private static volatile Second last = new Second(Long.MIN_VALUE, "");

  private record Second(long epoch, String text) {}

  private TraceIds() {}

  static String newTraceId() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    char[] text = new char[32];
    hex(random.nextLong() ^ SALT, text, 0);
    hex(nonZero(random), text, 16);
    return new String(text);
  }

  static String newSpanId() {
    char[] text = new char[16];
    hex(nonZero(ThreadLocalRandom.current()), text, 0);
    return new String(text);
  }

  private static long nonZero(ThreadLocalRandom random) {
    long value = random.nextLong() ^ SALT;
    return value == 0 ? 1 : value;
  }

  private static void hex(long value, char[] text, int at) {
    for (int i = 15; i >= 0; i--) {
      text[at + i] = HEX[(int) (value & 15)];
      value >>>= 4;
    }
  }

  /** The rule of the service, so that both keep the same traces: the low 56 bits as a fraction of 2^56. */
  static boolean isSampled(String traceId, double fraction) {
    return fraction >= 1
        || Long.parseLong(traceId.substring(18), 16) < (long) Math.ceil(fraction * (1L << 56));
  }

  static String now() {
    Instant now = Instant.now();
    return timestamp(now.getEpochSecond(), now.getNano());
  }

  /** RFC 3339 in UTC with three, six or nine digits of fraction, as many as there are. */
  static String timestamp(long epochSecond, int nano) {
    Second second = last;
    if (second.epoch != epochSecond) {
      LocalDateTime time = LocalDateTime.ofEpochSecond(epochSecond, 0, ZoneOffset.UTC);
      String text = time.toString();
      second = new Second(epochSecond, text.length() == 16 ? text + ":00" : text);
      last = second;
    }
    int digits = nano % 1_000_000 == 0 ? 3 : nano % 1000 == 0 ? 6 : 9;
    int fraction = digits == 3 ? nano / 1_000_000 : digits == 6 ? nano / 1000 : nano;
    char[] end = new char[digits + 2];
    end[0] = '.';
    for (int i = digits; i > 0; i--) {
      end[i] = (char) ('0' + fraction % 10);
      fraction /= 10;
    }
    end[digits + 1] = 'Z';
    return second.text.concat(new String(end));
  }
}
