#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "http.hpp"
#include "spec_check.hpp"
#include "svc/client.hpp"

namespace svc::inline v0::detail {

/// A service that was there once may be away so long, for a restart or an upgrade, before a follower gives up.
inline constexpr Millis patience{300'000};

/// Whether a run has ended: nothing about it changes any more.
[[nodiscard]] bool is_over(std::string_view status);
[[nodiscard]] std::string run_path(std::string_view run_id, std::string_view more = {});

/// How calls of a client are made.
class ClientCore {
 public:
  explicit ClientCore(ClientOptions options);

  /// With retries. Throws as the calls of a client do.
  wire::Json call(Request request, const std::stop_token& stop);
  wire::Json call(Request request, const std::stop_token& stop, const RetryPolicy& policy);
  /// One try.
  wire::Json call_once(Request request, const std::stop_token& stop);
  [[nodiscard]] ByteStream stream(const Request& request, const std::stop_token& stop);

  void ensure_spec(const std::stop_token& stop) { spec_.ensure(stop); }
  [[nodiscard]] std::optional<std::string> project_or(const std::optional<std::string>& named) const {
    return named.has_value() ? named : project_;
  }
  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }
  /// The policy for a service that has answered before: a restart must not hide how a run ended.
  [[nodiscard]] RetryPolicy following() const;
  /// When the service last answered; none where it never did.
  [[nodiscard]] std::optional<Clock::time_point> answered_at() const;
  void note_answer() noexcept { answered_at_.store(Clock::now().time_since_epoch().count()); }
  [[nodiscard]] std::stop_token closing() const { return http_.closing(); }
  void close() noexcept { http_.close(); }

 private:
  ClientOptions options_;
  std::optional<std::string> project_;
  Http http_;
  SpecCheck spec_;
  std::atomic<Clock::rep> answered_at_{0};
};

}  // namespace svc::inline v0::detail
