package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;

/** Connections to one service, kept alive between calls. */
final class Http implements AutoCloseable {
  private static final Duration CONNECT = Duration.ofSeconds(10);
  private static final int MESSAGE_LIMIT_CHARACTERS = 500;

  /** An answer larger than this is refused: no read of the service is. */
  private static final long ANSWER_LIMIT_BYTES = 256L * 1024 * 1024;

  /** Java 21 can close a client at once; before, one that nobody holds ends with its connections. */
  private static final MethodHandle SHUTDOWN_NOW = shutdownNow();

  private final HttpClient client;
  /** Computes TLS; null without it. */
  private final ExecutorService executor;
  private final String base;
  private final String authorization;
  private final Signal closing = new Signal();

  Http(Settings settings) {
    String endpoint = settings.endpoint();
    boolean secure = endpoint.regionMatches(true, 0, "https:", 0, 6);
    executor = secure ? Executors.newCachedThreadPool(Threads.daemons("svc-http")) : null;
    client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT)
            // Plain answers are read by the thread that selects: handing a piece over costs more than reading it.
            .executor(secure ? executor : Runnable::run)
            .build();
    base = endpoint.endsWith("/") ? endpoint.substring(0, endpoint.length() - 1) : endpoint;
    authorization = settings.apiKey().map(key -> "Bearer " + key).orElse(null);
  }

  private static MethodHandle shutdownNow() {
    try {
      return MethodHandles.publicLookup()
          .findVirtual(HttpClient.class, "shutdownNow", MethodType.methodType(void.class));
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }

  /**
   * One call, one try. Returns the parsed body of a 2xx answer, null for an empty one.
   *
   * @throws ServiceException when the service refuses
   * @throws ConnectionFailedException when there is no answer that can be read
   * @throws CallInterruptedException when the thread is interrupted
   */
  JsonNode call(Request request, Signal signal) {
    long deadline = deadlineOf(request);
    try (Exchange exchange = new Exchange(request, signal)) {
      HttpResponse<ByteStream> answer = exchange.begin(deadline);
      byte[] text = exchange.readAll(answer.body(), deadline);
      int status = answer.statusCode();
      if (status < 200 || status > 299) {
        throw refusal(status, text, answer.headers());
      }
      if (text.length == 0) {
        return null;
      }
      try {
        return Json.parse(text);
      } catch (Json.MismatchException e) {
        throw new ConnectionFailedException(request + ": the answer is not JSON");
      }
    }
  }

  /** Opens a stream; the time limit of the request is for its beginning. Its reader closes it. */
  Exchange stream(Request request, Signal signal) {
    Exchange exchange = new Exchange(request, signal);
    try {
      long deadline = deadlineOf(request);
      HttpResponse<ByteStream> answer = exchange.begin(deadline);
      if (answer.statusCode() < 200 || answer.statusCode() > 299) {
        byte[] text = exchange.readAll(answer.body(), deadline);
        throw refusal(answer.statusCode(), text, answer.headers());
      }
      return exchange;
    } catch (RuntimeException e) {
      exchange.close();
      throw e;
    }
  }

  private static long deadlineOf(Request request) {
    Duration limit = request.timeout() == null ? Request.DEFAULT_TIMEOUT : request.timeout();
    return System.nanoTime() + limit.toNanos();
  }

  /** Breaks off what is on its way. */
  @Override
  public void close() {
    closing.fire();
    shutDownClient();
    if (executor != null) {
      executor.shutdown();
    }
  }

  private void shutDownClient() {
    if (SHUTDOWN_NOW == null) {
      return;
    }
    try {
      SHUTDOWN_NOW.invoke(client);
    } catch (Throwable e) {
      // It ends by itself once nobody holds it.
      return;
    }
  }

  private URI uriOf(Request request) {
    StringBuilder url = new StringBuilder(base).append(request.path());
    char separator = request.path().indexOf('?') < 0 ? '?' : '&';
    for (Map.Entry<String, ?> parameter : request.query().entrySet()) {
      if (parameter.getValue() == null) {
        continue;
      }
      url.append(separator)
          .append(URLEncoder.encode(parameter.getKey(), StandardCharsets.UTF_8))
          .append('=')
          .append(URLEncoder.encode(parameter.getValue().toString(), StandardCharsets.UTF_8));
      separator = '&';
    }
    return URI.create(url.toString());
  }

  private HttpRequest requestOf(Request request, long nanos) {
    HttpRequest.Builder builder =
        HttpRequest.newBuilder(uriOf(request))
            .timeout(Duration.ofNanos(Math.max(1, nanos)))
            .header("user-agent", "svc-java/" + Version.TEXT);
    if (authorization != null) {
      builder.header("authorization", authorization);
    }
    request.headers().forEach(builder::setHeader);
    if (request.body() == null) {
      return builder.method(request.method(), HttpRequest.BodyPublishers.noBody()).build();
    }
    return builder
        .header("content-type", "application/json")
        .method(request.method(), HttpRequest.BodyPublishers.ofByteArray(request.body()))
        .build();
  }

  /** A refusal of the service, from the status and the body of its answer. */
  static ServiceException refusal(int status, JsonNode problem) {
    return refusal(status, problem, "", null);
  }

  private static ServiceException refusal(int status, byte[] text, HttpHeaders headers) {
    JsonNode problem = null;
    try {
      problem = Json.parse(text);
    } catch (Json.MismatchException e) {
      // A page of a proxy, such as HTML: its text is all there is to say.
      return refusal(status, null, new String(text, StandardCharsets.UTF_8), headers);
    }
    return refusal(status, problem, "", headers);
  }

  private static ServiceException refusal(
      int status, JsonNode problem, String text, HttpHeaders headers) {
    String message = member(problem, "message");
    if (message == null || message.isEmpty()) {
      String plain = text.length() > MESSAGE_LIMIT_CHARACTERS ? text.substring(0, MESSAGE_LIMIT_CHARACTERS) : text;
      message = plain.isEmpty() ? "HTTP " + status : plain;
    }
    String code = member(problem, "code");
    return new ServiceException(
        message,
        code == null ? "http_" + status : code,
        status,
        member(problem, "field"),
        headers == null ? null : headers.firstValue("x-request-id").orElse(null),
        headers == null
            ? null
            : retryAfter(headers.firstValue("retry-after").orElse(null), Instant.now()));
  }

  private static String member(JsonNode problem, String name) {
    JsonNode found = problem == null ? null : problem.get(name);
    return found != null && found.isTextual() ? found.textValue() : null;
  }

  /** What a {@code Retry-After} header asks for; null where it says nothing. RFC 9110, 10.2.3. */
  static Duration retryAfter(String header, Instant now) {
    if (header == null) {
      return null;
    }
    String text = header.strip();
    if (!text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9')) {
      // More digits than that are more seconds than anybody waits.
      return text.length() > 9 ? Duration.ofSeconds(999_999_999) : Duration.ofSeconds(Long.parseLong(text));
    }
    try {
      Instant at = ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
      return at.isBefore(now) ? Duration.ZERO : Duration.between(now, at);
    } catch (DateTimeParseException e) {
      return null;
    }
  }

  /**
   * One request and its answer, which a signal, an interrupt or a deadline breaks off. The calling thread
   * sends and waits: the asynchronous call of the JDK starts a thread for each answer where a machine has
   * few processors.
   */
  final class Exchange implements AutoCloseable {
    private final Request request;
    private final ByteStream stream = new ByteStream();
    private final Runnable forgetClosing;
    private final Runnable forgetSignal;
    private final Object waitLock = new Object();
    /** The thread that waits for the answer to begin; with the lock. */
    private Thread waiting;
    private volatile boolean brokenOff;

    Exchange(Request request, Signal signal) {
      this.request = request;
      forgetClosing = closing.onFire(this::breakOff);
      forgetSignal = signal == null ? () -> {} : signal.onFire(this::breakOff);
    }

    private void breakOff() {
      synchronized (waitLock) {
        brokenOff = true;
        if (waiting != null) {
          waiting.interrupt();
        }
      }
      stream.close();
    }

    HttpResponse<ByteStream> begin(long deadline) {
      synchronized (waitLock) {
        if (brokenOff) {
          throw wasBrokenOff(null);
        }
        waiting = Thread.currentThread();
      }
      try {
        return client.send(requestOf(request, deadline - System.nanoTime()), info -> stream);
      } catch (InterruptedException e) {
        if (brokenOff) {
          throw wasBrokenOff(e);
        }
        throw interrupted();
      } catch (HttpConnectTimeoutException e) {
        throw failed(e);
      } catch (HttpTimeoutException e) {
        throw tooLate();
      } catch (IOException e) {
        throw failed(e);
      } finally {
        synchronized (waitLock) {
          waiting = null;
          if (brokenOff) {
            // It was meant for this wait, which is over.
            Thread.interrupted();
          }
        }
      }
    }

    byte[] readAll(ByteStream body, long deadline) {
      ByteArrayOutputStream text = new ByteArrayOutputStream();
      while (true) {
        List<ByteBuffer> piece;
        try {
          piece = body.next(deadline - System.nanoTime());
        } catch (InterruptedException e) {
          throw interrupted();
        } catch (TimeoutException e) {
          throw tooLate();
        } catch (IOException e) {
          throw failed(e);
        }
        if (piece.isEmpty()) {
          return text.toByteArray();
        }
        for (ByteBuffer part : piece) {
          append(text, part);
        }
        if (text.size() > ANSWER_LIMIT_BYTES) {
          throw new ConnectionFailedException(request + ": the answer is larger than 256 MiB");
        }
      }
    }

    /** The next bytes of a stream; none at its end. */
    List<ByteBuffer> next(Duration idle) {
      try {
        return stream.next(idle.toNanos());
      } catch (InterruptedException e) {
        throw interrupted();
      } catch (TimeoutException e) {
        throw new ConnectionFailedException("the stream was silent for " + idle.toMillis() + " ms");
      } catch (IOException e) {
        throw failed(e);
      }
    }

    private CallInterruptedException interrupted() {
      Thread.currentThread().interrupt();
      return new CallInterruptedException(request + " was interrupted");
    }

    private ConnectionFailedException tooLate() {
      Duration limit = request.timeout() == null ? Request.DEFAULT_TIMEOUT : request.timeout();
      return new ConnectionFailedException(request + " got no answer within " + limit.toMillis() + " ms");
    }

    private ConnectionFailedException wasBrokenOff(Exception cause) {
      return new ConnectionFailedException(request + " was broken off", cause);
    }

    private ConnectionFailedException failed(Exception error) {
      if (brokenOff) {
        return wasBrokenOff(error);
      }
      Throwable cause = error;
      while (cause.getCause() != null
          && (cause.getMessage() == null || cause instanceof ConnectException)) {
        cause = cause.getCause();
      }
      String words = cause.getMessage();
      if (cause instanceof ConnectException || cause instanceof ClosedChannelException) {
        // The client of the JDK tries a refused connection again, on a channel that is closed by then.
        words = "the connection was refused or closed";
      } else if (words == null) {
        words = cause.getClass().getSimpleName();
      }
      return new ConnectionFailedException(request + " got no answer: " + words, cause);
    }

    @Override
    public void close() {
      forgetClosing.run();
      forgetSignal.run();
      stream.close();
    }
  }

  private static void append(ByteArrayOutputStream text, ByteBuffer part) {
    if (part.hasArray()) {
      text.write(part.array(), part.arrayOffset() + part.position(), part.remaining());
    } else {
      byte[] copy = new byte[part.remaining()];
      part.get(copy);
      text.write(copy, 0, copy.length);
    }
  }
}
