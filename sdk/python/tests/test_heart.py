"""When a heart beats, by timers that are held and fired by hand."""

from __future__ import annotations

import threading
import time
import unittest
from typing import TYPE_CHECKING
from unittest import mock

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

    def flushing(self, seconds: float) -> threading.Thread:
        """A flush on a thread of its own, once its first beat is on its way."""
        thread = threading.Thread(target=self.heart.flush, args=(seconds,))
        thread.start()
        self.await_beats(1)
        return thread

    def await_beats(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.found) < count:
            self.assertLess(time.monotonic(), deadline, f"{len(self.found)} beats of {count}")
            time.sleep(0.001)

    def test_a_flush_repeats_details_that_were_not_answered_until_they_arrive(self) -> None:
        self.heart.tell(b"1")
        flush = self.flushing(60)
        for beats in (1, 2):
            self.await_beats(beats)
            self.found[-1]("sooner")
            self.assertLessEqual(self.timers.wait, 1)
            self.assertTrue(flush.is_alive())
            self.timers.fire()
        self.await_beats(3)
        self.found[-1]("again")
        flush.join(60)
        self.assertFalse(flush.is_alive())
        self.assertEqual(self.sent, [b"1", b"1", b"1"])

    def test_a_flush_ends_when_no_beat_shall_follow_and_when_its_time_is_over(self) -> None:
        self.heart.tell(b"1")
        flush = self.flushing(60)
        self.found[-1]("sooner")
        self.heart.stop()
        flush.join(60)
        self.assertFalse(flush.is_alive())
        self.heart = Heart(self.timers, 1000.0, lambda _details, _cut, found: found("sooner"))
        self.heart.tell(b"1")
        self.heart.flush(0.01)


class TakenBack(unittest.TestCase):
    def test_timers_that_are_taken_back_do_not_gather(self) -> None:
        timers = Timers("test")
        kept = threading.Event()
        timers.at(time.monotonic() + 0.05, kept.set)
        for _ in range(10_000):
            timers.at(time.monotonic() + 3600, lambda: None)()
        self.assertLess(len(timers._heap), 1000)
        self.assertTrue(kept.wait(60))
        timers.close()


class NoThreads(unittest.TestCase):
    def test_timers_that_found_no_thread_find_one_with_the_next_call(self) -> None:
        timers = Timers("test")
        with (
            mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")),
            self.assertRaises(RuntimeError),
        ):
            timers.at(time.monotonic(), lambda: None)
        fired = threading.Event()
        timers.at(time.monotonic(), fired.set)
        self.assertTrue(fired.wait(60))
        timers.close()


if __name__ == "__main__":
    unittest.main()
