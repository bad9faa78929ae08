#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "retry.hpp"

namespace svc::inline v0::detail {

/// Counts the leases that an answer has set going, until each has come as far as it comes by itself: its body has begun, or its
/// slot is free. What they ask for meanwhile travels together.
class Motion {
 public:
  /// While it lives, more leases may be set going.
  class Hold {
   public:
    explicit Hold(Motion& motion) : motion_(motion) { motion_.begin(); }
    Hold(const Hold&) = delete;
    Hold(Hold&&) = delete;
    Hold& operator=(const Hold&) = delete;
    Hold& operator=(Hold&&) = delete;
    ~Hold() { motion_.end(); }

   private:
    Motion& motion_;
  };

  void begin();
  void end();
  /// Returns when nothing moves. Nobody waits longer than a few milliseconds: bodies that keep all processors busy may hold up
  /// others that are about to begin.
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable still_;
  std::size_t count_ = 0;
};

}  // namespace svc::inline v0::detail
