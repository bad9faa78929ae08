from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ._wire import RunDetail

InterruptReason = Literal["fenced", "run_terminal", "stopping"]


class SvcError(Exception):
    """What this library raises of its own."""


class ServiceError(SvcError):
    """The service answered, and refused. Branch on `code`."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int,
        field: str | None = None,
        request_id: str | None = None,
        retry_after_ms: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """Stable and machine-readable: `not_found`, `input_invalid`, `run_terminal`, ..."""
        self.status = status
        self.field = field
        """The one parameter at fault, where there is one."""
        self.request_id = request_id
        self.retry_after_ms = retry_after_ms
        """What the service asks to wait before another try, in milliseconds."""

    @property
    def retryable(self) -> bool:
        """Whether a later try may help: 429, and the 5xx that say "later". Never another 4xx."""
        if self.code == "runs_disabled":
            return False
        return self.status in (429, 502, 503, 504)


class ConnectionFailed(SvcError, ConnectionError):  # noqa: N818  The builtin of that family has the other name.
    """No answer: not reached, broken off, too late, or unreadable. What became of the call is unknown."""


class IncompatibleServer(SvcError):  # noqa: N818
    """The service implements another major version of the data model than this library."""

    def __init__(self, served: str, understood: str) -> None:
        super().__init__(
            f"the service implements spec_version {served}, this library understands {understood}: "
            "use a release of the library for that major version"
        )
        self.served = served
        self.understood = understood


class RunFailed(SvcError):  # noqa: N818
    """A run that was waited for did not succeed. `run` is the run as it ended."""

    def __init__(self, run: RunDetail) -> None:
        why = ""
        if run.error is not None:
            code = "" if run.error.code is None else f"/{run.error.code}"
            why = f": {run.error.class_}{code}: {run.error.message}"
        super().__init__(f"run {run.run_id} {'was cancelled' if run.status == 'cancelled' else 'failed'}{why}")
        self.run = run


def _wait(retry_after_ms: object) -> float | None:
    """What of a wait can be sent; a body that fails must not fail differently for a bad number."""
    if isinstance(retry_after_ms, bool) or not isinstance(retry_after_ms, (int, float)):
        return None
    return retry_after_ms if math.isfinite(retry_after_ms) and retry_after_ms >= 0 else None


class Retryable(SvcError):  # noqa: N818
    """Raised by a body: try the step again, within the retry budget of its step."""

    def __init__(self, message: str = "", *, retry_after_ms: float | None = None) -> None:
        """`retry_after_ms`: at least so many milliseconds until the next try."""
        super().__init__(message)
        self.retry_after_ms = _wait(retry_after_ms)


class StepFailure(SvcError):  # noqa: N818
    """Raised by a body: fail with a class of its choice.

    `rate_limited` is tried again and spends no budget, `fatal` is not; any other is one of your own, for `on_error`
    to match. A class that the service keeps for itself is refused by it, and the step fails as `fatal`.
    """

    def __init__(
        self,
        message: str,
        *,
        error_class: str = "fatal",
        code: str | None = None,
        retry_after_ms: float | None = None,
    ) -> None:
        """`retry_after_ms`: at least so many milliseconds until the next try."""
        super().__init__(message)
        self.error_class = error_class if error_class.__class__ is str and error_class else "fatal"
        self.code = code if isinstance(code, str) and code else None
        self.retry_after_ms = _wait(retry_after_ms)


class StepInterrupted(SvcError):  # noqa: N818
    """The work of a body is of no more use.

    `fenced`: another worker has the step, or another lease ended this one. `run_terminal`: the run ended, by a cancel
    above all. `stopping`: this worker stops, and the time that it gives its bodies is over.
    """

    def __init__(self, reason: InterruptReason) -> None:
        super().__init__(
            {
                "fenced": "the step is no longer held by this worker",
                "run_terminal": "the run has ended",
                "stopping": "the worker is stopping",
            }[reason]
        )
        self.reason: InterruptReason = reason
