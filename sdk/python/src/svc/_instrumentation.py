from __future__ import annotations

import atexit
import logging
import math
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._errors import IncompatibleServer
from ._export_queue import EXPORT_RETRY, ExportCounters, ExportQueue
from ._http import Http
from ._settings import Settings, read_settings
from ._span import ContextBridge, Span, SpanHost, TraceContext, activate, active, deactivate, realm_of, traceparent
from ._spec_version import SpecCheck
from ._trace_context import new_span_id, new_trace_id, parse_traceparent, timestamp
from ._traced import Recorder, traced

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence

    from ._retry import RetryPolicy
    from ._signal import Signal
    from ._wire import AuthorKind, FeedbackKind, ScoreSource, Severity, SpanKind

F = TypeVar("F", bound="Callable[..., Any]")

_log = logging.getLogger("svc")

DEFAULT_CLOSE_SECONDS = 5.0


class Instrumentation:
    """Records traces, logs, metrics, scores, feedback and aspect notes, and sends them in the background.

    Nothing here raises into the code that it watches, and nothing here makes it wait; what cannot be delivered is
    counted. Safe for threads, tasks and forks. At the exit of the interpreter it sends what is queued, for five
    seconds at most; `close` does so earlier.
    """

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        api_key: str | None = None,
        project: str | None = None,
        environment: str | None = None,
        service_name: str | None = None,
        service_version: str | None = None,
        sample: float | None = None,
        enabled: bool | None = None,
        max_queued: int = 10_000,
        max_queued_bytes: int = 32 * 1024 * 1024,
        batch_size: int = 500,
        delay: float = 0.5,
        retry: RetryPolicy = EXPORT_RETRY,
        bridge: ContextBridge | None = None,
    ) -> None:
        """What code says wins over `SVC_ENDPOINT` and its kind.

        A setting that cannot be used falls back to its default, and is named in `problems`. `max_queued` and
        `max_queued_bytes` bound what waits in memory while the service is slow or away; `delay` is how many seconds a
        signal waits for others to travel with.
        """
        settings = read_settings(
            endpoint=endpoint,
            api_key=api_key,
            project=project,
            environment=environment,
            service_name=service_name,
            service_version=service_version,
            sample=sample,
            enabled=enabled,
        )
        self._setup(
            settings,
            bridge,
            max_queued=max_queued,
            max_queued_bytes=max_queued_bytes,
            batch_size=batch_size,
            delay=delay,
            retry=retry,
        )

    def _setup(self, settings: Settings, bridge: ContextBridge | None, **bounds: Any) -> None:
        self._settings = settings
        for problem in settings.problems:
            _log.warning("instrumentation: %s", problem)
        # Its own connections: what user code does with others cannot hold it up.
        self._http = Http(settings)
        self._spec = SpecCheck(self._http)
        self._warned = False
        queue = ExportQueue(self._http, before_send=self._check_spec, at_fork=self._forked, **bounds)
        realm = realm_of(settings)
        self._host = SpanHost(realm, queue, settings.sample, settings.enabled, bridge)
        self._queue = queue
        self._base = {
            name: value
            for name, value in (
                ("project", settings.project),
                ("environment", settings.environment),
                ("service_name", settings.service_name),
                ("service_version", settings.service_version),
            )
            if value is not None
        }
        if settings.enabled:
            atexit.register(self.close)

    def _forked(self) -> None:
        # A process of `multiprocessing` ends without the handlers of `atexit`.
        processes = sys.modules.get("multiprocessing.util")
        if processes is not None:
            processes.Finalize(None, self.close, exitpriority=0)

    def _check_spec(self, signal: Signal) -> None:
        try:
            self._spec.ensure(signal)
        except IncompatibleServer as fault:
            if not self._warned:
                self._warned = True
                _log.warning("instrumentation: %s", fault)

    # --- Spans

    def span(
        self,
        name: str,
        *,
        kind: SpanKind = "generic",
        input: object = None,  # noqa: A002  The word of the field.
        model: str | None = None,
        provider: str | None = None,
        entity_name: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        correlation: Mapping[str, Any] | None = None,
        traceparent: str | None = None,
    ) -> Span:
        """Starts a span. In a `with` statement it is the parent of what runs inside; else its caller ends it.

        `entity_name` is the agent, tool or retriever that this is an operation of. `traceparent` is the header of an
        incoming request to continue; a malformed one starts a new trace. Without one, the parent is the span around
        the call.
        """
        host = self._host
        around = active(host.realm)
        parent: tuple[str, str] | None = None if around is None else (around.trace_id, around.span_id)
        try:
            if traceparent is not None:
                parent = parse_traceparent(traceparent)
            elif host.bridge is not None:
                parent = host.bridge.current() or parent
        except Exception:
            parent = None
            self._queue.add_invalid()
        trace_id = new_trace_id() if parent is None else parent[0]
        span_id = new_span_id()
        if around is not None or correlation is not None:
            belongs = {**self._base, **(around.correlation if around is not None else {}), **(correlation or {})}
        else:
            belongs = self._base
        fields: dict[str, Any] = {"trace_id": trace_id, "span_id": span_id, "name": name, "kind": kind, "status": "ok"}
        if parent is not None:
            fields["parent_span_id"] = parent[1]
        if belongs:
            fields["correlation"] = belongs
        context = TraceContext(trace_id, span_id, belongs, None if around is None else around.on_model_span)
        span = Span(host, context, around, fields)
        span.set(input=input, model=model, provider=provider, entity_name=entity_name, attributes=attributes)
        return span

    @overload
    def traced(self, function: F, /) -> F: ...
    @overload
    def traced(
        self,
        name: str | None = None,
        /,
        *,
        kind: SpanKind = "generic",
        entity_name: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        record_input: bool = False,
        record_output: bool = False,
    ) -> Callable[[F], F]: ...
    def traced(
        self,
        name: Callable[..., Any] | str | None = None,
        /,
        *,
        kind: SpanKind = "generic",
        entity_name: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        record_input: bool = False,
        record_output: bool = False,
    ) -> Any:
        """Runs a function under a span: `def`, `async def`, and generators of both, whose span ends when they do.

        The name is that of the function where none is given. `record_input` and `record_output` record what it is
        called with and what it returns.
        """

        def decorate(function: F) -> F:
            title = name if isinstance(name, str) else getattr(function, "__qualname__", "function")
            recorder = Recorder(
                function,
                lambda: self.span(title, kind=kind, entity_name=entity_name, attributes=attributes),
                record_input=record_input,
                record_output=record_output,
            )
            return traced(function, recorder)

        return decorate(name) if callable(name) else decorate

    @contextmanager
    def under(self, context: TraceContext) -> Generator[None, None, None]:
        """Runs code under a span that somebody else records: a step of a run."""
        token = activate(self._host.realm, context)
        bridge = self._host.bridge
        attached: object = None
        if bridge is not None:
            attached = bridge.attach(context.trace_id, context.span_id, sampled=True)
        try:
            yield
        finally:
            if bridge is not None:
                bridge.detach(attached)
            deactivate(token)

    def traceparent(self) -> str | None:
        """The span around the call, as a `traceparent` header; `None` outside of any."""
        around = active(self._host.realm)
        return None if around is None else traceparent(self._host, around)

    def inject(self, headers: MutableMapping[str, str]) -> None:
        """Adds the `traceparent` of the span around the call to the headers of an outgoing request."""
        header = self.traceparent()
        if header is not None:
            headers["traceparent"] = header

    # --- The other signals

    def _correlation(self, around: TraceContext | None) -> dict[str, Any]:
        return {**self._base, **around.correlation} if around is not None else dict(self._base)

    def _target(self, trace_id: str | None, span_id: str | None) -> dict[str, str]:
        """What a signal is about: what was named, else the trace around the call."""
        if trace_id is not None or span_id is not None:
            named = (("trace_id", trace_id), ("span_id", span_id))
            return {name: value for name, value in named if value is not None}
        around = active(self._host.realm)
        return {} if around is None else {"trace_id": around.trace_id}

    def _add_about(self, signal: Any, target: dict[str, str], needs: Sequence[str], fields: Mapping[str, Any]) -> None:
        """Queues a signal about a trace or a span, or counts it where it is about nothing."""
        if not self._settings.enabled:
            return
        if not any(name in target for name in needs):
            self._queue.add_invalid()
            return
        written = {name: value for name, value in fields.items() if value is not None}
        correlation = self._correlation(active(self._host.realm))
        self._queue.add(
            signal, {**target, **written, "timestamp": timestamp(time.time_ns()), "correlation": correlation}
        )

    def log(
        self,
        severity: Severity,
        message: str,
        *,
        logger: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Records a log line, of the span around the call where there is one."""
        around = active(self._host.realm)
        if not (self._settings.enabled if around is None else self._host.keeps(around.trace_id)):
            return
        record: dict[str, Any] = {
            "timestamp": timestamp(time.time_ns()),
            "severity": severity,
            "message": message,
            "correlation": self._correlation(around),
        }
        if logger is not None:
            record["logger"] = logger
        if attributes:
            record["attributes"] = attributes
        if around is not None:
            record["trace_id"] = around.trace_id
            record["span_id"] = around.span_id
        self._queue.add("logs", record)

    def _metric(self, numbers: Sequence[Any], fields: Mapping[str, Any]) -> None:
        if not self._settings.enabled:
            return
        if not all(_is_finite(number) for number in numbers):
            self._queue.add_invalid()
            return
        written = {name: value for name, value in fields.items() if value is not None}
        correlation = self._correlation(active(self._host.realm))
        self._queue.add("metrics", {**written, "timestamp": timestamp(time.time_ns()), "correlation": correlation})

    def counter(
        self,
        name: str,
        value: float = 1,
        *,
        unit: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Counts: `value` is what came since the last call."""
        fields = {"name": name, "type": "counter", "temporality": "delta", "value": value}
        self._metric([value], {**fields, "unit": unit, "attributes": attributes})

    def gauge(
        self,
        name: str,
        value: float,
        *,
        unit: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Says how much there is now."""
        fields = {"name": name, "type": "gauge", "value": value}
        self._metric([value], {**fields, "unit": unit, "attributes": attributes})

    def histogram(
        self,
        name: str,
        *,
        count: int,
        sum: float,  # noqa: A002  The word of the field.
        bounds: Sequence[float],
        bucket_counts: Sequence[int],
        unit: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Says how values of the time since the last call are spread: one more of `bucket_counts` than of `bounds`."""
        if len(bucket_counts) != len(bounds) + 1:
            self._queue.add_invalid()
            return
        fields = {
            "name": name,
            "type": "histogram",
            "temporality": "delta",
            "count": count,
            "sum": sum,
            "bounds": bounds,
            "bucket_counts": bucket_counts,
        }
        self._metric([count, sum, *bounds, *bucket_counts], {**fields, "unit": unit, "attributes": attributes})

    def score(
        self,
        scorer_id: str,
        value: float,
        *,
        min: float,  # noqa: A002  The words of the fields.
        max: float,  # noqa: A002
        trace_id: str | None = None,
        span_id: str | None = None,
        scorer_version: str | None = None,
        label: str | None = None,
        reason: str | None = None,
        source: ScoreSource = "live",
        score_trace_id: str | None = None,
        cost: object = None,
        experiment_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Records a machine's evaluation of a trace or a span; of the trace around the call where none is named.

        The scale, `min` and `max`, is part of the score: without it a number says nothing.
        """
        numbers = (value, min, max)
        if not all(_is_finite(number) for number in numbers) or not min < max:
            self._queue.add_invalid()
            return
        fields = {
            "score_id": "",
            "scorer_id": scorer_id,
            "scorer_version": scorer_version,
            "value": value,
            "min": min,
            "max": max,
            "label": label,
            "reason": reason,
            "source": source,
            "score_trace_id": score_trace_id,
            "cost": cost,
            "experiment_id": experiment_id,
            "metadata": metadata,
        }
        self._add_about("scores", self._target(trace_id, span_id), ("trace_id", "span_id"), fields)

    def feedback(
        self,
        kind: FeedbackKind,
        value: str | float,
        *,
        trace_id: str | None = None,
        span_id: str | None = None,
        comment: str | None = None,
        author_kind: AuthorKind | None = None,
        author_id: str | None = None,
        scale_min: float | None = None,
        scale_max: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Records a person's judgement. It is counted by kind, and never averaged with anything.

        `thumbs`: `up` or `down`. `rating`: a number, on the scale `scale_min` to `scale_max`. `correction`, `tag` and
        `comment`: a text. `author_id` is stored exactly as sent: send a pseudonymous id.
        """
        scale = {
            name: number for name, number in (("scale_min", scale_min), ("scale_max", scale_max)) if number is not None
        }
        fields = {
            "feedback_id": "",
            "kind": kind,
            "value": value,
            "comment": comment,
            "author_kind": author_kind,
            "author_id": author_id,
            "metadata": {**(metadata or {}), **scale} if scale else metadata,
        }
        self._add_about("feedback", self._target(trace_id, span_id), ("trace_id", "span_id"), fields)

    def aspect_note(
        self,
        aspect: str,
        text: str,
        *,
        trace_id: str | None = None,
        span_id: str | None = None,
        model: str | None = None,
    ) -> None:
        """Records one sentence that a model wrote about a run; about the trace around the call where none is named."""
        target = self._target(trace_id, span_id)
        around = active(self._host.realm)
        if "trace_id" not in target and around is not None:
            target["trace_id"] = around.trace_id
        self._add_about("aspect_notes", target, ("trace_id",), {"aspect": aspect, "text": text, "model": model})

    # --- Its life

    @property
    def problems(self) -> Sequence[str]:
        """Settings that could not be used."""
        return self._settings.problems

    def count_invalid(self) -> None:
        """Counts a call that gave something that is no signal."""
        self._queue.add_invalid()

    def counters(self) -> ExportCounters:
        """What became of signals since the start of this process."""
        return self._queue.counters

    def flush(self, timeout: float = DEFAULT_CLOSE_SECONDS) -> bool:
        """Sends what is queued now. Returns whether it went out, or was refused, within so many seconds."""
        return self._queue.flush(timeout) if self._settings.enabled else True

    def close(self, timeout: float = DEFAULT_CLOSE_SECONDS) -> None:
        """Sends what is queued for so many seconds at most, then stops. What is recorded later is dropped."""
        atexit.unregister(self.close)
        self._queue.close(timeout)
        self._http.close()

    def __enter__(self) -> Instrumentation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_finite(number: object) -> bool:
    return isinstance(number, (int, float)) and math.isfinite(number)
