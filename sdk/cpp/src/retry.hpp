#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "svc/errors.hpp"
#include "svc/settings.hpp"

namespace svc::inline v0::detail {

using Clock = std::chrono::steady_clock;
using Millis = std::chrono::milliseconds;

/// For what must arrive: it ends by an answer, or by its token.
inline const RetryPolicy until_answered{.attempts = 0, .base = Millis{200}, .max = Millis{5000}};

/// Full jitter: between nothing and the exponential step, so that many callers do not come back at once.
/// @param attempt from 1
/// @param fraction random, from 0 to 1
[[nodiscard]] Millis backoff(const RetryPolicy& policy, int attempt, double fraction);
[[nodiscard]] Millis backoff(const RetryPolicy& policy, int attempt);

/// Waits for so long, or until the token is asked to stop. Returns whether it was.
bool wait_for(const std::stop_token& stop, Millis time);

/// Whether a later try may change it: no answer, 429, and the 5xx that say "later". Never another 4xx.
[[nodiscard]] bool is_retryable(const Error& error) noexcept;
/// What the service asked to wait; nothing where it asked for none.
[[nodiscard]] Millis asked_wait(const Error& error) noexcept;

/// One wait between two tries.
class Retries {
 public:
  explicit Retries(const RetryPolicy& policy) : policy_(policy) {}

  /// Waits before the next try. False where there is none: the policy is spent, the error is final, or the token was asked
  /// to stop meanwhile.
  bool wait(const Error& error, const std::stop_token& stop);

 private:
  RetryPolicy policy_;
  Clock::time_point started_ = Clock::now();
  int attempt_ = 0;
};

/// Calls until it succeeds, until it fails for good, or until the policy or the token ends it. Throws the last error.
template <typename Call>
auto with_retries(const RetryPolicy& policy, const std::stop_token& stop, Call&& call) {
  Retries retries{policy};
  while (true) {
    try {
      return call();
    } catch (const ServiceError& error) {
      if (!retries.wait(error, stop)) throw;
    } catch (const ConnectionError& error) {
      if (!retries.wait(error, stop)) throw;
    }
  }
}

}  // namespace svc::inline v0::detail
