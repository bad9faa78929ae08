#include "export_queue.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "http.hpp"
#include "spec_check.hpp"
#include "trace_context.hpp"

namespace svc::inline v0::detail {

/// A signal that waits.
struct ExportItem {
  Signal signal;
  std::string text;
};

namespace {

constexpr std::size_t batch_bytes = std::size_t{4} * 1024 * 1024;
constexpr std::array<std::string_view, 6> names{"spans", "logs", "metrics", "scores", "feedback", "aspect_notes"};

std::string body_of(const std::vector<ExportItem>& batch) {
  std::size_t size = 256;
  for (const auto& item : batch) size += item.text.size() + 1;
  std::string body;
  body.reserve(size);
  // The key makes a resend after a lost answer count as a duplicate, so that nothing is stored twice.
  body.append(R"({"ingest_key":")").append(new_uuid()).append("\"");
  for (std::size_t each = 0; each < names.size(); ++each) {
    bool is_first = true;
    for (const auto& [signal, text] : batch) {
      if (static_cast<std::size_t>(signal) != each) continue;
      if (is_first)
        body.append(",\"").append(names.at(each)).append("\":[");
      else
        body += ',';
      body += text;
      is_first = false;
    }
    if (!is_first) body += ']';
  }
  return body += '}';
}

/// How many of a batch the service rejected, as its answer says.
std::size_t rejected_in(const wire::Json& answer, std::size_t count) {
  const auto& body = answer.value();
  if (!body.is_object()) return 0;
  const auto found = body.find("rejected");
  if (found == body.end() || !found->is_number_integer()) return 0;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, static_cast<std::int64_t>(count)));
}

}  // namespace

class ExportQueue::Line {
 public:
  explicit Line(const ExportOptions& options) : options_(options), http_(options.settings), spec_(http_) {}

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  void add(Signal signal, std::string text) {
    const auto size = text.size();
    const std::lock_guard lock{mutex_};
    if (size == 0 || size > std::min(batch_bytes, options_.max_queued_bytes) || is_closed_) {
      ++counters_.dropped;
      return;
    }
    items_.push_back({signal, std::move(text)});
    bytes_ += size;
    ++added_;
    while (items_.size() > options_.max_queued || bytes_ > options_.max_queued_bytes) {
      bytes_ -= items_.front().text.size();
      items_.pop_front();
      ++counters_.dropped;
    }
    if (!thread_.joinable())
      start();
    else if (items_.size() == 1 || items_.size() == options_.batch_size)
      wake_.notify_one();
  }

  void add_invalid() {
    const std::lock_guard lock{mutex_};
    ++counters_.invalid;
  }

  [[nodiscard]] ExportCounters counters() const {
    const std::lock_guard lock{mutex_};
    return counters_;
  }

  bool flush(Millis timeout) {
    std::unique_lock lock{mutex_};
    if (!thread_.joinable() && !items_.empty() && !is_closed_) start();
    const auto goal = added_;
    ++hurried_;
    wake_.notify_one();
    const bool is_done = settled_.wait_for(lock, timeout, [&] { return is_settled(goal); });
    --hurried_;
    return is_done;
  }

  void close(Millis timeout) {
    std::unique_lock lock{mutex_};
    is_closed_ = true;
    wake_.notify_one();
    if (thread_.joinable()) {
      ended_.wait_for(lock, timeout, [&] { return is_ended_; });
      // What is on its way is broken off now, and counted.
      given_up_.request_stop();
      auto thread = std::move(thread_);
      lock.unlock();
      thread.join();
      lock.lock();
    }
    counters_.failed += items_.size();
    items_.clear();
    bytes_ = 0;
    settled_.notify_all();
    lock.unlock();
    http_.close();
  }

 private:
  /// Whether all signals before this number were sent, refused, given up or pushed out.
  [[nodiscard]] bool is_settled(std::uint64_t number) const {
    return added_ - items_.size() >= number && (!under_way_.has_value() || *under_way_ >= number);
  }

