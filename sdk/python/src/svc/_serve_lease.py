from __future__ import annotations

import asyncio
import contextvars
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _json
from ._errors import InterruptReason, Retryable, ServiceError, StepFailure, SvcError
from ._follow import is_over
from ._heart import Heart, Pulse
from ._http import DEFAULT_TIMEOUT_SECONDS
from ._retry import UNTIL_ANSWERED, RetryPolicy, with_retries
from ._signal import Signal
from ._span import TraceContext
from ._step import Step
from ._step_calls import StepCall, StepCalls, StepVerb
from ._typed import MismatchError
from ._usage import UsageTotals, usage_members
from ._wire import WireError

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping, Sequence

    from ._body_loop import BodyLoop
    from ._instrumentation import Instrumentation
    from ._timers import Timers
    from ._wire import Lease
    from ._workflow import Body

_REFUSALS = ("already_applied", "fenced", "run_terminal", "not_started")
_MESSAGE_LIMIT_CHARACTERS = 8 * 1024


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
    on_run_end: Callable[[str], None]
    """Called when an answer says that the run of a lease has ended."""


@dataclass(frozen=True)
class _Answer:
    """`rejected`: refused for another reason than the state of the lease: a bug, a key, a body that is too large."""

    kind: Literal["taken", "refused", "rejected", "unanswered"]
    reason: str = ""
    error: ServiceError | None = None


@dataclass(frozen=True)
class _How:
    """How long to try one call: until it is answered, or until the signal."""

    signal: Signal | None = None
    policy: RetryPolicy = UNTIL_ANSWERED


@dataclass(frozen=True)
class _Failure:
    error: Mapping[str, str]
    retry_after_ms: int | None = None


_GIVEN_BACK = _Failure(
    # Not the fault of the step: the class that spends no budget, here with no wait.
    {"class": "rate_limited", "code": "worker_stopping", "message": "the worker stopped while the step ran"},
    retry_after_ms=0,
)


