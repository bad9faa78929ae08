package refundagent;

import dev.svc.Worker;
import java.io.IOException;
import java.nio.file.Path;

/** It says when it is registered, where, and what it serves; Ctrl-C stops it. */
public final class ServeRefunds {
  private ServeRefunds() {}

  /**
   * Serves until it is stopped.
   *
   * @param arguments the file of the definition; that of the repository if absent
   * @throws IOException when the file cannot be read
   */
  public static void main(String[] arguments) throws IOException {
    Path definition = Path.of(arguments.length > 0 ? arguments[0] : "examples/refund-agent/refund.json");
    Worker.builder()
        .workflows(new RefundAgent().workflow(definition))
        .name("refund-agent")
        .stopOnShutdown()
        .build()
        .run();
  }
}