  void start() {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // No thread can be started now; the next signal tries again.
      return;
    }
  }

  void run() noexcept {
    std::unique_lock lock{mutex_};
    while (true) {
      wake_.wait(lock, [&] { return !items_.empty() || is_closed_; });
      if (items_.empty() || given_up_.stop_requested()) break;
      wake_.wait_for(lock, options_.delay, [&] { return is_closed_ || hurried_ > 0 || items_.size() >= options_.batch_size; });
      if (items_.empty()) continue;
      const auto batch = take();
      lock.unlock();
      const auto found = send(batch);
      lock.lock();
      counters_.sent += found.sent;
      counters_.refused += found.refused;
      counters_.failed += found.failed;
      under_way_.reset();
      settled_.notify_all();
    }
    is_ended_ = true;
    ended_.notify_all();
  }

  std::vector<ExportItem> take() {
    under_way_ = added_ - items_.size();
    std::vector<ExportItem> batch;
    std::size_t size = 0;
    while (!items_.empty() && batch.size() < options_.batch_size) {
      size += items_.front().text.size();
      if (!batch.empty() && size > batch_bytes) break;
      bytes_ -= items_.front().text.size();
      batch.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    return batch;
  }

  /// What became of a batch.
  ExportCounters send(const std::vector<ExportItem>& batch) noexcept {
    const auto count = batch.size();
    try {
      check_spec();
      // Written once: a batch is sent again under the same key.
      const Request request{.method = "POST", .path = "/v1/ingest", .body = body_of(batch)};
      const auto stop = given_up_.get_token();
      const auto answer = with_retries(options_.retry, stop, [&] { return http_.call(request, stop); });
      const auto rejected = rejected_in(answer, count);
      return {.sent = count - rejected, .refused = rejected};
    } catch (const ServiceError& error) {
      const bool is_refused = error.status() >= 400 && error.status() < 500 && error.status() != 429;
      return is_refused ? ExportCounters{.refused = count} : ExportCounters{.failed = count};
    } catch (...) {
      return {.failed = count};
    }
  }

  void check_spec() {
    try {
      spec_.ensure(given_up_.get_token());
    } catch (const IncompatibleServer& fault) {
      if (!std::exchange(has_warned_, true) && options_.log)
        options_.log(LogLevel::warn, std::string("instrumentation: ") + fault.what());
    }
  }

  const ExportOptions& options_;
  const pid_t pid_ = getpid();
  Http http_;
  SpecCheck spec_;
  bool has_warned_ = false;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable settled_;
  std::condition_variable ended_;
  std::stop_source given_up_;
  std::deque<ExportItem> items_;
  std::size_t bytes_ = 0;
  /// Signals that ever came into the queue. The first that still waits is number `added_ - items_.size()`.
  std::uint64_t added_ = 0;
  /// The number of the first signal of the batch that is being sent.
  std::optional<std::uint64_t> under_way_;
  /// Calls of `flush` that wait: then nothing waits for others to travel with.
  int hurried_ = 0;
  bool is_closed_ = false;
  bool is_ended_ = false;
  ExportCounters counters_;
  std::thread thread_;
};

ExportQueue::ExportQueue(ExportOptions options) : options_(std::move(options)), line_(new Line(options_)) {
  options_.max_queued = std::max<std::size_t>(1, options_.max_queued);
  options_.max_queued_bytes = std::max<std::size_t>(1, options_.max_queued_bytes);
  options_.batch_size = std::max<std::size_t>(1, options_.batch_size);
}

ExportQueue::~ExportQueue() {
  Line* const own = line_.load();
  // In the child of a fork that recorded nothing it is the parent's, with a thread that is not here.
  if (own->pid() != getpid()) return;
  own->close(Millis{0});
  delete own;
}

ExportQueue::Line& ExportQueue::line() const {
  Line* known = line_.load(std::memory_order_acquire);
  if (known->pid() == getpid()) return *known;
  auto fresh = std::make_unique<Line>(options_);
  // One thread wins; that of the parent is left alone, for its locks may be held by nobody.
  if (line_.compare_exchange_strong(known, fresh.get())) return *fresh.release();
  return *known;
}

void ExportQueue::add(Signal signal, std::string text) noexcept {
  try {
    line().add(signal, std::move(text));
  } catch (...) {
    add_invalid();
  }
}

void ExportQueue::add_invalid() noexcept {
  try {
    line().add_invalid();
  } catch (...) {
    // There is no memory for a queue: there is nothing to count in either.
    return;
  }
}

ExportCounters ExportQueue::counters() const noexcept {
  try {
    return line().counters();
  } catch (...) {
    return {};
  }
}

bool ExportQueue::flush(Millis timeout) noexcept {
  try {
    return line().flush(timeout);
  } catch (...) {
    return false;
  }
}

void ExportQueue::close(Millis timeout) noexcept {
  try {
    line().close(timeout);
  } catch (...) {
    return;
  }
}

}  // namespace svc::inline v0::detail
