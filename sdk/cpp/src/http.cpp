#include "http.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include "svc/version.hpp"
#include "text.hpp"

namespace svc::inline v0::detail {

namespace {

constexpr Millis connect_timeout{10'000};
/// An answer larger than this is refused: no read of the service is.
constexpr std::size_t answer_limit_bytes = std::size_t{256} * 1024 * 1024;
constexpr std::size_t idle_handles = 16;
constexpr std::size_t problem_limit_bytes = 500;
/// How long a handle waits for its sockets before it looks around; wake-ups come sooner.
constexpr Millis longest_poll{1000};

void init_curl() {
  static std::once_flag once;
  // Never cleaned up: a thread of a user may still hold a handle while statics are destroyed.
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

/// With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE alone, and TLS libraries write without MSG_NOSIGNAL. One that comes up
/// while this lives is swallowed, in this thread only.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe(WithoutSigpipe&&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(WithoutSigpipe&&) = delete;
  ~WithoutSigpipe() {
    if (!was_pending_) {
      const timespec now{};
      sigtimedwait(&pipe_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

bool is_named(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) { return a == (b | 0x20); });
}

std::optional<std::string> text_in(const nlohmann::json& problem, const char* name) {
  if (!problem.is_object()) return std::nullopt;
  const auto found = problem.find(name);
  if (found == problem.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

ServiceError refusal_of(int status, const nlohmann::json& problem, std::string_view text, ServiceError::Details details) {
  details.status = status;
  details.code = text_in(problem, "code").value_or("http_" + std::to_string(status));
  details.field = text_in(problem, "field");
  auto message = text_in(problem, "message").value_or(shortened(text, problem_limit_bytes));
  if (message.empty()) message = "HTTP " + std::to_string(status);
  return {message, std::move(details)};
}

}  // namespace

std::optional<Millis> retry_after(std::string_view header, std::chrono::system_clock::time_point now) {
  const auto text = trimmed(header);
  if (text.empty()) return std::nullopt;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc{} && end == text.data() + text.size()) {
    constexpr std::int64_t longest = std::int64_t{10} * 365 * 24 * 3600;
    if (seconds < 0) return std::nullopt;
    return std::chrono::seconds{std::min(seconds, longest)};
  }
  const auto at = curl_getdate(std::string(text).c_str(), nullptr);
  if (at < 0) return std::nullopt;
  const auto left = std::chrono::duration_cast<Millis>(std::chrono::system_clock::from_time_t(at) - now);
  return std::max(left, Millis{0});
}

ServiceError refusal(const Answer& answer) {
  nlohmann::json problem;
  try {
    problem = decode(answer.body);
  } catch (const nlohmann::json::exception&) {
    // Text or HTML, of a proxy for example: its words are the message.
    problem = nullptr;
  }
  return refusal_of(answer.status, problem, trimmed(answer.body),
                    {.request_id = answer.request_id, .retry_after = answer.retry_after});
}

ServiceError refusal(int status, const wire::Json& problem) { return refusal_of(status, problem.value(), {}, {}); }

/// A connection cache with room for one transfer.
struct Handle {
  Handle() : easy{(init_curl(), curl_easy_init())}, multi{curl_multi_init()} {
    if (easy == nullptr || multi == nullptr) {
      free();
      throw ConnectionError("libcurl cannot be initialised");
    }
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 2L);
  }
  Handle(const Handle&) = delete;
  Handle(Handle&&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() { free(); }

  CURL* easy;
  CURLM* multi;

 private:
  void free() const noexcept {
    if (easy != nullptr) curl_easy_cleanup(easy);
    if (multi != nullptr) curl_multi_cleanup(multi);
  }
};

struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

/// One request and its answer, moved on by the thread that waits for it.
class Exchange {
 public:
  Exchange(Http& http, const Request& request, std::stop_token stop)
      : http_(http),
        what_(request.method + " " + request.path),
        timeout_(request.timeout.value_or(default_timeout)),
        stop_(std::move(stop)),
        deadline_(Clock::now() + timeout_),
        body_(request.body),
        handle_(http.take()),
        wake_by_caller_(stop_, Wake{handle_->multi}),
        wake_by_close_(http.closing(), Wake{handle_->multi}) {
    set_options(request);
    if (curl_multi_add_handle(handle_->multi, handle_->easy) != CURLM_OK) throw ConnectionError(what_ + " cannot be made");
  }
  Exchange(const Exchange&) = delete;
  Exchange(Exchange&&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Exchange& operator=(Exchange&&) = delete;
  ~Exchange() {
    {
      const WithoutSigpipe quiet;
      // One that is still under way is hung up on.
      curl_multi_remove_handle(handle_->multi, handle_->easy);
      curl_easy_reset(handle_->easy);
    }
    wake_by_caller_.reset();
    wake_by_close_.reset();
    http_.give_back(std::move(handle_));
  }

  /// Moves on until the answer is complete.
  void finish() {
    while (!is_over_) advance(deadline_);
  }

  /// Moves on until the head of the answer is known.
  void begin() {
    while (!is_over_ && !has_head_) advance(deadline_);
  }

  std::string read(Millis idle) {
    const auto deadline = Clock::now() + idle;
    while (answer_.body.empty() && !is_over_) {
      if (!advance(deadline, false)) throw ConnectionError("the stream was silent for " + std::to_string(idle.count()) + " ms");
    }
    return std::exchange(answer_.body, {});
  }

  [[nodiscard]] Answer& answer() noexcept { return answer_; }

 private:
  struct Wake {
    CURLM* multi;
    void operator()() const noexcept { curl_multi_wakeup(multi); }
  };

  /// The callbacks end before the handle goes to others.
  class Waking {
   public:
    Waking(const std::stop_token& token, Wake wake) : callback_(std::in_place, token, wake) {}
    void reset() noexcept { callback_.reset(); }

   private:
    std::optional<std::stop_callback<Wake>> callback_;
  };

  /// Does what can be done now, else waits for more. False, or an error, when the time is over.
  bool advance(Clock::time_point deadline, bool throws = true) {
    const WithoutSigpipe quiet;
    int running = 0;
    if (curl_multi_perform(handle_->multi, &running) != CURLM_OK) throw ConnectionError(what_ + " broke off");
    if (running == 0) {
      read_result();
      return true;
    }
    if (stop_.stop_requested()) throw Cancelled(what_ + " was stopped by its caller");
    if (http_.closing().stop_requested()) throw ConnectionError(what_ + " was broken off: the connections are closed");
    const auto left = std::chrono::ceil<Millis>(deadline - Clock::now());
    if (left <= Millis{0}) {
      if (!throws) return false;
      throw ConnectionError(what_ + " got no answer within " + std::to_string(timeout_.count()) + " ms");
    }
    if (has_head_ && !answer_.body.empty() && !throws) return true;
    curl_multi_poll(handle_->multi, nullptr, 0, static_cast<int>(std::min(left, longest_poll).count()), nullptr);
    return true;
  }

  void read_result() {
    int queued = 0;
    CURLcode result = CURLE_OK;
    while (const CURLMsg* message = curl_multi_info_read(handle_->multi, &queued)) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-union-access): it is what libcurl answers
      if (message->msg == CURLMSG_DONE) result = message->data.result;
    }
    if (is_too_large_)
      throw ConnectionError(what_ + ": the answer is larger than " + std::to_string(answer_limit_bytes) + " bytes");
    if (result != CURLE_OK) throw ConnectionError(what_ + " got no answer: " + curl_easy_strerror(result));
    has_head_ = true;
    is_over_ = true;
  }

  void set_options(const Request& request) {
    CURL* const easy = handle_->easy;
    std::string url = http_.endpoint_ + request.path;
    char separator = '?';
    for (const auto& [name, value] : request.query) {
      if (!value.has_value()) continue;
      url.append(1, separator).append(percent_encoded(name)).append("=").append(percent_encoded(*value));
      separator = '&';
    }
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_timeout.count()));
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
    // A proxy of the environment never stands between a machine and itself.
    if (http_.is_loopback_) curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (request.is_sent_once) {
      curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
      curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    add_header("accept: " + std::string(request.accept));
    // Without it, libcurl waits a second for a "100 Continue" before large bodies.
    add_header("expect:");
    for (const auto& header : http_.headers_) add_header(header);
    for (const auto& header : request.headers) add_header(header);
    if (body_.has_value()) add_header("content-type: application/json");
    if (body_.has_value() || request.method == "POST" || request.method == "PUT") {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.has_value() ? body_->size() : 0));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body_.has_value() ? body_->data() : "");
      if (!body_.has_value()) add_header("content-type:");
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Exchange::on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Exchange::on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  }

