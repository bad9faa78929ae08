package dev.svc.conformance;

import dev.svc.ContextBridge;
import dev.svc.SpanAddress;
import java.util.concurrent.Callable;

/** What the fixture needs of OpenTelemetry, where the class path has it: a service of its loader. */
public interface OpenTelemetry {
  /**
   * The bridge of the library.
   *
   * @return a bridge
   */
  ContextBridge bridge();

  /**
   * Runs work under an active span of OpenTelemetry.
   *
   * @param inside the work
   * @return the address of that span
   * @throws Exception what the work throws
   */
  SpanAddress under(Callable<?> inside) throws Exception;
}
