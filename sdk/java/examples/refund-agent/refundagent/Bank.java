package refundagent;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Stands for a bank with an API as banks have them: it fails now and then, and it takes an idempotency key. */
final class Bank {
  /** The bank does not answer. */
  static final class DownException extends Exception {
    private static final long serialVersionUID = 1L;
  }

  record Payment(String payment, double amount) {}

  private final Map<String, Payment> payments = new HashMap<>();
  private final Set<String> refusedOnce = new HashSet<>();

  /** The first try for a key fails, so that a retry can be seen; a repeated key pays nothing twice. */
  synchronized Payment pay(double amount, String key) throws DownException {
    if (!payments.containsKey(key) && refusedOnce.add(key)) {
      throw new DownException();
    }
    return payments.computeIfAbsent(key, fresh -> new Payment("payment-" + (payments.size() + 1), amount));
  }
}
