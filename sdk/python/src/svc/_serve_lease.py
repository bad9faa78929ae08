from __future__ import annotations

import asyncio
import contextvars
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._declaration import Declaration
from ._errors import InterruptReason, Retryable, StepFailure, SvcError
from ._heart import Heart, Pulse
from ._http import DEFAULT_TIMEOUT_SECONDS
from ._lease_calls import Failure, How, LeaseCalls
from ._signal import Signal
from ._span import TraceContext
from ._step import Step
from ._step_calls import StepCall
from ._typed import MismatchError
from ._usage import UsageTotals, usage_members
from ._wire import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._lease_calls import Answer, First, LeaseHost
    from ._wire import Lease
    from ._workflow import Body

_MESSAGE_LIMIT_CHARACTERS = 8 * 1024


_GIVEN_BACK = Failure(
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


def _failure_of(error: BaseException) -> Failure:
    """What a body that raised an error means by it. The message travels; the stack never does."""
    message = _message_of(error)
    if not isinstance(error, (Retryable, StepFailure)):
        return Failure({"class": "fatal", "message": message})
    wait = error.retry_after_ms
    # A whole number of milliseconds, and no shorter than was asked.
    later = None if wait is None else math.ceil(wait)
    if isinstance(error, Retryable):
        return Failure({"class": "retryable", "message": message}, later)
    code = {} if error.code is None else {"code": error.code}
    return Failure({"class": error.error_class, **code, "message": message}, later)


@dataclass(frozen=True)
class _Report:
    """What an attempt came to."""

    call: StepCall
    how: How
    failure: Failure | None = None
    """What is reported; `None` for an output."""
    usage: Sequence[object] = ()


class ServedLease:
    """One lease, from its offer to its end.

    Declares it started, keeps it alive while the body runs, reports what came of it, and does what the protocol asks
    on each of the four refusals. See service.md, "Worker protocol".
    """

    def __init__(self, host: LeaseHost, lease: Lease, body: Body | None) -> None:
        """`body` is absent when this worker does not hold the definition, the version or the step."""
        self._host = host
        self.lease = lease
        self._body = body
        self._calls = LeaseCalls(host, lease)
        self._declaration: Declaration | None = None
        """Of a body that begins while it is on its way."""
        self._ended = False
        self._heart: Heart | None = None
        self._remove_force: Callable[[], None] = lambda: None
        self._interruption = Signal()
        self._reason: InterruptReason | None = None
        self._left_behind = False
        """The body did not end in time: its worker no longer waits for it."""

    @property
    def name(self) -> str:
        lease = self.lease
        return f"{lease.definition_id}@{lease.definition_version}/{lease.step_id} of run {lease.run_id}"

    def begin(self) -> None:
        """Declares the lease started, and goes on by itself; only its body, and what must wait, has a thread.

        Where this worker does not hold the step, nothing is declared. Neither raises nor waits.
        """
        host, lease, body = self._host, self.lease, self._body
        if body is None:
            host.calls.motion.begin()
            self._go_on(self._refuse_unheld)
        elif lease.delivery == "at_least_once" and lease.attempt == 1 and not host.force.fired:
            # In an attempt before it the body may have ended its process before that sent anything.
            declaration = Declaration()
            self._declaration = declaration
            host.calls.motion.begin()
            of_round = host.calls.bodies.begin()
            declaration.item = self._calls.declare(lambda first: self._on_declared(declaration, first))
            self._go_on(lambda: self._serve_early(body, declaration, of_round))
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

        try:
            self._host.threads(guarded)
        except RuntimeError:
            words = "no thread can be started for %s; another worker gets its step"
            self._host.logger.error(words, self.name)  # noqa: TRY400
            self._end()

    def _end(self) -> None:
        self._ended = True
        self._remove_force()
        # They hold one another no longer: what is left needs no collector.
        heart, self._heart = self._heart, None
        if heart is not None:
            heart.stop()
        if self._declaration is not None:
            self._declaration.over.fire()
        self._host.on_end(self)

    def _on_declared(self, declaration: Declaration, first: First) -> None:
        """Nobody waits for the answer: a thread is needed only where it is none."""
        answer = self._calls.read(*first)
        if answer.kind == "unanswered" and not self._ended:
            self._go_on(lambda: self._declare_again(declaration, first))
        else:
            declaration.settle(answer, self._on_refusal)
            self._host.calls.motion.end()

    def _declare_again(self, declaration: Declaration, first: First) -> None:
        remove = self._host.force.on_fire(declaration.over.fire)
        answer = self._calls.started(How(declaration.over, self._host.until_ttl), first)
        remove()
        declaration.settle(answer, self._on_refusal)

    def _on_refusal(self, answer: Answer) -> None:
        """The body had begun, and its work is of no use."""
        if answer.kind == "unanswered" and self._host.force.fired:
            self.interrupt("stopping")
        else:
            self.interrupt("run_terminal" if answer.reason == "run_terminal" else "fenced")
        heart = self._heart
        if heart is not None:
            heart.stop()

    def _settle(self, answer: Answer) -> None:
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

    def _report(self, report: _Report) -> None:
        """Reports, behind the declaration: with it where that still stands in line, else when it is answered.

        Does not wait. Where the declaration was refused, nothing is reported.
        """
        calls = self._host.calls

        def answered(answer: object, error: SvcError | None) -> None:
            self._after_report(report, (answer, error))

        declaration = self._declaration
        if declaration is None or declaration.is_taken:
            calls.submit(report.call, answered)
            return
        refusal = declaration.begin_report()
        if refusal is not None:
            self._settle(refusal)
            self._end()
        elif declaration.item is None or not calls.submit_behind(declaration.item, report.call, answered):
            declaration.hold_report(lambda: self._report(report))

    def _after_report(self, report: _Report, first: First) -> None:
        """Nobody waits for the answer: a thread is needed again only where it is none, or no good one."""
        answer = self._calls.read(*first)
        if answer.reason == "not_started" and self._declaration is not None:
            self._go_on(lambda: self._report_overtaken(report))
        elif answer.kind in ("taken", "refused"):
            self._settle(answer)
            self._end()
            self._host.calls.motion.end()
        else:
            self._go_on(lambda: self._report_again(report, first))

    def _report_overtaken(self, report: _Report) -> None:
        """It came before its declaration, which was lost on its way, and is sent again behind it."""
        declared = None if self._declaration is None else self._declaration.wait()
        if declared is not None and declared.kind != "taken":
            self._conclude(report, declared)
        else:
            self._conclude(report, self._calls.call(report.call.verb, report.call.body, report.how))

    def _report_again(self, report: _Report, first: First) -> None:
        if self._declaration is not None:
            self._declaration.wait()
        self._conclude(report, self._calls.call(report.call.verb, report.call.body, report.how, first))

    def _conclude(self, report: _Report, answer: Answer) -> None:
        """Where the service refuses what is reported, the step fails, and says why."""
        if answer.error is not None:
            failure = report.failure
            if failure is None:
                message = f"the service refused the output of step {self.lease.step_id}: {answer.error}"
                failure = Failure({"class": "fatal", "code": answer.error.code, "message": message})
                answer = self._calls.fail(failure, report.how, report.usage)
            # A class that the service keeps for itself, a wait over its bound.
            if answer.error is not None:
                message = f"{failure.error['message']} (reported as fatal: {answer.error})"[:_MESSAGE_LIMIT_CHARACTERS]
                plain = Failure({"class": "fatal", "code": "invalid_failure", "message": message})
                answer = self._calls.fail(plain, report.how)
        self._settle(answer)
        self._end()

    def _report_failure(self, failure: Failure, usage: Sequence[object], how: How) -> None:
        call = self._calls.step_call("fail", self._calls.body_of_failure(failure, usage))
        self._report(_Report(call, how, failure))

    def _refuse_unheld(self) -> None:
        lease = self.lease
        self._host.logger.warning("%s: this worker does not hold that step; another may serve it", self.name)
        held = f"{lease.definition_id} version {lease.definition_version}, step {lease.step_id}"
        message = f"worker {self._host.worker_id} does not hold {held}"
        failure = Failure({"class": "unservable", "message": message})
        self._settle(self._calls.fail(failure, How(self._host.force)))
        self._end()

    def _serve(self, body: Body, first: First) -> None:
        """Runs a body that waited for the answer to its declaration."""
        host = self._host
        # A late declaration is refused as fenced; one that is never answered must not be repeated without end.
        started = self._calls.started(How(host.force, host.until_ttl), first)
        # Without its word that the body may run, the body does not run: its own earlier report is no such word either.
        if started.kind == "taken":
            self._run(body)
        else:
            self._settle(started)
            self._end()

    def _serve_early(self, body: Body, declaration: Declaration, of_round: int) -> None:
        """Runs a body whose declaration is on its way."""
        try:
            refusal = declaration.refusal
            if refusal is None:
                self._run(body)
            else:
                self._settle(refusal)
                self._end()
        finally:
            self._host.calls.bodies.end(of_round)

    def _run(self, body: Body) -> None:
        """Runs the body, and reports what came of it."""
        host = self._host
        # The time of bodies was over before this one began: it must not.
        if host.force.fired:
            self._report_failure(_GIVEN_BACK, [], host.lastly)
            return
        heart = Heart(host.timers, host.heartbeat_seconds, self._beat)
        self._heart = heart
        self._remove_force = host.force.on_fire(lambda: self._force(heart))
        usage = _Usage()
        step = Step(self.lease, self._host.instrumentation, self._interruption, lambda: self._reason, heart.tell)
        output, error = self._run_body(body, step, usage)
        reason = self._reason
        refusal = None if self._declaration is None else self._declaration.refusal
        if refusal is not None:
            self._settle(refusal)
        if self._left_behind or reason in ("fenced", "run_terminal") or refusal is not None:
            self._end()
            return
        reported = usage.reported(step)
        # A worker that stops lets a last report go out, but does not wait for its answer without end.
        how = host.lastly if reason == "stopping" else How(self._interruption)

        if error is not None:
            # The mark for the next attempt goes first: after the report nobody takes it.
            heart.flush(host.settle_seconds if reason == "stopping" else host.lease_ttl_seconds)
            is_meant = reason != "stopping" or isinstance(error, (Retryable, StepFailure))
            self._report_failure(_failure_of(error) if is_meant else _GIVEN_BACK, reported, how)
            return

        try:
            fields: dict[str, object] = {"output": output}
            if step.patch:
                fields["state_patch"] = step.patch
            if reported:
                fields["usage"] = reported
            result = self._calls.body_of(**fields)
        except Exception as problem:
            message = f"the output of step {self.lease.step_id} is not JSON: {_message_of(problem)}"
            failure = Failure({"class": "fatal", "code": "invalid_output", "message": message})
            self._report_failure(failure, reported, how)
            return
        self._report(_Report(self._calls.step_call("complete", result), how, usage=reported))

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
            elif read.reason == "not_started" and not self._is_declared():
                # It overtook the declaration, and its details were not taken.
                found("sooner")
            elif read.kind != "refused" or read.reason == "not_started":
                found("again")
            else:
                # Fenced: another lease ended this one. Run over: a cancel, above all. The work is of no more use.
                if read.reason == "fenced" or read.reason == "run_terminal":  # noqa: PLR1714  It narrows the type.
                    self.interrupt("fenced" if read.reason == "fenced" else "run_terminal")
                found("over")

        self._host.calls.submit(StepCall("heartbeat", self.lease.lease_id, body, timeout, cut), on_answer)

    def _is_declared(self) -> bool:
        return self._declaration is None or self._declaration.answer is not None

    def interrupt(self, reason: InterruptReason) -> None:
        if self._reason is None:
            self._reason = reason
            self._interruption.fire()

    def _force(self, heart: Heart) -> None:
        """The worker must stop: a body that does not listen is left behind."""
        host = self._host
        self.interrupt("stopping")

        def leave() -> None:
            if self._ended:
                return
            heart.stop()
            self._left_behind = True
            words = "%s: its body did not end in time; the service gives the step to another worker"
            host.logger.warning(words, self.name)
            host.on_end(self)

        host.timers.at(time.monotonic() + host.settle_seconds, leave)


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
