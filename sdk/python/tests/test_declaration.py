from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any
from unittest import mock

from scripted import Reply, refusal, until
from worker_service import WithWorker, WorkerService, a_lease

if TYPE_CHECKING:
    from collections.abc import Callable

    import svc


class Early(WithWorker):
    """A first attempt that may run more than once begins while its declaration is on its way."""

    def test_what_ends_before_its_declaration_left_travels_with_it(self) -> None:
        go = threading.Event()
        self.addCleanup(go.set)
        service = WorkerService()
        service.answer("claim", Reply(body={"leases": [a_lease(i) for i in range(5)]}, after=go))
        _, worker = self.serving(lambda _step: 1, service, concurrency=5)
        service.seen("claim")
        calls = worker._calls
        # As long as something moves, nothing is sent.
        with mock.patch.object(calls.motion, "_limit", 60), mock.patch.object(calls.bodies, "_limit", 60):
            calls.motion.begin()
            go.set()
            until(lambda: len(calls._queue) == 10)
            self.assertEqual(service.verbs(), [])
            calls.motion.end()
            service.reported("complete", 5)
        self.assertEqual(len(service.calls_to("batch")), 1)
        self.assertEqual(service.verbs(), ["started"] * 5 + ["complete"] * 5)

    def test_it_waits_for_a_body_that_has_begun_and_for_a_long_one_only_so_long(self) -> None:
        begun, go = threading.Semaphore(0), threading.Event()
        self.addCleanup(go.set)

        def body(_step: svc.Step) -> None:
            begun.release()
            go.wait(60)

        service, worker = self.serving(body, concurrency=2)
        service.offer(a_lease(0))
        # It goes on, and its declaration leaves.
        until(lambda: service.verbs() == ["started"])
        calls = worker._calls
        with mock.patch.object(calls.bodies, "_limit", 60):
            service.offer(a_lease(1))
            self.assertTrue(begun.acquire(timeout=20) and begun.acquire(timeout=20))
            self.assertEqual(service.verbs(), ["started"])
            go.set()
            service.reported("complete", 2)
        self.assertEqual(sorted(service.verbs()), ["complete", "complete", "started", "started"])
        self.assertIn(["completes", "started"], [sorted(set(b) - {"claim", "worker_id"}) for b in batches_of(service)])

    def test_what_ends_while_its_declaration_is_under_way_is_reported_when_that_is_answered(self) -> None:
        for batches in (True, False):
            service = WorkerService(batches=batches)
            verb = "batch" if batches else "started"
            answered, ended = threading.Event(), threading.Event()
            self.addCleanup(answered.set)
            service.answer(verb, held(answered, batches=batches))
            _, worker = self.serving(after_call(service, verb, ended), service)
            service.offer(a_lease())
            self.assertTrue(ended.wait(20))
            time.sleep(0.05)
            self.assertEqual(service.verbs(), [])
            answered.set()
            self.assertEqual(service.reported("complete")["output"], "early")
            worker.stop()

    def test_its_declaration_is_repeated_before_it_reports_and_it_runs_once(self) -> None:
        ran: list[bool] = []
        service, _ = self.serving(lambda _step: ran.append(True))
        service.script("started", Reply(hang_up=True), refusal(503, "store_unavailable"))
        service.offer(a_lease())
        service.reported("complete")
        self.assertEqual((ran, service.verbs()[:3]), ([True], ["started"] * 3))

    def test_a_report_that_overtook_its_declaration_is_sent_again(self) -> None:
        service, worker = self.serving(lambda _step: 1)
        service.script("started", refusal(503, "store_unavailable"))
        service.script("complete", refusal(409, "not_started"))
        service.offer(a_lease())
        service.reported("complete")
        until(lambda: worker.active == 0)
        self.assertEqual((len(service.all("started")), len(service.all("complete"))), (2, 2))
        self.assertEqual(service.verbs()[-1], "complete")

    def test_a_refused_declaration_cancels_the_body_and_nothing_is_reported(self) -> None:
        for code in ("fenced", "run_terminal", "already_applied", "invalid_parameter"):
            learned: list[str] = []
            service, worker = self.serving(waiting(learned))
            service.script("started", refusal(400 if code == "invalid_parameter" else 409, code))
            service.offer(a_lease())
            service.reported("started")
            until(lambda worker=worker: worker.active == 0)  # type: ignore[misc]
            worker.stop()
            self.assertEqual(learned, [code if code == "run_terminal" else "fenced"])
            self.assertEqual(service.verbs(), ["started"])

    def test_it_is_cancelled_where_nobody_answers_its_declaration(self) -> None:
        learned: list[str] = []
        service, worker = self.serving(waiting(learned), WorkerService(lease_ttl_ms=1))
        service.script("started", Reply(hang_up=True))
        service.offer(a_lease())
        service.reported("started")
        until(lambda: worker.active == 0)
        self.assertEqual((learned, set(service.verbs())), (["fenced"], {"started"}))

    def test_a_second_attempt_and_what_may_run_once_wait_for_the_answer(self) -> None:
        for more in ({"attempt": 2}, {"delivery": "at_most_once"}):
            began, answered = threading.Event(), threading.Event()
            self.addCleanup(answered.set)
            service = WorkerService()
            service.answer("batch", held(answered, batches=True))
            _, worker = self.serving(setting(began), service)
            service.offer(a_lease(**more))
            service.seen("batch")
            self.assertFalse(began.wait(0.05))
            answered.set()
            service.reported("complete")
            worker.stop()


def waiting(learned: list[str]) -> Callable[[svc.Step], None]:
    """A body that waits until it is cancelled."""

    def body(step: svc.Step) -> None:
        step.cancelled.wait(20)
        assert step.interruption is not None
        learned.append(step.interruption.reason)
        raise RuntimeError("of no more use")

    return body


def setting(event: threading.Event) -> Callable[[svc.Step], None]:
    return lambda _step: event.set()


def after_call(service: WorkerService, verb: str, ended: threading.Event) -> Callable[[svc.Step], str]:
    """A body that ends when the service has seen a call."""

    def body(_step: svc.Step) -> str:
        service.seen(verb)
        ended.set()
        return "early"

    return body


def batches_of(service: WorkerService) -> list[dict[str, Any]]:
    return [call.body for call in service.calls_to("batch")]


def held(answered: threading.Event, *, batches: bool) -> Reply:
    """The answer to the declaration of the first lease, which comes when it may."""
    body: dict[str, Any] = {"run_status": "running", "lease_expires_at": "2026-11-20T09:00:30Z"}
    if batches:
        body = {"started": [{"lease_id": "lease-1", "status": 200, "body": body}], "leases": []}
    return Reply(body=body, after=answered)
