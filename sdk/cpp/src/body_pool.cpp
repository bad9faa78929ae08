#include "body_pool.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace svc::inline v0::detail {

struct BodyPool::State : std::enable_shared_from_this<BodyPool::State> {
  std::mutex mutex;
  std::condition_variable ready;
  std::condition_variable ended;
  std::deque<std::function<void()>> work;
  std::size_t idle = 0;
  std::size_t threads = 0;
  /// A thread was woken or started, and has not come yet.
  bool is_waking = false;
  bool is_closed = false;

  /// With the lock: sees to it that a thread comes for what waits. One after the other: short work is done before each piece of
  /// it has woken a thread of its own.
  void wake() {
    if (is_waking || work.empty()) return;
    if (idle > 0) {
      ready.notify_one();
    } else {
      std::thread([state = shared_from_this()] { state->run(); }).detach();
      ++threads;
    }
    is_waking = true;
  }

  void run() {
    std::unique_lock lock{mutex};
    is_waking = false;
    while (true) {
      if (work.empty()) {
        if (is_closed) break;
        ++idle;
        ready.wait(lock);
        --idle;
        is_waking = false;
        continue;
      }
      auto next = std::move(work.front());
      work.pop_front();
      try {
        wake();
      } catch (const std::system_error&) {
        // What waits is taken by the next thread that has nothing to do.
        is_waking = false;
      }
      lock.unlock();
      next();
      next = nullptr;
      lock.lock();
    }
    --threads;
    ended.notify_all();
  }
};

BodyPool::BodyPool() : state_(std::make_shared<State>()) {}
BodyPool::~BodyPool() { close(Millis{0}); }

void BodyPool::submit(std::function<void()> work) {
  const std::lock_guard lock{state_->mutex};
  state_->work.push_back(std::move(work));
  try {
    state_->wake();
  } catch (...) {
    state_->work.pop_back();
    throw;
  }
}

void BodyPool::close(Millis patience) noexcept {
  std::unique_lock lock{state_->mutex};
  state_->is_closed = true;
  state_->ready.notify_all();
  state_->ended.wait_for(lock, patience, [this] { return state_->threads == 0; });
}

}  // namespace svc::inline v0::detail
