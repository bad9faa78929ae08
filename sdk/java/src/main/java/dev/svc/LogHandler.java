package dev.svc;

import dev.svc.wire.Severity;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;

/**
 * Records of {@code java.util.logging} as log signals, each on the span around the call. {@link
 * System.Logger} writes there too, unless the program chose another backend.
 *
 * <pre>{@code
 * Logger.getLogger("").addHandler(new LogHandler(instrumentation));
 * }</pre>
 */
public final class LogHandler extends Handler {
  private final Instrumentation instrumentation;
  private final SimpleFormatter formatter = new SimpleFormatter();

  /**
   * Makes a handler for every level that its logger lets through.
   *
   * @param instrumentation where records go
   */
  public LogHandler(Instrumentation instrumentation) {
    this.instrumentation = instrumentation;
  }

  @Override
  public void publish(LogRecord record) {
    String logger = record.getLoggerName();
    // What this library says of its own troubles would come back here.
    if (!isLoggable(record) || (logger != null && (logger.equals("dev.svc") || logger.startsWith("dev.svc.")))) {
      return;
    }
    try {
      Map<String, Object> attributes = new LinkedHashMap<>();
      Throwable thrown = record.getThrown();
      if (thrown != null) {
        attributes.put("exception.type", thrown.getClass().getName());
        attributes.put("exception.message", String.valueOf(thrown.getMessage()));
      }
      String message = formatter.formatMessage(record);
      instrumentation.log(severityOf(record.getLevel()), message, logger, attributes);
    } catch (RuntimeException e) {
      // Such as parameters that throw when they are written.
      instrumentation.countInvalid();
    }
  }

  private static Severity severityOf(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) {
      return Severity.ERROR;
    }
    if (value >= Level.WARNING.intValue()) {
      return Severity.WARN;
    }
    if (value >= Level.CONFIG.intValue()) {
      return Severity.INFO;
    }
    return value >= Level.FINE.intValue() ? Severity.DEBUG : Severity.TRACE;
  }

  /** Does nothing: signals go out by themselves. */
  @Override
  public void flush() {}

  /** Does nothing: the instrumentation belongs to who made it. */
  @Override
  public void close() {}
}
