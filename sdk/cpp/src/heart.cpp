#include "heart.hpp"

#include <algorithm>

namespace svc::inline v0::detail {

namespace {

/// Details that change quickly travel together.
constexpr Millis details_delay{1000};

}  // namespace

void Heart::start() {
  const std::lock_guard lock{mutex_};
  last_ = Clock::now();
  schedule(rate_);
}

/// With the lock: the next beat comes so long after the last.
void Heart::schedule(Millis wait) {
  if (timer_.has_value()) timers_.cancel(*timer_);
  timer_.reset();
  if (is_stopped_) return;
  timer_ = timers_.at(last_ + wait, [weak = weak_from_this()] {
    if (const auto heart = weak.lock()) heart->beat_now();
  });
}

void Heart::beat_now() {
  std::optional<std::string> sent;
  {
    const std::lock_guard lock{mutex_};
    if (is_stopped_ || is_in_flight_) return;
    if (timer_.has_value()) timers_.cancel(*timer_);
    timer_.reset();
    sent = std::exchange(details_, std::nullopt);
    last_ = Clock::now();
    is_in_flight_ = true;
  }
  beat_(sent, [heart = shared_from_this(), sent](Pulse found) { heart->take(sent, found); });
}

void Heart::take(const std::optional<std::string>& sent, Pulse found) {
  const std::lock_guard lock{mutex_};
  is_in_flight_ = false;
  if (found == Pulse::over) is_stopped_ = true;
  // Details that did not arrive are sent again, unless newer ones came meanwhile.
  if (found == Pulse::sooner && !details_.has_value()) details_ = sent;
  const auto wait = found == Pulse::sooner ? rate_ / 4 : rate_;
  schedule(details_.has_value() ? std::min(wait, details_delay) : wait);
  settled_.notify_all();
}

void Heart::tell(std::string details) {
  const std::lock_guard lock{mutex_};
  details_ = std::move(details);
  if (!is_in_flight_) schedule(std::min(rate_, details_delay));
}

void Heart::flush(Millis patience) {
  const auto end = Clock::now() + patience;
  {
    std::unique_lock lock{mutex_};
    settled_.wait_until(lock, end, [this] { return !is_in_flight_; });
    if (!details_.has_value() || is_stopped_ || is_in_flight_) return;
  }
  // At once; where nobody answers, the beats that follow it repeat the details.
  beat_now();
  std::unique_lock lock{mutex_};
  settled_.wait_until(lock, end, [this] { return !is_in_flight_ && (!details_.has_value() || is_stopped_); });
}

void Heart::stop() {
  const std::lock_guard lock{mutex_};
  is_stopped_ = true;
  schedule(rate_);
  settled_.notify_all();
}

}  // namespace svc::inline v0::detail
