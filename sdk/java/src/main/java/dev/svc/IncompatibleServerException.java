package dev.svc;

/** The service implements another major version of the data model than this library. */
public final class IncompatibleServerException extends SvcException {
  private static final long serialVersionUID = 1L;

  /** What the service implements. */
  private final String served;

  IncompatibleServerException(String served, String understood) {
    super(
        "the service implements spec_version "
            + served
            + ", this library understands "
            + understood
            + ": use a release of the library for that major version");
    this.served = served;
  }

  /**
   * The version that the service implements.
   *
   * @return its {@code spec_version}
   */
  public String served() {
    return served;
  }
}
