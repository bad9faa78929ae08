#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "http.hpp"

namespace svc::inline v0::detail {

/// Asks the service once for its `spec_version`. Without an answer it is asked again the next time. Those who ask together
/// share one call.
class SpecCheck {
 public:
  explicit SpecCheck(Http& http) : http_(http) {}

  /// Throws IncompatibleServer when the service has another major version, Cancelled. No answer is no fault.
  void ensure(const std::stop_token& stop);

 private:
  /// The version that the service says it has; none without an answer. Throws Cancelled.
  std::optional<std::string> ask(const std::stop_token& stop);
  void note(const std::string& served);

  Http& http_;
  std::mutex mutex_;
  std::condition_variable_any answered_;
  bool is_asking_ = false;
  bool is_known_ = false;
  std::optional<IncompatibleServer> fault_;
};

}  // namespace svc::inline v0::detail
