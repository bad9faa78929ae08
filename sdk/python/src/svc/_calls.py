from __future__ import annotations

import time
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from . import _json
from ._errors import ConnectionFailed
from ._http import Http, QueryValue, Request
from ._retry import RetryPolicy, with_retries
from ._signal import Signal
from ._wire import Model, WireError

if TYPE_CHECKING:
    from ._settings import Settings

M = TypeVar("M", bound=Model)

PATIENCE_SECONDS = 300.0
"""A service that was there once may be away so long, for a restart or an upgrade, before a follower gives up."""

call_signal: ContextVar[Signal | None] = ContextVar("svc_call_signal", default=None)
"""What breaks off the calls of this context, beside the end of the client."""


def segment(text: str) -> str:
    """A part of a path."""
    return quote(text, safe="")


class Calls:
    """Calls of one client: timed, tried again, and broken off when it is closed."""

    def __init__(self, settings: Settings, *, timeout: float, stream_idle: float, retry: RetryPolicy) -> None:
        self.project = settings.project
        self.timeout = timeout
        self.stream_idle = stream_idle
        self.retry = retry
        # For a service that has answered before: a restart must not hide how a run ended.
        self.patient = RetryPolicy(attempts=None, base=retry.base, max=retry.max, within=PATIENCE_SECONDS)
        self.http = Http(settings)
        self.closing = Signal()
        """Fires when the client is closed."""
        self.answered_at: float | None = None
        """When the service answered last, on the steady clock."""

    def signal(self) -> Signal:
        """What breaks off a call that is made now."""
        return call_signal.get() or self.closing

    def call_once(self, request: Request) -> Any:
        """One try. Raises ServiceError when the service refuses, and ConnectionFailed without an answer."""
        timeout = self.timeout if request.timeout is None else request.timeout
        timed = Request(
            request.method, request.path, request.query, request.body, request.accept, request.headers, timeout
        )
        answer = self.http.call(timed, self.signal())
        self.answered_at = time.monotonic()
        return answer

    def call(self, request: Request, policy: RetryPolicy | None = None) -> Any:
        """As many tries as the policy has."""
        return with_retries(policy or self.retry, lambda: self.call_once(request), self.signal())

    def get(self, model: type[M], path: str, **query: QueryValue) -> M:
        """Reads something."""
        return decode(model, self.call(Request("GET", path, query)))

    def post(self, model: type[M], path: str, body: object, *, timeout: float | None = None, **query: QueryValue) -> M:
        """Sends a body, as JSON."""
        return decode(model, self.call(Request("POST", path, query, _json.encode(body), timeout=timeout)))

    def in_project(self, project: str | None) -> str | None:
        """The project that a call names, else that of the settings."""
        return self.project if project is None else project

    def close(self) -> None:
        """Breaks off what is on its way, and lets go of the connections."""
        self.closing.fire()
        with suppress(OSError):
            self.http.close()


def decode(model: type[M], answer: object) -> M:
    """Reads an answer. Raises ConnectionFailed on one that cannot be read."""
    try:
        return model.from_json(answer)
    except WireError as cause:
        raise ConnectionFailed(f"the answer cannot be read: {cause}") from cause
