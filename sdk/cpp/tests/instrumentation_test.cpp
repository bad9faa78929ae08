#include "svc/instrumentation.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "svc/log_stream.hpp"

namespace {

using namespace std::chrono_literals;

/// A service that nobody answers for: what is recorded is counted, and no more.
svc::InstrumentationOptions nowhere() {
  return {
      .settings = {.endpoint = "http://127.0.0.1:9", .sample = 1, .enabled = true}, .retry = {.attempts = 1}, .log = nullptr};
}

TEST(Span, IsTheParentOfWhatItsThreadRecordsUntilItsEnd) {
  svc::Instrumentation tracer{nowhere()};
  EXPECT_EQ(tracer.traceparent(), std::nullopt);
  {
    const auto outer = tracer.span("outer");
    EXPECT_EQ(tracer.current().span_id(), outer.span_id());
    {
      const auto inner = tracer.span("inner");
      EXPECT_EQ(inner.trace_id(), outer.trace_id());
      EXPECT_EQ(tracer.current().span_id(), inner.span_id());
    }
    EXPECT_EQ(tracer.current().span_id(), outer.span_id());
    auto early = tracer.span("early");
    early.end();
    EXPECT_EQ(tracer.current().span_id(), outer.span_id()) << "a span that has ended is nobody's parent";
  }
  EXPECT_FALSE(tracer.current());
  tracer.close(0ms);
}

TEST(Span, ThatIsNotActiveIsNobodysParent) {
  svc::Instrumentation tracer{nowhere()};
  const auto span = tracer.span("apart", {.activate = false});
  EXPECT_FALSE(tracer.current());
  const auto scope = tracer.activate(span.context());
  EXPECT_EQ(tracer.current().span_id(), span.span_id());
  tracer.close(0ms);
}

TEST(Span, ContextGoesToAnotherThreadWithABoundFunctionAndNotByItself) {
  svc::Instrumentation tracer{nowhere()};
  const auto outer = tracer.span("outer");
  std::string alone = "set";
  std::string bound;
  std::thread([&] { alone = tracer.current().span_id(); }).join();
  std::thread(tracer.bound([&] { bound = tracer.current().span_id(); })).join();
  EXPECT_EQ(alone, "");
  EXPECT_EQ(bound, outer.span_id());
  tracer.close(0ms);
}

TEST(Span, SpansOfAnotherServiceAreNoParents) {
  svc::Instrumentation one{nowhere()};
  auto elsewhere = nowhere();
  elsewhere.settings.endpoint = "http://127.0.0.2:9";
  svc::Instrumentation other{elsewhere};
  const auto outer = one.span("outer");
  EXPECT_NE(other.span("inner").trace_id(), outer.trace_id());
  one.close(0ms);
  other.close(0ms);
}

TEST(Traced, GivesTheResultAndPassesAnErrorOnUnchanged) {
  svc::Instrumentation tracer{nowhere()};
  EXPECT_EQ(tracer.traced("sum", [](svc::Span& /*span*/) { return 42; }), 42);
  EXPECT_THROW(tracer.traced("fails", [](svc::Span& /*span*/) { throw std::out_of_range("far"); }), std::out_of_range);
  EXPECT_FALSE(tracer.current());
  tracer.close(0ms);
}

TEST(Counters, EachSignalIsCountedOnce) {
  auto options = nowhere();
  options.max_queued = 5;
  options.delay = 1h;
  options.batch_size = 100;
  svc::Instrumentation tracer{options};
  for (int n = 0; n < 8; ++n) tracer.counter("orders");
  tracer.score("tone", 1, {.min = 1, .max = 1});
  tracer.score("tone", 1, {.min = 0, .max = 1});
  tracer.gauge("nan", std::nan(""));
  tracer.histogram("latency", {.count = 1, .sum = 1, .bounds = {1}, .bucket_counts = {1}});
  tracer.close(0ms);
  tracer.counter("late");
  const auto found = tracer.counters();
  EXPECT_EQ(found.dropped, 4U) << "three too many, and one after the close";
  EXPECT_EQ(found.invalid, 4U) << "a scale that says nothing, a score of nothing, no number, and a bucket that lacks";
  EXPECT_EQ(found.sent + found.refused, 0U);
  EXPECT_EQ(found.failed, 5U);
}

TEST(Counters, WhatIsSilencedIsCountedAsNothing) {
  auto options = nowhere();
  options.settings.enabled = false;
  svc::Instrumentation tracer{options};
  {
    auto span = tracer.span("silent");
    EXPECT_EQ(span.traceparent().substr(53), "00");
    tracer.log(svc::Severity::warn, "silent");
  }
  EXPECT_TRUE(tracer.flush(0ms));
  const auto found = tracer.counters();
  EXPECT_EQ(found.dropped + found.failed + found.invalid + found.sent, 0U);
}

TEST(Problems, HoldNoKey) {
  auto options = nowhere();
  options.settings.api_key = "sk-secret\n";
  options.settings.endpoint = "no url";
  options.settings.sample = 7;
  svc::Instrumentation tracer{options};
  ASSERT_EQ(tracer.problems().size(), 3U);
  for (const auto& problem : tracer.problems()) EXPECT_EQ(problem.find("sk-secret"), std::string::npos);
}

/// What a user's tracer is told.
class Bridge : public svc::ContextBridge {
 public:
  std::optional<svc::SpanAddress> current() override { return active; }
  std::shared_ptr<void> attach(std::string_view /*trace_id*/, std::string_view span_id, bool sampled) override {
    attached.emplace_back(span_id);
    EXPECT_TRUE(sampled);
    return {nullptr, [this](void*) { ++detached; }};
  }

