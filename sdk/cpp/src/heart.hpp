#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "timers.hpp"

namespace svc::inline v0::detail {

/// What a heartbeat found.
enum class Pulse {
  /// The next one in time.
  again,
  /// After no answer.
  sooner,
  /// None shall follow.
  over,
};

/// Beats from `start` on until it is stopped.
class Heart : public std::enable_shared_from_this<Heart> {
 public:
  using Found = std::function<void(Pulse)>;
  /// Sends one heartbeat with the details that the body gave since the last one, as JSON, and calls back with what it found. It
  /// must not block.
  using Beat = std::function<void(const std::optional<std::string>& details, Found found)>;

  Heart(Timers& timers, Millis rate, Beat beat) : timers_(timers), rate_(rate), beat_(std::move(beat)) {}

  void start();
  /// Details, as JSON, for the next beat, which comes within a second.
  void tell(std::string details);
  /// Returns when the details given so far have arrived, or no beat shall follow, or the time is over.
  void flush(Millis patience);
  void stop();

 private:
  void schedule(Millis wait);
  void beat_now();
  void take(const std::optional<std::string>& sent, Pulse found);

  Timers& timers_;
  Millis rate_;
  Beat beat_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::optional<std::string> details_;
  std::optional<Timers::Id> timer_;
  Clock::time_point last_ = Clock::now();
  bool is_in_flight_ = false;
  bool is_stopped_ = false;
};

}  // namespace svc::inline v0::detail
