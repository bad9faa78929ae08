#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "body_pool.hpp"
#include "http.hpp"
#include "motion.hpp"

namespace svc::inline v0::detail {

/// What one claim may ask for. See spec/openapi.yaml, `Claim`.
inline constexpr std::size_t most_claimed = 1000;

/// The calls that the holder of a lease makes on it.
enum class StepVerb { started, heartbeat, complete, fail };

struct StepCall {
  StepVerb verb;
  std::string lease_id;
  /// A JSON object that is not empty.
  std::string body;
  Millis timeout = default_timeout;
  /// It ends its lease, and a step may be claimed with it for the slot. Not so where a report before it was one.
  bool frees_slot = false;
  /// The body began before it is answered, so its answer sets nothing going.
  bool is_early = false;
};

/// What came of a call: an answer, or an `Error`.
struct StepAnswer {
  wire::Json body;
  std::exception_ptr error;
};

/// The calls of all leases of one worker. Those that come together travel together, and the steps that follow come back in the
/// same answer. A service that does not know the batch gets each call by itself.
class StepCalls {
 public:
  struct Options {
    Http& http;
    BodyPool& pool;
    std::string worker_id;
    std::optional<std::string> run_id;
    /// Whether a report may claim what fills the slot that it frees.
    std::function<bool()> claims;
    /// Takes the leases of an answer, a list.
    std::function<void(const wire::Json&)> on_leases;
  };
  using OnAnswer = std::function<void(const StepAnswer&)>;
  struct Item;
  using Pending = std::shared_ptr<Item>;

  explicit StepCalls(Options options);
  StepCalls(const StepCalls&) = delete;
  StepCalls(StepCalls&&) = delete;
  StepCalls& operator=(const StepCalls&) = delete;
  StepCalls& operator=(StepCalls&&) = delete;
  ~StepCalls() { close(); }

  /// Makes one call, one try. Throws ServiceError when the service refuses, ConnectionError without an answer.
  wire::Json make(const StepCall& call);
  /// The same for who must not wait. `on_answer` is called once, on a thread of this.
  Pending submit(StepCall call, OnAnswer on_answer);
  /// Submits a call that travels with an earlier one of its lease, after it. False where that has left: then nothing is
  /// submitted.
  bool submit_behind(const Pending& earlier, StepCall call, OnAnswer on_answer);
  /// Ends the threads; what still waits is answered as broken off.
  void close() noexcept;
  /// Of the leases of the worker: a batch waits until they have said what they have to say. An answer to a call that was
  /// submitted, other than a heartbeat, sets its lease going.
  [[nodiscard]] Motion& motion() noexcept { return motion_; }
  /// Of bodies that began before their declaration left, until they have something to report.
  [[nodiscard]] Motion& bodies() noexcept { return bodies_; }

 private:
  using Items = std::vector<Pending>;
  [[nodiscard]] bool goes_alone(const StepCall& call) const;
  wire::Json alone(const StepCall& call);
  void submit_alone(const Pending& item);
  void enqueue(const Pending& item);
  /// With the lock: one more thread that sends, up to a few; false where there is none. Where one cannot be started, the next
  /// call tries again.
  bool add_sender();
  void run();
  Items take();
  void send(const Items& items);
  [[nodiscard]] std::string text_of(const Items& items) const;
  void deliver(const Items& items, const wire::Json& answer);

  Options options_;
  Motion motion_;
  Motion bodies_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Pending> queue_;
  std::vector<std::jthread> senders_;
  std::atomic<bool> knows_batch_{true};
  bool is_closed_ = false;
};

}  // namespace svc::inline v0::detail
