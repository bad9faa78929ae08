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

  /// Returns the round of the lease, for `end_of`.
  std::size_t begin();
  void end();
  /// Ends what began in a round; nobody waits for that of an earlier one.
  void end_of(std::size_t round);
  /// Returns when nothing moves. Nobody waits longer than a few milliseconds: bodies that keep all processors busy may hold up
  /// others that are about to begin.
  void wait() { wait(limit); }
  void wait(std::chrono::microseconds most);

 private:
  static constexpr Millis limit{5};
  /// With the lock.
  void end_one();

  std::mutex mutex_;
  std::condition_variable still_;
  std::size_t count_ = 0;
  /// How often those who waited gave up, and the count began anew.
  std::size_t round_ = 0;
};

}  // namespace svc::inline v0::detail
