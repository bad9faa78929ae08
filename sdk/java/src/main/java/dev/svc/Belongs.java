package dev.svc;

import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/** The correlation of signals, written once, and when it is needed: most signals share it, and many bodies record none. */
final class Belongs {
  private final Supplier<ObjectNode> source;
  private volatile Written written;

  private record Written(ObjectNode members, SerializedString text) {}

  /** Asks for its members later, maybe more than once. */
  Belongs(Supplier<ObjectNode> source) {
    this.source = source;
  }

  static Belongs of(Settings settings) {
    ObjectNode members = JsonNodeFactory.instance.objectNode();
    settings.project().ifPresent(value -> members.put("project", value));
    settings.environment().ifPresent(value -> members.put("environment", value));
    settings.serviceName().ifPresent(value -> members.put("service_name", value));
    settings.serviceVersion().ifPresent(value -> members.put("service_version", value));
    return new Belongs(() -> members);
  }

  /** These, and more that win. */
  Belongs and(ObjectNode more) {
    return more == null || more.isEmpty() ? this : new Belongs(() -> joined(more));
  }

  /** The same. */
  Belongs and(Belongs more) {
    return new Belongs(() -> joined(more.members()));
  }

  private ObjectNode joined(ObjectNode more) {
    ObjectNode both = members().deepCopy();
    both.setAll(more);
    return both;
  }

  ObjectNode members() {
    return written().members;
  }

  /** As JSON; null where there are none. */
  SerializedString text() {
    return written().text;
  }

  private Written written() {
    Written before = written;
    if (before != null) {
      return before;
    }
    ObjectNode members = source.get();
    SerializedString text =
        members.isEmpty()
            ? null
            : new SerializedString(new String(Json.encodeOwn(members), StandardCharsets.UTF_8));
    return written = new Written(members, text);
  }
}
