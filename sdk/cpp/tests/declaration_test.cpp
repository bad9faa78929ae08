/// When bodies begin, and what their declarations and reports travel in. The rest is the conformance kit's.
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>

#include "fake_service.hpp"
#include "motion.hpp"
#include "svc/worker.hpp"

namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using svc_tests::FakeService;
using svc_tests::Reply;

/// A service with leases for a worker, which then has no more work. It notes what each batch holds.
class Offering {
 public:
  using AnswerBatch = std::function<Reply(const json& batch)>;

  explicit Offering(json leases, AnswerBatch answer_batch = taken)
      : leases_(std::move(leases)),
        answer_batch_(std::move(answer_batch)),
        service_([this](const std::string& path, const json& body) { return answer(path, body); }) {}

  [[nodiscard]] std::string url() const { return service_.url(); }

  /// The batches so far, each as the verbs in it, once there are so many reports.
  std::vector<std::string> batches(std::size_t reports) {
    std::unique_lock lock{mutex_};
    EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return reports_ >= reports; }));
    return batches_;
  }

  /// Takes every call.
  static Reply taken(const json& batch) {
    json answer{{"leases", json::array()}};
    for (const auto* list : {"started", "heartbeats", "completes", "fails"}) {
      answer[list] = json::array();
      for (std::size_t at = 0; at < batch.value(list, json::array()).size(); ++at)
        answer[list].push_back({{"status", 200}, {"body", {{"run_status", "running"}}}});
    }
    return {.body = answer};
  }

 private:
  Reply answer(const std::string& path, const json& body) {
    if (path == "/healthz") return {.body = {{"status", "ok"}, {"spec_version", "1.3"}}};
    if (path == "/v1/api/workers/register")
      return {.body = {{"worker_id", "w"}, {"lease_ttl_ms", 30000}, {"heartbeat_ms", 10000}, {"definitions", json::array()}}};
    if (path == "/v1/api/steps/claim") {
      {
        const std::lock_guard lock{mutex_};
        if (!leases_.empty()) return {.body = {{"leases", std::exchange(leases_, json::array())}}};
      }
      std::this_thread::sleep_for(20ms);
      return {.body = {{"leases", json::array()}}};
    }
    if (path != "/v1/api/steps/batch") return {};
    {
      const std::lock_guard lock{mutex_};
      std::string verbs;
      for (const auto* list : {"started", "completes", "fails"}) {
        const auto count = body.value(list, json::array()).size();
        for (std::size_t at = 0; at < count; ++at) verbs.append(verbs.empty() ? "" : " ").append(list);
        if (std::string_view(list) != "started") reports_ += count;
      }
      if (!verbs.empty()) batches_.push_back(verbs);
      changed_.notify_all();
    }
    return answer_batch_(body);
  }

  json leases_;
  AnswerBatch answer_batch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> batches_;
  std::size_t reports_ = 0;
  FakeService service_;
};

json lease(int number, int attempt = 1, const std::string& delivery = "at_least_once") {
  return {{"lease_id", "l-" + std::to_string(number)},
          {"run_id", "r"},
          {"project", "default"},
          {"definition_id", "refund"},
          {"definition_version", 1},
          {"step_id", "pay"},
          {"visit", 1},
          {"attempt", attempt},
          {"delivery", delivery},
          {"input", number},
          {"steps", json::object()},
          {"state", json::object()},
          {"step_key", "k"},
          {"correlation", json::object()},
          {"trace_id", "5b8efff798038103d269b633813fc60c"},
          {"span_id", "eee19b7ec3c1b174"},
          {"lease_expires_at", "2100-01-01T00:00:00Z"}};
}

svc::WorkerOptions of(const Offering& service) {
  return {.settings = {.endpoint = service.url(), .enabled = false}, .stop_on_signals = false, .log = nullptr};
}

template <typename Body>
svc::Workflow with_body(Body body) {
  svc::Workflow workflow{R"({"id":"refund","version":1,"steps":[{"id":"pay","kind":"task"}]})"};
  workflow.step("pay", std::move(body));
  return workflow;
}

TEST(Declaration, ABodyThatEndsAtOnceIsDeclaredAndReportedInOneBatch) {
  Offering service{json::array({lease(1)})};
  svc::Worker worker{{with_body([](svc::Step&, int number) { return number; })}, of(service)};
  std::jthread running{[&](const std::stop_token& stop) { worker.run(stop); }};
  const auto batches = service.batches(1);
  // A busy machine may let the declaration leave before the body had its turn: then the report waits for its answer.
  const std::vector<std::string> together{"started completes"};
  const std::vector<std::string> in_turn{"started", "completes"};
  EXPECT_TRUE(batches == together || batches == in_turn);
}

TEST(Declaration, AReportWaitsForADeclarationThatHasLeft) {
  std::promise<void> left;
  std::promise<void> ended;
  std::atomic<bool> is_answered{false};
  std::atomic<bool> is_late{false};
  Offering service{json::array({lease(1)}), [&](const json& batch) {
                     if (batch.contains("started")) {
                       left.set_value();
                       ended.get_future().wait();
                       std::this_thread::sleep_for(200ms);
                       is_answered = true;
                     } else if (batch.contains("completes")) {
                       is_late = is_answered.load();
                     }
                     return Offering::taken(batch);
                   }};
  svc::Worker worker{{with_body([&](svc::Step&, int number) {
                       left.get_future().wait();
                       ended.set_value();
                       return number;
                     })},
                     of(service)};
  std::jthread running{[&](const std::stop_token& stop) { worker.run(stop); }};
  EXPECT_EQ(service.batches(1), (std::vector<std::string>{"started", "completes"}));
  worker.stop();
  EXPECT_TRUE(is_late);
}

