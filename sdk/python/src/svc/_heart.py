from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Literal

from ._signal import Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._timers import Timers

Pulse = Literal["again", "sooner", "over"]
"""What a heartbeat found: `again` for the next in time, `sooner` after no answer, `over` when none shall follow."""

_DETAILS_DELAY_SECONDS = 1.0
"""Details that change quickly travel together."""


class Heart:
    """Beats from now on until it is stopped.

    `beat` sends one heartbeat with the details that the body gave since the last one, and calls back with what it
    found; it neither raises nor blocks.
    """

    def __init__(
        self,
        timers: Timers,
        seconds: float,
        beat: Callable[[bytes | None, Signal, Callable[[Pulse], None]], None],
    ) -> None:
        self._timers = timers
        self._seconds = seconds
        self._beat = beat
        self._lock = threading.Lock()
        self._settled: threading.Condition | None = None
        """Made for who waits; most bodies end without a beat."""
        self._details: bytes | None = None
        self._in_flight = False
        self._stopped = False
        self._cut = Signal()
        self._last = time.monotonic()
        self._cancel: Callable[[], None] = lambda: None
        with self._lock:
            self._schedule(seconds)

    def _schedule(self, seconds: float) -> None:
        """With the lock: the next beat comes so long after the last."""
        self._cancel()
        if not self._stopped:
            self._cancel = self._timers.at(self._last + seconds, self._beat_now)

    def _beat_now(self) -> None:
        with self._lock:
            if self._stopped or self._in_flight:
                return
            self._cancel()
            sent, self._details = self._details, None
            self._last = time.monotonic()
            self._in_flight = True
        self._beat(sent, self._cut, lambda found: self._found(sent, found))

    def _found(self, sent: bytes | None, found: Pulse) -> None:
        with self._lock:
            self._in_flight = False
            if found == "over":
                self._stopped = True
            # Details that did not arrive are sent again, unless newer ones came meanwhile.
            if found == "sooner" and self._details is None:
                self._details = sent
            wait = self._seconds / 4 if found == "sooner" else self._seconds
            self._schedule(wait if self._details is None else min(wait, _DETAILS_DELAY_SECONDS))
            self._notify()

    def tell(self, details: bytes) -> None:
        """Details, as JSON, for the next beat, which comes within a second."""
        with self._lock:
            self._details = details
            if not self._in_flight:
                self._schedule(min(self._seconds, _DETAILS_DELAY_SECONDS))

    def flush(self, seconds: float) -> None:
        """Returns when the details given so far have arrived, or no beat shall follow, or the time is over."""
        end = time.monotonic() + seconds
        with self._lock:
            if self._settled is None:
                self._settled = threading.Condition(self._lock)
            settled = self._settled
            settled.wait_for(lambda: not self._in_flight, seconds)
            if self._details is None or self._stopped or self._in_flight:
                return
        # At once; where nobody answers, the beats that follow it repeat the details.
        self._beat_now()
        with self._lock:
            settled.wait_for(
                lambda: not self._in_flight and (self._details is None or self._stopped), end - time.monotonic()
            )

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._cancel()
            self._notify()
        self._cut.fire()

    def _notify(self) -> None:
        """With the lock."""
        if self._settled is not None:
            self._settled.notify_all()
