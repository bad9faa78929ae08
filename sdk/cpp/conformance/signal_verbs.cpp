#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <thread>
#include <vector>

#include "fixture.hpp"

namespace fixture {

namespace {

/// A value whose own encoder throws.
struct Throws {};
[[maybe_unused]] void to_json(json& /*out*/, const Throws& /*value*/) { throw std::runtime_error("no JSON of this"); }

json run_inside(const json& requests) {
  static const Verbs verbs = signal_verbs();
  auto results = json::array();
  for (const auto& each : requests) {
    const auto with = each.value("with", json::object());
    results.push_back(verbs.at(each.at("do"))({with, 0, {}}));
  }
  return results;
}

json span(const Call& call) {
  const auto& with = call.with;
  auto& tracer = world().tracer();
  json out;
  try {
    tracer.traced(with.at("name").get<std::string>(), span_options(with), [&](svc::Span& span) {
      out = {{"trace_id", span.trace_id()}, {"span_id", span.span_id()}, {"traceparent", span.traceparent()}};
      set_span(span, with);
      for (const auto& event : with.value("events", json::array()))
        span.event(event.at("name").get<std::string>(), attributes(event, "attributes"));
      const auto inside = with.value("inside", json::array());
      if (with.value("hop", false)) {
        std::thread(tracer.bound([&] { out["inside"] = run_inside(inside); })).join();
      } else {
        out["inside"] = run_inside(inside);
      }
      if (with.contains("error")) throw std::runtime_error(with["error"].get<std::string>());
    });
  } catch (const std::runtime_error& error) {
    out["raised"] = error.what();
  }
  return out;
}

json metric(const Call& call) {
  const auto& with = call.with;
  const auto name = with.at("name").get<std::string>();
  const svc::MetricOptions more{.unit = text(with, "unit"), .attributes = attributes(with, "attributes")};
  auto& tracer = world().tracer();
  if (with.at("type") == "histogram") {
    tracer.histogram(name,
                     {.count = with.at("count"),
                      .sum = with.at("sum"),
                      .bounds = with.at("bounds"),
                      .bucket_counts = with.at("bucket_counts")},
                     more);
  } else if (with.at("type") == "gauge") {
    tracer.gauge(name, with.at("value"), more);
  } else {
    tracer.counter(name, with.at("value"), more);
  }
  return json::object();
}

json score(const Call& call) {
  const auto& with = call.with;
  if (!with.contains("min") || !with.contains("max")) throw Unrepresentable("a score has a scale");
  svc::ScoreOptions options{.about = {.trace_id = text(with, "trace_id"), .span_id = text(with, "span_id")},
                            .label = text(with, "label"),
                            .reason = text(with, "reason"),
                            .metadata = attributes(with, "metadata")};
  if (with.contains("source")) options.source = svc::ScoreSource(with["source"].get<std::string>());
  world().tracer().score(with.at("scorer_id").get<std::string>(), with.at("value"), {with["min"], with["max"]}, options);
  return json::object();
}

json feedback(const Call& call) {
  const auto& with = call.with;
  svc::FeedbackOptions options{.about = {.trace_id = text(with, "trace_id"), .span_id = text(with, "span_id")},
                               .comment = text(with, "comment"),
                               .author_id = text(with, "author_id"),
                               .scale_min = maybe<double>(with, "scale_min"),
                               .scale_max = maybe<double>(with, "scale_max")};
  if (with.contains("author_kind")) options.author_kind = svc::AuthorKind(with["author_kind"].get<std::string>());
  world().tracer().feedback(svc::FeedbackKind(with.at("kind").get<std::string>()), with.at("value"), options);
  return json::object();
}

json aspect_note(const Call& call) {
  const auto& with = call.with;
  const svc::AspectNoteOptions options{.about = {.trace_id = text(with, "trace_id"), .span_id = text(with, "span_id")},
                                       .model = text(with, "model")};
  world().tracer().aspect_note(with.at("aspect").get<std::string>(), with.at("text").get<std::string>(), options);
  return json::object();
}

json log(const Call& call) {
  const auto& with = call.with;
  world().tracer().log(svc::Severity(with.at("severity").get<std::string>()), with.at("message").get<std::string>(),
                       {.logger = text(with, "logger"), .attributes = attributes(with, "attributes")});
  return json::object();
}

json native_log(const Call& call) {
  // What C++ has is its streams: a stream a level.
  svc::LogStreambuf bridge{world().tracer(), svc::Severity(call.with.at("level").get<std::string>())};
  std::ostream stream(&bridge);
  stream << call.with.at("message").get<std::string>() << std::endl;
  return json::object();
}

json hostile(const Call& call) {
  const auto what = call.with.at("what").get<std::string>();
  const auto name = call.with.at("name").get<std::string>();
  const auto record = [&](svc::Payload value) { world().tracer().span(name).input(std::move(value)); };
  if (what == "cycle") throw Unrepresentable("a value cannot contain itself");
  if (what == "nan") record(std::numeric_limits<double>::quiet_NaN());
  if (what == "huge") record(std::string(std::size_t{8} * 1024 * 1024, 'x'));
  if (what == "bad_text") record("half of a pair: \xED\xA0\x80, and no UTF-8: \xFF");
  if (what == "throws") record(Throws{});
  return json::object();
}

json burst(const Call& call) {
  const auto& with = call.with;
  auto& tracer = world().tracer();
  const std::string payload(with.value("payload_bytes", std::size_t{0}), 'x');
  const auto record = [&](std::int64_t count, const std::string& prefix) {
    for (std::int64_t i = 0; i < count; ++i) {
      auto span = tracer.span(prefix + std::to_string(i));
      if (!payload.empty()) span.input(payload);
    }
  };
  const auto prefix = with.value("prefix", std::string("burst-"));
  const auto count = with.at("count").get<std::int64_t>();
  if (!with.contains("threads")) {
    record(count, prefix);
    return json::object();
  }
  const auto shares = with["threads"].get<std::int64_t>();
  std::vector<std::jthread> threads;
  for (std::int64_t each = 0; each < shares; ++each)
    threads.emplace_back(record, count / shares, prefix + std::to_string(each) + "-");
  threads.clear();
  return json::object();
}

json counters(const Call& /*call*/) {
  const auto found = world().tracer().counters();
  return {{"sent", found.sent},
          {"dropped", found.dropped},
          {"refused", found.refused},
          {"failed", found.failed},
          {"invalid", found.invalid}};
}

json fork_with(const Call& call) {
  auto& tracer = world().tracer();
  const auto name = call.with.at("name").get<std::string>();
  const auto child = fork();
  if (child == 0) {
    tracer.span(name).end();
    tracer.close();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return json::object();
}

json flush(const Call& call) {
  const auto timeout = millis(call.with, "timeout_ms").value_or(std::chrono::seconds{5});
  return {{"flushed", world().tracer().flush(timeout)}};
}

json close(const Call& call) {
  world().tracer().close(millis(call.with, "timeout_ms").value_or(std::chrono::seconds{5}));
  return json::object();
}

}  // namespace

svc::Attributes attributes(const json& with, const char* name) {
  svc::Attributes out;
  const auto given = with.value(name, json::object());
  for (const auto& [key, value] : given.items()) out.emplace_back(key, value);
  return out;
}

svc::SpanOptions span_options(const json& with) {
  svc::SpanOptions options{.model = text(with, "model"),
                           .provider = text(with, "provider"),
                           .entity_name = text(with, "entity_name"),
                           .attributes = attributes(with, "attributes"),
                           .correlation = maybe<svc::wire::CorrelationInput>(with, "correlation"),
                           .traceparent = text(with, "traceparent")};
  if (with.contains("kind")) options.kind = svc::SpanKind(with["kind"].get<std::string>());
  if (with.contains("input")) options.input = with["input"];
  return options;
}

void set_span(svc::Span& span, const json& with) {
  if (with.contains("output")) span.output(with["output"]);
  if (const auto usage = maybe<svc::wire::Usage>(with, "usage")) span.usage(*usage);
}

Verbs signal_verbs() {
  return {{"span", span},
          {"log", log},
          {"metric", metric},
          {"score", score},
          {"feedback", feedback},
          {"aspect_note", aspect_note},
          {"hostile", hostile},
          {"burst", burst},
          {"counters", counters},
          {"flush", flush},
          {"close", close},
          {"fork", fork_with},
          {"log.native", native_log}};
}

}  // namespace fixture
