from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ._signal import Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._lease_calls import Answer
    from ._step_calls import Item


class Declaration:
    """That a body starts, told while it runs already. What it comes to is reported behind it, never before."""

    def __init__(self) -> None:
        self.item: Item | None = None
        """The first try."""
        self.over = Signal()
        """Fires at the end of the lease: it is of no more use."""
        self._lock = threading.Lock()
        self._answer: Answer | None = None
        self._reports = False
        self._waiting: list[Callable[[], None]] = []

    @property
    def answer(self) -> Answer | None:
        """`None` while it is on its way."""
        return self._answer

    @property
    def is_taken(self) -> bool:
        return self._answer is not None and self._answer.kind == "taken"

    @property
    def refusal(self) -> Answer | None:
        """The answer, where it is not that the body may run and no report is on its way, whose own answer counts."""
        answer = self._answer
        return None if answer is None or answer.kind == "taken" or self._reports else answer

    def settle(self, answer: Answer, on_refusal: Callable[[Answer], None]) -> None:
        """Takes the answer, and tells those who wait for it."""
        with self._lock:
            self._answer = answer
            waiting, self._waiting = self._waiting, []
            refusal = self.refusal
        if refusal is not None:
            on_refusal(refusal)
        for go_on in waiting:
            go_on()

    def begin_report(self) -> Answer | None:
        """From now on the answer to a report counts. Returns the refusal, where that was first."""
        with self._lock:
            if self.refusal is None:
                self._reports = True
            return self.refusal

    def hold_report(self, go_on: Callable[[], None]) -> None:
        """The report did not leave: it goes on when this is answered."""
        with self._lock:
            self._reports = False
        self._then(go_on)

    def wait(self) -> Answer | None:
        """Waits for the answer."""
        answered = threading.Event()
        self._then(answered.set)
        answered.wait()
        return self._answer

    def _then(self, go_on: Callable[[], None]) -> None:
        with self._lock:
            if self._answer is None:
                self._waiting.append(go_on)
                return
        go_on()
