package dev.svc;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;

/** A service that answers as a test says, and records what was asked. */
final class Scripted implements AutoCloseable {
  /** What a call is answered with. */
  record Answer(int status, String body) {
    static Answer ok(String body) {
      return new Answer(200, body);
    }
  }

  /** One call as it came. */
  record Asked(String path, String body) {}

  /** Answers the call of this number, from 0, to this path; null never answers. */
  @FunctionalInterface
  interface Script {
    Answer answer(String path, int number);
  }

  final List<Asked> asked = new CopyOnWriteArrayList<>();
  private final HttpServer server;

  Scripted(Script script) throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newCachedThreadPool(Threads.daemons("scripted")));
    server.createContext("/", exchange -> serve(exchange, script));
    server.start();
  }

  private void serve(HttpExchange exchange, Script script) throws IOException {
    String path = exchange.getRequestURI().getPath();
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    Answer answer = path.equals("/healthz") ? Answer.ok("{\"spec_version\":\"1.0\"}") : next(script, path, body);
    if (answer != null) {
      byte[] text = answer.body.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(answer.status, text.length == 0 ? -1 : text.length);
      exchange.getResponseBody().write(text);
      exchange.close();
    }
  }

  private synchronized Answer next(Script script, String path, String body) {
    asked.add(new Asked(path, body));
    return script.answer(path, asked.size() - 1);
  }

  Settings settings() {
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    return Settings.builder().endpoint(url).apiKey("key-of-the-test").build(java.util.Map.of());
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
