from __future__ import annotations

import hashlib
import time
import traceback
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ._trace_context import is_sampled, timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from ._export_queue import ExportQueue
    from ._settings import Settings

_STACK_LIMIT_CHARACTERS = 32 * 1024


class Realm(NamedTuple):
    """A service as one caller sees it. Spans of one realm nest; those of another are no business of it."""

    endpoint: str
    key_digest: str
    """Of the key, so that the key is shown nowhere."""


def realm_of(settings: Settings) -> Realm:
    return Realm(settings.endpoint, hashlib.sha256((settings.api_key or "").encode()).hexdigest())


@dataclass(frozen=True)
class TraceContext:
    """What code runs under: the span that new ones become children of."""

    trace_id: str
    span_id: str
    correlation: Mapping[str, Any]
    on_model_span: Callable[[str | None, object], None] | None = None
    """Called at the end of every model span below, and of any other that carries usage."""


# One variable for all: they live as long as the process, and copies of a context hold each.
_active: ContextVar[Mapping[Realm, TraceContext]] = ContextVar("svc_active", default=MappingProxyType({}))


def active(realm: Realm) -> TraceContext | None:
    return _active.get().get(realm)


def activate(realm: Realm, context: TraceContext) -> Token[Mapping[Realm, TraceContext]]:
    return _active.set({**_active.get(), realm: context})


def deactivate(token: Token[Mapping[Realm, TraceContext]]) -> None:
    try:
        _active.reset(token)
    except ValueError:
        # Left in another context than it was entered in: there is nothing to undo here.
        return


class ContextBridge(Protocol):
    """Another tracing library whose spans ours nest with."""

    def current(self) -> tuple[str, str] | None:
        """Trace id and span id of its active span."""
        ...

    def attach(self, trace_id: str, span_id: str, *, sampled: bool) -> object:
        """Makes a span of ours its active one. Returns what `detach` takes."""
        ...

    def detach(self, token: object) -> None: ...


@dataclass(frozen=True)
class SpanHost:
    """What spans need of their instrumentation."""

    realm: Realm
    queue: ExportQueue
    sample: float
    enabled: bool
    bridge: ContextBridge | None

    def keeps(self, trace_id: str) -> bool:
        return self.enabled and is_sampled(trace_id, self.sample)


def error_fields(error: object) -> dict[str, str]:
    if not isinstance(error, BaseException):
        return {"message": str(error)}
    name = type(error).__name__
    fields = {"message": str(error) or name, "type": name}
    if error.__traceback__ is not None:
        stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        fields["stack"] = stack[-_STACK_LIMIT_CHARACTERS:]
    return fields


class Span:
    """A span that runs. Its methods may be called until its end, in any order; none of them raises.

    As a context manager it is the parent of what runs inside, and ends with the block; an exception marks it as
    failed, and goes on.
    """

    __slots__ = (
        "_around",
        "_attached",
        "_attributes",
        "_context",
        "_ended",
        "_events",
        "_fields",
        "_host",
        "_started_ns",
        "_started_tick",
        "_token",
    )

    def __init__(
        self, host: SpanHost, context: TraceContext, around: TraceContext | None, fields: dict[str, Any]
    ) -> None:
        self._host = host
        self._context = context
        self._around = around
        self._fields = fields
        self._attributes: dict[str, Any] | None = None
        self._events: list[dict[str, Any]] | None = None
        self._ended = False
        self._token: Token[Mapping[Realm, TraceContext]] | None = None
        self._attached: object = None
        self._started_ns = time.time_ns()
        self._started_tick = time.perf_counter_ns()

    @property
    def trace_id(self) -> str:
        return self._context.trace_id

    @property
    def span_id(self) -> str:
        return self._context.span_id

    @property
    def traceparent(self) -> str:
        """The `traceparent` header for a service that continues this trace."""
        return traceparent(self._host, self._context)

    def set(
        self,
        *,
        input: object = None,  # noqa: A002  The word of the field.
        output: object = None,
        model: str | None = None,
        provider: str | None = None,
        entity_name: str | None = None,
        usage: object = None,
        cost: object = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Span:
        """Sets what is given, and leaves the rest as it is.

        `usage` are the tokens of this model call, as `Usage` or as a mapping with its members; on a step of a run
        they are reported as the step's usage too.
        """
        if self._ended:
            return self
        fields = self._fields
        if input is not None:
            fields["input"] = input
        if output is not None:
            fields["output"] = output
        if model is not None:
            fields["model"] = model
        if provider is not None:
            fields["provider"] = provider
        if entity_name is not None:
            fields["entity_name"] = entity_name
        if usage is not None:
            fields["usage"] = usage
        if cost is not None:
            fields["cost"] = cost
        if attributes is not None:
            try:
                self._attributes = {**(self._attributes or {}), **attributes}
            except Exception:
                self._host.queue.add_invalid()
        return self

    def event(self, name: str, attributes: Mapping[str, Any] | None = None) -> Span:
        """Marks a moment within the span."""
        if not self._ended:
            if self._events is None:
                self._events = []
            self._events.append({"name": name, "time": timestamp(time.time_ns()), "attributes": attributes or {}})
        return self

    def fail(self, error: object) -> Span:
        """Marks the span as failed: by an exception, or by words."""
        if not self._ended:
            try:
                self._fields["error"] = error_fields(error)
                self._fields["status"] = "error"
            except Exception:
                self._host.queue.add_invalid()
        return self

    def end(self) -> None:
        """Ends the span, once; a second call does nothing."""
        if self._ended:
            return
        self._ended = True
        try:
            fields = self._fields
            usage = fields.get("usage")
            around = self._around
            if (
                around is not None
                and around.on_model_span is not None
                and (usage is not None or fields["kind"] == "model_generation")
            ):
                around.on_model_span(fields.get("model"), usage)
            if not self._host.keeps(self._context.trace_id):
                return
            fields["start_time"] = timestamp(self._started_ns)
            fields["end_time"] = timestamp(self._started_ns + time.perf_counter_ns() - self._started_tick)
            if self._attributes:
                fields["attributes"] = self._attributes
            if self._events:
                fields["events"] = self._events
            self._host.queue.add("spans", fields)
        except Exception:
            self._host.queue.add_invalid()

    def __enter__(self) -> Span:
        self.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
        # A generator that is closed has not failed.
        if error is not None and not isinstance(error, GeneratorExit):
            self.fail(error)
        self.end()

    def enter(self) -> None:
        """Makes it the parent of what follows in this context, until `leave`."""
        if self._token is not None:
            return
        self._token = activate(self._host.realm, self._context)
        bridge = self._host.bridge
        if bridge is not None:
            try:
                context = self._context
                self._attached = bridge.attach(
                    context.trace_id, context.span_id, sampled=self._host.keeps(context.trace_id)
                )
            except Exception:
                self._host.queue.add_invalid()

    def leave(self) -> None:
        token, self._token = self._token, None
        if token is None:
            return
        bridge = self._host.bridge
        if bridge is not None and self._attached is not None:
            attached, self._attached = self._attached, None
            try:
                bridge.detach(attached)
            except Exception:
                self._host.queue.add_invalid()
        deactivate(token)


def traceparent(host: SpanHost, context: TraceContext) -> str:
    return f"00-{context.trace_id}-{context.span_id}-{'01' if host.keeps(context.trace_id) else '00'}"
