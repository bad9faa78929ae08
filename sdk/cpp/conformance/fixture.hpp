/// What the verbs of the fixture share. See sdk/conformance/README.md.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "svc/svc.hpp"

namespace fixture {

using nlohmann::json;

/// The language cannot express the request.
struct Unrepresentable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes one line.
void emit(const json& line);

struct Call {
  const json& with;
  std::int64_t id;
  std::stop_token stop;
};
using Verb = std::function<json(const Call&)>;
using Verbs = std::map<std::string, Verb>;

/// The objects of one process.
struct World {
  std::mutex mutex;
  svc::InstrumentationOptions tracing;
  svc::ClientOptions calling;
  std::unique_ptr<svc::Instrumentation> made;
  std::optional<svc::Client> caller;
  std::map<std::string, std::shared_ptr<svc::Worker>> workers;
  std::set<std::string> released;
  std::condition_variable_any changed;

  svc::Instrumentation& tracer();
  svc::Client& client();
};
World& world();

/// A member that may be absent.
template <typename T>
std::optional<T> maybe(const json& with, const char* name) {
  const auto found = with.find(name);
  return found == with.end() ? std::nullopt : std::optional<T>(found->get<T>());
}
inline std::optional<std::string> text(const json& with, const char* name) { return maybe<std::string>(with, name); }
inline std::optional<std::chrono::milliseconds> millis(const json& with, const char* name) {
  const auto count = maybe<std::int64_t>(with, name);
  return count.has_value() ? std::optional(std::chrono::milliseconds{*count}) : std::nullopt;
}
inline std::optional<svc::Json> any(const json& with, const char* name) {
  return with.contains(name) ? std::optional<svc::Json>(svc::Json{with[name]}) : std::nullopt;
}
svc::Attributes attributes(const json& with, const char* name);
svc::SpanOptions span_options(const json& with);
void set_span(svc::Span& span, const json& with);

Verbs signal_verbs();
Verbs client_verbs();
Verbs worker_verbs();

}  // namespace fixture
