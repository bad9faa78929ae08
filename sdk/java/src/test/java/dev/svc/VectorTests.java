package dev.svc;

import static dev.svc.Suite.equal;
import static dev.svc.Suite.yes;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The tables that every library runs. */
final class VectorTests {
  private VectorTests() {}

  static void add(Suite suite) {
    suite.test("traces are kept as the service keeps them", VectorTests::sampling);
    suite.test("a traceparent is read, and a malformed one is none", VectorTests::traceparent);
    suite.test("settings come from code, then from the environment, and what cannot be used is named", VectorTests::settings);
    suite.test("Retry-After is seconds or a date, or says nothing", VectorTests::retryAfter);
    suite.test("a wait between tries has the bound of its try, and uses its range", VectorTests::backoff);
    suite.test("a moment is written with as many digits as it has", VectorTests::timestamps);
  }

  private static void sampling() throws Exception {
    JsonNode file = Suite.JSON.readTree(Suite.root().resolve("../conformance/vectors/sampling.json").toFile());
    for (JsonNode each : file.get("cases")) {
      for (int i = 0; i < file.get("fractions").size(); i++) {
        String traceId = each.get("trace_id").textValue();
        double fraction = file.get("fractions").get(i).doubleValue();
        equal(each.get("kept").get(i).booleanValue(), TraceIds.isSampled(traceId, fraction), traceId + " at " + fraction);
      }
    }
  }

  private static void traceparent() throws Exception {
    for (JsonNode each : Suite.vectors("traceparent")) {
      SpanAddress read = SpanAddress.parse(each.get("header").textValue());
      SpanAddress expected =
          each.get("trace_id").isNull()
              ? null
              : new SpanAddress(each.get("trace_id").textValue(), each.get("span_id").textValue());
      equal(expected, read, each.get("header").textValue());
    }
  }

  private static void settings() throws Exception {
    for (JsonNode each : Suite.vectors("settings")) {
      Map<String, String> variables = new HashMap<>();
      each.get("env").fields().forEachRemaining(one -> variables.put(one.getKey(), one.getValue().textValue()));
      Settings settings = given(each.get("code")).build(variables);
      JsonNode expected = each.get("settings");
      String why = each.get("why").textValue();
      equal(expected.get("endpoint").textValue(), settings.endpoint(), why);
      equal(optional(expected, "api_key"), settings.apiKey(), why);
      equal(optional(expected, "project"), settings.project(), why);
      equal(optional(expected, "environment"), settings.environment(), why);
      equal(optional(expected, "service_name"), settings.serviceName(), why);
      equal(optional(expected, "service_version"), settings.serviceVersion(), why);
      equal(expected.get("sample").doubleValue(), settings.sample(), why);
      equal(expected.get("enabled").booleanValue(), settings.enabled(), why);
      equal(each.get("problems").size(), settings.problems().size(), why);
      for (int i = 0; i < each.get("problems").size(); i++) {
        yes(settings.problems().get(i).startsWith(each.get("problems").get(i).textValue()), why);
      }
    }
  }

  private static Settings.Builder given(JsonNode code) {
    Settings.Builder builder = Settings.builder();
    optional(code, "endpoint").ifPresent(builder::endpoint);
    optional(code, "api_key").ifPresent(builder::apiKey);
    optional(code, "project").ifPresent(builder::project);
    optional(code, "environment").ifPresent(builder::environment);
    optional(code, "service_name").ifPresent(builder::serviceName);
    optional(code, "service_version").ifPresent(builder::serviceVersion);
    if (code.has("sample")) {
      builder.sample(code.get("sample").doubleValue());
    }
    if (code.has("enabled")) {
      builder.enabled(code.get("enabled").booleanValue());
    }
    return builder;
  }

  private static Optional<String> optional(JsonNode of, String name) {
    return of.hasNonNull(name) ? Optional.of(of.get(name).textValue()) : Optional.empty();
  }

  private static void retryAfter() throws Exception {
    for (JsonNode each : Suite.vectors("retry-after")) {
      Duration wait = Http.retryAfter(each.get("header").textValue(), Instant.parse(each.get("now").textValue()));
      JsonNode expected = each.get("wait_ms");
      equal(expected.isNull() ? null : Duration.ofMillis(expected.longValue()), wait, each.get("header").toString());
    }
  }

  private static void backoff() throws Exception {
    for (JsonNode each : Suite.vectors("backoff")) {
      Retries retries = new Retries(0, each.get("base_ms").doubleValue(), each.get("max_ms").doubleValue(), -1);
      int attempt = each.get("attempt").intValue();
      double most = each.get("most_ms").doubleValue();
      equal(most, retries.mostMs(attempt), "the bound of try " + attempt);
      double longest = 0;
      for (int i = 0; i < 200; i++) {
        double wait = retries.backoffNanos(attempt) / 1e6;
        yes(wait >= each.get("least_ms").doubleValue() && wait <= most, "a wait of " + wait + " ms");
        longest = Math.max(longest, wait);
      }
      yes(longest > most / 2, "no wait of 200 is in the upper half");
    }
  }

  private static void timestamps() throws Exception {
    for (JsonNode each : Suite.vectors("timestamps")) {
      long ns = Long.parseLong(each.get("epoch_ns").textValue());
      String text = TraceIds.timestamp(Math.floorDiv(ns, 1_000_000_000L), (int) Math.floorMod(ns, 1_000_000_000L));
      equal(each.get("text").textValue(), text, each.get("epoch_ns").textValue());
    }
  }
}
