from __future__ import annotations

import importlib.util
import unittest
from typing import Any

import svc
from scripted import Scripted

HAS_OTEL = importlib.util.find_spec("opentelemetry") is not None


@unittest.skipUnless(HAS_OTEL, "OpenTelemetry is not installed: it is an extra of the package")
class OpenTelemetry(unittest.TestCase):
    def setUp(self) -> None:
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  An extra.
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

        from svc import otel  # noqa: PLC0415

        self.service = Scripted()
        self.addCleanup(self.service.stop)
        self.exported = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exported))
        self.addCleanup(self.provider.shutdown)
        self.theirs = self.provider.get_tracer("theirs")
        self.ours = svc.Instrumentation(endpoint=self.service.url, bridge=otel.Bridge())
        self.addCleanup(self.ours.close, 0)

    def spans(self) -> dict[str, dict[str, Any]]:
        self.ours.flush(20)
        bodies = [call.body for call in self.service.calls_to("ingest")]
        return {span["name"]: span for body in bodies for span in body.get("spans", [])}

    def test_spans_of_both_nest_in_one_another(self) -> None:
        with self.theirs.start_as_current_span("outer"), self.ours.span("ours"):
            with self.theirs.start_as_current_span("inner"), self.ours.span("innermost"):
                pass
            with self.ours.span("beside"):
                pass
        theirs: dict[str, Any] = {span.name: span for span in self.exported.get_finished_spans()}
        ours = self.spans()
        ids = {name: f"{span.context.span_id:016x}" for name, span in theirs.items()}
        self.assertEqual(ours["ours"]["trace_id"], f"{theirs['outer'].context.trace_id:032x}")
        self.assertEqual(ours["ours"]["parent_span_id"], ids["outer"])
        self.assertEqual(f"{theirs['inner'].parent.span_id:016x}", ours["ours"]["span_id"])
        self.assertEqual(ours["innermost"]["parent_span_id"], ids["inner"])
        self.assertEqual(ours["beside"]["parent_span_id"], ours["ours"]["span_id"])

    def test_what_our_sampling_drops_is_not_sampled_by_theirs_either(self) -> None:
        unsampled = svc.Instrumentation(endpoint=self.service.url, bridge=self.ours._host.bridge, sample=0)
        self.addCleanup(unsampled.close, 0)
        with unsampled.span("dropped"), self.theirs.start_as_current_span("inner"):
            pass
        self.assertEqual(self.exported.get_finished_spans(), ())

    def test_the_global_provider_is_not_touched(self) -> None:
        from opentelemetry import trace  # noqa: PLC0415

        with self.ours.span("ours"):
            pass
        self.assertIsNone(trace._TRACER_PROVIDER)

    def test_an_exporter_sends_the_scopes_that_are_kept(self) -> None:
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415

        from svc import otel  # noqa: PLC0415

        exporter = otel.exporter(endpoint=self.service.url, api_key="k", keep=lambda scope: scope == "mine")
        provider = type(self.provider)()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        self.service.binary = True
        provider.get_tracer("theirs").start_span("left out").end()
        provider.get_tracer("mine").start_span("sent").end()
        provider.shutdown()
        calls = self.service.calls_to("traces")
        self.assertEqual(len(calls), 1)
        self.assertEqual(calls[0].headers["authorization"], "Bearer k")


if __name__ == "__main__":
    unittest.main()
