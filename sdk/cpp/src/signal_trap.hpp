#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <thread>

namespace svc::inline v0::detail {

/// Calls back, on a thread of its own, at the first SIGTERM or SIGINT of the process while this lives. From then on they do
/// what they did before. A process has one; a second trap catches nothing.
class SignalTrap {
 public:
  explicit SignalTrap(std::function<void()> on_signal);
  SignalTrap(const SignalTrap&) = delete;
  SignalTrap(SignalTrap&&) = delete;
  SignalTrap& operator=(const SignalTrap&) = delete;
  SignalTrap& operator=(SignalTrap&&) = delete;
  ~SignalTrap();

 private:
  void restore() noexcept;

  std::function<void()> on_signal_;
  std::array<int, 2> pipe_{-1, -1};
  struct sigaction before_term_ {};
  struct sigaction before_int_ {};
  std::jthread thread_;
};

}  // namespace svc::inline v0::detail