def _message_of(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return (text or type(error).__name__)[:_MESSAGE_LIMIT_CHARACTERS]


def _failure_of(error: BaseException) -> _Failure:
    """What a body that raised an error means by it. The message travels; the stack never does."""
    message = _message_of(error)
    if not isinstance(error, (Retryable, StepFailure)):
        return _Failure({"class": "fatal", "message": message})
    wait = error.retry_after_ms
    # A whole number of milliseconds, and no shorter than was asked.
    later = None if wait is None else math.ceil(wait)
    if isinstance(error, Retryable):
        return _Failure({"class": "retryable", "message": message}, later)
    code = {} if error.code is None else {"code": error.code}
    return _Failure({"class": error.error_class, **code, "message": message}, later)


_First = tuple[Any, "SvcError | None"]
"""What came of a first try: its answer, or why there is none."""


class _LeaseCalls:
    """The four worker calls of one lease."""

    def __init__(self, host: LeaseHost, lease: Lease) -> None:
        self._host = host
        self._lease = lease
        self._has_freed = False
        """A report said that the slot is free. A second one must not have it claimed again."""

    def _step_call(self, verb: StepVerb, body: bytes) -> StepCall:
        frees_slot = verb in ("complete", "fail") and not self._has_freed
        self._has_freed = self._has_freed or frees_slot
        return StepCall(verb, self._lease.lease_id, body, frees_slot=frees_slot)

    def body_of(self, **fields: object) -> bytes:
        """Raises TypeError, ValueError or RecursionError on what is not JSON."""
        return _json.encode({"worker_id": self._host.worker_id, **fields})

    def call(self, verb: StepVerb, body: bytes, how: _How, first: _First | None = None) -> _Answer:
        """Calls until it is answered; `first` is what came of a first try that was made before."""
        made = [] if first is None else [first]

        def make() -> Any:
            if not made:
                return self._host.calls.make(self._step_call(verb, body))
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

    def read(self, answer: Any, error: SvcError | None) -> _Answer:
        run_id = self._lease.run_id
        if error is None:
            status = answer.get("run_status") if isinstance(answer, dict) else None
            if isinstance(status, str) and is_over(status):
                self._host.on_run_end(run_id)
            return _Answer("taken")
        # A fault of the service says nothing about the report; the step must not fail for it.
        if not isinstance(error, ServiceError) or error.status >= 500 or error.retryable:
            return _Answer("unanswered")
        if error.code == "run_terminal":
            self._host.on_run_end(run_id)
        if error.status == 409 and error.code in _REFUSALS:
            return _Answer("refused", error.code)
        return _Answer("rejected", error=error)

    def declare(self, answered: Callable[[_First], None]) -> None:
        """Sends the first declaration that the body starts, and calls back with what came of it.

        Nobody waits for it, so those of all leases that came together travel together.
        """
        self._host.calls.submit(
            self._step_call("started", self._host.worker_body), lambda answer, error: answered((answer, error))
        )

    def started(self, how: _How, first: _First) -> _Answer:
        return self.call("started", self._host.worker_body, how, first)

    def report(self, body: bytes, answered: Callable[[_First], None]) -> None:
        """Sends the first complete, and calls back with what came of it."""
        self._host.calls.submit(self._step_call("complete", body), lambda answer, error: answered((answer, error)))

    def fail(self, failure: _Failure, usage: Sequence[object], how: _How) -> _Answer:
        fields: dict[str, object] = {"error": failure.error}
        if failure.retry_after_ms is not None:
            fields["retry_after_ms"] = failure.retry_after_ms
        if usage:
            fields["usage"] = usage
        try:
            body = self.body_of(**fields)
        except (TypeError, ValueError, RecursionError):
            # A usage that is not JSON must not keep the failure from being told.
            fields.pop("usage", None)
            body = self.body_of(**fields)
        return self.call("fail", body, how)


class ServedLease:
    """One lease, from its offer to its end.

    Declares it started, keeps it alive while the body runs, reports what came of it, and does what the protocol asks
    on each of the four refusals. See service.md, "Worker protocol".
    """

    def __init__(
        self,
        host: LeaseHost,
        lease: Lease,
        body: Body | None,
        threads: Callable[[Callable[[], None]], None],
        on_end: Callable[[], None],
    ) -> None:
        """`body` is absent when this worker does not hold the definition, the version or the step.

        `threads` runs what must wait, and `on_end` is called, maybe more than once, when all is over.
        """
        self._host = host
        self.lease = lease
        self._body = body
        self._threads = threads
        self._on_end = on_end
        self._calls = _LeaseCalls(host, lease)
        self._heart: Heart | None = None
        self._remove_force: Callable[[], None] = lambda: None
        self._interruption = Signal()
        self._reason: InterruptReason | None = None
        self.left_behind = Signal()
        """Fires when the body did not end in time: its worker no longer waits for it."""
        self.name = f"{lease.definition_id}@{lease.definition_version}/{lease.step_id} of run {lease.run_id}"

    def begin(self) -> None:
        """Declares the lease started, and goes on by itself; only its body, and what must wait, has a thread.

        Where this worker does not hold the step, nothing is declared. Neither raises nor waits.
        """
        body = self._body
        if body is None:
            self._go_on(self._refuse_unheld)
        else:
            self._calls.declare(lambda first: self._go_on(lambda: self._serve(body, first)))

    def _go_on(self, work: Callable[[], None]) -> None:
        """Goes on with a thread."""

        def guarded() -> None:
            self._host.calls.motion.end()
            try:
                work()
            except Exception as error:
                # Without its stack, which may hold payloads.
                self._host.logger.error("%s: %s", self.name, _message_of(error))  # noqa: TRY400
                self._end()

        self._threads(guarded)

    def _end(self) -> None:
        self._remove_force()
        if self._heart is not None:
            self._heart.stop()
        self._on_end()

    def _settle(self, answer: _Answer) -> None:
        """Says what must be said of the last answer of a lease.

        That our own earlier report landed is a success; that the lease is another's, or its run over, is no fault of
        ours; without an answer the service finds out by itself.
        """
        if answer.error is not None:
            error = answer.error
            self._host.logger.error("%s: the service refused a call: %s: %s", self.name, error.code, error)
        elif answer.reason == "not_started":
            self._host.logger.error(
                "%s: the service never saw it started: a bug in this library, please report it", self.name
            )

    def _report_failure(self, failure: _Failure, usage: Sequence[object], how: _How) -> None:
        answer = self._calls.fail(failure, usage, how)
        if answer.error is not None:
            # A class that the service keeps for itself, a wait over its bound: the step fails, and says why.
            message = f"{failure.error['message']} (reported as fatal: {answer.error})"[:_MESSAGE_LIMIT_CHARACTERS]
            plain = _Failure({"class": "fatal", "code": "invalid_failure", "message": message})
            answer = self._calls.fail(plain, [], how)
        self._settle(answer)

    def _refuse_unheld(self) -> None:
        lease = self.lease
        self._host.logger.warning("%s: this worker does not hold that step; another may serve it", self.name)
        held = f"{lease.definition_id} version {lease.definition_version}, step {lease.step_id}"
        message = f"worker {self._host.worker_id} does not hold {held}"
        failure = _Failure({"class": "unservable", "message": message})
        self._settle(self._calls.fail(failure, [], _How(self._host.force)))
        self._end()

    def _serve(self, body: Body, first: _First) -> None:
        host = self._host
        # A late declaration is refused as fenced; one that is never answered must not be repeated without end.
        until_ttl = RetryPolicy(None, UNTIL_ANSWERED.base, UNTIL_ANSWERED.max, within=host.lease_ttl_seconds)
        started = self._calls.started(_How(host.force, until_ttl), first)
        # Without its word that the body may run, the body does not run: its own earlier report is no such word either.
        if started.kind != "taken":
            self._settle(started)
            self._end()
            return
        # A worker that stops lets a last report go out, but does not wait for its answer without end.
        lastly = _How(policy=RetryPolicy(None, UNTIL_ANSWERED.base, UNTIL_ANSWERED.max, within=host.settle_seconds))
        # The time of bodies was over before this one began: it must not.
        if host.force.fired:
            self._settle(self._calls.fail(_GIVEN_BACK, [], lastly))
            self._end()
            return

        heart = Heart(host.timers, host.heartbeat_seconds, self._beat)
        self._heart = heart
        self._remove_force = host.force.on_fire(lambda: self._force(heart))
        self._run(body, heart, lastly)

    def _run(self, body: Body, heart: Heart, lastly: _How) -> None:
        """Runs the body, and reports what came of it."""
        usage = _Usage()
        step = Step(self.lease, self._host.instrumentation, self._interruption, lambda: self._reason, heart.tell)
        output, error = self._run_body(body, step, usage)
        reason = self._reason
        if self.left_behind.fired or reason in ("fenced", "run_terminal"):
            self._end()
            return
        reported = usage.reported(step)
        how = lastly if reason == "stopping" else _How(self._interruption)

        if error is not None:
            # The mark for the next attempt goes first: after the report nobody takes it.
            host = self._host
            heart.flush(host.settle_seconds if reason == "stopping" else host.lease_ttl_seconds)
            if reason != "stopping" or isinstance(error, (Retryable, StepFailure)):
                self._report_failure(_failure_of(error), reported, how)
            else:
                self._settle(self._calls.fail(_GIVEN_BACK, reported, how))
            self._end()
            return

        try:
            fields: dict[str, object] = {"output": output}
            if step.patch:
                fields["state_patch"] = step.patch
            if reported:
                fields["usage"] = reported
            report = self._calls.body_of(**fields)
        except Exception as problem:
            message = f"the output of step {self.lease.step_id} is not JSON: {_message_of(problem)}"
            failure = _Failure({"class": "fatal", "code": "invalid_output", "message": message})
            self._report_failure(failure, reported, how)
            self._end()
            return
        self._calls.report(report, lambda first: self._after_report(report, first, reported, how))

    def _after_report(self, report: bytes, first: _First, usage: Sequence[object], how: _How) -> None:
        """Nobody waits for the answer: a thread is needed again only where it is none, or no good one."""
        answer = self._calls.read(*first)
        if answer.kind in ("taken", "refused"):
            self._settle(answer)
            self._end()
            self._host.calls.motion.end()
        else:
            self._go_on(lambda: self._report_again(report, first, usage, how))

    def _report_again(self, report: bytes, first: _First, usage: Sequence[object], how: _How) -> None:
        answer = self._calls.call("complete", report, how, first)
        if answer.error is not None:
            message = f"the service refused the output of step {self.lease.step_id}: {answer.error}"
            failure = _Failure({"class": "fatal", "code": answer.error.code, "message": message})
            self._report_failure(failure, usage, how)
        else:
            self._settle(answer)
        self._end()

    def _run_body(self, body: Body, step: Step, usage: _Usage) -> tuple[Any, BaseException | None]:
        """What the body returned, or raised. It may raise anything."""
        lease = self.lease
        correlation = {**lease.correlation.to_json(), "project": lease.project, "run_id": lease.run_id}
        trace = TraceContext(lease.trace_id, lease.span_id, correlation, usage.on_model_span)
        instrumentation = self._host.instrumentation
        try:
            arguments = body.arguments(step)
        except (MismatchError, WireError) as error:
            message = f"the input of step {lease.step_id} is not what its body takes: {error}"
            return None, StepFailure(message, code="invalid_input")

        async def run_async() -> Any:
            with instrumentation.under(trace):
                return await body.function(*arguments)

        def run() -> Any:
            with instrumentation.under(trace):
                return body.function(*arguments)

        try:
            if body.is_async:
                return self._host.loop.run(run_async, self._interruption), None
            return contextvars.copy_context().run(run), None
        except asyncio.CancelledError as error:
            return None, error
        except BaseException as error:
            return None, error

    def _beat(self, details: bytes | None, cut: Signal, found: Callable[[Pulse], None]) -> None:
        worker = self._host.worker_body
        body = worker if details is None else worker[:-1] + b',"details":' + details + b"}"
        # Given up in time for another one, over another connection, before the lease is over.
        timeout = min(DEFAULT_TIMEOUT_SECONDS, max(self._host.heartbeat_seconds, self._host.lease_ttl_seconds / 3))

        def on_answer(answer: Any, error: SvcError | None) -> None:
            read = self._calls.read(answer, error)
            if read.kind == "unanswered":
                found("sooner")
            elif read.kind != "refused" or read.reason == "not_started":
                found("again")
            else:
                # Fenced: another lease ended this one. Run over: a cancel, above all. The work is of no more use.
                if read.reason == "fenced" or read.reason == "run_terminal":  # noqa: PLR1714  It narrows the type.
                    self.interrupt("fenced" if read.reason == "fenced" else "run_terminal")
                found("over")

        self._host.calls.submit(StepCall("heartbeat", self.lease.lease_id, body, timeout, cut), on_answer)

    def interrupt(self, reason: InterruptReason) -> None:
        if self._reason is None:
            self._reason = reason
            self._interruption.fire()

    def _force(self, heart: Heart) -> None:
        """The worker must stop: a body that does not listen is left behind."""
        self.interrupt("stopping")

        def leave() -> None:
            heart.stop()
            self.left_behind.fire()

        self._host.timers.at(time.monotonic() + self._host.settle_seconds, leave)


class _Usage:
    """The usage of one attempt: of its spans, or as its body says."""

    def __init__(self) -> None:
        self._totals = UsageTotals()
        self._has_model_span = False

    def on_model_span(self, model: str | None, usage: object) -> None:
        self._has_model_span = True
        if usage is not None:
            self._totals.add(model, usage)

    def reported(self, step: Step) -> list[dict[str, Any]]:
        if step.usage is None:
            return self._totals.list()
        entries = [usage_members(entry) for entry in step.usage]
        # Tokens of spans are on the spans. Usage that is reported by hand, beside no model span, would be in no trace:
        # the service is asked for a span of it.
        return entries if self._has_model_span else [{"record": True, **entry} for entry in entries]
