#include "motion.hpp"

namespace svc::inline v0::detail {

std::size_t Motion::begin() {
  const std::lock_guard lock{mutex_};
  ++count_;
  return round_;
}

void Motion::end() {
  const std::lock_guard lock{mutex_};
  end_one();
}

void Motion::end_of(std::size_t round) {
  const std::lock_guard lock{mutex_};
  if (round == round_) end_one();
}

void Motion::end_one() {
  // One that was given up as too slow comes late.
  if (count_ > 0 && --count_ == 0) still_.notify_all();
}

void Motion::wait(std::chrono::microseconds most) {
  std::unique_lock lock{mutex_};
  if (still_.wait_for(lock, most, [this] { return count_ == 0; })) return;
  // Those who wait next begin to count anew.
  count_ = 0;
  ++round_;
  still_.notify_all();
}

}  // namespace svc::inline v0::detail
