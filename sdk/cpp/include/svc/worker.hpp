/// Serves steps of runs.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "svc/instrumentation.hpp"
#include "svc/settings.hpp"
#include "svc/workflow.hpp"

namespace svc::inline v0 {

namespace detail {
class WorkerCore;
}

struct WorkerOptions {
  Settings settings{};
  /// Bodies that may run at once, each on a thread of its own: 1 to 100,000.
  int concurrency = 10;
  /// Must be unique among workers; made of host, process and a random part by default.
  std::optional<std::string> worker_id{};
  /// For people.
  std::optional<std::string> name{};
  /// Of your code.
  std::optional<std::string> version{};
  /// Serves this run alone, and ends with it.
  std::optional<std::string> run_id{};
  /// How long a claim may wait for work.
  std::chrono::milliseconds claim_wait{20'000};
  /// How long bodies may go on after a stop.
  std::chrono::milliseconds grace{30'000};
  /// How long a body may take to end once it is cancelled because of that.
  std::chrono::milliseconds settle{5'000};
  /// SIGTERM and SIGINT stop it while it runs; a second one does what it does without a worker. One worker of a process has
  /// them.
  bool stop_on_signals = true;
  /// Where spans of bodies go; one of its own, with the settings above, by default.
  Instrumentation* instrumentation = nullptr;
  LogSink log = log_to_stderr;
};

/// Registers its workflows, claims steps, runs their bodies, and reports what came of them.
///
/// It takes no more steps than it has free slots. Claims, heartbeats and reports never share a thread with bodies.
///
///     svc::Worker{{refund}, {.concurrency = 10}}.run();
class Worker {
 public:
  /// Several versions of one workflow may stand side by side through a deploy. Throws `std::invalid_argument` on what cannot be
  /// used, a task without a body for example.
  explicit Worker(std::vector<Workflow> workflows, WorkerOptions options = {});
  Worker(const Worker&) = delete;
  Worker(Worker&&) noexcept = default;
  Worker& operator=(const Worker&) = delete;
  Worker& operator=(Worker&&) = delete;
  /// Stops it, also while `run` runs on another thread, and returns when it has ended.
  ~Worker();

  /// Serves until `stop`, its token, a signal, or the end of its one run. Once: `std::logic_error` the second time.
  ///
  /// Throws ServiceError when the service refuses the worker itself (a bad key, a bad definition, a `definition_conflict`), and
  /// IncompatibleServer. A body that does not end within `grace` and `settle` is left behind on its thread: what it refers to
  /// must live on, or the program must end.
  void run(const std::stop_token& stop = {});
  /// Claims nothing more, lets bodies finish for `grace`, then cancels them. Returns when all is over, at once where `run` was
  /// not called. From any thread but that of a body.
  void stop() noexcept;
  /// The same without waiting; from any thread.
  void request_stop() noexcept;

  [[nodiscard]] const std::string& worker_id() const noexcept;
  /// Steps that it holds now.
  [[nodiscard]] int active() const;

 private:
  std::shared_ptr<detail::WorkerCore> core_;
};

}  // namespace svc::inline v0
