/** Instrumentation, durable runs and workers for the agent service. */
module dev.svc {
  requires transitive com.fasterxml.jackson.databind;
  requires transitive java.logging;
  requires java.net.http;

  exports dev.svc;
  exports dev.svc.wire;

  opens dev.svc.wire to
      com.fasterxml.jackson.databind;
}
