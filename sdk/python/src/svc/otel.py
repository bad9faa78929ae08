"""Joins instrumentation and OpenTelemetry: install `svc-sdk[otel]`.

`Bridge` nests spans of both: give it to `Instrumentation(bridge=otel.Bridge())`. `exporter` sends the spans of a
provider that is yours to the service. Nothing here touches the global provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from ._settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.sdk.trace import ReadableSpan


class Bridge:
    """Makes an active OpenTelemetry span the parent of ours, and ours the parent of theirs.

    So calls that an OpenTelemetry instrumentation watches nest below our spans, and carry our `traceparent`.
    """

    def current(self) -> tuple[str, str] | None:
        """Trace id and span id of the active OpenTelemetry span, ours included."""
        found = trace.get_current_span().get_span_context()
        return (f"{found.trace_id:032x}", f"{found.span_id:016x}") if found.is_valid else None

    def attach(self, trace_id: str, span_id: str, *, sampled: bool) -> object:
        """Makes a span of ours the active one, as one that OpenTelemetry does not record."""
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        ours = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=flags)
        return otel_context.attach(trace.set_span_in_context(NonRecordingSpan(ours)))

    def detach(self, token: Any) -> None:
        """Undoes `attach`."""
        otel_context.detach(token)


class _Filtered(SpanExporter):
    def __init__(self, inner: SpanExporter, keep: Callable[[str], bool]) -> None:
        self._inner = inner
        self._keep = keep

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        scopes = [(span, span.instrumentation_scope) for span in spans]
        kept = [span for span, scope in scopes if self._keep("" if scope is None else scope.name)]
        return self._inner.export(kept) if kept else SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def exporter(
    *,
    endpoint: str | None = None,
    api_key: str | None = None,
    keep: Callable[[str], bool] | None = None,
    timeout: float = 10.0,
) -> SpanExporter:
    """Sends spans to the service over OTLP/HTTP, with the settings of `Instrumentation`.

    For a provider of yours: `provider.add_span_processor(BatchSpanProcessor(otel.exporter()))`. `keep` is asked for the
    name of each instrumentation scope, so that a provider that others write to as well does not send what is not meant.
    `timeout` is seconds. Raises ValueError on a setting that cannot be used.
    """
    settings = read_settings(endpoint=endpoint, api_key=api_key, sample=1)
    if settings.problems:
        raise ValueError("; ".join(settings.problems))
    headers = {} if settings.api_key is None else {"authorization": f"Bearer {settings.api_key}"}
    inner = OTLPSpanExporter(f"{settings.endpoint.rstrip('/')}/v1/traces", headers=headers, timeout=timeout)
    return inner if keep is None else _Filtered(inner, keep)
