#include "svc/step.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "retry.hpp"
#include "step_state.hpp"
#include "trace_context.hpp"

namespace svc::inline v0 {

namespace {

/// See docs/worker-protocol.md, "Heartbeat".
constexpr std::size_t details_limit_bytes = std::size_t{64} * 1024;

}  // namespace

Step::Step(std::shared_ptr<detail::StepState> state) noexcept : state_(std::move(state)) {}
Step::~Step() = default;

const wire::Lease& Step::lease() const noexcept { return state_->lease; }

std::optional<Json> Step::prior(std::string_view step_id) const {
  const auto found = lease().steps.find(std::string(step_id));
  return found == lease().steps.end() ? std::nullopt : found->second.output;
}

std::optional<std::chrono::system_clock::time_point> Step::deadline() const {
  const auto& text = lease().deadline_at;
  const auto ns = text.has_value() ? detail::parse_timestamp(*text) : std::nullopt;
  if (!ns.has_value()) return std::nullopt;
  return std::chrono::system_clock::time_point{
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds{*ns})};
}

std::stop_token Step::stop_token() const noexcept { return state_->stop; }
std::optional<InterruptReason> Step::interruption() const noexcept { return state_->reason(); }

void Step::throw_if_cancelled() const {
  if (const auto reason = interruption()) throw StepInterrupted(*reason);
}

void Step::sleep_for(std::chrono::milliseconds time) const {
  detail::wait_for(state_->stop, time);
  throw_if_cancelled();
}

void Step::tell(const Json& details) {
  auto text = detail::encode(details.value());
  if (text.size() > details_limit_bytes)
    throw std::invalid_argument("heartbeat details have " + std::to_string(text.size()) + " bytes as JSON, more than " +
                                std::to_string(details_limit_bytes));
  state_->tell(std::move(text));
}

void Step::merge(const Json& patch) {
  if (!patch.value().is_object()) throw std::invalid_argument("a patch of the state is a JSON object");
  const std::lock_guard lock{state_->mutex};
  state_->patches.push_back(patch);
}

void Step::set_usage(std::vector<wire::ReportedUsage> usage) {
  const std::lock_guard lock{state_->mutex};
  state_->usage = std::move(usage);
}
void Step::set_usage(wire::ReportedUsage usage) { set_usage(std::vector{std::move(usage)}); }

Instrumentation& Step::instrumentation() const noexcept { return *state_->instrumentation; }

void Step::log(const wire::Severity& severity, std::string_view message, const Attributes& attributes) const noexcept {
  instrumentation().log(severity, message, {.logger = definition_id(), .attributes = attributes});
}
void Step::score(std::string_view scorer_id, double value, Scale scale, const ScoreOptions& options) const noexcept {
  instrumentation().score(scorer_id, value, scale, options);
}
void Step::feedback(const wire::FeedbackKind& kind, const Payload& value, const FeedbackOptions& options) const noexcept {
  instrumentation().feedback(kind, value, options);
}

std::string Step::traceparent() const { return "00-" + lease().trace_id + "-" + lease().span_id + "-01"; }

}  // namespace svc::inline v0
