#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "heart.hpp"
#include "step_calls.hpp"
#include "svc/instrumentation.hpp"
#include "svc/workflow.hpp"
#include "timers.hpp"
#include "usage.hpp"

namespace svc::inline v0::detail {

/// What leases need of their worker.
struct LeaseHost {
  StepCalls& calls;
  BodyPool& pool;
  Timers& timers;
  std::string worker_id;
  /// The body of a call that says no more than whose it is.
  std::string worker_body;
  Millis heartbeat;
  Millis lease_ttl;
  std::shared_ptr<Instrumentation> instrumentation;
  LogSink log;
  /// Asked to stop when bodies must end: the time that a stopping worker gives them is over.
  std::stop_token force;
  /// How long a body may take to end after that.
  Millis settle;
  /// Called when an answer says that the run of a lease has ended.
  std::function<void(const std::string& run_id)> on_run_end;
};

/// One lease, from its offer to its end: declares it started, keeps it alive while the body runs, reports what came of it, and
/// does what the protocol asks on each of the four refusals. See docs/worker-protocol.md.
class ServedLease : public std::enable_shared_from_this<ServedLease> {
 public:
  ServedLease(const ServedLease&) = delete;
  ServedLease(ServedLease&&) = delete;
  ServedLease& operator=(const ServedLease&) = delete;
  ServedLease& operator=(ServedLease&&) = delete;
  ~ServedLease();

  /// `body` is null when this worker does not hold the definition, the version or the step. `on_end` is called when all is
  /// over, `on_left_behind` when the body did not end in time: its worker no longer waits for it.
  ServedLease(std::shared_ptr<const LeaseHost> host, wire::Lease lease, Workflow::Serve body, std::function<void()> on_end,
              std::function<void()> on_left_behind);

  /// Lives the lease: declares it at once, and goes on by itself. Only its body, and what must wait, has a thread of the pool.
  // NOLINTNEXTLINE(bugprone-exception-escape): what may escape is that memory ran out, which ends the process.
  void begin() noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  struct Answer;
  struct Declaration;
  struct Failure;
  struct How;
  struct Result;

  /// Goes on with a thread of the pool.
  // NOLINTNEXTLINE(bugprone-exception-escape): what may escape is that memory ran out, which ends the process.
  void go_on(std::function<void()> work) noexcept;
  void end() noexcept;
  void refuse_unheld();
  /// Declares that the body begins, and goes on with it meanwhile.
  void begin_early();
  void on_first_answer(const StepAnswer& made);
  /// Takes what came of the declaration of a body that had begun.
  void on_declared(Answer answer);
  [[nodiscard]] bool is_undeclared() const;
  void wait_until_declared();
  /// The body has nothing more to say for the batch of its declaration.
  void let_batch_go() noexcept;
  void serve_held(const StepAnswer& declared);
  void live();
  void run(const How& lastly);
  void report(std::string body, const std::vector<wire::ReportedUsage>& usage, const How& how);
  void on_report_answered(const StepAnswer& made, std::string body, const std::vector<wire::ReportedUsage>& usage,
                          const How& how);
  Result run_body(const std::shared_ptr<UsageTotals>& usage, const std::shared_ptr<StepState>& state);
  void report_failure(const Failure& failure, const std::vector<wire::ReportedUsage>& usage, const How& how);
  /// Until it is answered; `first` is what came of a first try that was made before.
  Answer call(StepVerb verb, std::string body, const How& how, const StepAnswer* first = nullptr);
  /// One try of a report, in the batch of its declaration; nothing where that has left.
  std::optional<Answer> report_behind(StepVerb verb, const std::string& body);
  Answer fail(const Failure& failure, const std::vector<wire::ReportedUsage>& usage, const How& how);
  [[nodiscard]] Answer read(const wire::Json* answer, const std::exception_ptr& error) const;
  /// Logs what an answer says of a fault.
  void settle(const Answer& answer) const;
  void beat(const std::optional<std::string>& details, const Heart::Found& found);
  void interrupt(InterruptReason reason);
  void force();
  [[nodiscard]] std::optional<InterruptReason> reason() const noexcept;
  void log(LogLevel level, const std::string& line) const noexcept;

  std::shared_ptr<const LeaseHost> host_;
  wire::Lease lease_;
  Workflow::Serve body_;
  std::function<void()> on_end_;
  std::function<void()> on_left_behind_;
  std::string name_;
  std::shared_ptr<Heart> heart_;
  std::optional<std::stop_callback<std::function<void()>>> on_force_;
  std::stop_source interruption_;
  /// -1 while there is none.
  std::atomic<int> reason_{-1};
  std::atomic<bool> is_settled_{false};
  /// A report said that the slot is free. A second one must not have it claimed again.
  std::atomic<bool> has_freed_{false};
  /// Where the body begins while its declaration is on its way; null where it waits for the answer.
  std::unique_ptr<Declaration> declaration_;
};

}  // namespace svc::inline v0::detail
