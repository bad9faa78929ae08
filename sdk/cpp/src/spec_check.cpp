#include "spec_check.hpp"

#include <nlohmann/json.hpp>

namespace svc::inline v0::detail {

namespace {

constexpr Millis health_timeout{5000};

std::string_view major_of(std::string_view version) { return version.substr(0, version.find('.')); }

}  // namespace

void SpecCheck::ensure(const std::stop_token& stop) {
  const std::lock_guard lock{mutex_};
  if (!is_known_) {
    wire::Json answer;
    try {
      answer = http_.call({.method = "GET", .path = "/healthz", .timeout = health_timeout}, stop);
    } catch (const Cancelled&) {
      throw;
    } catch (const Error&) {
      return;
    }
    const auto& health = answer.value();
    const auto found = health.is_object() ? health.find("spec_version") : health.end();
    if (health.is_object() && found != health.end() && found->is_string()) {
      const auto& served = found->get_ref<const std::string&>();
      if (major_of(served) != major_of(wire::spec_version)) fault_.emplace(served, std::string(wire::spec_version));
    }
    is_known_ = true;
  }
  if (fault_.has_value()) throw IncompatibleServer(*fault_);
}

}  // namespace svc::inline v0::detail
