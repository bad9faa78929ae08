package refundagent;

import java.util.regex.Pattern;

/** Stands for a model: it takes a moment, counts tokens, and does the same thing every time. */
final class FakeModel {
  /** The name under which the price book knows the model that this one plays. */
  static final String NAME = "gpt-4o-mini";

  private static final Pattern FAULT =
      Pattern.compile("broken|damaged|never arrived|wrong", Pattern.CASE_INSENSITIVE);

  record Judgement(double confidence, String reason) {}

  record Reply<T>(T value, long tokensIn, long tokensOut) {}

  private FakeModel() {}

  private static long tokensOf(String text) {
    return (text.length() + 3) / 4;
  }

  /** Reads a complaint the way a careful agent would. */
  static Reply<Judgement> judge(String complaint) throws InterruptedException {
    Thread.sleep(300);
    Judgement judgement =
        FAULT.matcher(complaint).find()
            ? new Judgement(0.93, "the customer names a fault that the terms cover")
            : new Judgement(0.55, "the complaint names no fault that the terms cover");
    return new Reply<>(judgement, 220 + tokensOf(complaint), 10 + tokensOf(judgement.reason()));
  }

  /** Writes the answer to a customer whose refund was refused. */
  static Reply<String> apologise(String complaint) throws InterruptedException {
    Thread.sleep(300);
    String text = "We are sorry. A colleague looked at your case, and we cannot refund it under our terms.";
    return new Reply<>(text, 180 + tokensOf(complaint), tokensOf(text));
  }
}
