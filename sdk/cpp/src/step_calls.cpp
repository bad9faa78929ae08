#include "step_calls.hpp"

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>

#include "text.hpp"

namespace svc::inline v0::detail {

namespace {

// See docs/worker-protocol.md, "Many calls in one".
constexpr std::size_t batch_items = 1000;
/// Larger reports go by themselves: nobody waits until they are through.
constexpr std::size_t large_bytes = std::size_t{256} * 1024;
constexpr std::size_t report_batch_bytes = std::size_t{1024} * 1024;
/// The service writes one batch while it reads the next.
constexpr std::size_t batches_at_once = 2;
/// A declaration does not wait longer for what its body gives.
constexpr std::chrono::microseconds body_limit{500};

struct Kind {
  StepVerb verb;
  std::string_view path;
  std::string_view list;
};
constexpr std::array<Kind, 4> kinds{{
    {StepVerb::started, "started", "started"},
    {StepVerb::heartbeat, "heartbeat", "heartbeats"},
    {StepVerb::complete, "complete", "completes"},
    {StepVerb::fail, "fail", "fails"},
}};

/// Whether a refusal is about the call that holds the others, so that each is to be made by itself: one that cannot be read
/// spoils no other. A key or a limit holds for all of them.
bool is_of_batch(const ServiceError& refusal) {
  const int status = refusal.status();
  return status >= 400 && status < 500 && status != 401 && status != 403 && !refusal.retryable();
}

StepAnswer failed(const Error& error) { return {{}, std::make_exception_ptr(ConnectionError(error.what()))}; }

/// What an item of the answer to a batch says.
StepAnswer answer_in(const nlohmann::json* one) {
  const ConnectionError lacking("the answer to a batch lacks an item");
  if (one == nullptr || !one->is_object()) return failed(lacking);
  const auto status = one->value("status", nlohmann::json());
  if (!status.is_number_integer()) return failed(lacking);
  const auto body = one->value("body", nlohmann::json());
  const auto number = status.get<int>();
  if (number >= 200 && number <= 299) return {wire::Json{body}, nullptr};
  return {{}, std::make_exception_ptr(refusal(number, wire::Json{body}))};
}

}  // namespace

/// A call under way; it is settled once.
struct StepCalls::Item {
  StepCall call;
  OnAnswer on_answer;
  /// Its answer sets its lease going.
  bool moves;
  std::atomic<bool> is_settled{false};
  // With the lock, until it has left.
  bool has_left = false;
  /// Travels in the same batch: the service takes it after this one.
  Pending behind{};
  bool is_behind = false;

  Item(StepCall given, bool is_moving, OnAnswer then) : call(std::move(given)), on_answer(std::move(then)), moves(is_moving) {}

