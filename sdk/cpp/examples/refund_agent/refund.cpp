#include "refund.hpp"

#include "fake_model.hpp"

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Judgement, confidence, reason)

namespace {

Judgement triage(svc::Step& step, const Case& given) {
  auto span = step.span(
      "judge the complaint",
      {.kind = svc::SpanKind::model_generation, .input = given.ticket.text, .model = model_name, .provider = "openai"});
  const auto reply = judge(given.ticket.text);
  span.output(reply.answer).usage(reply.input_tokens, reply.output_tokens);
  step.patch_state(reply.answer);
  return reply.answer;
}

nlohmann::json write_to_customer(svc::Step& step, const Case& given) {
  auto span = step.span(
      "write to the customer",
      {.kind = svc::SpanKind::model_generation, .input = given.ticket.text, .model = model_name, .provider = "openai"});
  const auto reply = apologise(given.ticket.text);
  span.output(reply.answer).usage(reply.input_tokens, reply.output_tokens);
  return {{"text", reply.answer}};
}

}  // namespace

svc::Workflow refund_agent(Bank& bank) {
  auto refund = svc::Workflow::load(REFUND_DEFINITION);
  refund.step("triage", triage);
  // Paid once, however often it runs: the key is the same for every attempt.
  refund.step("pay", [&bank](svc::Step& step, const Order& order) {
    auto span = step.span("call the bank", {.kind = svc::SpanKind::tool_call, .input = order, .entity_name = "bank"});
    try {
      return bank.pay(order.amount, step.key());
    } catch (const BankDown& down) {
      span.fail(down.what());
      throw svc::Retryable(down.what());
    }
  });
  refund.step("apologise", write_to_customer);
  return refund;
}
