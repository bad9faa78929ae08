package dev.svc;

import java.util.Optional;

/** Another tracing library whose spans ours nest with. Its methods are called on threads of users. */
public interface ContextBridge {
  /**
   * The active span of that library.
   *
   * @return its address; empty where there is none
   */
  Optional<SpanAddress> current();

  /**
   * Makes a span of ours the active one of that library, on this thread.
   *
   * @param span our span
   * @param sampled whether it is sent
   * @return what undoes it
   */
  Scope attach(SpanAddress span, boolean sampled);

  /** What undoes {@link #attach}. */
  @FunctionalInterface
  interface Scope extends AutoCloseable {
    /** Undoes it, on the same thread. */
    @Override
    void close();
  }
}
