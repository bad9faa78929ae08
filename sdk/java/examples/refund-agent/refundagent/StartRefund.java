package refundagent;

import com.fasterxml.jackson.databind.JsonNode;
import dev.svc.RunFailedException;
import dev.svc.SvcClient;
import dev.svc.wire.JournalKind;
import dev.svc.wire.RunCorrelation;

/** Starts a refund and follows it: {@code StartRefund [amount] [complaint]}. */
public final class StartRefund {
  private StartRefund() {}

  /**
   * Starts one.
   *
   * @param arguments the amount and the complaint
   */
  public static void main(String[] arguments) {
    double amount = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 250;
    String text = arguments.length > 1 ? arguments[1] : "I do not like the colour any more.";
    var ticket = new RefundAgent.Ticket("t-" + System.currentTimeMillis(), text, amount);
    var customer = RunCorrelation.builder().userId("customer-7").build();
    try (var client = SvcClient.create()) {
      var run =
          client.start("refund", new RefundAgent.Case(ticket), JsonNode.class, options -> options.correlation(customer));
      System.out.println("run " + run.id() + ", trace " + run.run().traceId() + ", ticket " + ticket.id());
      try (var entries = run.watch()) {
        entries.forEach(entry -> {
          System.out.printf("%3d %-15s %s%n", entry.seq(), entry.kind(), entry.stepId() == null ? "" : entry.stepId());
          if (JournalKind.RUN_WAITING.equals(entry.kind()) && "ask".equals(entry.stepId())) {
            System.out.println("\n    It waits for a person: an example in another language has `approve`.\n");
          }
        });
      }
      System.out.println("paid: " + run.await());
    } catch (RunFailedException e) {
      System.out.println(e.getMessage());
    }
  }
}
