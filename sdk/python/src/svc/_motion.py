from __future__ import annotations

import threading

LEASES_SECONDS = 0.005
"""Nobody waits longer for leases: bodies that keep the interpreter busy may hold up others that are about to begin."""
BODIES_SECONDS = 0.0005
"""A declaration does not wait longer for what its body gives."""


class Motion:
    """Counts what an answer has set going, until each has come as far as it comes by itself.

    A lease, until its body has begun or its slot is free; a body that began before its declaration was answered, until
    it has reported. What they ask for meanwhile travels together.
    """

    def __init__(self, limit_seconds: float) -> None:
        self._limit = limit_seconds
        self._still = threading.Condition(threading.Lock())
        self._count = 0
        self._round = 0
        """How often those who waited gave up, and the count began anew."""

    def begin(self, count: int = 1) -> int:
        """Returns the round, for `end`."""
        with self._still:
            self._count += count
            return self._round

    def end(self, of_round: int | None = None) -> None:
        """With its round, what was given up as too slow is told from what began since."""
        with self._still:
            if self._count > 0 and of_round in (None, self._round):
                self._count -= 1
                if self._count == 0:
                    self._still.notify_all()

    def wait(self) -> None:
        """Returns when nothing moves, or the limit has passed."""
        if self._count == 0:
            return
        with self._still:
            if not self._still.wait_for(lambda: self._count == 0, self._limit):
                # Those who wait next begin to count anew.
                self._count = 0
                self._round += 1
                self._still.notify_all()
