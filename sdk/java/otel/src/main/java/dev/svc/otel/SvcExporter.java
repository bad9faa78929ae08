package dev.svc.otel;

import dev.svc.Settings;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporterBuilder;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/** Sends the spans of a provider that is yours to the service, over OTLP/HTTP. */
public final class SvcExporter implements SpanExporter {
  private final SpanExporter inner;
  private final Predicate<String> keep;

  private SvcExporter(SpanExporter inner, Predicate<String> keep) {
    this.inner = inner;
    this.keep = keep;
  }

  /**
   * Makes an exporter: {@code BatchSpanProcessor.builder(SvcExporter.create(settings, scope -> true)).build()}.
   *
   * @param settings where the service is and who calls
   * @param keep is asked for the name of each instrumentation scope, so that a provider that others write
   *     to as well does not send what is not meant
   * @return an exporter
   * @throws IllegalArgumentException when a setting cannot be used
   */
  public static SvcExporter create(Settings settings, Predicate<String> keep) {
    if (!settings.problems().isEmpty()) {
      throw new IllegalArgumentException(String.join("; ", settings.problems()));
    }
    String endpoint = settings.endpoint();
    String base = endpoint.endsWith("/") ? endpoint.substring(0, endpoint.length() - 1) : endpoint;
    OtlpHttpSpanExporterBuilder builder = OtlpHttpSpanExporter.builder().setEndpoint(base + "/v1/traces");
    settings.apiKey().ifPresent(key -> builder.addHeader("authorization", "Bearer " + key));
    return new SvcExporter(builder.build(), keep);
  }

  @Override
  public CompletableResultCode export(Collection<SpanData> spans) {
    List<SpanData> kept =
        spans.stream().filter(span -> keep.test(span.getInstrumentationScopeInfo().getName())).toList();
    return kept.isEmpty() ? CompletableResultCode.ofSuccess() : inner.export(kept);
  }

  @Override
  public CompletableResultCode flush() {
    return inner.flush();
  }

  @Override
  public CompletableResultCode shutdown() {
    return inner.shutdown();
  }
}