  std::optional<svc::SpanAddress> active;
  std::vector<std::string> attached;
  int detached = 0;
};

TEST(ContextBridge, ASpanOfTheOtherTracerIsTheParentAndOursIsActiveThere) {
  const auto bridge = std::make_shared<Bridge>();
  bridge->active = {"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"};
  auto options = nowhere();
  options.bridge = bridge;
  svc::Instrumentation tracer{options};
  {
    const auto span = tracer.span("ours");
    EXPECT_EQ(span.trace_id(), "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(bridge->attached, std::vector{std::string(span.span_id())});
    EXPECT_EQ(bridge->detached, 0);
  }
  EXPECT_EQ(bridge->detached, 1);
  tracer.close(0ms);
}

TEST(Propagation, InjectGivesTheHeaderAndExtractReadsIt) {
  svc::Instrumentation tracer{nowhere()};
  std::map<std::string, std::string, std::less<>> headers;
  const auto put = [&](std::string_view name, std::string_view value) { headers.emplace(name, value); };
  tracer.inject(put);
  EXPECT_TRUE(headers.empty()) << "outside of any span there is nothing to give";
  const auto span = tracer.span("outer");
  tracer.inject(put);
  const auto header = svc::Instrumentation::extract([&](std::string_view name) -> std::optional<std::string> {
    const auto found = headers.find(name);
    return found == headers.end() ? std::nullopt : std::optional(found->second);
  });
  EXPECT_EQ(header, span.traceparent());
  tracer.close(0ms);
}

TEST(LogStream, RecordsALineOnceAndPassesItOn) {
  auto options = nowhere();
  options.delay = 1h;
  svc::Instrumentation tracer{options};
  std::stringbuf before;
  {
    svc::LogStreambuf bridge{tracer, svc::Severity::warn, "app", &before};
    std::ostream stream{&bridge};
    stream << "one\n"
           << "tw" << 'o' << std::endl
           << "\n"
           << "no end";
  }
  EXPECT_EQ(before.str(), "one\ntwo\n\nno end");
  tracer.close(0ms);
  EXPECT_EQ(tracer.counters().failed, 3U) << "an empty line is no record";
}

}  // namespace
