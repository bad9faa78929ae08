from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import _json
from ._errors import StepInterrupted
from ._wire import ABSENT

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from ._errors import InterruptReason
    from ._instrumentation import Instrumentation
    from ._signal import Signal
    from ._span import Span
    from ._wire import AuthorKind, FeedbackKind, Lease, ReportedUsage, RunCorrelation, ScoreSource, Severity, SpanKind

DETAILS_LIMIT_BYTES = 64 * 1024
"""See docs/worker-protocol.md, "Heartbeat"."""


class Step:
    """What the body of a step works with."""

    def __init__(
        self,
        lease: Lease,
        instrumentation: Instrumentation,
        interruption: Signal,
        reason: Callable[[], InterruptReason | None],
        tell: Callable[[bytes], None],
    ) -> None:
        self.lease = lease
        self.instrumentation = instrumentation
        self._interruption = interruption
        self._reason = reason
        self._tell = tell
        self.patch: dict[str, Any] = {}
        """What `patch_state` was given so far."""
        self.usage: list[ReportedUsage | Mapping[str, Any]] | None = None
        """What `set_usage` was given."""

    @property
    def cancelled(self) -> threading.Event:
        """Set when the work is of no more use.

        The run was cancelled, another worker has the step, or this worker must stop. A `def` looks at it, or waits on
        it; an `async def` is cancelled as tasks are.
        """
        return self._interruption.event

    @property
    def run_id(self) -> str:
        return self.lease.run_id

    @property
    def project(self) -> str:
        return self.lease.project

    @property
    def definition_id(self) -> str:
        return self.lease.definition_id

    @property
    def definition_version(self) -> int:
        return self.lease.definition_version

    @property
    def step_id(self) -> str:
        return self.lease.step_id

    @property
    def visit(self) -> int:
        """Entries into this step, this one included."""
        return self.lease.visit

    @property
    def attempt(self) -> int:
        """Attempts of this visit, this one included."""
        return self.lease.attempt

    @property
    def key(self) -> str:
        """The same for every attempt of this visit.

        Hand it on as the idempotency key of whatever the step does to the world, and a second attempt does it no
        second time.
        """
        return self.lease.step_key

    @property
    def state(self) -> Mapping[str, Any]:
        """The state of the run, as it was when the step was leased."""
        return self.lease.state

    @property
    def prior(self) -> Mapping[str, Any]:
        """The outputs of the steps before this one, by step id."""
        return {name: None if step.output is ABSENT else step.output for name, step in self.lease.steps.items()}

    @property
    def correlation(self) -> RunCorrelation:
        return self.lease.correlation

    @property
    def last_details(self) -> Any:
        """The details of the last `heartbeat` of the attempt before this one; `None` without."""
        details = self.lease.last_details
        return None if details is ABSENT else details

    @property
    def deadline_at(self) -> datetime | None:
        """When the run ends by itself, where its definition limits the time."""
        text = self.lease.deadline_at
        if text is None:
            return None
        # Before Python 3.11 a `Z` is not read, and nine digits of fraction are not either.
        head, dot, fraction = text.removesuffix("Z").partition(".")
        return datetime.fromisoformat(f"{head}{dot}{fraction[:6].ljust(6, '0') if dot else ''}+00:00")

    @property
    def interruption(self) -> StepInterrupted | None:
        """Why `cancelled` is set; `None` while it is not."""
        reason = self._reason()
        return None if reason is None else StepInterrupted(reason)

    def raise_if_cancelled(self) -> None:
        """Raises StepInterrupted when the work is of no more use."""
        interruption = self.interruption
        if interruption is not None:
            raise interruption

    def heartbeat(self, details: Any) -> None:
        """Leaves a mark for the next attempt, which finds it as `last_details`. Sent within a second.

        At most 64 KiB of JSON, else ValueError; TypeError or ValueError on what is not JSON.
        """
        text = _json.encode(details)
        if len(text) > DETAILS_LIMIT_BYTES:
            raise ValueError(f"heartbeat details have {len(text)} bytes as JSON, more than {DETAILS_LIMIT_BYTES}")
        self._tell(text)

    def patch_state(self, patch: Mapping[str, Any]) -> None:
        """Merges into the state of the run when the step completes: these top-level keys replace those of the run."""
        self.patch.update(patch)

    def set_usage(self, *usage: ReportedUsage | Mapping[str, Any]) -> None:
        """Reports the usage of the step, an entry a model.

        Without this call it is the sum of what the spans of the body carry; with it, this alone. Where the body has
        recorded no model span, the service makes one of each entry, so that the trace holds tokens and money too;
        `record: False` in an entry says that another library has recorded it.
        """
        self.usage = list(usage)

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
    ) -> Span:
        """A span of the step. Those of an `Instrumentation` of your own nest just so."""
        return self.instrumentation.span(
            name,
            kind=kind,
            input=input,
            model=model,
            provider=provider,
            entity_name=entity_name,
            attributes=attributes,
        )

    def log(self, severity: Severity, message: str, attributes: Mapping[str, Any] | None = None) -> None:
        """Records a log line on the step's span."""
        self.instrumentation.log(severity, message, logger=self.lease.definition_id, attributes=attributes)

    def score(
        self,
        scorer_id: str,
        value: float,
        *,
        min: float,  # noqa: A002  The words of the fields.
        max: float,  # noqa: A002
        label: str | None = None,
        reason: str | None = None,
        source: ScoreSource = "live",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Records an evaluation of the run's trace."""
        self.instrumentation.score(
            scorer_id, value, min=min, max=max, label=label, reason=reason, source=source, metadata=metadata
        )

    def feedback(
        self,
        kind: FeedbackKind,
        value: str | float,
        *,
        comment: str | None = None,
        author_kind: AuthorKind | None = None,
        author_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Records a judgement of the run's trace."""
        self.instrumentation.feedback(
            kind, value, comment=comment, author_kind=author_kind, author_id=author_id, metadata=metadata
        )

    @property
    def traceparent(self) -> str:
        """The step's span as a `traceparent` header, for calls to services that trace."""
        return f"00-{self.lease.trace_id}-{self.lease.span_id}-01"