  void settle(const StepAnswer& answer) {
    // What waits for the answer may hold this.
    if (!is_settled.exchange(true)) std::exchange(on_answer, nullptr)(answer);
  }
};

StepCalls::StepCalls(Options options) : options_(std::move(options)) {}

wire::Json StepCalls::make(const StepCall& call) {
  if (goes_alone(call)) return alone(call);
  // Held by both sides: who waits may go on while the other is still in it.
  const auto promise = std::make_shared<std::promise<wire::Json>>();
  auto answered = promise->get_future();
  enqueue(std::make_shared<Item>(call, false, [promise](const StepAnswer& answer) {
    if (answer.error != nullptr)
      promise->set_exception(answer.error);
    else
      promise->set_value(answer.body);
  }));
  return answered.get();
}

StepCalls::Pending StepCalls::submit(StepCall call, OnAnswer on_answer) {
  const bool moves = call.verb != StepVerb::heartbeat && !call.is_early;
  auto item = std::make_shared<Item>(std::move(call), moves, std::move(on_answer));
  if (goes_alone(item->call)) {
    item->has_left = true;
    submit_alone(item);
  } else {
    enqueue(item);
  }
  return item;
}

bool StepCalls::submit_behind(const Pending& earlier, StepCall call, OnAnswer on_answer) {
  if (call.body.size() > large_bytes) return false;
  const std::lock_guard lock{mutex_};
  if (earlier->has_left) return false;
  earlier->behind = std::make_shared<Item>(std::move(call), true, std::move(on_answer));
  earlier->behind->is_behind = true;
  return true;
}

void StepCalls::close() noexcept {
  std::vector<std::jthread> senders;
  std::deque<Pending> items;
  {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    for (auto& item : queue_) item->has_left = true;
    items.swap(queue_);
    senders.swap(senders_);
    ready_.notify_all();
  }
  for (const auto& item : items) {
    item->settle(failed(ConnectionError("the worker has ended")));
    if (item->behind != nullptr) item->behind->settle(failed(ConnectionError("the worker has ended")));
  }
}

bool StepCalls::goes_alone(const StepCall& call) const { return !knows_batch_ || call.body.size() > large_bytes; }

wire::Json StepCalls::alone(const StepCall& call) {
  const auto path = kinds.at(static_cast<std::size_t>(call.verb)).path;
  const Request request{
      .method = "POST",
      .path = "/v1/api/steps/" + percent_encoded(call.lease_id) + "/" + std::string(path),
      .body = call.body,
      .timeout = call.timeout,
  };
  return options_.http.call(request, {});
}

void StepCalls::submit_alone(const Pending& item) {
  const auto work = [this, item] {
    try {
      item->settle({alone(item->call), nullptr});
    } catch (const Error&) {
      item->settle({{}, std::current_exception()});
    }
    if (item->behind != nullptr) submit_alone(item->behind);
  };
  try {
    options_.pool.submit(work);
  } catch (const std::system_error&) {
    item->settle(failed(ConnectionError("no thread can be started for a call")));
    if (item->behind != nullptr) submit_alone(item->behind);
  }
}

void StepCalls::enqueue(const Pending& item) {
  const char* problem = "the worker has ended";
  {
    const std::lock_guard lock{mutex_};
    if (!is_closed_) {
      if (add_sender()) {
        queue_.push_back(item);
        return ready_.notify_one();
      }
      problem = "no thread can be started for a call";
    }
    item->has_left = true;
  }
  item->settle(failed(ConnectionError(problem)));
}

bool StepCalls::add_sender() {
  if (senders_.size() == batches_at_once) return true;
  try {
    senders_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    return !senders_.empty();
  }
  return true;
}

void StepCalls::run() {
  while (true) {
    Items items;
    {
      std::unique_lock lock{mutex_};
      ready_.wait(lock, [this] { return !queue_.empty() || is_closed_; });
    }
    // What can go on comes first, so that what is ready together travels together.
    motion_.wait();
    bodies_.wait(body_limit);
    {
      const std::lock_guard lock{mutex_};
      if (is_closed_) return;
      items = take();
    }
    if (!items.empty()) send(items);
  }
}

StepCalls::Items StepCalls::take() {
  Items items;
  std::size_t size = 0;
  while (!queue_.empty()) {
    const auto& next = queue_.front();
    const auto& behind = next->behind;
    size += next->call.body.size() + (behind == nullptr ? 0 : behind->call.body.size());
    if (!items.empty() && size > report_batch_bytes) break;
    if (items.size() + (behind == nullptr ? 1 : 2) > batch_items) break;
    next->has_left = true;
    items.push_back(next);
    if (behind != nullptr) items.push_back(behind);
    queue_.pop_front();
  }
  return items;
}

void StepCalls::send(const Items& items) {
  auto timeout = default_timeout;
  for (const auto& item : items) timeout = std::min(timeout, item->call.timeout);
  const Request request{.method = "POST", .path = "/v1/api/steps/batch", .body = text_of(items), .timeout = timeout};
  try {
    deliver(items, options_.http.call(request, {}));
  } catch (const ServiceError& error) {
    if (error.status() == 404) knows_batch_ = false;
    for (const auto& item : items) {
      if (!is_of_batch(error))
        item->settle({{}, std::current_exception()});
      else if (!item->is_behind)
        submit_alone(item);
    }
  } catch (const Error&) {
    for (const auto& item : items) item->settle({{}, std::current_exception()});
  } catch (const std::exception& error) {
    // Whatever one of them makes of its answer, the others are answered, and the thread goes on.
    for (const auto& item : items) item->settle(failed(ConnectionError(error.what())));
  }
}

std::string StepCalls::text_of(const Items& items) const {
  std::string text = R"({"worker_id":)";
  append_text(text, options_.worker_id);
  std::size_t freed = 0;
  for (const auto& kind : kinds) {
    bool is_first = true;
    for (const auto& item : items) {
      if (item->call.verb != kind.verb) continue;
      if (is_first)
        text.append(",\"").append(kind.list).append("\":[");
      else
        text += ',';
      is_first = false;
      text += R"({"lease_id":)";
      append_text(text, item->call.lease_id);
      text.append(",").append(std::string_view(item->call.body).substr(1));
      if (item->call.frees_slot) ++freed;
    }
    if (!is_first) text += ']';
  }
  if (freed > 0 && options_.claims()) {
    text.append(R"(,"claim":{"wait_ms":0,"max":)").append(std::to_string(std::min(freed, most_claimed)));
    if (options_.run_id.has_value()) append_text_member(text, "run_id", *options_.run_id);
    text += '}';
  }
  return text += '}';
}

void StepCalls::deliver(const Items& items, const wire::Json& answer) {
  const auto& body = answer.value();
  const auto list_in = [&body](std::string_view name) -> const nlohmann::json* {
    if (!body.is_object()) return nullptr;
    const auto found = body.find(name);
    return found == body.end() || !found->is_array() ? nullptr : &*found;
  };
  const Motion::Hold hold{motion_};
  // First: whoever counts free slots next must see what fills them.
  if (const auto* leases = list_in("leases"); leases != nullptr && !leases->empty()) options_.on_leases({*leases});
  for (const auto& kind : kinds) {
    const auto* answers = list_in(kind.list);
    std::size_t at = 0;
    for (const auto& item : items) {
      if (item->call.verb != kind.verb) continue;
      const bool is_there = answers != nullptr && at < answers->size();
      if (item->moves) motion_.begin();
      item->settle(answer_in(is_there ? &(*answers)[at] : nullptr));
      ++at;
    }
  }
}

}  // namespace svc::inline v0::detail
