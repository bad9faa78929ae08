#include "retry.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <random>

namespace svc::inline v0::detail {

Millis backoff(const RetryPolicy& policy, int attempt, double fraction) {
  const auto step = static_cast<double>(policy.base.count()) * std::pow(2.0, std::clamp(attempt - 1, 0, 30));
  return Millis{static_cast<Millis::rep>(fraction * std::min(step, static_cast<double>(policy.max.count())))};
}

Millis backoff(const RetryPolicy& policy, int attempt) {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return backoff(policy, attempt, std::uniform_real_distribution<double>{0, 1}(engine));
}

bool wait_for(const std::stop_token& stop, Millis time) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock{mutex};
  changed.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
  return stop.stop_requested();
}

bool is_retryable(const Error& error) noexcept {
  if (const auto* refusal = dynamic_cast<const ServiceError*>(&error)) return refusal->retryable();
  return dynamic_cast<const ConnectionError*>(&error) != nullptr;
}

Millis asked_wait(const Error& error) noexcept {
  const auto* refusal = dynamic_cast<const ServiceError*>(&error);
  return refusal == nullptr ? Millis{0} : refusal->retry_after().value_or(Millis{0});
}

bool Retries::wait(const Error& error, const std::stop_token& stop) {
  ++attempt_;
  if ((policy_.attempts > 0 && attempt_ >= policy_.attempts) || !is_retryable(error) || stop.stop_requested()) return false;
  const auto time = std::max(asked_wait(error), backoff(policy_, attempt_));
  if (policy_.within.has_value() && Clock::now() - started_ + time > *policy_.within) return false;
  return !wait_for(stop, time);
}

}  // namespace svc::inline v0::detail
