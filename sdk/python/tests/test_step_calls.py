"""The calls of all leases of a worker, where threads cannot be had."""

from __future__ import annotations

import threading
import unittest
from typing import TYPE_CHECKING, Any
from unittest import mock

from svc._daemon_pool import DaemonPool
from svc._errors import ConnectionFailed
from svc._step_calls import StepCall, StepCalls

if TYPE_CHECKING:
    from svc._errors import SvcError
    from svc._http import Request


class Answering:
    """Answers every batch of declarations."""

    def call(self, request: Request) -> dict[str, Any]:
        return {"started": [{"status": 200, "body": {"path": request.path}}]}


class NoThreads(unittest.TestCase):
    def setUp(self) -> None:
        self.calls = StepCalls(
            Answering(),  # type: ignore[arg-type]
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
        return found[0]

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
