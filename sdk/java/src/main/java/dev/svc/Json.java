package dev.svc;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import com.fasterxml.jackson.databind.util.ByteBufferBackedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.temporal.Temporal;
import java.time.temporal.TemporalAmount;

/** JSON as it travels: exact integers, any text. */
final class Json {
  /** Reads and writes what is the service's, and values of users where they bring no mapper. */
  static final Json OWN = new Json(ownMapper());

  private final ObjectMapper mapper;

  Json(ObjectMapper mapper) {
    this.mapper = mapper;
  }

  private static ObjectMapper ownMapper() {
    // Without a module of their own, Jackson refuses times: as text they are what JSON can say.
    SimpleModule times = new SimpleModule("svc-times");
    times.addSerializer(Temporal.class, ToStringSerializer.instance);
    times.addSerializer(TemporalAmount.class, ToStringSerializer.instance);
    return new ObjectMapper()
        .registerModule(times)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
  }

  /** What cannot be said in JSON, or cannot be read as what was asked for. */
  static final class MismatchException extends Exception {
    private static final long serialVersionUID = 1L;

    MismatchException(String message) {
      super(message);
    }
  }

  byte[] encode(Object value) throws MismatchException {
    try {
      return mapper.writeValueAsBytes(value);
    } catch (JsonProcessingException | StackOverflowError first) {
      // Half of a surrogate pair is no UTF-8, but JSON can say it.
      try {
        return encodeEscaped(value);
      } catch (IOException | StackOverflowError e) {
        throw new MismatchException(wordsOf(first));
      }
    } catch (RuntimeException e) {
      throw new MismatchException(wordsOf(e));
    }
  }

  private byte[] encodeEscaped(Object value) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream(256);
    try (JsonGenerator generator = mapper.getFactory().createGenerator(out)) {
      generator.enable(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature());
      mapper.writeValue(generator, value);
    }
    return out.toByteArray();
  }

  /** The same for a value that is a part of another one. */
  JsonNode tree(Object value) throws MismatchException {
    if (value instanceof JsonNode) {
      return (JsonNode) value;
    }
    try {
      return mapper.valueToTree(value);
    } catch (RuntimeException | StackOverflowError e) {
      throw new MismatchException(wordsOf(e));
    }
  }

  /** A model of this library as a tree that can be added to. */
  static ObjectNode ownTree(Object model) {
    return OWN.mapper.valueToTree(model);
  }

  /** The text of a value; null where JSON cannot say it. */
  static byte[] textOf(JsonNode value) {
    try {
      return OWN.encode(value);
    } catch (MismatchException e) {
      return null;
    }
  }

  void write(JsonGenerator generator, Object value) throws IOException {
    mapper.writeValue(generator, value);
  }

  <T> T read(JsonNode value, JavaType type) throws MismatchException {
    try {
      return mapper.readValue(mapper.treeAsTokens(value), type);
    } catch (IOException | RuntimeException | StackOverflowError e) {
      throw new MismatchException(wordsOf(e));
    }
  }

  JavaType type(java.lang.reflect.Type type) {
    return mapper.constructType(type);
  }

  static JsonNode parse(byte[] text) throws MismatchException {
    return parse(ByteBuffer.wrap(text));
  }

  static JsonNode parse(ByteBuffer text) throws MismatchException {
    try {
      JsonNode node = OWN.mapper.readTree(new ByteBufferBackedInputStream(text));
      if (node == null || node.isMissingNode()) {
        throw new MismatchException("nothing is no JSON");
      }
      return node;
    } catch (IOException | StackOverflowError e) {
      throw new MismatchException(wordsOf(e));
    }
  }

  /** Reads a model; what is not one is an answer that cannot be read. */
  static <T> T decode(JsonNode value, Class<T> model) {
    try {
      T read = value == null ? null : OWN.mapper.treeToValue(value, model);
      if (read == null) {
        throw new ConnectionFailedException("the answer is empty");
      }
      return read;
    } catch (JsonProcessingException | StackOverflowError e) {
      throw new ConnectionFailedException("the answer cannot be read: " + wordsOf(e));
    }
  }

  /** Writes what this library made itself. */
  static byte[] encodeOwn(Object value) {
    try {
      return OWN.encode(value);
    } catch (MismatchException e) {
      throw new IllegalArgumentException("not JSON: " + e.getMessage(), e);
    }
  }

  /** What failed, without the text that Jackson quotes of its source. */
  private static String wordsOf(Throwable error) {
    if (error instanceof JsonProcessingException) {
      String words = ((JsonProcessingException) error).getOriginalMessage();
      return words == null ? error.getClass().getSimpleName() : words;
    }
    if (error instanceof StackOverflowError) {
      return "it is nested too deeply, or contains itself";
    }
    if (error instanceof IllegalArgumentException && error.getCause() instanceof JsonProcessingException) {
      return wordsOf(error.getCause());
    }
    return error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
  }
}
