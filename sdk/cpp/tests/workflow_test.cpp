#include "svc/workflow.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "step_state.hpp"
#include "svc/client.hpp"
#include "svc/worker.hpp"

namespace {

using nlohmann::json;

struct Order {
  double amount = 0;
};
[[maybe_unused]] void from_json(const json& in, Order& order) { in.at("amount").get_to(order.amount); }
struct Receipt {
  std::string payment;
};
[[maybe_unused]] void to_json(json& out, const Receipt& receipt) { out = {{"payment", receipt.payment}}; }

svc::Workflow refund() {
  return svc::Workflow(std::string_view(R"({"id":"refund","version":2,"steps":[
  {"id":"pay","kind":"task"},{"id":"wait","kind":"sleep"},{"id":"tell","kind":"task"}]})"));
}

json play(const svc::Workflow& workflow, const std::string& step_id, const json& input) {
  svc::Step step{std::make_shared<svc::detail::StepState>()};
  return workflow.body_of(step_id)(step, input).value();
}

TEST(Workflow, KnowsItsTasksAndWhichOfThemHaveNoBody) {
  auto workflow = refund();
  EXPECT_EQ(workflow.id(), "refund");
  EXPECT_EQ(workflow.version(), 2);
  EXPECT_EQ(workflow.tasks(), (std::vector<std::string>{"pay", "tell"}));
  workflow.step("pay", [](svc::Step& /*step*/) {});
  EXPECT_EQ(workflow.without_body(), std::vector<std::string>{"tell"});
}

TEST(Workflow, ReadsTheDefinitionOfTheExample) {
  EXPECT_EQ(svc::Workflow::load(SVC_REFUND).tasks(), (std::vector<std::string>{"triage", "pay", "apologise"}));
  EXPECT_THROW(svc::Workflow::load("/nowhere/refund.json"), std::invalid_argument);
}

TEST(Workflow, RefusesWhatIsNoDefinition) {
  for (const auto* text : {"{}", "[]", R"({"id":1,"version":1,"steps":[]})", R"({"id":"a","version":1})", "{"})
    EXPECT_THROW(svc::Workflow{std::string_view(text)}, std::invalid_argument) << text;
}

TEST(Workflow, RefusesABodyForNoTaskAndASecondOne) {
  auto workflow = refund();
  const auto body = [](svc::Step& /*step*/) {};
  EXPECT_THROW(workflow.step("wait", body), std::invalid_argument);
  workflow.step("pay", body);
  EXPECT_THROW(workflow.step("pay", body), std::invalid_argument);
}

TEST(Body, TakesItsInputAndGivesItsOutputByTheirTypes) {
  auto workflow = refund();
  workflow.step(
      "pay", [](svc::Step& /*step*/, const Order& order) { return Receipt{std::to_string(static_cast<int>(order.amount))}; });
  workflow.step("tell", [](svc::Step& /*step*/) {});
  EXPECT_EQ(play(workflow, "pay", {{"amount", 40}}), (json{{"payment", "40"}}));
  EXPECT_EQ(play(workflow, "tell", {{"any", "thing"}}), json(nullptr)) << "a body that gives nothing gives null";
}

TEST(Body, AnInputOfAnotherShapeFailsTheStepByItsOwnCode) {
  auto workflow = refund();
  workflow.step("pay", [](svc::Step& /*step*/, const Order& order) { return order.amount; });
  try {
    play(workflow, "pay", {{"price", 40}});
    FAIL() << "it was taken";
  } catch (const svc::StepFailure& failure) {
    EXPECT_EQ(failure.details().code, "invalid_input");
    EXPECT_EQ(failure.details().error_class, "fatal");
  }
}

TEST(Body, AGenericCallableNamesItsInput) {
  auto workflow = refund();
  workflow.step<Order>("pay", [](auto& /*step*/, const auto& order) { return order.amount; });
  EXPECT_EQ(play(workflow, "pay", {{"amount", 2.5}}), json(2.5));
}

TEST(Step, RefusesDetailsThatAreTooLargeAndAPatchThatIsNoObject) {
  const auto state = std::make_shared<svc::detail::StepState>();
  std::string told;
  state->tell = [&](std::string details) { told = std::move(details); };
  svc::Step step{state};
  step.heartbeat(std::string(64 * 1024 - 2, 'x'));
  EXPECT_EQ(told.size(), 64U * 1024);
  EXPECT_THROW(step.heartbeat(std::string(64 * 1024 - 1, 'x')), std::invalid_argument);
  step.patch_state(json{{"paid", true}});
  EXPECT_THROW(step.patch_state(json::array()), std::invalid_argument);
  EXPECT_EQ(state->patches.size(), 1U);
}

TEST(Step, SaysWhenItsRunEnds) {
  const auto state = std::make_shared<svc::detail::StepState>();
  const svc::Step step{state};
  EXPECT_EQ(step.deadline(), std::nullopt);
  state->lease.deadline_at = "1970-01-01T00:00:01Z";
  EXPECT_EQ(step.deadline(), std::chrono::system_clock::time_point{std::chrono::seconds{1}});
}

TEST(Worker, RefusesWhatItCouldNotServe) {
  EXPECT_THROW(svc::Worker({refund()}), std::invalid_argument) << "a task without a body";
  auto complete = refund();
  complete.step("pay", [](svc::Step& /*step*/) {}).step("tell", [](svc::Step& /*step*/) {});
  EXPECT_THROW(svc::Worker({complete, complete}), std::invalid_argument) << "the same version twice";
  EXPECT_THROW(svc::Worker({complete}, {.concurrency = 0}), std::invalid_argument);
  EXPECT_THROW(svc::Worker({complete}, {.settings = {.endpoint = "no url"}}), std::invalid_argument);
}

TEST(Worker, StopsWhileTheServiceIsAwayAndRunsOnce) {
  auto complete = refund();
  complete.step("pay", [](svc::Step& /*step*/) {}).step("tell", [](svc::Step& /*step*/) {});
  svc::Worker worker{{complete}, {.settings = {.endpoint = "http://127.0.0.1:9"}, .stop_on_signals = false, .log = nullptr}};
  std::stop_source stop;
  std::jthread running{[&] { worker.run(stop.get_token()); }};
  stop.request_stop();
  running.join();
  EXPECT_THROW(worker.run(), std::logic_error);
}

TEST(Client, RefusesASettingThatCannotBeUsedAndNamesNoKey) {
  try {
    const svc::Client client{{.endpoint = "ftp://svc.test", .api_key = "sk-secret\n"}};
    FAIL() << "it was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("endpoint"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find("sk-secret"), std::string::npos);
  }
}

TEST(Client, ACallWhoseTokenIsStoppedIsCancelledAndTouchesNothing) {
  svc::Client client{{.endpoint = "http://127.0.0.1:9"}};
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(client.get_run("run-1", stop.get_token()), svc::Cancelled);
  EXPECT_THROW(client.wait("run-1", {.stop = stop.get_token()}), svc::Cancelled);
  int entries = 0;
  for (const auto& entry : client.watch("run-1", {.stop = stop.get_token()})) entries += entry.seq >= 0 ? 1 : 0;
  EXPECT_EQ(entries, 0);
  client.close();
  EXPECT_THROW(client.get_run("run-1"), svc::ConnectionError);
}

static_assert(std::ranges::input_range<svc::Watch>);
static_assert(!std::is_copy_constructible_v<svc::Client> && std::is_nothrow_move_constructible_v<svc::Client>);
static_assert(std::is_nothrow_destructible_v<svc::Instrumentation> && std::is_nothrow_destructible_v<svc::Worker>);

}  // namespace
