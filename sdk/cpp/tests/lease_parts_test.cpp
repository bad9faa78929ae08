/// Parts of the life of a lease, by themselves. The rest is the conformance kit's.
#include <gtest/gtest.h>

#include <future>

#include "body_pool.hpp"
#include "heart.hpp"
#include "motion.hpp"
#include "retry.hpp"
#include "timers.hpp"
#include "usage.hpp"

namespace {

using namespace std::chrono_literals;
using namespace svc::detail;

TEST(Timers, CallInTheOrderOfTheirTimesAndNotWhatWasCancelled) {
  Timers timers;
  std::promise<void> done;
  std::string order;
  const auto start = Clock::now();
  timers.at(start + 30ms, [&] { done.set_value(); });
  timers.at(start + 20ms, [&] { order += 'b'; });
  timers.at(start + 10ms, [&] { order += 'a'; });
  timers.cancel(timers.at(start + 15ms, [&] { order += 'x'; }));
  ASSERT_EQ(done.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_EQ(order, "ab");
  EXPECT_GE(Clock::now() - start, 30ms);
}

TEST(Timers, ACallThatThrowsKeepsNoOtherFromBeingMade) {
  Timers timers;
  std::promise<void> done;
  timers.at(Clock::now(), [] { throw std::runtime_error("no"); });
  timers.at(Clock::now() + 1ms, [&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(10s), std::future_status::ready);
}

TEST(BodyPool, RunsAllAtOnceThatAreAskedForAtOnce) {
  BodyPool pool;
  std::promise<void> gate;
  const auto open = gate.get_future().share();
  std::atomic<int> under_way{0};
  std::promise<void> all;
  for (int n = 0; n < 8; ++n)
    pool.submit([&, open] {
      if (++under_way == 8) all.set_value();
      open.wait();
    });
  EXPECT_EQ(all.get_future().wait_for(10s), std::future_status::ready) << "none waits for another";
  gate.set_value();
  pool.close(10s);
}

TEST(BodyPool, DoesAllOfMuchShortWork) {
  BodyPool pool;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> left{20};
    std::promise<void> done;
    for (int n = 0; n < 20; ++n)
      pool.submit([&] {
        if (--left == 0) done.set_value();
      });
    ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready) << "in round " << round;
  }
  pool.close(10s);
}

TEST(Motion, OfOneThatNeverEndsHoldsUpNobody) {
  Motion motion;
  motion.begin();
  auto waited = std::async(std::launch::async, [&] { motion.wait(); });
  EXPECT_EQ(waited.wait_for(60s), std::future_status::ready);
  motion.end();
  motion.wait();
}

TEST(Heart, BeatsSoonerAfterAMissAndSendsLostDetailsAgain) {
  Timers timers;
  std::mutex mutex;
  std::vector<std::optional<std::string>> sent;
  std::promise<void> third;
  const auto heart = std::make_shared<Heart>(timers, 400ms, [&](const auto& details, const auto& found) {
    const std::lock_guard lock{mutex};
    sent.push_back(details);
    if (sent.size() == 3) third.set_value();
    found(sent.size() == 1 ? Pulse::sooner : Pulse::again);
  });
  const auto start = Clock::now();
  heart->tell("1");
  heart->start();
  heart->tell("2");
  ASSERT_EQ(third.get_future().wait_for(20s), std::future_status::ready);
  heart->stop();
  EXPECT_GE(Clock::now() - start, 400ms + 100ms);
  const std::lock_guard lock{mutex};
  EXPECT_EQ(sent[0], "2") << "the last details win";
  EXPECT_EQ(sent[1], "2") << "those that were not answered go again";
  EXPECT_EQ(sent[2], std::nullopt);
}

TEST(Heart, AfterItIsOverNoBeatFollows) {
  Timers timers;
  std::atomic<int> beats{0};
  const auto heart = std::make_shared<Heart>(timers, 5ms, [&](const auto& /*details*/, const auto& found) {
    ++beats;
    found(Pulse::over);
  });
  heart->start();
  std::this_thread::sleep_for(100ms);
  heart->tell("1");
  heart->flush(1s);
  EXPECT_EQ(beats, 1);
}

TEST(Usage, IsSummedByModelAndAnUnknownCountStaysAbsent) {
  UsageTotals totals;
  totals.add("a", svc::wire::Usage{.input_tokens = 1, .output_tokens = 2});
  totals.add("a", svc::wire::Usage{.input_tokens = 10});
  totals.add("b", std::nullopt);
  const auto sums = totals.reported(std::nullopt);
  ASSERT_EQ(sums.size(), 1U) << "a model without tokens has no entry";
  EXPECT_EQ(sums[0].model, "a");
  EXPECT_EQ(sums[0].input_tokens, 11);
  EXPECT_EQ(sums[0].output_tokens, 2);
  EXPECT_EQ(sums[0].total_tokens, std::nullopt);
}

TEST(Usage, ByHandAsksForASpanOnlyWhereNoneHoldsIt) {
  const std::vector<svc::wire::ReportedUsage> given{{.model = "a", .input_tokens = 1}, {.model = "b", .record = false}};
  UsageTotals without;
  EXPECT_EQ(without.reported(given)[0].record, true);
  EXPECT_EQ(without.reported(given)[1].record, false) << "what the body says stays";
  UsageTotals with;
  with.add("a", std::nullopt);
  EXPECT_EQ(with.reported(given)[0].record, std::nullopt);
}

TEST(Retries, EndByTheirPolicyTheirErrorOrTheirToken) {
  int calls = 0;
  const svc::RetryPolicy quick{.attempts = 3, .base = 1ms, .max = 2ms};
  const auto failing = [&](const auto& error) {
    return [&calls, error]() -> int {
      ++calls;
      throw error;
    };
  };
  EXPECT_THROW(with_retries(quick, {}, failing(svc::ConnectionError("away"))), svc::ConnectionError);
  EXPECT_EQ(calls, 3);
  calls = 0;
  EXPECT_THROW(with_retries(quick, {}, failing(svc::ServiceError("no", {.status = 404, .code = "not_found"}))),
               svc::ServiceError);
  EXPECT_EQ(calls, 1) << "another 4xx is never tried again";
  calls = 0;
  EXPECT_THROW(with_retries(quick, {}, failing(svc::ServiceError("off", {.status = 503, .code = "runs_disabled"}))),
               svc::ServiceError);
  EXPECT_EQ(calls, 1);
  calls = 0;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(with_retries({.attempts = 0, .base = 1h, .max = 1h}, stop.get_token(), failing(svc::ConnectionError("away"))),
               svc::ConnectionError);
  EXPECT_EQ(calls, 1);
}

}  // namespace
