package dev.svc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Adds up usage by model. A count that nobody gave stays absent: unknown is not zero. */
final class UsageTotals implements TraceContext.UsageSink {
  private final Map<String, ObjectNode> byModel = new LinkedHashMap<>();
  private boolean hasModelSpan;

  @Override
  public synchronized void add(String model, ObjectNode usage) {
    hasModelSpan = true;
    if (usage != null) {
      sum(byModel.computeIfAbsent(model, name -> JsonNodeFactory.instance.objectNode()), usage);
    }
  }

  private static void sum(ObjectNode total, ObjectNode more) {
    for (Iterator<String> names = more.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      JsonNode before = total.get(name);
      JsonNode value = more.get(name);
      if (value.isObject()) {
        sum(before instanceof ObjectNode ? (ObjectNode) before : total.putObject(name), (ObjectNode) value);
      } else if (value.isIntegralNumber() && before != null) {
        total.put(name, before.longValue() + value.longValue());
      } else if (value.isNumber() && before != null) {
        total.put(name, before.doubleValue() + value.doubleValue());
      } else {
        total.set(name, value);
      }
    }
  }

  synchronized boolean hasModelSpan() {
    return hasModelSpan;
  }

  synchronized List<ObjectNode> list() {
    List<ObjectNode> list = new ArrayList<>();
    byModel.forEach(
        (model, usage) -> {
          ObjectNode entry = JsonNodeFactory.instance.objectNode();
          if (model != null) {
            entry.put("model", model);
          }
          list.add(entry.setAll(usage));
        });
    return list;
  }
}
