package dev.svc;

import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;

/** The correlation of signals, written once: most signals share it. */
final class Belongs {
  private final ObjectNode members;
  private final SerializedString text;

  Belongs(ObjectNode members) {
    this.members = members;
    this.text =
        members.isEmpty()
            ? null
            : new SerializedString(new String(Json.encodeOwn(members), StandardCharsets.UTF_8));
  }

  static Belongs of(Settings settings) {
    ObjectNode members = JsonNodeFactory.instance.objectNode();
    settings.project().ifPresent(value -> members.put("project", value));
    settings.environment().ifPresent(value -> members.put("environment", value));
    settings.serviceName().ifPresent(value -> members.put("service_name", value));
    settings.serviceVersion().ifPresent(value -> members.put("service_version", value));
    return new Belongs(members);
  }

  /** These, and more that win. */
  Belongs and(ObjectNode more) {
    if (more == null || more.isEmpty()) {
      return this;
    }
    ObjectNode both = members.deepCopy();
    both.setAll(more);
    return new Belongs(both);
  }

  ObjectNode members() {
    return members;
  }

  /** As JSON; null where there are none. */
  SerializedString text() {
    return text;
  }
}
