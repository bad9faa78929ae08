from __future__ import annotations

import threading

_LIMIT_SECONDS = 0.005
"""Nobody waits longer: bodies that keep the interpreter busy may hold up others that are about to begin."""


class Motion:
    """Counts the leases that an answer has set going, until each has come as far as it comes by itself.

    Its body has begun, or its slot is free. What they ask for meanwhile travels together.
    """

    def __init__(self) -> None:
        self._still = threading.Condition(threading.Lock())
        self._count = 0

    def begin(self, leases: int = 1) -> None:
        with self._still:
            self._count += leases

    def end(self) -> None:
        with self._still:
            # One that was given up as too slow comes late.
            if self._count > 0:
                self._count -= 1
                if self._count == 0:
                    self._still.notify_all()

    def wait(self) -> None:
        """Returns when nothing moves, or the limit has passed."""
        if self._count == 0:
            return
        with self._still:
            if not self._still.wait_for(lambda: self._count == 0, _LIMIT_SECONDS):
                # Those who wait next begin to count anew.
                self._count = 0
                self._still.notify_all()
