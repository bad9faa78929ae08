/// What this library throws, and what bodies of steps throw to say how they failed.
///
/// Settings and arguments that cannot be used are `std::invalid_argument`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace svc::inline v0 {

namespace wire {
struct RunDetail;
}

/// What this library throws of its own.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The service answered, and refused. Branch on `code`.
class ServiceError : public Error {
 public:
  /// Beside the message. See the members of the same names.
  struct Details {
    int status = 0;
    std::string code{};
    std::optional<std::string> field{};
    std::optional<std::string> request_id{};
    std::optional<std::chrono::milliseconds> retry_after{};
  };

  ServiceError(const std::string& message, Details details) : Error(message), details_(std::move(details)) {}

  /// Of HTTP: 400 to 599.
  [[nodiscard]] int status() const noexcept { return details_.status; }
  /// Stable and machine-readable: `not_found`, `input_invalid`, `run_terminal`; `http_<status>` where the answer has none.
  [[nodiscard]] const std::string& code() const noexcept { return details_.code; }
  /// The one parameter at fault, where there is one.
  [[nodiscard]] const std::optional<std::string>& field() const noexcept { return details_.field; }
  /// Of the answer, for the operator of the service.
  [[nodiscard]] const std::optional<std::string>& request_id() const noexcept { return details_.request_id; }
  /// What the service asks to wait before another try.
  [[nodiscard]] std::optional<std::chrono::milliseconds> retry_after() const noexcept { return details_.retry_after; }
  /// Whether a later try may help: 429, and the 5xx that say "later". Never another 4xx.
  [[nodiscard]] bool retryable() const noexcept;

 private:
  Details details_;
};

/// No answer: not reached, broken off, too late, or unreadable. What became of the call is unknown.
class ConnectionError : public Error {
 public:
  using Error::Error;
};

/// The `std::stop_token` of the call was asked to stop. What became of the call is unknown.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// The time that the caller gave is over. The run goes on.
class TimedOut : public Error {
 public:
  using Error::Error;
};

/// The service implements another major version of the data model than this library.
class IncompatibleServer : public Error {
 public:
  IncompatibleServer(std::string served, std::string understood);

  [[nodiscard]] const std::string& served() const noexcept { return served_; }
  [[nodiscard]] const std::string& understood() const noexcept { return understood_; }

 private:
  std::string served_;
  std::string understood_;
};

/// A run that was waited for did not succeed.
class RunFailed : public Error {
 public:
  explicit RunFailed(wire::RunDetail run);

  /// The run as it ended.
  [[nodiscard]] const wire::RunDetail& run() const noexcept { return *run_; }

 private:
  std::shared_ptr<const wire::RunDetail> run_;
};

/// Thrown by a body: try the step again, within the retry budget of its step.
class Retryable : public Error {
 public:
  /// `retry_after`: at least so long until the next try; a negative one is ignored.
  explicit Retryable(const std::string& message, std::optional<std::chrono::milliseconds> retry_after = {})
      : Error(message), retry_after_(retry_after) {}

  [[nodiscard]] std::optional<std::chrono::milliseconds> retry_after() const noexcept { return retry_after_; }

 private:
  std::optional<std::chrono::milliseconds> retry_after_;
};

/// Thrown by a body: fail with a class of its choice.
///
/// `rate_limited` is tried again and spends no budget, `fatal` is not tried again; any other is one of your own, for
/// `on_error` to match. A class that the service keeps for itself is refused by it, and the step fails as `fatal`.
class StepFailure : public Error {
 public:
  struct Details {
    std::string error_class = "fatal";
    std::optional<std::string> code{};
    /// At least so long until the next try; a negative one is ignored.
    std::optional<std::chrono::milliseconds> retry_after{};
  };

  explicit StepFailure(const std::string& message) : StepFailure(message, Details()) {}
  StepFailure(const std::string& message, Details details) : Error(message), details_(std::move(details)) {}

  [[nodiscard]] const Details& details() const noexcept { return details_; }

 private:
  Details details_;
};

/// Why the work of a body is of no more use.
enum class InterruptReason {
  /// Another worker has the step, or another lease ended this one.
  fenced,
  /// The run ended, by a cancel above all.
  run_terminal,
  /// This worker stops, and the time that it gives its bodies is over.
  stopping,
};

/// `fenced`, `run_terminal` or `stopping`.
[[nodiscard]] std::string_view to_string(InterruptReason reason) noexcept;

/// Thrown by `Step::throw_if_cancelled` and `Step::sleep_for`; let it leave the body.
class StepInterrupted : public Error {
 public:
  explicit StepInterrupted(InterruptReason reason);

  [[nodiscard]] InterruptReason reason() const noexcept { return reason_; }

 private:
  InterruptReason reason_;
};

}  // namespace svc::inline v0
