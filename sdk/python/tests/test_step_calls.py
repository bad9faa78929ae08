"""The calls of all leases of a worker: what travels together, and where threads cannot be had."""

from __future__ import annotations

import json
import threading
import unittest
from typing import TYPE_CHECKING, Any
from unittest import mock

from svc._daemon_pool import DaemonPool
from svc._errors import ConnectionFailed
from svc._step_calls import StepCall, StepCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc._errors import SvcError
    from svc._http import Request


class Answering:
    """Answers every batch of declarations."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        """Of how many declarations each was."""

    def call(self, request: Request) -> dict[str, Any]:
        assert isinstance(request.body, bytes)
        self.batches.append(len(json.loads(request.body)["started"]))
        return {"started": [{"status": 200, "body": {"path": request.path}}] * self.batches[-1]}


class Calling(unittest.TestCase):
    def setUp(self) -> None:
        self.service = Answering()
        self.calls = StepCalls(
            self.service,  # type: ignore[arg-type]
            "w-1",
            run_id=None,
            claims=lambda: False,
            on_leases=lambda _leases: None,
            pool=DaemonPool("test"),
        )
        self.addCleanup(self.calls.close)

    def submitted(self, body: bytes) -> tuple[Any, SvcError | None]:
        answered = threading.Event()
        found: list[tuple[Any, SvcError | None]] = []

        def on_answer(answer: Any, error: SvcError | None) -> None:
            found.append((answer, error))
            answered.set()

        self.calls.submit(StepCall("started", "lease-1", body), on_answer)
        self.assertTrue(answered.wait(60))
        # The answer set its lease going, which comes to its end here.
        self.calls.motion.end()
        return found[0]


def setting(event: threading.Event) -> Callable[[Any, SvcError | None], None]:
    return lambda _answer, _error: event.set()


def meeting(barrier: threading.Barrier) -> Callable[[], None]:
    def meet() -> None:
        barrier.wait(60)

    return meet


class Together(Calling):
    def test_calls_wait_for_leases_that_are_about_to_say_something(self) -> None:
        answered = [threading.Event() for _ in range(5)]
        with mock.patch.object(self.calls.motion, "_limit", 60):
            self.calls.motion.begin()
            for number, event in enumerate(answered):
                call = StepCall("started", f"lease-{number}", b'{"worker_id":"w-1"}')
                self.calls.submit(call, setting(event))
            self.assertEqual(self.service.batches, [])
            self.calls.motion.end()
            for event in answered:
                self.assertTrue(event.wait(60))
                self.calls.motion.end()
        self.assertEqual(self.service.batches, [5])

    def test_a_call_does_not_wait_for_one_that_says_nothing(self) -> None:
        self.calls.motion.begin()
        self.assertIsNone(self.submitted(b'{"worker_id":"w-1"}')[1])

    def test_an_answer_that_makes_trouble_for_one_lease_reaches_the_others(self) -> None:
        def trouble(_answer: Any, _error: SvcError | None) -> None:
            raise RuntimeError("a fault of whoever reads the answer")

        # More often than there are threads that send.
        for _ in range(4):
            answered = threading.Event()
            self.calls.motion.begin()
            self.calls.submit(StepCall("started", "bad", b'{"worker_id":"w-1"}'), trouble)
            self.calls.submit(StepCall("started", "good", b'{"worker_id":"w-1"}'), setting(answered))
            self.calls.motion.end()
            self.assertTrue(answered.wait(60))
            self.calls.motion.end()


class Pool(unittest.TestCase):
    def test_all_of_much_short_work_is_done(self) -> None:
        pool = DaemonPool("test", spare=8)
        for _ in range(100):
            done = threading.Semaphore(0)
            for _ in range(20):
                pool.submit(done.release)
            for _ in range(20):
                self.assertTrue(done.acquire(timeout=60))

    def test_all_of_it_runs_at_once_where_each_waits_for_the_others(self) -> None:
        pool = DaemonPool("test", spare=2)
        for _ in range(2):
            barrier = threading.Barrier(9)
            for _ in range(8):
                pool.submit(meeting(barrier))
            barrier.wait(60)


class NoThreads(Calling):
    def test_a_call_fails_that_finds_no_thread_and_the_next_one_tries_again(self) -> None:
        large = b'{"worker_id":"w-1","x":"' + b"x" * 300_000 + b'"}'
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            for body in (b'{"worker_id":"w-1"}', b'{"worker_id":"w-1"}', b'{"worker_id":"w-1"}', large):
                answer, error = self.submitted(body)
                self.assertIsNone(answer)
                self.assertIsInstance(error, ConnectionFailed)
                self.assertEqual(str(error), "no thread can be started for a call")
        answer, error = self.submitted(b'{"worker_id":"w-1"}')
        self.assertEqual((answer, error), ({"path": "/v1/api/steps/batch"}, None))

    def test_a_call_that_finds_no_second_thread_waits_for_the_first(self) -> None:
        self.assertIsNone(self.submitted(b'{"worker_id":"w-1"}')[1])
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            self.assertIsNone(self.submitted(b'{"worker_id":"w-1"}')[1])


if __name__ == "__main__":
    unittest.main()
