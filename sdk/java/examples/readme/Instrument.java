import dev.svc.Instrumentation;
import dev.svc.Settings;
import dev.svc.wire.ScoreInput;
import dev.svc.wire.SpanKind;

public class Instrument {
  public static void main(String[] arguments) {
    var settings = Settings.builder().serviceName("answers").build(); // the rest from SVC_*
    try (var svc = Instrumentation.builder().settings(settings).build()) {
      String text =
          svc.span("draft").kind(SpanKind.MODEL_GENERATION).model("gpt-4o-mini").input("What is it?").call(span -> {
            String reply = "42"; // your call of a model
            span.output(reply).usage(12, 1);
            svc.score(ScoreInput.builder().scorerId("tone").value(4).min(1.0).max(5.0).build());
            return reply;
          });
      System.out.println(text);
    }
  }
}
