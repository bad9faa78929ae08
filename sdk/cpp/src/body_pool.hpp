#pragma once

#include <functional>
#include <memory>

#include "retry.hpp"

namespace svc::inline v0::detail {

/// Threads that run bodies: as many as are asked for at once, kept for those that follow. They are nobody's: a body that
/// never ends must not hold up the end of its worker.
class BodyPool {
 public:
  BodyPool();
  BodyPool(const BodyPool&) = delete;
  BodyPool(BodyPool&&) = delete;
  BodyPool& operator=(const BodyPool&) = delete;
  BodyPool& operator=(BodyPool&&) = delete;
  ~BodyPool();

  /// `work` must not throw. Throws `std::system_error` where no thread can be started.
  void submit(std::function<void()> work);
  /// Ends the threads that have nothing to do, and waits for the others so long.
  void close(Millis patience) noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace svc::inline v0::detail
