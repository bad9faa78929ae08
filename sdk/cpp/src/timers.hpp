#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "retry.hpp"

namespace svc::inline v0::detail {

/// One thread that calls back when it is time, for all leases of a worker. Callbacks must not block.
class Timers {
 public:
  using Id = std::pair<Clock::time_point, std::uint64_t>;

  Timers() = default;
  Timers(const Timers&) = delete;
  Timers(Timers&&) = delete;
  Timers& operator=(const Timers&) = delete;
  Timers& operator=(Timers&&) = delete;
  ~Timers() { close(); }

  Id at(Clock::time_point when, std::function<void()> call);
  /// It may be under way already.
  void cancel(const Id& id);
  /// Ends the thread. Not from a callback.
  void close() noexcept;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Id, std::function<void()>> calls_;
  std::uint64_t numbers_ = 0;
  bool is_closed_ = false;
  std::jthread thread_;
};

}  // namespace svc::inline v0::detail
