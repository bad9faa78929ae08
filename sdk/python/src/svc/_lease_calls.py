from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from . import _json
from ._errors import ServiceError, SvcError
from ._follow import is_over
from ._retry import UNTIL_ANSWERED, RetryPolicy, with_retries
from ._step_calls import StepCall, StepCalls, StepVerb

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping, Sequence

    from ._body_loop import BodyLoop
    from ._instrumentation import Instrumentation
    from ._serve_lease import ServedLease
    from ._signal import Signal
    from ._step_calls import Item
    from ._timers import Timers
    from ._wire import Lease

_REFUSALS = ("already_applied", "fenced", "run_terminal", "not_started")


@dataclass(frozen=True)
class LeaseHost:
    """What leases need of their worker."""

    calls: StepCalls
    worker_id: str
    worker_body: bytes
    """Of a call that says no more than whose it is."""
    heartbeat_seconds: float
    lease_ttl_seconds: float
    instrumentation: Instrumentation
    logger: logging.Logger
    loop: BodyLoop
    timers: Timers
    force: Signal
    """Fires when bodies must end: the time that a stopping worker gives them is over."""
    settle_seconds: float
    """How long a body may take to end after that."""
    threads: Callable[[Callable[[], None]], None]
    """Runs what must wait. Raises RuntimeError where no thread can be started."""
    on_run_end: Callable[[str], None]
    """Called when an answer says that the run of a lease has ended."""
    on_end: Callable[[ServedLease], None]
    """Called, maybe more than once, when all is over with a lease."""

    @cached_property
    def until_ttl(self) -> RetryPolicy:
        """Until it is answered, or the lease is over."""
        return RetryPolicy(None, UNTIL_ANSWERED.base, UNTIL_ANSWERED.max, within=self.lease_ttl_seconds)

    @cached_property
    def lastly(self) -> How:
        """Of the last report of a worker that stops."""
        return How(policy=RetryPolicy(None, UNTIL_ANSWERED.base, UNTIL_ANSWERED.max, within=self.settle_seconds))


@dataclass(frozen=True)
class Answer:
    """`rejected`: refused for another reason than the state of the lease: a bug, a key, a body that is too large."""

    kind: Literal["taken", "refused", "rejected", "unanswered"]
    reason: str = ""
    error: ServiceError | None = None


_TAKEN = Answer("taken")


@dataclass(frozen=True)
class How:
    """How long to try one call: until it is answered, or until the signal."""

    signal: Signal | None = None
    policy: RetryPolicy = UNTIL_ANSWERED


@dataclass(frozen=True)
class Failure:
    error: Mapping[str, str]
    retry_after_ms: int | None = None


First = tuple[Any, "SvcError | None"]
"""What came of a first try: its answer, or why there is none."""


class LeaseCalls:
    """The four worker calls of one lease."""

    def __init__(self, host: LeaseHost, lease: Lease) -> None:
        self._host = host
        self._lease = lease
        self._has_freed = False
        """A report said that the slot is free. A second one must not have it claimed again."""

    def step_call(self, verb: StepVerb, body: bytes) -> StepCall:
        frees_slot = verb in ("complete", "fail") and not self._has_freed
        self._has_freed = self._has_freed or frees_slot
        return StepCall(verb, self._lease.lease_id, body, frees_slot=frees_slot)

    def body_of(self, **fields: object) -> bytes:
        """Raises TypeError, ValueError or RecursionError on what is not JSON."""
        return _json.encode({"worker_id": self._host.worker_id, **fields})

    def call(self, verb: StepVerb, body: bytes, how: How, first: First | None = None) -> Answer:
        """Calls until it is answered; `first` is what came of a first try that was made before."""
        made = [] if first is None else [first]

        def make() -> Any:
            if not made:
                return self._host.calls.make(self.step_call(verb, body))
            answer, error = made.pop()
            if error is not None:
                raise error
            return answer

        try:
            # The signal ends the waiting between tries. A call on its way is let go on: it may be the one that lands.
            answer = with_retries(how.policy, make, how.signal)
        except SvcError as error:
            return self.read(None, error)
        return self.read(answer, None)

    def read(self, answer: Any, error: SvcError | None) -> Answer:
        run_id = self._lease.run_id
        if error is None:
            status = answer.get("run_status") if isinstance(answer, dict) else None
            if isinstance(status, str) and is_over(status):
                self._host.on_run_end(run_id)
            return _TAKEN
        # A fault of the service says nothing about the report; the step must not fail for it.
        if not isinstance(error, ServiceError) or error.status >= 500 or error.retryable:
            return Answer("unanswered")
        if error.code == "run_terminal":
            self._host.on_run_end(run_id)
        if error.status == 409 and error.code in _REFUSALS:
            return Answer("refused", error.code)
        return Answer("rejected", error=error)

    def declare(self, answered: Callable[[First], None]) -> Item:
        """Sends the first declaration that the body starts, and calls back with what came of it.

        Nobody waits for it, so those of all leases that came together travel together.
        """
        call = self.step_call("started", self._host.worker_body)
        return self._host.calls.submit(call, lambda answer, error: answered((answer, error)))

    def started(self, how: How, first: First) -> Answer:
        return self.call("started", self._host.worker_body, how, first)

    def body_of_failure(self, failure: Failure, usage: Sequence[object]) -> bytes:
        fields: dict[str, object] = {"error": failure.error}
        if failure.retry_after_ms is not None:
            fields["retry_after_ms"] = failure.retry_after_ms
        if usage:
            fields["usage"] = usage
        try:
            return self.body_of(**fields)
        except (TypeError, ValueError, RecursionError):
            # A usage that is not JSON must not keep the failure from being told.
            fields.pop("usage", None)
            return self.body_of(**fields)

    def fail(self, failure: Failure, how: How, usage: Sequence[object] = ()) -> Answer:
        return self.call("fail", self.body_of_failure(failure, usage), how)
