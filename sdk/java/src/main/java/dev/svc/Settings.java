package dev.svc;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Where the service is, who calls, and what signals say of this process.
 *
 * <p>What code sets wins over the environment ({@code SVC_ENDPOINT}, {@code SVC_API_KEY}, {@code
 * SVC_PROJECT}, {@code SVC_ENVIRONMENT}, {@code SVC_SERVICE_NAME}, {@code SVC_SERVICE_VERSION}, {@code
 * SVC_SAMPLE}, {@code SVC_ENABLED}). An empty text counts as absent. What cannot be used falls back to
 * its default and is named in {@link #problems()}.
 */
public final class Settings {
  private static final String DEFAULT_ENDPOINT = "http://127.0.0.1:4317";

  private final String endpoint;
  private final String apiKey;
  private final String project;
  private final String environment;
  private final String serviceName;
  private final String serviceVersion;
  private final double sample;
  private final boolean enabled;
  private final List<String> callerProblems;
  private final List<String> problems;

  private Settings(Builder given, Map<String, String> variables) {
    List<String> found = new ArrayList<>();
    String url = text(given.endpoint, variables, "SVC_ENDPOINT");
    if (url != null && !isHttpUrl(url)) {
      found.add("endpoint \"" + url + "\" is not an http or https URL; " + DEFAULT_ENDPOINT + " is used");
      url = null;
    }
    endpoint = url == null ? DEFAULT_ENDPOINT : url;
    String key = text(given.apiKey, variables, "SVC_API_KEY");
    if (key != null && !key.chars().allMatch(c -> c >= 0x20 && c < 0x7f)) {
      found.add("api_key holds characters that a header cannot carry; none is used");
      key = null;
    }
    apiKey = key;
    callerProblems = List.copyOf(found);
    project = text(given.project, variables, "SVC_PROJECT");
    environment = text(given.environment, variables, "SVC_ENVIRONMENT");
    serviceName = text(given.serviceName, variables, "SVC_SERVICE_NAME");
    serviceVersion = text(given.serviceVersion, variables, "SVC_SERVICE_VERSION");
    String fractionText = text(null, variables, "SVC_SAMPLE");
    double fraction = given.sample != null ? given.sample : fractionText == null ? 1 : number(fractionText);
    if (!(fraction >= 0 && fraction <= 1)) {
      Object shown = given.sample != null ? given.sample : fractionText;
      found.add("sample " + shown + " is not between 0 and 1; 1 is used");
      fraction = 1;
    }
    sample = fraction;
    String switchText = text(null, variables, "SVC_ENABLED");
    enabled =
        given.enabled != null
            ? given.enabled
            : switchText == null || !switchText.strip().equalsIgnoreCase("false");
    problems = List.copyOf(found);
  }

  /**
   * The settings of the environment.
   *
   * @return what the {@code SVC_*} variables say
   */
  public static Settings fromEnvironment() {
    return builder().build();
  }

  /**
   * Begins with nothing set in code.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Where the service is; a path before that of the API is kept.
   *
   * @return an http or https URL
   */
  public String endpoint() {
    return endpoint;
  }

  /**
   * What is sent as a bearer token, for an adapter that makes its own calls. Log it nowhere.
   *
   * @return the key
   */
  public Optional<String> apiKey() {
    return Optional.ofNullable(apiKey);
  }

  /**
   * What signals and runs belong to.
   *
   * @return the project; empty: that of the key, or of the service
   */
  public Optional<String> project() {
    return Optional.ofNullable(project);
  }

  /**
   * Goes with every signal.
   *
   * @return the environment, such as {@code production}
   */
  public Optional<String> environment() {
    return Optional.ofNullable(environment);
  }

  /**
   * Goes with every signal.
   *
   * @return the name of this service
   */
  public Optional<String> serviceName() {
    return Optional.ofNullable(serviceName);
  }

  /**
   * Goes with every signal.
   *
   * @return the version of this service
   */
  public Optional<String> serviceVersion() {
    return Optional.ofNullable(serviceVersion);
  }

  /**
   * The fraction of traces to send, decided by the trace id as the service decides it.
   *
   * @return from 0 to 1
   */
  public double sample() {
    return sample;
  }

  /**
   * Whether instrumentation records. Clients and workers go on.
   *
   * @return false: not a byte is sent
   */
  public boolean enabled() {
    return enabled;
  }

  /**
   * What could not be used, and what is used instead. Never holds a key.
   *
   * @return a sentence for each
   */
  public List<String> problems() {
    return problems;
  }

  /** Those of the settings that a caller of the API needs: a bad fraction is no business of it. */
  List<String> callerProblems() {
    return callerProblems;
  }

  /** Never shows the key. */
  @Override
  public String toString() {
    return "Settings[endpoint=" + safeEndpoint() + ", project=" + project + "]";
  }

  /** Without what a URL may hold of a user and a password. */
  String safeEndpoint() {
    URI url = URI.create(endpoint);
    String host = url.getHost();
    String port = url.getPort() < 0 ? "" : ":" + url.getPort();
    return url.getScheme() + "://" + host + port + (url.getRawPath() == null ? "" : url.getRawPath());
  }

  private static String text(String given, Map<String, String> variables, String name) {
    String chosen = given == null ? variables.get(name) : given;
    return chosen == null || chosen.isEmpty() ? null : chosen;
  }

  private static double number(String text) {
    try {
      return Double.parseDouble(text.strip());
    } catch (NumberFormatException e) {
      return Double.NaN;
    }
  }

  private static boolean isHttpUrl(String text) {
    try {
      URI url = new URI(text);
      String scheme = url.getScheme();
      return ("http".equalsIgnoreCase(scheme) || "https".equalsIgnoreCase(scheme))
          && url.getHost() != null
          && url.getPort() != 0
          && url.getPort() < 65536;
    } catch (URISyntaxException e) {
      return false;
    }
  }

  /** Makes {@link Settings}; what is not set comes from the environment. */
  public static final class Builder {
    private String endpoint;
    private String apiKey;
    private String project;
    private String environment;
    private String serviceName;
    private String serviceVersion;
    private Double sample;
    private Boolean enabled;

    private Builder() {}

    /**
     * Where the service is.
     *
     * @param endpoint an http or https URL
     * @return this
     */
    public Builder endpoint(String endpoint) {
      this.endpoint = endpoint;
      return this;
    }

    /**
     * Sent as a bearer token; in no log and no error.
     *
     * @param apiKey the key
     * @return this
     */
    public Builder apiKey(String apiKey) {
      this.apiKey = apiKey;
      return this;
    }

    /**
     * What signals and runs belong to.
     *
     * @param project the project
     * @return this
     */
    public Builder project(String project) {
      this.project = project;
      return this;
    }

    /**
     * Goes with every signal.
     *
     * @param environment such as {@code production}
     * @return this
     */
    public Builder environment(String environment) {
      this.environment = environment;
      return this;
    }

    /**
     * Goes with every signal.
     *
     * @param serviceName the name of this service
     * @return this
     */
    public Builder serviceName(String serviceName) {
      this.serviceName = serviceName;
      return this;
    }

    /**
     * Goes with every signal.
     *
     * @param serviceVersion the version of this service
     * @return this
     */
    public Builder serviceVersion(String serviceVersion) {
      this.serviceVersion = serviceVersion;
      return this;
    }

    /**
     * The fraction of traces to send.
     *
     * @param sample from 0 to 1
     * @return this
     */
    public Builder sample(double sample) {
      this.sample = sample;
      return this;
    }

    /**
     * Whether instrumentation records.
     *
     * @param enabled false: not a byte is sent
     * @return this
     */
    public Builder enabled(boolean enabled) {
      this.enabled = enabled;
      return this;
    }

    /**
     * Reads the environment for what is not set.
     *
     * @return the settings
     */
    public Settings build() {
      return build(System.getenv());
    }

    Settings build(Map<String, String> variables) {
      return new Settings(this, variables);
    }
  }
}
