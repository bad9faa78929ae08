import dev.svc.RunFailedException;
import dev.svc.StepFailureException;
import dev.svc.SvcClient;
import dev.svc.Worker;
import dev.svc.Workflow;
import java.time.Duration;
import java.util.List;

public class RunAndWorker {
  record Order(double amount) {}

  record Receipt(double paid, String key) {}

  public static void main(String[] arguments) {
    var refund =
        Workflow.parse("""
            {"id": "refund-in-java", "version": 1,
             "steps": [{"id": "pay", "kind": "task", "input": {"amount": "${input.amount}"}}]}
            """)
            .step("pay", Order.class, (step, order) -> {
              if (order.amount() > 1000) {
                throw new StepFailureException("no_funds", "too much for this account");
              }
              return new Receipt(order.amount(), step.key());
            });

    try (var client = SvcClient.create();
        var worker = Worker.builder(client).workflows(refund).concurrency(10).build()) {
      new Thread(worker::run).start(); // a program of its own calls run(), with stopOnShutdown()
      client.definitions().store(List.of(refund.definition())); // so that a run may start before the worker is there
      var run = client.start(refund.id(), new Order(40), Receipt.class, options -> options.idempotencyKey("order-17-in-java"));
      try (var entries = run.watch()) {
        entries.forEach(entry -> System.out.println(entry.seq() + " " + entry.kind()));
      }
      System.out.println(run.await(Duration.ofMinutes(1)));
    } catch (RunFailedException failed) {
      System.out.println(failed.run().error());
    }
  }
}
