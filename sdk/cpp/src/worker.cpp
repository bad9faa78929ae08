#include "svc/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "body_pool.hpp"
#include "client_core.hpp"
#include "decoded.hpp"
#include "http.hpp"
#include "serve_lease.hpp"
#include "signal_trap.hpp"
#include "spec_check.hpp"
#include "step_calls.hpp"
#include "text.hpp"
#include "timers.hpp"
#include "trace_context.hpp"

namespace svc::inline v0 {

namespace detail {

namespace {

using nlohmann::json;

/// What one worker may say of itself. See spec/openapi.yaml, `NewWorker`.
constexpr int concurrency_limit = 100'000;
/// A claim that is not answered so long after its wait is over, is lost.
constexpr Millis claim_slack{15'000};
constexpr int warn_after_failures = 3;
/// How long the end of a worker waits for threads whose calls were cut.
constexpr Millis cut_patience{1000};

std::string made_up_id() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {"host"};
  return std::string(host.data()) + "-" + std::to_string(getpid()) + "-" + new_span_id().substr(0, 8);
}

/// A refusal of the worker itself, with each fault of a definition on a line of its own.
ServiceError as_text(const ServiceError& refusal) {
  std::string message = refusal.what();
  const auto colon = message.find(": ");
  if (refusal.code() != wire::ErrorCode::definition_invalid || colon == std::string::npos) return refusal;
  message.replace(colon, 2, ":\n  ");
  for (auto at = message.find("; "); at != std::string::npos; at = message.find("; ", at)) message.replace(at, 2, "\n  ");
  return {message,
          {.status = refusal.status(),
           .code = refusal.code(),
           .field = refusal.field(),
           .request_id = refusal.request_id(),
           .retry_after = refusal.retry_after()}};
}

std::shared_ptr<Instrumentation> instrumentation_of(const WorkerOptions& options) {
  if (options.instrumentation != nullptr) return std::make_shared<Instrumentation>(options.instrumentation->recorder());
  return std::make_shared<Instrumentation>(InstrumentationOptions{.settings = options.settings, .log = options.log});
}

}  // namespace

class WorkerCore : public std::enable_shared_from_this<WorkerCore> {
 public:
  WorkerCore(std::vector<Workflow> workflows, WorkerOptions options)
      : options_(std::move(options)),
        settings_(usable_settings(options_.settings)),
        worker_id_(options_.worker_id.value_or(made_up_id())),
        instrumentation_(instrumentation_of(options_)),
        http_(settings_),
        spec_(http_),
        calls_({.http = http_,
                .pool = pool_,
                .worker_id = worker_id_,
                .run_id = options_.run_id,
                .claims = [this] { return !stopping_.stop_requested(); },
                .on_leases = [this](const wire::Json& leases) { serve_all(leases); }}) {
    options_.settings.api_key.reset();
    if (options_.concurrency < 1 || options_.concurrency > concurrency_limit)
      throw std::invalid_argument("concurrency is from 1 to " + std::to_string(concurrency_limit) + ", not " +
                                  std::to_string(options_.concurrency));
    for (auto& workflow : workflows) add(std::move(workflow));
  }

  [[nodiscard]] const std::string& worker_id() const noexcept { return worker_id_; }
  [[nodiscard]] int active() const {
    const std::lock_guard lock{mutex_};
    return active_;
  }

  void run(const std::stop_token& stop) {
    {
      const std::lock_guard lock{mutex_};
      if (std::exchange(has_run_, true)) throw std::logic_error("a worker runs once: make another");
    }
    const std::stop_callback on_stop{stop, [this] { request_stop(); }};
    std::optional<SignalTrap> trap;
    if (options_.stop_on_signals) trap.emplace([this] { request_stop(); });
    {
      const std::jthread claims{[this] { claim_steps(); }};
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [this] { return is_done_ || stopping_.stop_requested(); });
      lock.unlock();
      // Hangs up on the claim, which ends its thread.
      stopping_.request_stop();
    }
    drain();
    std::exception_ptr error;
    {
      const std::lock_guard lock{mutex_};
      has_ended_ = true;
      error = error_;
      changed_.notify_all();
    }
    if (error != nullptr) std::rethrow_exception(error);
  }

  void request_stop() noexcept {
    stopping_.request_stop();
    // Under the lock: who is about to wait must not miss it.
    const std::lock_guard lock{mutex_};
    changed_.notify_all();
    slot_freed_.notify_all();
  }

