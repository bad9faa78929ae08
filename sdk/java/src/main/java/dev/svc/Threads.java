package dev.svc;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads of this library: none of them keeps a program from ending. */
final class Threads {
  private Threads() {}

  static Thread daemon(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  static ThreadFactory daemons(String name) {
    AtomicInteger number = new AtomicInteger();
    return work -> daemon(name + "-" + number.incrementAndGet(), work);
  }
}
