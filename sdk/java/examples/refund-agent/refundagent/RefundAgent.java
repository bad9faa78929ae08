package refundagent;

import dev.svc.RetryableException;
import dev.svc.Step;
import dev.svc.Workflow;
import dev.svc.wire.SpanKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** The bodies of the refund agent's tasks. Workers in other languages serve the same definition. */
final class RefundAgent {
  record Ticket(String id, String text, double amount) {}

  record Case(Ticket ticket) {}

  record Order(double amount) {}

  private final Bank bank = new Bank();

  Workflow workflow(Path definition) throws IOException {
    return Workflow.load(definition)
        .step("triage", Case.class, this::triage)
        .step("pay", Order.class, this::pay)
        .step("apologise", Case.class, this::apologise);
  }

  private FakeModel.Judgement triage(Step step, Case input) throws InterruptedException {
    String text = input.ticket().text();
    FakeModel.Judgement judgement =
        step.span("judge the complaint").kind(SpanKind.MODEL_GENERATION).model(FakeModel.NAME).provider("openai").input(text)
            .call(span -> {
              FakeModel.Reply<FakeModel.Judgement> reply = FakeModel.judge(text);
              span.output(reply.value()).usage(reply.tokensIn(), reply.tokensOut());
              return reply.value();
            });
    step.patchState("confidence", judgement.confidence()).patchState("reason", judgement.reason());
    return judgement;
  }

  /** Paid once, however often it runs: the key is the same for every attempt. */
  private Bank.Payment pay(Step step, Order order) {
    return step.span("call the bank").kind(SpanKind.TOOL_CALL).entityName("bank").input(order).call(span -> {
      try {
        return bank.pay(order.amount(), step.key());
      } catch (Bank.DownException e) {
        throw new RetryableException("the bank does not answer", e);
      }
    });
  }

  private Map<String, String> apologise(Step step, Case input) throws InterruptedException {
    String text = input.ticket().text();
    return step.span("write to the customer").kind(SpanKind.MODEL_GENERATION).model(FakeModel.NAME).provider("openai")
        .input(text)
        .call(span -> {
          FakeModel.Reply<String> reply = FakeModel.apologise(text);
          span.output(reply.value()).usage(reply.tokensIn(), reply.tokensOut());
          return Map.of("text", reply.value());
        });
  }
}
