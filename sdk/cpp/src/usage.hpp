#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "svc/wire.hpp"

namespace svc::inline v0::detail {

/// Adds up usage by model. A count that nobody gave stays absent: unknown is not zero. Safe for threads.
class UsageTotals {
 public:
  /// At the end of a model span; `usage` is none where it carries none.
  void add(const std::string& model, const std::optional<wire::Usage>& usage);
  /// What to report: the sums, or what the body set by hand.
  ///
  /// Tokens of spans are on the spans. Usage that is reported by hand, beside no model span, would be in no trace: the service
  /// is asked for a span of it.
  [[nodiscard]] std::vector<wire::ReportedUsage> reported(std::optional<std::vector<wire::ReportedUsage>> by_hand) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, wire::Usage> by_model_;
  bool has_model_span_ = false;
};

}  // namespace svc::inline v0::detail