TEST(Declaration, WhereItIsRefusedTheBodyIsCancelledAndNothingIsReported) {
  for (const auto& [code, reason] :
       {std::pair{"fenced", svc::InterruptReason::fenced}, std::pair{"already_applied", svc::InterruptReason::fenced},
        std::pair{"run_terminal", svc::InterruptReason::run_terminal}}) {
    // A lambda of Clang before 16 captures no structured binding.
    const json refusal = {{"status", 409}, {"body", {{"code", code}, {"message", "no"}}}};
    Offering service{json::array({lease(1), lease(2)}), [&](const json& batch) {
                       auto reply = Offering::taken(batch);
                       const auto started = batch.value("started", json::array());
                       for (std::size_t at = 0; at < started.size(); ++at)
                         if (started[at]["lease_id"] == "l-1") reply.body["started"][at] = refusal;
                       return reply;
                     }};
    std::promise<std::optional<svc::InterruptReason>> cancelled;
    svc::Worker worker{{with_body([&](svc::Step& step, int number) {
                         if (number != 1) return number;
                         while (!step.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
                         cancelled.set_value(step.interruption());
                         return number;
                       })},
                       of(service)};
    std::jthread running{[&](const std::stop_token& stop) { worker.run(stop); }};
    auto found = cancelled.get_future();
    ASSERT_EQ(found.wait_for(60s), std::future_status::ready) << code;
    EXPECT_EQ(found.get(), reason) << code;
    service.batches(1);
    worker.stop();
    std::size_t reports = 0;
    for (const auto& batch : service.batches(1)) reports += batch.ends_with("completes") ? 1 : 0;
    EXPECT_EQ(reports, 1U) << "that of the other lease";
  }
}

TEST(Declaration, ASecondAttemptAndABodyThatMayRunOnceWaitForItsAnswer) {
  for (const auto& offered : {lease(1, 2), lease(1, 1, "at_most_once")}) {
    std::atomic<bool> is_answered{false};
    std::atomic<bool> is_early{false};
    Offering service{json::array({offered}), [&](const json& batch) {
                       if (batch.contains("started")) {
                         std::this_thread::sleep_for(100ms);
                         is_answered = true;
                       }
                       return Offering::taken(batch);
                     }};
    svc::Worker worker{{with_body([&](svc::Step&, int number) {
                         is_early = !is_answered;
                         return number;
                       })},
                       of(service)};
    std::jthread running{[&](const std::stop_token& stop) { worker.run(stop); }};
    EXPECT_EQ(service.batches(1), (std::vector<std::string>{"started", "completes"}));
    worker.stop();
    EXPECT_FALSE(is_early) << offered;
  }
}

TEST(Declaration, WithoutBatchesTheReportFollowsIt) {
  std::mutex mutex;
  std::vector<std::string> paths;
  std::promise<void> reported;
  bool is_claimed = false;
  FakeService service{[&](const std::string& path, const json&) -> Reply {
    if (path == "/healthz") return {.body = {{"status", "ok"}, {"spec_version", "1.3"}}};
    if (path == "/v1/api/workers/register")
      return {.body = {{"worker_id", "w"}, {"lease_ttl_ms", 30000}, {"heartbeat_ms", 10000}, {"definitions", json::array()}}};
    if (path == "/v1/api/steps/batch") return {.status = 404, .body = {{"code", "not_found"}, {"message", "no"}}};
    if (path == "/v1/api/steps/claim") {
      std::this_thread::sleep_for(20ms);
      const std::lock_guard lock{mutex};
      return {.body = {{"leases", std::exchange(is_claimed, true) ? json::array() : json::array({lease(1)})}}};
    }
    if (path.ends_with("/started")) std::this_thread::sleep_for(100ms);
    const std::lock_guard lock{mutex};
    paths.push_back(path);
    if (path.ends_with("/complete")) reported.set_value();
    return {.body = {{"run_status", "running"}}};
  }};
  svc::Worker worker{{with_body([](svc::Step&, int number) { return number; })},
                     {.settings = {.endpoint = service.url(), .enabled = false}, .stop_on_signals = false, .log = nullptr}};
  std::jthread running{[&](const std::stop_token& stop) { worker.run(stop); }};
  ASSERT_EQ(reported.get_future().wait_for(60s), std::future_status::ready);
  worker.stop();
  EXPECT_EQ(paths, (std::vector<std::string>{"/v1/api/steps/l-1/started", "/v1/api/steps/l-1/complete"}));
}

TEST(Motion, WhatBeganBeforeTheCountBeganAnewEndsNothingOfIt) {
  svc::detail::Motion motion;
  const auto old = motion.begin();
  motion.wait(1ms);
  motion.begin();
  motion.end_of(old);
  const auto began = svc::detail::Clock::now();
  motion.wait(20ms);
  EXPECT_GE(svc::detail::Clock::now() - began, 20ms);
}

}  // namespace
