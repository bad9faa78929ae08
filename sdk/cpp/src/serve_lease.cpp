#include "serve_lease.hpp"

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>

#include "client_core.hpp"
#include "step_state.hpp"
#include "svc/errors.hpp"
#include "text.hpp"
#include "trace_context.hpp"

namespace svc::inline v0::detail {

namespace {

using nlohmann::json;

constexpr std::size_t message_limit_bytes = std::size_t{8} * 1024;

std::string message_of(const std::exception& error) {
  const std::string_view text = error.what();
  return text.empty() ? "an error without words" : shortened(text, message_limit_bytes);
}

RetryPolicy until_answered_within(Millis time) {
  auto policy = until_answered;
  policy.within = time;
  return policy;
}

}  // namespace

/// What the service said to a call. `rejected`: refused for another reason than the state of the lease, as a bug, a key, a body
/// that is too large.
struct ServedLease::Answer {
  enum class Kind { taken, refused, rejected, unanswered };
  Kind kind = Kind::taken;
  /// Of a refusal: one of the four.
  std::string reason{};
  std::string code{};
  std::string message{};
};

/// A declaration that the body does not wait for. It arrives before any report: in the same batch, or answered.
struct ServedLease::Declaration {
  StepCalls::Pending first{};
  /// It is not repeated later. A late one is refused as fenced; one that is never answered must not be repeated without end.
  Clock::time_point until{};
  /// Asked to stop when it is not to be repeated any more.
  std::stop_source repeats{};
  /// The batch waits for what the body gives.
  std::atomic<bool> is_awaited{true};
  std::size_t round = 0;
  mutable std::mutex mutex{};
  std::condition_variable answered{};
  /// What came of it; nothing while that is open.
  std::optional<Answer> answer{};
  /// The report that waits for it.
  std::function<void()> then{};
};

struct ServedLease::Failure {
  std::string error_class;
  std::optional<std::string> code{};
  std::string message{};
  std::optional<Millis> retry_after{};
};

/// How long to try one call: until it is answered, or until the token.
struct ServedLease::How {
  std::stop_token stop{};
  RetryPolicy policy = until_answered;
};

/// What a body returned, or why it did not.
struct ServedLease::Result {
  wire::Json output{};
  std::optional<Failure> failure{};
  /// It ended because it was asked to, rather than by an error of its own choice.
  bool may_be_given_back = false;
};

ServedLease::ServedLease(std::shared_ptr<const LeaseHost> host, wire::Lease lease, Workflow::Serve body,
                         std::function<void()> on_end, std::function<void()> on_left_behind)
    : host_(std::move(host)),
      lease_(std::move(lease)),
      body_(std::move(body)),
      on_end_(std::move(on_end)),
      on_left_behind_(std::move(on_left_behind)),
      name_(lease_.definition_id + "@" + std::to_string(lease_.definition_version) + "/" + lease_.step_id + " of run " +
            lease_.run_id) {}

ServedLease::~ServedLease() = default;

// NOLINTNEXTLINE(bugprone-exception-escape): as its declaration says
void ServedLease::begin() noexcept {
  const auto self = shared_from_this();
  if (body_ == nullptr)
    return go_on([self] {
      self->refuse_unheld();
      self->end();
    });
  // In an earlier attempt the body may have ended its process before that declared it.
  if (lease_.delivery == wire::Delivery::at_least_once && lease_.attempt == 1 && !host_->force.stop_requested())
    return begin_early();
  // Nobody waits for it, so those of all leases that came together travel together.
  host_->calls.submit({.verb = StepVerb::started, .lease_id = lease_.lease_id, .body = host_->worker_body},
                      [self](const StepAnswer& declared) { self->go_on([self, declared] { self->serve_held(declared); }); });
}

// NOLINTNEXTLINE(bugprone-exception-escape): as its declaration says
void ServedLease::go_on(std::function<void()> work) noexcept {
  const auto guarded = [self = shared_from_this(), work = std::move(work)] {
    try {
      return work();
    } catch (const std::exception& error) {
      self->log(LogLevel::error, self->name_ + ": " + error.what());
    } catch (...) {
      self->log(LogLevel::error, self->name_ + ": an error of an unknown type");
    }
    self->end();
  };
  try {
    host_->pool.submit(guarded);
  } catch (const std::system_error&) {
    log(LogLevel::error, "no thread can be started for " + name_ + "; the service gives it to another worker");
    end();
  }
}

void ServedLease::end() noexcept {
  on_force_.reset();
  if (declaration_ != nullptr) {
    let_batch_go();
    declaration_->repeats.request_stop();
  }
  // It holds the lease.
  if (const auto heart = std::exchange(heart_, nullptr)) heart->stop();
  if (const auto on_end = std::exchange(on_end_, nullptr)) on_end();
}

void ServedLease::log(LogLevel level, const std::string& line) const noexcept {
  try {
    if (host_->log) host_->log(level, line);
  } catch (...) {
    return;
  }
}

std::optional<InterruptReason> ServedLease::reason() const noexcept {
  const int reason = reason_.load();
  return reason < 0 ? std::nullopt : std::optional(static_cast<InterruptReason>(reason));
}

// --- Calls

ServedLease::Answer ServedLease::read(const wire::Json* answer, const std::exception_ptr& error) const {
  using Kind = Answer::Kind;
  if (error == nullptr) {
    if (answer != nullptr && answer->value().is_object()) {
      const auto status = answer->value().value("run_status", json());
      if (status.is_string() && is_over(status.get_ref<const std::string&>())) host_->on_run_end(lease_.run_id);
    }
    return {};
  }
  try {
    std::rethrow_exception(error);
  } catch (const ServiceError& refusal) {
    // A fault of the service says nothing about the report; the step must not fail for it.
    if (refusal.status() >= 500 || refusal.retryable()) return {.kind = Kind::unanswered};
    const auto& code = refusal.code();
    if (code == wire::ErrorCode::run_terminal) host_->on_run_end(lease_.run_id);
    const bool is_of_lease = code == wire::ErrorCode::already_applied || code == wire::ErrorCode::fenced ||
                             code == wire::ErrorCode::run_terminal || code == wire::ErrorCode::not_started;
    if (refusal.status() == 409 && is_of_lease) return {.kind = Kind::refused, .reason = code};
    return {.kind = Kind::rejected, .code = code, .message = refusal.what()};
  } catch (...) {
    return {.kind = Kind::unanswered};
  }
}

ServedLease::Answer ServedLease::call(StepVerb verb, std::string body, const How& how, const StepAnswer* first) {
  StepCall step_call{.verb = verb, .lease_id = lease_.lease_id, .body = std::move(body)};
  const bool is_report = verb == StepVerb::complete || verb == StepVerb::fail;
  if (is_report && first == nullptr && declaration_ != nullptr) {
    if (auto answer = report_behind(verb, step_call.body)) return *std::move(answer);
    if (is_undeclared()) return {.kind = Answer::Kind::refused};
  }
  try {
    // The token ends the waiting between tries. A call on its way is let go on: it may be the one that lands.
    const auto answer = with_retries(how.policy, how.stop, [&] {
      const auto* const made = std::exchange(first, nullptr);
      if (made == nullptr) {
        step_call.frees_slot = is_report && !has_freed_.exchange(true);
        return host_->calls.make(step_call);
      }
      if (made->error != nullptr) std::rethrow_exception(made->error);
      return made->body;
    });
    return read(&answer, nullptr);
  } catch (const Error&) {
    return read(nullptr, std::current_exception());
  }
}

ServedLease::Answer ServedLease::fail(const Failure& failure, const std::vector<wire::ReportedUsage>& usage, const How& how) {
  json error{{"class", failure.error_class}, {"message", failure.message}};
  if (failure.code.has_value()) error["code"] = *failure.code;
  json body{{"worker_id", host_->worker_id}, {"error", std::move(error)}};
  if (failure.retry_after.has_value() && *failure.retry_after >= Millis{0})
    body["retry_after_ms"] = failure.retry_after->count();
  if (!usage.empty()) body["usage"] = usage;
  return call(StepVerb::fail, encode(body), how);
}

void ServedLease::settle(const Answer& answer) const {
  if (answer.kind == Answer::Kind::rejected)
    log(LogLevel::error, name_ + ": the service refused a call: " + answer.code + ": " + answer.message);
  if (answer.reason == wire::ErrorCode::not_started)
    log(LogLevel::error, name_ + ": the service never saw it started: a bug in this library, please report it");
}

void ServedLease::report_failure(const Failure& failure, const std::vector<wire::ReportedUsage>& usage, const How& how) {
  const auto answer = fail(failure, usage, how);
  if (answer.kind != Answer::Kind::rejected) return settle(answer);
  // A class that the service keeps for itself, a wait over its bound: the step fails, and says why.
  const auto message = shortened(failure.message + " (reported as fatal: " + answer.message + ")", message_limit_bytes);
  settle(fail({.error_class = "fatal", .code = "invalid_failure", .message = message}, {}, how));
}

// --- The life of a lease

void ServedLease::refuse_unheld() {
  log(LogLevel::warn, name_ + ": this worker does not hold that step; another may serve it");
  const auto held = lease_.definition_id + " version " + std::to_string(lease_.definition_version) + ", step " + lease_.step_id;
  const Failure failure{.error_class = "unservable", .message = "worker " + host_->worker_id + " does not hold " + held};
  settle(fail(failure, {}, {.stop = host_->force}));
}

namespace {

/// Not the fault of the step: the class that spends no budget, here with no wait.
template <typename Failure>
Failure given_back() {
  return {.error_class = "rate_limited",
          .code = "worker_stopping",
          .message = "the worker stopped while the step ran",
          .retry_after = Millis{0}};
}

}  // namespace

void ServedLease::begin_early() {
  const auto self = shared_from_this();
  declaration_ = std::make_unique<Declaration>();
  declaration_->until = Clock::now() + host_->lease_ttl;
  declaration_->round = host_->calls.bodies().begin();
  host_->calls.motion().begin();
  declaration_->first = host_->calls.submit({.verb = StepVerb::started,
                                             .lease_id = lease_.lease_id,
                                             .body = host_->worker_body,
                                             .timeout = std::min(default_timeout, host_->lease_ttl),
                                             .is_early = true},
                                            [self](const StepAnswer& made) { self->on_first_answer(made); });
  go_on([self] {
    self->host_->calls.motion().end();
    if (self->is_undeclared()) return self->end();
    self->live();
  });
}

void ServedLease::on_first_answer(const StepAnswer& made) {
  auto answer = read(&made.body, made.error);
  if (answer.kind != Answer::Kind::unanswered) return on_declared(std::move(answer));
  const auto left = std::chrono::duration_cast<Millis>(declaration_->until - Clock::now());
  const How within_ttl{.stop = declaration_->repeats.get_token(), .policy = until_answered_within(std::max(Millis{1}, left))};
  try {
    host_->pool.submit([self = shared_from_this(), made, within_ttl] {
      self->on_declared(self->call(StepVerb::started, self->host_->worker_body, within_ttl, &made));
    });
  } catch (const std::system_error&) {
    on_declared(std::move(answer));
  }
}

void ServedLease::on_declared(Answer answer) {
  const auto kind = answer.kind;
  const bool is_run_over = answer.reason == wire::ErrorCode::run_terminal;
  std::function<void()> then;
  {
    const std::lock_guard lock{declaration_->mutex};
    declaration_->answer = std::move(answer);
    then = std::exchange(declaration_->then, nullptr);
    declaration_->answered.notify_all();
  }
  // After a report that was sent, its own answer counts.
  if (kind != Answer::Kind::taken && !has_freed_) {
    settle(*declaration_->answer);
    if (host_->force.stop_requested())
      interrupt(InterruptReason::stopping);
    else
      interrupt(is_run_over ? InterruptReason::run_terminal : InterruptReason::fenced);
  }
  if (then) then();
}

bool ServedLease::is_undeclared() const {
  if (declaration_ == nullptr || has_freed_) return false;
  const std::lock_guard lock{declaration_->mutex};
  return declaration_->answer.has_value() && declaration_->answer->kind != Answer::Kind::taken;
}

void ServedLease::wait_until_declared() {
  std::unique_lock lock{declaration_->mutex};
  declaration_->answered.wait(lock, [this] { return declaration_->answer.has_value(); });
}

void ServedLease::let_batch_go() noexcept {
  if (declaration_->is_awaited.exchange(false)) host_->calls.bodies().end_of(declaration_->round);
}

std::optional<ServedLease::Answer> ServedLease::report_behind(StepVerb verb, const std::string& body) {
  const auto promise = std::make_shared<std::promise<StepAnswer>>();
  auto answered = promise->get_future();
  bool is_behind = false;
  {
    const std::lock_guard lock{declaration_->mutex};
    if (declaration_->answer.has_value()) return std::nullopt;
    StepCall call{.verb = verb, .lease_id = lease_.lease_id, .body = body, .frees_slot = true};
    is_behind = host_->calls.submit_behind(declaration_->first, std::move(call),
                                           [promise](const StepAnswer& made) { promise->set_value(made); });
    if (is_behind) has_freed_ = true;
  }
  let_batch_go();
  if (is_behind) {
    const auto made = answered.get();
    host_->calls.motion().end();
    auto answer = read(&made.body, made.error);
    if (answer.kind != Answer::Kind::unanswered && answer.reason != wire::ErrorCode::not_started) return answer;
  }
  wait_until_declared();
  return std::nullopt;
}

void ServedLease::serve_held(const StepAnswer& declared) {
  host_->calls.motion().end();
  // A late declaration is refused as fenced; one that is never answered must not be repeated without end.
  const How within_ttl{.stop = host_->force, .policy = until_answered_within(host_->lease_ttl)};
  const auto started = call(StepVerb::started, host_->worker_body, within_ttl, &declared);
  // Without its word that the body may run, the body does not run: its own earlier report is no such word either.
  if (started.kind != Answer::Kind::taken) {
    settle(started);
    return end();
  }
  // The time of bodies was over before this one began: it must not.
  if (host_->force.stop_requested()) {
    settle(fail(given_back<Failure>(), {}, {.policy = until_answered_within(host_->settle)}));
    return end();
  }
  live();
}

/// From the begin of the body to the end of the lease.
void ServedLease::live() {
  heart_ = std::make_shared<Heart>(
      host_->timers, host_->heartbeat,
      [self = shared_from_this()](const auto& details, const auto& found) { self->beat(details, found); });
  heart_->start();
  on_force_.emplace(host_->force, [this] { force(); });
  // A worker that stops lets a last report go out, but does not wait for its answer without end.
  run({.policy = until_answered_within(host_->settle)});
}

/// Runs the body, and reports what came of it.
void ServedLease::run(const How& lastly) {
  const auto usage = std::make_shared<UsageTotals>();
  const auto state = std::make_shared<StepState>();
  state->lease = lease_;
  state->instrumentation = host_->instrumentation;
  state->stop = interruption_.get_token();
  state->reason = [self = shared_from_this()] { return self->reason(); };
  state->tell = [heart = heart_](std::string details) { heart->tell(std::move(details)); };

  const auto result = run_body(usage, state);
  // Whoever is first decides: the worker that no longer waits, or the body that has ended.
  if (is_settled_.exchange(true)) return end();
  const auto why = reason();
  if (why == InterruptReason::fenced || why == InterruptReason::run_terminal) return end();
  const bool is_stopping = why == InterruptReason::stopping;
  const How how = is_stopping ? lastly : How{.stop = interruption_.get_token()};

  std::optional<std::vector<wire::ReportedUsage>> by_hand;
  auto patch = json::object();
  {
    const std::lock_guard lock{state->mutex};
    by_hand = state->usage;
    for (const auto& each : state->patches) patch.update(each.value());
  }
  const auto reported = usage->reported(std::move(by_hand));
  if (result.failure.has_value()) {
    // The mark for the next attempt goes first: after the report nobody takes it.
    heart_->flush(host_->lease_ttl);
    if (is_stopping && result.may_be_given_back)
      settle(fail(given_back<Failure>(), reported, how));
    else
      report_failure(*result.failure, reported, how);
    return end();
  }
  json body{{"worker_id", host_->worker_id}, {"output", result.output.value()}};
  if (!patch.empty()) body["state_patch"] = std::move(patch);
  if (!reported.empty()) body["usage"] = reported;
  report(encode(body), reported, how);
}

/// Nobody waits for the answer: a thread of the pool is needed again only where it is none, or no good one.
void ServedLease::report(std::string body, const std::vector<wire::ReportedUsage>& usage, const How& how) {
  if (declaration_ != nullptr) {
    const std::lock_guard lock{declaration_->mutex};
    if (!declaration_->answer.has_value()) {
      StepCall behind{.verb = StepVerb::complete, .lease_id = lease_.lease_id, .body = body, .frees_slot = true};
      const auto answered = [self = shared_from_this(), body, usage, how](const StepAnswer& made) {
        self->on_report_answered(made, body, usage, how);
      };
      const bool is_behind = host_->calls.submit_behind(declaration_->first, std::move(behind), answered);
      if (is_behind)
        has_freed_ = true;
      else
        declaration_->then = [self = shared_from_this(), body, usage, how] { self->report(body, usage, how); };
      return let_batch_go();
    }
  }
  if (is_undeclared()) return end();
  StepCall first{
      .verb = StepVerb::complete, .lease_id = lease_.lease_id, .body = body, .frees_slot = !has_freed_.exchange(true)};
  host_->calls.submit(std::move(first), [self = shared_from_this(), body = std::move(body), usage,
                                         how](const StepAnswer& made) { self->on_report_answered(made, body, usage, how); });
}

void ServedLease::on_report_answered(const StepAnswer& made, std::string body, const std::vector<wire::ReportedUsage>& usage,
                                     const How& how) {
  using Kind = Answer::Kind;
  const auto found = read(&made.body, made.error);
  const bool is_lost =
      found.kind == Kind::unanswered || (declaration_ != nullptr && found.reason == wire::ErrorCode::not_started);
  if (!is_lost && found.kind != Kind::rejected) {
    settle(found);
    end();
    return host_->calls.motion().end();
  }
  go_on([self = shared_from_this(), body = std::move(body), usage, how, made, is_lost] {
    self->host_->calls.motion().end();
    // Its declaration may be lost as well: again in their order. Whether the report was applied, its own answer says.
    const bool is_again = is_lost && self->declaration_ != nullptr;
    if (is_again) self->wait_until_declared();
    const auto answer = self->call(StepVerb::complete, body, how, is_again ? nullptr : &made);
    if (answer.kind == Kind::rejected) {
      const auto message = "the service refused the output of step " + self->lease_.step_id + ": " + answer.message;
      self->report_failure({.error_class = "fatal", .code = answer.code, .message = shortened(message, message_limit_bytes)},
                           usage, how);
    } else {
      self->settle(answer);
    }
    self->end();
  });
}

ServedLease::Result ServedLease::run_body(const std::shared_ptr<UsageTotals>& usage, const std::shared_ptr<StepState>& state) {
  json correlation = lease_.correlation;
  correlation["project"] = lease_.project;
  correlation["run_id"] = lease_.run_id;
  const auto on_model_span = std::make_shared<const OnModelSpan>(
      [usage](const std::string& model, const std::optional<wire::Usage>& tokens) { usage->add(model, tokens); });
  const Context context{std::make_shared<const TraceContext>(TraceContext{
      .trace_id = lease_.trace_id,
      .span_id = lease_.span_id,
      .belongs = belonging(correlation.get<wire::CorrelationInput>()),
      .on_model_span = on_model_span,
  })};
  Step step{state};
  const auto scope = host_->instrumentation->activate(context);
  // The message of an error travels; where it was thrown never does.
  try {
    return {.output = body_(step, lease_.input.value_or(wire::Json()))};
  } catch (const Retryable& error) {
    return {.failure = Failure{.error_class = "retryable", .message = message_of(error), .retry_after = error.retry_after()}};
  } catch (const StepFailure& error) {
    const auto& details = error.details();
    return {.failure = Failure{.error_class = details.error_class.empty() ? "fatal" : details.error_class,
                               .code = details.code,
                               .message = message_of(error),
                               .retry_after = details.retry_after}};
  } catch (const BadOutput& error) {
    const auto message = "the output of step " + lease_.step_id + " is not JSON: " + error.what();
    return {.failure =
                Failure{.error_class = "fatal", .code = "invalid_output", .message = shortened(message, message_limit_bytes)}};
  } catch (const std::exception& error) {
    return {.failure = Failure{.error_class = "fatal", .message = message_of(error)}, .may_be_given_back = true};
  } catch (const std::string& text) {
    return {.failure = Failure{.error_class = "fatal", .message = shortened(text, message_limit_bytes)},
            .may_be_given_back = true};
  } catch (const char* text) {
    return {.failure = Failure{.error_class = "fatal", .message = shortened(text, message_limit_bytes)},
            .may_be_given_back = true};
  } catch (...) {
    return {.failure = Failure{.error_class = "fatal", .message = "an exception of an unknown type"},
            .may_be_given_back = true};
  }
}

// --- Its heartbeats and its end

void ServedLease::beat(const std::optional<std::string>& details, const Heart::Found& found) {
  auto body = host_->worker_body;
  if (details.has_value()) {
    body.pop_back();
    append_member(body, "details", *details);
    body += '}';
  }
  StepCall call{.verb = StepVerb::heartbeat,
                .lease_id = lease_.lease_id,
                .body = std::move(body),
                // Given up in time for another one, over another connection, before the lease is over.
                .timeout = std::min(default_timeout, std::max(host_->heartbeat, host_->lease_ttl / 3))};
  host_->calls.submit(std::move(call), [self = shared_from_this(), found](const StepAnswer& answer) {
    const auto read = self->read(&answer.body, answer.error);
    if (read.kind == Answer::Kind::unanswered) return found(Pulse::sooner);
    if (read.kind != Answer::Kind::refused || read.reason == wire::ErrorCode::not_started) return found(Pulse::again);
    // Fenced: another lease ended this one. Run over: a cancel, above all. The work is of no more use.
    if (read.reason == wire::ErrorCode::fenced) self->interrupt(InterruptReason::fenced);
    if (read.reason == wire::ErrorCode::run_terminal) self->interrupt(InterruptReason::run_terminal);
    found(Pulse::over);
  });
}

void ServedLease::interrupt(InterruptReason reason) {
  int none = -1;
  if (!reason_.compare_exchange_strong(none, static_cast<int>(reason))) return;
  // Callbacks of the body run where the stop is requested: neither on the thread of the heartbeats nor on that of timers.
  const auto request = [self = shared_from_this()] { self->interruption_.request_stop(); };
  try {
    host_->pool.submit(request);
  } catch (const std::system_error&) {
    request();
  }
}

void ServedLease::force() {
  interrupt(InterruptReason::stopping);
  if (declaration_ != nullptr) declaration_->repeats.request_stop();
  // A body that does not listen is left behind.
  host_->timers.at(Clock::now() + host_->settle, [weak = weak_from_this(), heart = heart_] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (self->is_settled_.exchange(true)) return;
    heart->stop();
    self->on_left_behind_();
  });
}

}  // namespace svc::inline v0::detail
