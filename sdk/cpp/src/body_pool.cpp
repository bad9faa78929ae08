#include "body_pool.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace svc::inline v0::detail {

struct BodyPool::State {
  std::mutex mutex;
  std::condition_variable ready;
  std::condition_variable ended;
  std::deque<std::function<void()>> work;
  std::size_t idle = 0;
  std::size_t threads = 0;
  bool is_closed = false;

  void run() {
    std::unique_lock lock{mutex};
    while (true) {
      ++idle;
      ready.wait(lock, [this] { return !work.empty() || is_closed; });
      --idle;
      if (work.empty()) break;
      auto next = std::move(work.front());
      work.pop_front();
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
  if (state_->idle >= state_->work.size()) {
    state_->ready.notify_one();
    return;
  }
  try {
    std::thread([state = state_] { state->run(); }).detach();
    ++state_->threads;
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
