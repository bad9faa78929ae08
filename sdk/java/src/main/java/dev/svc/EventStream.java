package dev.svc;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/**
 * Reads the data of server-sent events. Comments, the service's sign of life, only keep the stream
 * from being taken for dead. See WHATWG HTML, 9.2.
 */
final class EventStream {
  /** A line longer than this is no event of ours. */
  private static final int LINE_LIMIT_BYTES = 64 * 1024 * 1024;

  private final Source source;
  private final Duration idle;
  private final Queue<String> ready = new ArrayDeque<>();
  // Lines end at bytes that are no part of any other character: each is decoded as one piece.
  private final ByteArrayOutputStream line = new ByteArrayOutputStream();
  private StringBuilder data;
  private boolean afterReturn;

  /** Where the bytes come from; none at the end. */
  @FunctionalInterface
  interface Source {
    List<ByteBuffer> next(Duration idle);
  }

  EventStream(Source source, Duration idle) {
    this.source = source;
    this.idle = idle;
  }

  /** The data of the next event; null at the end. */
  String next() {
    while (ready.isEmpty()) {
      List<ByteBuffer> piece = source.next(idle);
      if (piece.isEmpty()) {
        return null;
      }
      for (ByteBuffer part : piece) {
        take(part);
      }
    }
    return ready.remove();
  }

  private void take(ByteBuffer part) {
    while (part.hasRemaining()) {
      byte next = part.get();
      // A carriage return ends a line at once; the line feed that may follow it belongs to it.
      if (next == '\n' && afterReturn) {
        afterReturn = false;
        continue;
      }
      afterReturn = next == '\r';
      if (next == '\n' || next == '\r') {
        onLine(line.toString(StandardCharsets.UTF_8));
        line.reset();
      } else {
        line.write(next);
        if (line.size() > LINE_LIMIT_BYTES) {
          throw new ConnectionFailedException("the stream holds a line without an end");
        }
      }
    }
  }

  private void onLine(String text) {
    if (text.isEmpty()) {
      if (data != null) {
        ready.add(data.toString());
      }
      data = null;
      return;
    }
    if (!text.startsWith("data")) {
      return;
    }
    String value;
    if (text.length() == 4) {
      value = "";
    } else if (text.charAt(4) == ':') {
      value = text.substring(text.startsWith(" ", 5) ? 6 : 5);
    } else {
      return;
    }
    if (data == null) {
      data = new StringBuilder(value);
    } else {
      data.append('\n').append(value);
    }
  }
}
