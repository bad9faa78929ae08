#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "svc/step.hpp"

namespace svc::inline v0::detail {

/// What a step shares with the lease that is served.
struct StepState {
  wire::Lease lease;
  std::shared_ptr<Instrumentation> instrumentation;
  std::stop_token stop;
  std::function<std::optional<InterruptReason>()> reason;
  /// Gives details, as JSON, to the heart.
  std::function<void(std::string)> tell;
  std::mutex mutex;
  /// What `patch_state` was given so far, as JSON objects.
  std::vector<Json> patches;
  std::optional<std::vector<wire::ReportedUsage>> usage;
};

}  // namespace svc::inline v0::detail
