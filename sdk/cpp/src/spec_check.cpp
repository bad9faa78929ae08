#include "spec_check.hpp"

#include <exception>
#include <nlohmann/json.hpp>

namespace svc::inline v0::detail {

namespace {

constexpr Millis health_timeout{5000};

std::string_view major_of(std::string_view version) { return version.substr(0, version.find('.')); }

}  // namespace

void SpecCheck::ensure(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  if (!is_known_ && is_asking_) {
    // Not beyond the call that is under way: where it has no answer, nobody asks in turn.
    if (!answered_.wait(lock, stop, [this] { return !is_asking_; })) throw Cancelled("GET /healthz was stopped by its caller");
  } else if (!is_known_) {
    is_asking_ = true;
    lock.unlock();
    std::optional<std::string> served;
    std::exception_ptr cancelled;
    try {
      served = ask(stop);
    } catch (...) {
      cancelled = std::current_exception();
    }
    lock.lock();
    is_asking_ = false;
    answered_.notify_all();
    if (cancelled != nullptr) std::rethrow_exception(cancelled);
    if (served.has_value()) note(*served);
  }
  if (fault_.has_value()) throw IncompatibleServer(*fault_);
}

std::optional<std::string> SpecCheck::ask(const std::stop_token& stop) {
  wire::Json answer;
  try {
    answer = http_.call({.method = "GET", .path = "/healthz", .timeout = health_timeout}, stop);
  } catch (const Cancelled&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto& health = answer.value();
  const auto found = health.is_object() ? health.find("spec_version") : health.end();
  const bool is_said = health.is_object() && found != health.end() && found->is_string();
  return is_said ? found->get<std::string>() : std::string(wire::spec_version);
}

/// With the lock.
void SpecCheck::note(const std::string& served) {
  is_known_ = true;
  if (major_of(served) != major_of(wire::spec_version)) fault_.emplace(served, std::string(wire::spec_version));
}

}  // namespace svc::inline v0::detail