  void stop() noexcept {
    request_stop();
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !has_run_ || has_ended_; });
  }

 private:
  using Identity = std::pair<std::string, std::int64_t>;

  void add(Workflow workflow) {
    const auto title = "workflow " + workflow.id() + " version " + std::to_string(workflow.version());
    std::string without;
    for (const auto& task : workflow.without_body()) without += (without.empty() ? "" : ", ") + task;
    if (!without.empty()) throw std::invalid_argument(title + " has no body for: " + without);
    const Identity identity{workflow.id(), workflow.version()};
    if (!workflows_.emplace(identity, std::move(workflow)).second) throw std::invalid_argument(title + " is given twice");
  }

  void log(LogLevel level, const std::string& line) const noexcept {
    try {
      if (options_.log) options_.log(level, line);
    } catch (...) {
      return;
    }
  }

  /// Lets bodies finish, then cancels them, then leaves behind those that do not listen.
  void drain() {
    if (!wait_until_idle(options_.grace)) {
      force_.request_stop();
      // Twice: once for the bodies, once for the reports of those that did end.
      wait_until_idle(2 * options_.settle);
    }
    // What is still on its way is cut.
    http_.close();
    calls_.close();
    wait_until_idle(cut_patience);
    timers_.close();
    pool_.close(active() == 0 ? cut_patience : Millis{0});
    if (options_.instrumentation == nullptr)
      instrumentation_->close();
    else
      instrumentation_->flush();
  }

  bool wait_until_idle(Millis time) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, time, [this] { return active_ == 0; });
  }

  // --- Leases

  /// Also of a worker that was stopped meanwhile: they are its own, and their bodies have the time of bodies then.
  void serve_all(const wire::Json& leases) {
    for (const auto& each : leases.value()) {
      try {
        serve(each.get<wire::Lease>());
      } catch (const json::exception& error) {
        // It lapses, and comes again.
        log(LogLevel::error, std::string("an offer cannot be read: ") + error.what());
      }
    }
  }

  void serve(wire::Lease lease) {
    const auto found = workflows_.find(Identity{lease.definition_id, lease.definition_version});
    auto body = found == workflows_.end() ? nullptr : found->second.body_of(lease.step_id);
    // A slot is freed once: by the end of its lease, or by the worker that waits no longer. The body may outlive the worker: it
    // keeps alive what it works with.
    const auto is_counted = std::make_shared<std::atomic<bool>>(false);
    const auto free_slot = [core = shared_from_this(), is_counted] {
      if (!is_counted->exchange(true)) core->free_slot();
    };
    const auto name = lease.definition_id + "/" + lease.step_id + " of run " + lease.run_id;
    const auto on_left_behind = [weak = weak_from_this(), name, is_counted] {
      const auto core = weak.lock();
      if (core == nullptr || is_counted->exchange(true)) return;
      core->log(LogLevel::warn, name + ": its body did not end in time; the service gives the step to another worker");
      core->free_slot();
    };
    std::shared_ptr<const LeaseHost> host;
    {
      const std::lock_guard lock{mutex_};
      ++active_;
      host = host_;
    }
    std::make_shared<ServedLease>(std::move(host), std::move(lease), std::move(body), free_slot, on_left_behind)->begin();
  }

  void free_slot() {
    const std::lock_guard lock{mutex_};
    --active_;
    // Whoever waits, waits for one of these.
    if (active_ == options_.concurrency - 1) slot_freed_.notify_all();
    if (active_ == 0) changed_.notify_all();
  }

  /// The one run that this worker serves may be over.
  void on_run_end(const std::string& run_id) {
    if (options_.run_id == run_id) request_stop();
  }

  // --- Claims

  void register_self() {
    const auto stop = stopping_.get_token();
    spec_.ensure(stop);
    wire::WorkerInput members{.worker_id = worker_id_,
                              .name = options_.name,
                              .version = options_.version,
                              .project = settings_.project,
                              .concurrency = options_.concurrency};
    std::string served;
    for (const auto& [identity, workflow] : workflows_) {
      members.definitions.push_back(workflow.definition());
      served += (served.empty() ? "" : ", ") + identity.first + "@" + std::to_string(identity.second);
    }
    const Request request{.method = "POST", .path = "/v1/api/workers/register", .body = encode(json(members))};
    wire::Registration registration;
    try {
      const auto answer = with_retries(until_answered, stop, [&] { return http_.call(request, stop); });
      registration = decoded<wire::Registration>(answer);
    } catch (const ServiceError& refusal) {
      throw as_text(refusal);
    }
    log(LogLevel::info, worker_id_ + " is registered at " + settings_.endpoint +
                            (settings_.project.has_value() ? ", project " + *settings_.project : "") + " and serves " + served +
                            ", up to " + std::to_string(options_.concurrency) + " steps at once");
    auto host = std::make_shared<const LeaseHost>(LeaseHost{
        .calls = calls_,
        .pool = pool_,
        .timers = timers_,
        .worker_id = worker_id_,
        .worker_body = encode(json{{"worker_id", worker_id_}}),
        .heartbeat = Millis{std::max<std::int64_t>(1, registration.heartbeat_ms)},
        .lease_ttl = Millis{std::max<std::int64_t>(1, registration.lease_ttl_ms)},
        .instrumentation = instrumentation_,
        .log = options_.log,
        .force = force_.get_token(),
        .settle = options_.settle,
        .on_run_end = [this](const std::string& run_id) { on_run_end(run_id); },
    });
    // Steps that come with the answers to reports are served meanwhile.
    const std::lock_guard lock{mutex_};
    host_ = std::move(host);
  }

  void claim_steps() noexcept {
    std::exception_ptr error;
    try {
      claim_loop();
    } catch (...) {
      // While it stops, a claim that was broken off is no fault.
      if (!stopping_.stop_requested()) error = std::current_exception();
    }
    const std::lock_guard lock{mutex_};
    error_ = error;
    is_done_ = true;
    changed_.notify_all();
  }

  void claim_loop() {
    register_self();
    int failures = 0;
    while (!stopping_.stop_requested()) {
      const auto free = wait_for_slot();
      if (free == 0) continue;
      try {
        const auto leases = claim(free);
        failures = 0;
        {
          const Motion::Hold hold{calls_.motion()};
          serve_all(leases);
        }
        if (leases.value().empty() && options_.run_id.has_value() && has_ended(*options_.run_id)) return;
      } catch (const ServiceError& error) {
        pause_after(error, ++failures);
      } catch (const ConnectionError& error) {
        pause_after(error, ++failures);
      }
    }
  }

  /// Free slots, once there are any; none when it stops.
  int wait_for_slot() {
    {
      std::unique_lock lock{mutex_};
      slot_freed_.wait(lock, [this] { return active_ < options_.concurrency || stopping_.stop_requested(); });
    }
    // Slots that are freed together are filled by one claim.
    calls_.motion().wait();
    const std::lock_guard lock{mutex_};
    return stopping_.stop_requested() ? 0 : std::max(0, options_.concurrency - active_);
  }

  /// From a handler of the error, which goes on where a later claim does not help.
  void pause_after(const Error& error, int failures) {
    if (stopping_.stop_requested()) return;
    const auto* refusal = dynamic_cast<const ServiceError*>(&error);
    // With one run to serve, it may be the run that is not there.
    const bool is_forgotten =
        refusal != nullptr && refusal->status() == 404 && (!options_.run_id.has_value() || refusal->field() == "worker_id");
    if (!is_forgotten && !is_retryable(error)) throw;  // NOLINT: it is called from handlers alone
    if (failures == warn_after_failures)
      log(LogLevel::warn, std::string("the service does not answer claims: ") + error.what());
    const auto pause = std::max(asked_wait(error), backoff(until_answered, failures));
    // A service that was away may be another one, with an older file.
    if (!wait_for(stopping_.get_token(), pause)) register_self();
  }

  wire::Json claim(int free) {
    json body{{"worker_id", worker_id_},
              {"max", std::min(static_cast<int>(most_claimed), free)},
              {"wait_ms", options_.claim_wait.count()}};
    if (options_.run_id.has_value()) body["run_id"] = *options_.run_id;
    const Request request{
        .method = "POST", .path = "/v1/api/steps/claim", .body = encode(body), .timeout = options_.claim_wait + claim_slack};
    // Hanging up gives back what was on its way to us.
    const auto answer = http_.call(request, stopping_.get_token());
    const auto& found = answer.value();
    if (!found.is_object() || !found.contains("leases") || !found["leases"].is_array())
      throw ConnectionError("the answer to a claim lacks `leases`");
    return {found["leases"]};
  }

  /// Whether the one run is over. A claim on a run that has ended is answered as one that found nothing. A key that may serve
  /// steps need not be one that may read runs: then the worker goes on until it is stopped.
  bool has_ended(const std::string& run_id) {
    try {
      const Request request{.method = "GET", .path = run_path(run_id)};
      return is_over(decoded<wire::RunDetail>(http_.call(request, stopping_.get_token())).status.text());
    } catch (const ServiceError& error) {
      if (error.status() != 401 && error.status() != 403) throw;
      return false;
    }
  }

  WorkerOptions options_;
  ResolvedSettings settings_;
  std::string worker_id_;
  std::map<Identity, Workflow> workflows_;
  std::shared_ptr<Instrumentation> instrumentation_;
  std::stop_source stopping_;
  std::stop_source force_;
  Http http_;
  SpecCheck spec_;
  BodyPool pool_;
  Timers timers_;
  StepCalls calls_;

  mutable std::mutex mutex_;
  std::shared_ptr<const LeaseHost> host_;
  std::condition_variable changed_;
  std::condition_variable slot_freed_;
  int active_ = 0;
  bool has_run_ = false;
  bool is_done_ = false;
  bool has_ended_ = false;
  std::exception_ptr error_;
};

}  // namespace detail

Worker::Worker(std::vector<Workflow> workflows, WorkerOptions options)
    : core_(std::make_shared<detail::WorkerCore>(std::move(workflows), std::move(options))) {}

Worker::~Worker() {
  if (core_ != nullptr) core_->stop();
}

void Worker::run(const std::stop_token& stop) { core_->run(stop); }
void Worker::stop() noexcept { core_->stop(); }
void Worker::request_stop() noexcept { core_->request_stop(); }
const std::string& Worker::worker_id() const noexcept { return core_->worker_id(); }
int Worker::active() const { return core_->active(); }

}  // namespace svc::inline v0
