#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "svc/settings.hpp"

namespace svc::inline v0::detail {

/// Settings of code and environment together.
struct ResolvedSettings {
  /// Without a slash at its end.
  std::string endpoint;
  std::optional<std::string> api_key;
  std::optional<std::string> project;
  std::optional<std::string> environment;
  std::optional<std::string> service_name;
  std::optional<std::string> service_version;
  double sample = 1;
  bool enabled = true;
  /// What could not be used, and what is used instead. Never holds a key.
  std::vector<std::string> problems;
};

/// The value of a variable; none where it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;

[[nodiscard]] std::optional<std::string> process_environment(const char* name);
[[nodiscard]] ResolvedSettings read_settings(const Settings& code, const Environment& environment = process_environment);
/// Throws `std::invalid_argument` where a setting cannot be used. Looks at no sampling: that is instrumentation's.
[[nodiscard]] ResolvedSettings usable_settings(Settings code);

}  // namespace svc::inline v0::detail
