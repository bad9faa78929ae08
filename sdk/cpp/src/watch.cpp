#include "svc/watch.hpp"

#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "client_core.hpp"
#include "decoded.hpp"
#include "event_stream.hpp"
#include "svc/client.hpp"
#include "text.hpp"

namespace svc::inline v0 {

namespace detail {

/// Follows one journal: a connection as long as it holds, and another one behind the last entry seen.
class Follower {
 public:
  Follower(std::shared_ptr<ClientCore> core, std::string run_id, const WatchOptions& options)
      : core_(std::move(core)),
        run_id_(std::move(run_id)),
        last_(options.after),
        stop_(options.stop),
        there_at_(core_->answered_at()) {}

  [[nodiscard]] const wire::JournalEntry& current() const noexcept { return current_; }
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

  /// Waits for the next entry, or the end.
  void advance() {
    while (!is_over_) {
      if (is_last_ || is_stopped()) return end();
      try {
        if (step()) return;
      } catch (const Cancelled&) {
        return end();
      } catch (const ServiceError& error) {
        fail(error);
      } catch (const ConnectionError& error) {
        fail(error);
      }
    }
  }

 private:
  [[nodiscard]] bool is_stopped() const { return stop_.stop_requested() || core_->closing().stop_requested(); }

  void end() noexcept {
    is_over_ = true;
    stream_.reset();
  }

  /// True once there is an entry.
  bool step() {
    while (!ready_.empty()) {
      auto entry = std::move(ready_.front());
      ready_.pop_front();
      failures_ = 0;
      if (entry.seq <= last_) continue;
      last_ = entry.seq;
      is_last_ = entry.kind == wire::JournalKind::run_finished;
      current_ = std::move(entry);
      return true;
    }
    if (is_end_near_) {
      end();
      return false;
    }
    if (!stream_.has_value()) open();
    const auto piece = stream_->read(core_->options().stream_idle);
    if (piece.empty()) {
      stream_.reset();
      read_rest();
      return false;
    }
    reader_.take(piece);
    while (const auto event = reader_.next()) ready_.push_back(entry_of(*event));
    return false;
  }

  void open() {
    Request request{.method = "GET",
                    .path = run_path(run_id_, "/events"),
                    .timeout = core_->options().timeout,
                    .accept = "text/event-stream"};
    if (last_ >= 0) request.headers.push_back("last-event-id: " + std::to_string(last_));
    reader_ = {};
    stream_.emplace(core_->stream(request, stop_));
    core_->note_answer();
    is_open_ = true;
  }

  /// The stream ended in good order without the end of the run: the service stops, or the end lies before the point from
  /// which we follow. The run is read before its journal: when it had ended by then, the journal holds all there is; the other
  /// way round, its end could be missed.
  void read_rest() {
    const auto run = decoded<wire::RunDetail>(core_->call({.method = "GET", .path = run_path(run_id_)}, stop_));
    const Query after = last_ < 0 ? Query{} : Query{{"after", std::to_string(last_)}};
    const Request request{.method = "GET", .path = run_path(run_id_, "/events"), .query = after};
    auto page = decoded<wire::ListRunEventsResponse>(core_->call(request, stop_));
    for (auto& entry : page.events) ready_.push_back(std::move(entry));
    if (!ready_.empty()) return;
    is_end_near_ = detail::is_over(run.status.text());
    if (!is_end_near_) wait_for(stop_, backoff(core_->options().retry, 1));
  }

  static wire::JournalEntry entry_of(const StreamEvent& event) {
    try {
      return decoded<wire::JournalEntry>(wire::Json{decode(event.data)});
    } catch (const nlohmann::json::exception&) {
      throw ConnectionError("the journal stream holds something that is not JSON");
    }
  }

  /// Waits before the next connection, or throws what is under way.
  void fail(const Error& error) {
    stream_.reset();
    if (is_stopped()) return end();
    if (!is_retryable(error)) {
      end();
      throw;  // NOLINT: it is called from handlers alone
    }
    ++failures_;
    // It was there until now, however long the run was silent.
    if (std::exchange(is_open_, false)) there_at_ = Clock::now();
    const bool is_patient = there_at_.has_value() && Clock::now() - *there_at_ < patience;
    const auto& policy = core_->options().retry;
    if (policy.attempts > 0 && failures_ >= policy.attempts && !is_patient) {
      end();
      throw;  // NOLINT: it is called from handlers alone
    }
    wait_for(stop_, std::max(asked_wait(error), backoff(policy, failures_)));
  }

  std::shared_ptr<ClientCore> core_;
  std::string run_id_;
  std::int64_t last_;
  std::stop_token stop_;
  std::optional<Clock::time_point> there_at_;
  std::optional<ByteStream> stream_;
  EventReader reader_;
  std::deque<wire::JournalEntry> ready_;
  wire::JournalEntry current_;
  int failures_ = 0;
  bool is_open_ = false;
  bool is_last_ = false;
  bool is_end_near_ = false;
  bool is_over_ = false;
};

}  // namespace detail

const wire::JournalEntry& Watch::iterator::operator*() const noexcept { return follower_->current(); }
Watch::iterator& Watch::iterator::operator++() {
  follower_->advance();
  return *this;
}
bool Watch::iterator::is_over() const noexcept { return follower_ == nullptr || follower_->is_over(); }

Watch::Watch(std::unique_ptr<detail::Follower> follower) noexcept : follower_(std::move(follower)) {}
Watch::Watch(Watch&& other) noexcept = default;
Watch& Watch::operator=(Watch&& other) noexcept = default;
Watch::~Watch() = default;

Watch::iterator Watch::begin() {
  iterator first{follower_.get()};
  ++first;
  return first;
}

Watch Client::watch(std::string_view run_id, const WatchOptions& options) {
  return Watch(std::make_unique<detail::Follower>(core_, std::string(run_id), options));
}

}  // namespace svc::inline v0
