#include "client_core.hpp"

#include "svc/wire.hpp"
#include "text.hpp"

namespace svc::inline v0::detail {

bool is_over(std::string_view status) {
  return status == wire::RunStatus::succeeded || status == wire::RunStatus::failed || status == wire::RunStatus::cancelled;
}

std::string run_path(std::string_view run_id, std::string_view more) {
  return "/v1/api/runs/" + percent_encoded(run_id) + std::string(more);
}

ClientCore::ClientCore(ClientOptions options)
    : options_(std::move(options)),
      http_([this] {
        auto settings =
            usable_settings({.endpoint = options_.endpoint, .api_key = options_.api_key, .project = options_.project});
        project_ = settings.project;
        return settings;
      }()),
      spec_(http_) {
  // The connections have it; nothing else needs it.
  options_.api_key.reset();
}

wire::Json ClientCore::call_once(Request request, const std::stop_token& stop) {
  if (!request.timeout.has_value()) request.timeout = options_.timeout;
  auto answer = http_.call(request, stop);
  note_answer();
  return answer;
}

wire::Json ClientCore::call(Request request, const std::stop_token& stop, const RetryPolicy& policy) {
  try {
    return with_retries(policy, stop, [&] { return call_once(request, stop); });
  } catch (const Error&) {
    // A wait between two tries ends with the error before it.
    if (stop.stop_requested()) throw Cancelled(request.method + " " + request.path + " was stopped by its caller");
    throw;
  }
}

wire::Json ClientCore::call(Request request, const std::stop_token& stop) {
  return call(std::move(request), stop, options_.retry);
}

ByteStream ClientCore::stream(const Request& request, const std::stop_token& stop) { return http_.stream(request, stop); }

RetryPolicy ClientCore::following() const {
  if (!answered_at().has_value()) return options_.retry;
  return {.attempts = 0, .base = options_.retry.base, .max = options_.retry.max, .within = patience};
}

std::optional<Clock::time_point> ClientCore::answered_at() const {
  const auto ticks = answered_at_.load();
  if (ticks == 0) return std::nullopt;
  return Clock::time_point{Clock::duration{ticks}};
}

}  // namespace svc::inline v0::detail
