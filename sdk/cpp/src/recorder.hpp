#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "export_queue.hpp"
#include "svc/instrumentation.hpp"
#include "trace_context.hpp"

namespace svc::inline v0::detail {

/// What spans and signals need of their instrumentation.
class Recorder {
 public:
  explicit Recorder(InstrumentationOptions options);

  [[nodiscard]] bool is_enabled() const noexcept { return settings.enabled; }
  [[nodiscard]] bool keeps(std::string_view trace_id) const {
    return settings.enabled && is_sampled(trace_id, settings.sample);
  }
  [[nodiscard]] std::shared_ptr<const TraceContext> around() const noexcept { return active(realm); }
  /// What a signal on this thread belongs to.
  [[nodiscard]] const Belonging& belongs_to(const TraceContext* around) const {
    return around == nullptr ? *base : *around->belongs;
  }
  /// The bridge's own scope of a context; null without a bridge.
  [[nodiscard]] std::shared_ptr<void> attach(const TraceContext& context) noexcept;

  ResolvedSettings settings;
  Realm realm;
  std::shared_ptr<const Belonging> base;
  std::shared_ptr<ContextBridge> bridge;
  ExportQueue queue;
};

/// Adds the members of a JSON object, each once: the last of a name wins. False where a value could not be encoded.
bool append_attributes(std::string& out, std::string_view name, const Attributes& attributes);

}  // namespace svc::inline v0::detail
