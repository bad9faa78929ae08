/// Where the service is, and who calls.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace svc::inline v0 {

/// What code says; what it leaves out comes from the environment variable that is named, and an empty text is absent.
struct Settings {
  /// `SVC_ENDPOINT`, else `http://127.0.0.1:4317`. A path before the API is fine, and so is an IPv6 address.
  std::optional<std::string> endpoint{};
  /// `SVC_API_KEY`. Sent as a bearer token; it is in no log, no error and no problem.
  std::optional<std::string> api_key{};
  /// `SVC_PROJECT`, else that of the key, or of the service.
  std::optional<std::string> project{};
  /// `SVC_ENVIRONMENT`
  std::optional<std::string> environment{};
  /// `SVC_SERVICE_NAME`
  std::optional<std::string> service_name{};
  /// `SVC_SERVICE_VERSION`
  std::optional<std::string> service_version{};
  /// `SVC_SAMPLE`, else 1: the fraction of traces to send, from 0 to 1.
  std::optional<double> sample{};
  /// `SVC_ENABLED`, else true. False silences instrumentation; clients and workers go on.
  std::optional<bool> enabled{};
};

/// How often a call is tried, and how it waits in between: full jitter, and no sooner than `Retry-After`.
struct RetryPolicy {
  /// Tries in all, the first included; 0 for no bound.
  int attempts = 5;
  std::chrono::milliseconds base{200};
  std::chrono::milliseconds max{10'000};
  /// No try begins later than this after the first.
  std::optional<std::chrono::milliseconds> within{};
};

enum class LogLevel { debug, info, warn, error };

/// `debug`, `info`, `warn` or `error`.
[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;

/// Takes what this library says of its own troubles. Called from several threads, one line at a time each; what it throws
/// is ignored. Neither keys nor payloads are ever in a line.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Writes `info` and above to standard error.
void log_to_stderr(LogLevel level, std::string_view line);

}  // namespace svc::inline v0
