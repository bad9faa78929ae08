#include "motion.hpp"

namespace svc::inline v0::detail {

namespace {

constexpr Millis motion_limit{5};

}  // namespace

void Motion::begin() {
  const std::lock_guard lock{mutex_};
  ++count_;
}

void Motion::end() {
  const std::lock_guard lock{mutex_};
  // One that was given up as too slow comes late.
  if (count_ > 0 && --count_ == 0) still_.notify_all();
}

void Motion::wait() {
  std::unique_lock lock{mutex_};
  if (still_.wait_for(lock, motion_limit, [this] { return count_ == 0; })) return;
  // Those who wait next begin to count anew.
  count_ = 0;
  still_.notify_all();
}

}  // namespace svc::inline v0::detail
