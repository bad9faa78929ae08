/// What the body of a step works with.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "svc/errors.hpp"
#include "svc/instrumentation.hpp"
#include "svc/payload.hpp"
#include "svc/wire.hpp"

namespace svc::inline v0 {

namespace detail {
class ServedLease;
struct StepState;
}  // namespace detail

/// One attempt of a step. For the thread of its body and those that the body waits for.
class Step {
 public:
  explicit Step(std::shared_ptr<detail::StepState> state) noexcept;
  Step(const Step&) = delete;
  Step(Step&&) = delete;
  Step& operator=(const Step&) = delete;
  Step& operator=(Step&&) = delete;
  ~Step();

  /// Everything that the service said.
  [[nodiscard]] const wire::Lease& lease() const noexcept;
  [[nodiscard]] const std::string& run_id() const noexcept { return lease().run_id; }
  [[nodiscard]] const std::string& project() const noexcept { return lease().project; }
  [[nodiscard]] const std::string& definition_id() const noexcept { return lease().definition_id; }
  [[nodiscard]] std::int64_t definition_version() const noexcept { return lease().definition_version; }
  [[nodiscard]] const std::string& step_id() const noexcept { return lease().step_id; }
  /// Entries into this step, this one included.
  [[nodiscard]] std::int64_t visit() const noexcept { return lease().visit; }
  /// Attempts of this visit, this one included.
  [[nodiscard]] std::int64_t attempt() const noexcept { return lease().attempt; }
  /// The same for every attempt of this visit. Hand it on as the idempotency key of whatever the step does to the world, and a
  /// second attempt does it no second time.
  [[nodiscard]] const std::string& key() const noexcept { return lease().step_key; }
  /// The state of the run, as it was when the step was leased.
  [[nodiscard]] const Json& state() const noexcept { return lease().state; }
  /// The output of a step before this one; nothing where it has none.
  [[nodiscard]] std::optional<Json> prior(std::string_view step_id) const;
  [[nodiscard]] const wire::RunCorrelation& correlation() const noexcept { return lease().correlation; }
  /// The details of the last `heartbeat` of the attempt before this one.
  [[nodiscard]] const std::optional<Json>& last_details() const noexcept { return lease().last_details; }
  /// When the run ends by itself, where its definition limits the time.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> deadline() const;

  /// Asked to stop when the work is of no more use: the run was cancelled, another worker has the step, or this worker must
  /// stop. Callbacks on it run on a thread of the worker.
  [[nodiscard]] std::stop_token stop_token() const noexcept;
  /// Why it was asked to stop; nothing while it was not.
  [[nodiscard]] std::optional<InterruptReason> interruption() const noexcept;
  /// Throws StepInterrupted when the work is of no more use.
  void throw_if_cancelled() const;
  /// Waits so long, and no longer than the work is of use: then it throws StepInterrupted.
  void sleep_for(std::chrono::milliseconds time) const;

  /// Leaves a mark for the next attempt, which finds it as `last_details`. Sent within a second. At most 64 KiB of JSON, else
  /// `std::invalid_argument`.
  template <typename Details>
  void heartbeat(const Details& details) {
    tell(detail::to_wire(details));
  }
  /// Merges an object into the state of the run when the step completes: its top-level keys replace those of the run. Throws
  /// `std::invalid_argument` on what is no object.
  template <typename Patch>
  void patch_state(const Patch& patch) {
    merge(detail::to_wire(patch));
  }
  /// Reports the usage of the step, an entry a model. Without this call it is the sum of what the spans of the body carry;
  /// with it, this alone. Where the body has recorded no model span, the service makes one of each entry; `record = false` in
  /// an entry says that another library has recorded it.
  void set_usage(std::vector<wire::ReportedUsage> usage);
  void set_usage(wire::ReportedUsage usage);

  /// Whose spans and signals belong to this step while its body runs, on the thread of the body.
  [[nodiscard]] Instrumentation& instrumentation() const noexcept;
  [[nodiscard]] Span span(std::string_view name, SpanOptions options = {}) const {
    return instrumentation().span(name, std::move(options));
  }
  /// Records a log line of the step.
  void log(const wire::Severity& severity, std::string_view message, const Attributes& attributes = {}) const noexcept;
  /// Records an evaluation of the run's trace.
  void score(std::string_view scorer_id, double value, Scale scale, const ScoreOptions& options = {}) const noexcept;
  /// Records a judgement of the run's trace.
  void feedback(const wire::FeedbackKind& kind, const Payload& value, const FeedbackOptions& options = {}) const noexcept;
  /// The step's span as a `traceparent` header, for calls to services that trace.
  [[nodiscard]] std::string traceparent() const;

 private:
  void tell(const Json& details);
  void merge(const Json& patch);

  std::shared_ptr<detail::StepState> state_;
};

}  // namespace svc::inline v0
