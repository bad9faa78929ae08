#include "timers.hpp"

namespace svc::inline v0::detail {

Timers::Id Timers::at(Clock::time_point when, std::function<void()> call) {
  const std::lock_guard lock{mutex_};
  const Id id{when, ++numbers_};
  if (is_closed_) return id;
  calls_.emplace(id, std::move(call));
  if (!thread_.joinable())
    thread_ = std::jthread([this] { run(); });
  else if (calls_.begin()->first == id)
    changed_.notify_one();
  return id;
}

void Timers::cancel(const Id& id) {
  const std::lock_guard lock{mutex_};
  calls_.erase(id);
}

void Timers::run() {
  std::unique_lock lock{mutex_};
  while (!is_closed_) {
    if (calls_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = calls_.begin();
    if (Clock::now() < first->first.first) {
      // A copy: the entry may go while this waits.
      const auto due = first->first.first;
      changed_.wait_until(lock, due);
      continue;
    }
    const auto call = std::move(first->second);
    calls_.erase(first);
    lock.unlock();
    try {
      call();
    } catch (...) {
      // One that fails must not keep the others from being called.
      lock.lock();
      continue;
    }
    lock.lock();
  }
}

void Timers::close() noexcept {
  std::jthread thread;
  std::map<Id, std::function<void()>> calls;
  {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    calls.swap(calls_);
    thread = std::move(thread_);
    changed_.notify_one();
  }
}

}  // namespace svc::inline v0::detail
