package dev.svc;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Map;

/** Writes signals as JSON, on the thread that records them. */
final class SpanWriter {
  private static final JsonFactory FACTORY = new JsonFactory();

  private final Json json;

  SpanWriter(Json json) {
    this.json = json;
  }

  /** What writes the members of one signal. */
  @FunctionalInterface
  interface Members {
    void write(JsonGenerator generator) throws IOException;
  }

  /** An object; null where a value of it is not JSON. */
  byte[] object(Members members) {
    try {
      return write(members, false);
    } catch (IOException | StackOverflowError e) {
      // Half of a surrogate pair is no UTF-8, but JSON can say it.
      return escaped(members);
    } catch (RuntimeException e) {
      return null;
    }
  }

  private byte[] escaped(Members members) {
    try {
      return write(members, true);
    } catch (IOException | RuntimeException | StackOverflowError e) {
      return null;
    }
  }

  private static byte[] write(Members members, boolean escapes) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream(512);
    JsonGenerator generator = FACTORY.createGenerator(out);
    if (escapes) {
      generator.enable(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature());
    }
    generator.writeStartObject();
    members.write(generator);
    generator.writeEndObject();
    generator.close();
    return out.toByteArray();
  }

  static void text(JsonGenerator generator, String name, String value) throws IOException {
    if (value != null) {
      generator.writeStringField(name, value);
    }
  }

  /** A model of this library. */
  static void model(JsonGenerator generator, String name, Object model) throws IOException {
    if (model != null) {
      generator.writeFieldName(name);
      Json.OWN.write(generator, model);
    }
  }

  /** A value of a user. */
  void value(JsonGenerator generator, String name, Object value) throws IOException {
    if (value == null) {
      return;
    }
    generator.writeFieldName(name);
    if (value instanceof String) {
      generator.writeString((String) value);
    } else {
      json.write(generator, value);
    }
  }

  void attributes(JsonGenerator generator, String name, Map<String, ?> attributes) throws IOException {
    if (attributes == null || attributes.isEmpty()) {
      return;
    }
    generator.writeObjectFieldStart(name);
    for (Map.Entry<String, ?> attribute : attributes.entrySet()) {
      value(generator, attribute.getKey(), attribute.getValue());
    }
    generator.writeEndObject();
  }

  static void belongs(JsonGenerator generator, Belongs belongs) throws IOException {
    if (belongs.text() != null) {
      generator.writeFieldName("correlation");
      generator.writeRawValue(belongs.text());
    }
  }
}
