#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resolved_settings.hpp"
#include "retry.hpp"
#include "svc/errors.hpp"
#include "svc/wire.hpp"

namespace svc::inline v0::detail {

inline constexpr Millis default_timeout{30'000};

using Query = std::vector<std::pair<std::string, std::optional<std::string>>>;

struct Request {
  std::string method;
  /// From the root of the service: `/v1/api/runs`. Percent-encoded.
  std::string path;
  /// What has no value is left out.
  Query query{};
  /// JSON text.
  std::optional<std::string> body{};
  /// For the complete answer; of a stream, for its beginning. `default_timeout` where nobody says.
  std::optional<Millis> timeout{};
  std::string_view accept = "application/json";
  std::vector<std::string> headers{};
  /// Takes a connection of its own: a kept one that turns out to be dead makes libcurl send a request again by itself.
  bool is_sent_once = false;
};

struct Answer {
  int status = 0;
  std::string body;
  std::optional<std::string> request_id;
  std::optional<Millis> retry_after;
};

/// What a `Retry-After` header asks for; none where it says nothing. See RFC 9110, 10.2.3.
[[nodiscard]] std::optional<Millis> retry_after(std::string_view header, std::chrono::system_clock::time_point now);
/// A refusal, from an answer that is not 2xx.
[[nodiscard]] ServiceError refusal(const Answer& answer);
/// A refusal, from a status and the JSON of its problem.
[[nodiscard]] ServiceError refusal(int status, const wire::Json& problem);

class Exchange;
struct Handle;

/// The body of an answer that goes on for as long as it likes.
class ByteStream {
 public:
  explicit ByteStream(std::unique_ptr<Exchange> exchange);
  ByteStream(const ByteStream&) = delete;
  ByteStream(ByteStream&& other) noexcept;
  ByteStream& operator=(const ByteStream&) = delete;
  ByteStream& operator=(ByteStream&&) = delete;
  /// Hangs up.
  ~ByteStream();

  /// The next bytes; none at the end. Throws ConnectionError when it breaks or is silent for so long, Cancelled.
  [[nodiscard]] std::string read(Millis idle);

 private:
  std::unique_ptr<Exchange> exchange_;
};

/// Connections to one service, kept alive between calls. Safe for threads; each call takes a handle of its own.
class Http {
 public:
  explicit Http(const ResolvedSettings& settings);
  Http(const Http&) = delete;
  Http(Http&&) = delete;
  Http& operator=(const Http&) = delete;
  Http& operator=(Http&&) = delete;
  ~Http();

  /// One call, one try. Throws ConnectionError without an answer that is complete, Cancelled by its token.
  [[nodiscard]] Answer exchange(const Request& request, const std::stop_token& stop);
  /// The parsed body of a 2xx answer; null for an empty one. Throws ServiceError too.
  [[nodiscard]] wire::Json call(const Request& request, const std::stop_token& stop);
  /// The bytes of a 2xx answer, once it is known to be one.
  [[nodiscard]] ByteStream stream(const Request& request, const std::stop_token& stop);

  /// Breaks off what is on its way. What is asked for later is a ConnectionError.
  void close() noexcept;
  [[nodiscard]] std::stop_token closing() const { return closing_.get_token(); }

 private:
  friend class Exchange;
  [[nodiscard]] std::unique_ptr<Handle> take();
  void give_back(std::unique_ptr<Handle> handle) noexcept;

  std::string endpoint_;
  std::vector<std::string> headers_;
  bool is_loopback_ = false;
  std::stop_source closing_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_;
};

}  // namespace svc::inline v0::detail