  void add_header(const std::string& line) {
    curl_slist* const longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept {
    const auto bytes = size * count;
    try {
      static_cast<Exchange*>(self)->take_header({data, bytes});
    } catch (...) {
      return 0;
    }
    return bytes;
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept {
    auto& exchange = *static_cast<Exchange*>(self);
    const auto bytes = size * count;
    if (exchange.answer_.body.size() + bytes > answer_limit_bytes) {
      exchange.is_too_large_ = true;
      return 0;
    }
    try {
      exchange.answer_.body.append(data, bytes);
    } catch (...) {
      return 0;
    }
    return bytes;
  }

  void take_header(std::string_view line) {
    if (line.substr(0, 5) == "HTTP/") {
      // An interim answer may come before.
      answer_ = {};
      const auto space = std::min(line.find(' '), line.size() - 1);
      std::from_chars(line.data() + space + 1, line.data() + line.size(), answer_.status);
    } else if (is_named(line, "x-request-id")) {
      answer_.request_id = std::string(trimmed(line.substr(line.find(':') + 1)));
    } else if (is_named(line, "retry-after")) {
      answer_.retry_after = retry_after(line.substr(line.find(':') + 1), std::chrono::system_clock::now());
    } else if (trimmed(line).empty()) {
      has_head_ = answer_.status >= 200;
    }
  }

  Http& http_;
  std::string what_;
  Millis timeout_;
  std::stop_token stop_;
  Clock::time_point deadline_;
  std::optional<std::string> body_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  Answer answer_;
  bool has_head_ = false;
  bool is_over_ = false;
  bool is_too_large_ = false;
  std::unique_ptr<Handle> handle_;
  Waking wake_by_caller_;
  Waking wake_by_close_;
};

ByteStream::ByteStream(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
ByteStream::ByteStream(ByteStream&& other) noexcept = default;
ByteStream::~ByteStream() = default;
std::string ByteStream::read(Millis idle) { return exchange_->read(idle); }

Http::Http(const ResolvedSettings& settings) : endpoint_(settings.endpoint) {
  headers_.push_back("user-agent: svc-cpp/" + std::string(library_version));
  if (settings.api_key.has_value()) headers_.push_back("authorization: Bearer " + *settings.api_key);
  const auto host = std::string_view(endpoint_).substr(endpoint_.find("://") + 3);
  is_loopback_ = host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

Http::~Http() { close(); }

std::unique_ptr<Handle> Http::take() {
  {
    const std::lock_guard lock{mutex_};
    if (closing_.stop_requested()) throw ConnectionError("the connections are closed");
    if (!idle_.empty()) {
      auto handle = std::move(idle_.back());
      idle_.pop_back();
      return handle;
    }
  }
  return std::make_unique<Handle>();
}

void Http::give_back(std::unique_ptr<Handle> handle) noexcept {
  try {
    const std::lock_guard lock{mutex_};
    if (!closing_.stop_requested() && idle_.size() < idle_handles) idle_.push_back(std::move(handle));
  } catch (...) {
    // It is closed instead.
    handle.reset();
  }
}

Answer Http::exchange(const Request& request, const std::stop_token& stop) {
  if (stop.stop_requested()) throw Cancelled(request.method + " " + request.path + " was stopped by its caller");
  Exchange exchange{*this, request, stop};
  exchange.finish();
  return std::move(exchange.answer());
}

wire::Json Http::call(const Request& request, const std::stop_token& stop) {
  const auto answer = exchange(request, stop);
  if (answer.status < 200 || answer.status > 299) throw refusal(answer);
  if (answer.body.empty()) return {};
  try {
    return {decode(answer.body)};
  } catch (const nlohmann::json::exception&) {
    throw ConnectionError(request.method + " " + request.path + ": the answer is not JSON");
  }
}

ByteStream Http::stream(const Request& request, const std::stop_token& stop) {
  if (stop.stop_requested()) throw Cancelled(request.method + " " + request.path + " was stopped by its caller");
  auto exchange = std::make_unique<Exchange>(*this, request, stop);
  exchange->begin();
  const auto status = exchange->answer().status;
  if (status >= 200 && status <= 299) return ByteStream(std::move(exchange));
  exchange->finish();
  throw refusal(exchange->answer());
}

void Http::close() noexcept {
  closing_.request_stop();
  std::vector<std::unique_ptr<Handle>> idle;
  const std::lock_guard lock{mutex_};
  idle.swap(idle_);
}

}  // namespace svc::inline v0::detail
