#include "signal_trap.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace svc::inline v0::detail {

namespace {

/// Where the handler writes: all that a handler may do. -1 while nobody listens.
std::atomic<int> listener{-1};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr char caught = 's';
constexpr char over = 'o';

/// What a pipe that is full does not take was said before.
void put(int to, const char& byte) noexcept { [[maybe_unused]] const auto written = write(to, &byte, 1); }

void on_signal_number(int /*number*/) {
  const int before = errno;
  const int to = listener.load();
  if (to >= 0) put(to, caught);
  errno = before;
}

}  // namespace

SignalTrap::SignalTrap(std::function<void()> on_signal) : on_signal_(std::move(on_signal)) {
  if (pipe2(pipe_.data(), O_CLOEXEC) != 0) return;
  int nobody = -1;
  if (!listener.compare_exchange_strong(nobody, pipe_[1])) return;
  struct sigaction action {};
  action.sa_handler = on_signal_number;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, &before_term_);
  sigaction(SIGINT, &action, &before_int_);
  thread_ = std::jthread([this] {
    char byte = over;
    while (read(pipe_[0], &byte, 1) < 0 && errno == EINTR) continue;
    restore();
    if (byte == caught) on_signal_();
  });
}

SignalTrap::~SignalTrap() {
  if (thread_.joinable()) {
    put(pipe_[1], over);
    thread_.join();
  }
  for (const int end : pipe_)
    if (end >= 0) close(end);
}

void SignalTrap::restore() noexcept {
  sigaction(SIGTERM, &before_term_, nullptr);
  sigaction(SIGINT, &before_int_, nullptr);
  listener.store(-1);
}

}  // namespace svc::inline v0::detail
