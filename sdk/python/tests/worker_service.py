"""A service for workers of tests: it offers leases, and takes every report."""

from __future__ import annotations

import logging
import threading
import unittest
from typing import TYPE_CHECKING, Any

import svc
from scripted import Call, Reply, Scripted, default_reply, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

DEFINITION = {
    "id": "refund",
    "version": 1,
    "steps": [{"id": "pay", "kind": "task", "input": {"amount": "${input.amount}"}}],
}


def a_lease(number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "lease_id": f"lease-{number}",
        "run_id": f"run-{number}",
        "project": "default",
        "definition_id": "refund",
        "definition_version": 1,
        "step_id": "pay",
        "visit": 1,
        "attempt": 1,
        "delivery": "at_least_once",
        "input": {"amount": 5},
        "steps": {"triage": {"output": {"sure": True}}},
        "state": {"seen": 1},
        "correlation": {"user_id": "u"},
        "step_key": "key-1",
        "trace_id": "5b8efff798038103d269b633813fc60c",
        "span_id": "eee19b7ec3c1b174",
        "lease_expires_at": "2026-11-20T09:00:30Z",
        **more,
    }


LISTS = {"started": "started", "heartbeats": "heartbeat", "completes": "complete", "fails": "fail"}


class WorkerService(Scripted):
    """Offers leases, accepts every report, and answers otherwise only where the test says so."""

    def __init__(self, *, batches: bool = True, heartbeat_ms: int = 10_000, lease_ttl_ms: int = 30_000) -> None:
        self.offers: list[dict[str, Any]] = []
        self.reports: list[tuple[str, str, dict[str, Any]]] = []
        self.scripted: dict[str, list[Reply]] = {}
        self.heartbeat_ms, self.lease_ttl_ms, self.batches = heartbeat_ms, lease_ttl_ms, batches
        super().__init__()
        self.rule = self._rule

    def offer(self, *leases: dict[str, Any]) -> None:
        with self.seen_more:
            self.offers.extend(leases)
            self.seen_more.notify_all()

    def _take(self, most: int, wait_ms: int) -> list[dict[str, Any]]:
        with self.seen_more:
            self.seen_more.wait_for(lambda: bool(self.offers), min(wait_ms / 1000, 0.3))
            taken, self.offers = self.offers[:most], self.offers[most:]
            return taken

    def _report(self, verb: str, lease_id: str, body: dict[str, Any]) -> Reply:
        with self.seen_more:
            self.reports.append((verb, lease_id, body))
            queued = self.scripted.get(verb)
            reply = queued.pop(0) if queued else None
            self.seen_more.notify_all()
        if reply is not None:
            return reply
        answers: dict[str, dict[str, Any]] = {
            "started": {"run_status": "running", "lease_expires_at": "2026-11-20T09:00:30Z"},
            "heartbeat": {"lease_expires_at": "2026-11-20T09:00:30Z"},
            "complete": {"run_status": "queued"},
            "fail": {"run_status": "queued", "will_retry": True},
        }
        return Reply(body=answers[verb])

    def _rule(self, call: Call) -> Reply | None:
        if call.verb == "register":
            body = {"lease_ttl_ms": self.lease_ttl_ms, "heartbeat_ms": self.heartbeat_ms, "definitions": []}
            return Reply(body={"worker_id": call.body["worker_id"], **body})
        if call.verb == "claim":
            return Reply(body={"leases": self._take(call.body["max"], call.body["wait_ms"])})
        if call.verb == "batch":
            return self._batch(call) if self.batches else refusal(404, "not_found")
        if call.path.startswith("/v1/api/steps/"):
            return self._report(call.verb, call.path.split("/")[-2], call.body)
        return default_reply(call)

    def _batch(self, call: Call) -> Reply:
        answer: dict[str, Any] = {name: [] for name in LISTS}
        for name, verb in LISTS.items():
            for item in call.body.get(name, []):
                body = {key: value for key, value in item.items() if key != "lease_id"}
                reply = self._report(verb, item["lease_id"], body)
                if reply.hang_up:
                    return reply
                answer[name].append({"lease_id": item["lease_id"], "status": reply.status, "body": reply.body})
        claim = call.body.get("claim")
        answer["leases"] = [] if claim is None else self._take(claim["max"], 0)
        return Reply(body=answer)

    def script(self, verb: str, *replies: Reply) -> None:
        self.scripted.setdefault(verb, []).extend(replies)

    def reported(self, verb: str, count: int = 1, seconds: float = 20) -> dict[str, Any]:
        """Waits for the so-many-th report of a verb."""
        with self.seen_more:
            if not self.seen_more.wait_for(lambda: len(self.all(verb)) >= count, seconds):
                raise AssertionError(f"no {verb} number {count}; there were {[r[0] for r in self.reports]}")
            return self.all(verb)[count - 1]

    def all(self, verb: str) -> list[dict[str, Any]]:
        return [body for name, _, body in self.reports if name == verb]

    def verbs(self) -> list[str]:
        return [name for name, _, _ in self.reports if name != "heartbeat"]


class WithWorker(unittest.TestCase):
    def serving(
        self, body: Callable[..., Any] | None = None, service: WorkerService | None = None, **options: Any
    ) -> tuple[WorkerService, svc.Worker]:
        """A worker that runs in a thread, and the service that it talks to."""
        service = service or WorkerService()
        self.addCleanup(service.stop)
        workflow = svc.Workflow(DEFINITION)
        workflow.step("pay")(body or (lambda _step: None))
        logger = logging.getLogger(f"test.{self.id()}")
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        given = {"endpoint": service.url, "claim_wait": 0.3, "settle": 1.0, "logger": logger, **options}
        worker = svc.Worker(workflow, **given)
        self.ended: list[BaseException | None] = []

        def run() -> None:
            try:
                worker.run()
            except BaseException as error:
                self.ended.append(error)
            else:
                self.ended.append(None)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 30)
        self.addCleanup(worker.stop, wait=False)
        return service, worker
