package dev.svc;

/** The version of this library. */
final class Version {
  static final String TEXT = "0.1.0";

  private Version() {}
}
