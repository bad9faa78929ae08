#pragma once

#include <mutex>
#include <optional>
#include <stop_token>

#include "http.hpp"

namespace svc::inline v0::detail {

/// Asks the service once for its `spec_version`. Without an answer it is asked again the next time.
class SpecCheck {
 public:
  explicit SpecCheck(Http& http) : http_(http) {}

  /// Throws IncompatibleServer when the service has another major version, Cancelled. No answer is no fault.
  void ensure(const std::stop_token& stop);

 private:
  Http& http_;
  std::mutex mutex_;
  bool is_known_ = false;
  std::optional<IncompatibleServer> fault_;
};

}  // namespace svc::inline v0::detail
