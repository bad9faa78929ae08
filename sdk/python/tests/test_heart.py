"""When a heart beats, by timers that are held and fired by hand."""

from __future__ import annotations

import time
import unittest
from typing import TYPE_CHECKING

from svc._heart import Heart, Pulse
from svc._timers import Timers

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc._signal import Signal


class HeldTimers(Timers):
    """One timer at most is held, and how long it was to wait from when it was set."""

    def __init__(self) -> None:
        super().__init__("held")
        self.held: Callable[[], None] | None = None
        self.wait = 0.0

    def at(self, when: float, call: Callable[[], None]) -> Callable[[], None]:
        self.held, self.wait = call, when - time.monotonic()

        def cancel() -> None:
            if self.held is call:
                self.held = None

        return cancel

    def fire(self) -> None:
        held, self.held = self.held, None
        assert held is not None
        held()


class Hearts(unittest.TestCase):
    def setUp(self) -> None:
        self.timers = HeldTimers()
        self.sent: list[bytes | None] = []
        self.found: list[Callable[[Pulse], None]] = []
        self.heart = Heart(self.timers, 1000.0, self.beat)

    def beat(self, details: bytes | None, _cut: Signal, found: Callable[[Pulse], None]) -> None:
        self.sent.append(details)
        self.found.append(found)

    def test_it_beats_as_often_as_it_was_asked_to(self) -> None:
        self.assertAlmostEqual(self.timers.wait, 1000, delta=100)
        for _ in range(3):
            self.timers.fire()
            self.assertIsNone(self.timers.held)
            self.found[-1]("again")
            self.assertAlmostEqual(self.timers.wait, 1000, delta=100)
        self.assertEqual(self.sent, [None, None, None])

    def test_an_unanswered_beat_is_followed_after_a_quarter_of_the_time(self) -> None:
        self.timers.fire()
        self.found[-1]("sooner")
        self.assertAlmostEqual(self.timers.wait, 250, delta=100)

    def test_details_go_within_a_second_and_again_when_nobody_answered(self) -> None:
        self.heart.tell(b"1")
        self.heart.tell(b"2")
        self.assertLessEqual(self.timers.wait, 1)
        self.timers.fire()
        self.found[-1]("sooner")
        self.assertLessEqual(self.timers.wait, 1)
        self.timers.fire()
        self.heart.tell(b"3")
        self.found[-1]("sooner")
        self.timers.fire()
        self.found[-1]("again")
        self.assertEqual(self.sent, [b"2", b"2", b"3"])

    def test_it_is_over_when_its_answer_says_so_or_when_it_is_stopped(self) -> None:
        self.timers.fire()
        self.found[-1]("over")
        self.assertIsNone(self.timers.held)
        other = Heart(self.timers, 1000.0, self.beat)
        other.stop()
        self.assertIsNone(self.timers.held)
        other.tell(b"late")
        self.assertIsNone(self.timers.held)

    def test_a_flush_sends_what_waits(self) -> None:
        self.heart.flush(0)
        self.heart.tell(b"1")
        self.heart.flush(0)
        self.assertEqual(self.sent, [b"1"])


if __name__ == "__main__":
    unittest.main()
