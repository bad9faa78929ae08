/// The tables that every library runs. See sdk/conformance/README.md, "Vectors".
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "http.hpp"
#include "resolved_settings.hpp"
#include "retry.hpp"
#include "svc/wire.hpp"
#include "text.hpp"
#include "trace_context.hpp"

namespace {

using nlohmann::json;
using namespace svc::detail;

json table(const std::string& name) {
  std::ifstream file{std::string(SVC_VECTORS) + "/" + name + ".json"};
  auto read = json::parse(file);
  EXPECT_FALSE(read.at("cases").empty()) << name;
  return read;
}

/// By value: a loop keeps no more than that alive.
json cases_of(const std::string& name) { return table(name).at("cases"); }

std::chrono::system_clock::time_point instant(const std::string& text) {
  const auto ns = parse_timestamp(text);
  EXPECT_TRUE(ns.has_value()) << text;
  return std::chrono::system_clock::time_point{std::chrono::nanoseconds{ns.value_or(0)}};
}

TEST(Vectors, SamplingKeepsTheTracesThatTheServiceKeeps) {
  const auto read = table("sampling");
  for (const auto& each : read["cases"]) {
    for (std::size_t column = 0; column < read["fractions"].size(); ++column) {
      const auto fraction = read["fractions"][column].get<double>();
      EXPECT_EQ(is_sampled(each["trace_id"].get<std::string>(), fraction), each["kept"][column]) << each << " at " << fraction;
    }
  }
}

TEST(Vectors, ATraceparentIsContinuedOrBeginsANewTrace) {
  for (const auto& each : cases_of("traceparent")) {
    const auto read = parse_traceparent(each["header"].get<std::string>());
    EXPECT_EQ(read.has_value(), !each["trace_id"].is_null()) << each["why"];
    if (!read.has_value()) continue;
    EXPECT_EQ(read->trace_id, each["trace_id"]) << each["why"];
    EXPECT_EQ(read->span_id, each["span_id"]) << each["why"];
  }
}

TEST(Vectors, SettingsOfCodeAndEnvironment) {
  for (const auto& each : cases_of("settings")) {
    const auto env = each["env"].get<std::map<std::string, std::string>>();
    const auto& code = each["code"];
    const auto text = [&](const char* name) {
      return code.contains(name) ? std::optional(code[name].get<std::string>()) : std::nullopt;
    };
    svc::Settings given{.endpoint = text("endpoint"),
                        .api_key = text("api_key"),
                        .project = text("project"),
                        .environment = text("environment"),
                        .service_name = text("service_name"),
                        .service_version = text("service_version")};
    if (code.contains("sample")) given.sample = code["sample"].get<double>();
    if (code.contains("enabled")) given.enabled = code["enabled"].get<bool>();
    const auto read = read_settings(given, [&](const char* name) -> std::optional<std::string> {
      const auto found = env.find(name);
      return found == env.end() ? std::nullopt : std::optional(found->second);
    });
    const auto member = [](const std::optional<std::string>& value) {
      return value.has_value() ? json(*value) : json(nullptr);
    };
    EXPECT_EQ((json{{"endpoint", read.endpoint},
                    {"api_key", member(read.api_key)},
                    {"project", member(read.project)},
                    {"environment", member(read.environment)},
                    {"service_name", member(read.service_name)},
                    {"service_version", member(read.service_version)},
                    {"sample", read.sample},
                    {"enabled", read.enabled}}),
              each["settings"])
        << each["why"];
    ASSERT_EQ(read.problems.size(), each["problems"].size()) << each["why"];
    for (std::size_t at = 0; at < read.problems.size(); ++at)
      EXPECT_NE(read.problems[at].find(each["problems"][at].get<std::string>()), std::string::npos) << each["why"];
  }
}

TEST(Vectors, RetryAfterIsSecondsOrADate) {
  for (const auto& each : cases_of("retry-after")) {
    if (each["header"].is_null()) continue;
    const auto wait = retry_after(each["header"].get<std::string>(), instant(each["now"]));
    EXPECT_EQ(wait.has_value() ? json(wait->count()) : json(nullptr), each["wait_ms"]) << each["header"];
  }
}

TEST(Vectors, BackoffStaysWithinItsBounds) {
  for (const auto& each : cases_of("backoff")) {
    const svc::RetryPolicy policy{.base = Millis{each["base_ms"]}, .max = Millis{each["max_ms"]}};
    const int attempt = each["attempt"];
    EXPECT_EQ(backoff(policy, attempt, 0).count(), each["least_ms"]) << each;
    EXPECT_EQ(backoff(policy, attempt, 1).count(), each["most_ms"]) << each;
    const auto drawn = backoff(policy, attempt).count();
    EXPECT_TRUE(drawn >= each["least_ms"] && drawn <= each["most_ms"]) << each;
  }
}

template <typename Model>
json again(const std::string& text) {
  return decode(text).get<Model>();
}

TEST(Vectors, ModelsKeepWhatTheyRead) {
  const std::map<std::string, json (*)(const std::string&)> models{
      {"RunDetail", again<svc::wire::RunDetail>},
      {"JournalEntry", again<svc::wire::JournalEntry>},
      {"Lease", again<svc::wire::Lease>},
  };
  for (const auto& each : cases_of("decoding")) {
    const auto read = models.at(each["model"])(each["text"]);
    for (const auto& expected : each["expect"]) {
      const json::json_pointer path{expected["path"].get<std::string>()};
      if (expected["json"].is_null())
        EXPECT_FALSE(read.contains(path)) << each["why"];
      else
        EXPECT_EQ(read.at(path).dump(), json::parse(expected["json"].get<std::string>()).dump()) << each["why"];
    }
    for (const auto& path : each["unknown"])
      EXPECT_FALSE(read.contains(json::json_pointer{path.get<std::string>()})) << each["why"];
  }
}

TEST(Vectors, TimestampsAreAsExactAsTheClock) {
  for (const auto& each : cases_of("timestamps")) {
    const auto ns = std::stoll(each["epoch_ns"].get<std::string>());
    EXPECT_EQ(timestamp(ns), each["text"]);
    EXPECT_EQ(parse_timestamp(each["text"].get<std::string>()), ns);
    for (const auto& text : each["read"]) EXPECT_EQ(parse_timestamp(text.get<std::string>()), ns) << text;
  }
}

TEST(Timestamps, WhatIsNoInstantIsRefused) {
  for (const auto* text :
       {"", "2026-11-20", "2026-11-20T09:00:00", "2026-02-30T09:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T09:00:00.Z",
        "2026-11-20T09:00:00+1:00", "2026-11-20T09:00:00Zx", "9999-12-31T00:00:00Z"})
    EXPECT_EQ(parse_timestamp(text), std::nullopt) << text;
}

}  // namespace
