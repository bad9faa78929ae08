"""The library against the real service."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import unittest
from dataclasses import dataclass
from typing import Any

import svc
from daemon import PROGRAM, Daemon
from scripted import until

DEFINITION: dict[str, Any] = {
    "id": "refund",
    "version": 1,
    "steps": [
        {"id": "triage", "kind": "task", "input": {"amount": "${input.amount}"}},
        {"id": "ask", "kind": "wait_event", "event": "approval", "key": "order/${input.order}", "accept_parked": True},
        {"id": "pay", "kind": "task", "input": {"amount": "${input.amount}"}, "retry": {"max_attempts": 3}},
    ],
}
LATER = svc.RetryPolicy(attempts=20, base=0.1, max=0.5)


@dataclass
class Order:
    amount: float
    order: str


@dataclass
class Amount:
    amount: float


@dataclass
class Receipt:
    paid: float
    key: str


@unittest.skipUnless(PROGRAM.exists(), "the service is in the repository, not in the package")
class WithDaemon(unittest.TestCase):
    daemon: Daemon

    @classmethod
    def setUpClass(cls) -> None:
        logging.getLogger("svc.worker").addHandler(logging.NullHandler())
        cls.daemon = Daemon("--lease-ttl-ms", "10000", "--reclaim-window-ms", "200")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.daemon.stop()

    def serve(self, definition: dict[str, Any] = DEFINITION, hold: threading.Event | None = None) -> svc.Worker:
        workflow = svc.Workflow(definition)

        @workflow.step("triage")
        def triage(step: svc.Step, order: Amount) -> dict[str, bool]:
            with step.span("judge", kind="model_generation", model="gpt-4o-mini", input="text") as span:
                span.set(output="fine", usage={"input_tokens": 220, "output_tokens": 31})
            step.patch_state({"sure": order.amount < 100})
            return {"sure": True}

        @workflow.step("pay")
        async def pay(step: svc.Step, order: Amount) -> Receipt:
            # Not by the number of the attempt: an offer that a busy machine let lapse has one, too.
            if step.last_details is None:
                step.heartbeat({"tried": True})
                raise svc.Retryable("the bank does not answer", retry_after_ms=1)
            assert step.last_details == {"tried": True}
            while hold is not None and not hold.is_set():  # noqa: ASYNC110  Another thread sets it.
                await asyncio.sleep(0.01)
            return Receipt(order.amount, step.key)

        worker = svc.Worker(workflow, endpoint=self.daemon.url, claim_wait=1.0)
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 60)
        self.addCleanup(worker.stop, wait=False)
        until(lambda: any(w.worker_id == worker.worker_id for w in self.client().list_workers().workers))
        return worker

    def client(self) -> svc.Client:
        made = svc.Client(endpoint=self.daemon.url, retry=LATER)
        self.addCleanup(made.close)
        return made

    def payments(self, run: svc.RunHandle) -> list[str]:
        """How the attempts at the payment ended, without offers that nobody took up in time."""
        return [a.status for a in run.get().attempts if a.step_id == "pay" and a.status != "lapsed"]

    def test_a_run_is_started_followed_signalled_and_waited_for(self) -> None:
        self.serve()
        client = self.client()
        run = client.start("refund", Order(40, "o-1"), idempotency_key="o-1", correlation={"user_id": "u"})
        again = client.start("refund", Order(40, "o-1"), idempotency_key="o-1")
        self.assertEqual(again.run_id, run.run_id)
        published = client.publish("approval", "order/o-1", {"approved": True})
        self.assertIn(published.outcome, ("delivered", "parked"))
        seqs = [entry.seq for entry in run.watch()]
        self.assertEqual(seqs, list(range(len(seqs))))
        receipt = run.wait(Receipt)
        self.assertEqual((receipt.paid, receipt.key), (40, f"{run.run_id}:pay:1"))
        detail = run.get()
        self.assertEqual(detail.state, {"sure": True})
        self.assertEqual(detail.usage.input_tokens, 220)
        self.assertEqual(self.payments(run), ["failed", "succeeded"])
        until(lambda: any(span.name == "judge" for span in client.get_trace(run.trace_id).spans))
        trace = client.get_trace(run.trace_id)
        judge = next(span for span in trace.spans if span.name == "judge")
        step = next(span for span in trace.spans if span.span_id == judge.parent_span_id)
        self.assertEqual(step.trace_id, run.trace_id)
        self.assertTrue(client.step_cause(run.run_id, "pay").to_json())

    def test_the_service_is_killed_and_restarted_under_a_body_and_a_watch(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.serve(hold=hold)
        client = self.client()
        tracer = svc.Instrumentation(endpoint=self.daemon.url, retry=svc.RetryPolicy(attempts=None, base=0.1, max=0.5))
        self.addCleanup(tracer.close, 1)
        run = client.start("refund", Order(7, "o-2"))
        client.publish("approval", "order/o-2", {"approved": True})
        seqs: list[int] = []
        watching = threading.Thread(target=lambda: seqs.extend(entry.seq for entry in run.watch()))
        watching.start()
        until(lambda: self.payments(run)[-2:] == ["failed", "running"])
        self.daemon.kill()
        tracer.span("while it is away").end()
        time.sleep(0.5)
        self.daemon.start()
        hold.set()
        self.assertEqual(run.wait(Receipt, timeout=60).paid, 7)
        watching.join(60)
        self.assertEqual(seqs, list(range(len(seqs))))
        self.assertEqual(self.payments(run), ["failed", "succeeded"])
        self.assertTrue(tracer.flush(30))
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=1))

    def test_runs_are_paused_resumed_cancelled_and_restarted(self) -> None:
        self.serve()
        client = self.client()
        run = client.start("refund", Order(1, "o-3"))
        until(lambda: run.get().status == "waiting")
        self.assertEqual(run.pause("a look").status, "paused")
        self.assertEqual(run.resume().status, "waiting")
        self.assertEqual(run.cancel("enough").status, "cancelled")
        with self.assertRaises(svc.RunFailed) as raised:
            run.wait(timeout=30)
        self.assertEqual(raised.exception.run.status, "cancelled")
        restarted = client.restart(run.run_id, from_step="ask")
        self.assertEqual(restarted.run.restarted_from and restarted.run.restarted_from.run_id, run.run_id)
        self.assertEqual(restarted.signal("approval", {"approved": True}).outcome, "delivered")
        self.assertEqual(restarted.wait(Receipt, timeout=30).paid, 1)
        with self.assertRaises(svc.ServiceError) as refused:
            run.signal("approval", {})
        self.assertEqual(refused.exception.code, "run_terminal")

    def test_definitions_schedules_and_actions_on_many_runs(self) -> None:
        client = self.client()
        other = {**DEFINITION, "id": "other"}
        self.assertEqual([d.stored for d in client.store_definitions([other])], ["created"])
        self.assertEqual([d.stored for d in client.store_definitions([other])], ["unchanged"])
        faulty = {"id": "faulty", "version": 1, "steps": [{"id": "a", "kind": "task", "next": "nowhere"}]}
        self.assertTrue(client.check_definitions([faulty])[0]["faults"])
        self.assertEqual(client.get_definition("other").versions[0].version, 1)
        self.assertEqual(client.get_definition_version("other", 1).definition["id"], "other")
        self.assertIsNotNone(client.pause_definition("other", reason="a look").pause)
        self.assertIsNone(client.resume_definition("other").pause)
        self.assertIn("other", [d.id for d in client.list_definitions().definitions])
        made = client.create_schedule(svc.ScheduleInput(id="nightly", definition_id="other", cron="30 2 * * *"))
        self.assertEqual((made.status, len(made.next_times)), ("active", 10))
        changed = svc.ChangedSchedule(definition_id="other", every_ms=3_600_000, input={"order": "s", "amount": 1})
        self.assertEqual(client.replace_schedule("nightly", changed).every_ms, 3_600_000)
        self.assertEqual(client.pause_schedule("nightly").status, "paused")
        self.assertEqual(client.trigger_schedule("nightly").firings[0].outcome, "started")
        self.assertEqual(client.resume_schedule("nightly").status, "active")
        self.assertIn("nightly", [s.id for s in client.list_schedules().schedules])
        self.assertEqual(client.get_schedule("nightly").started, 1)
        client.delete_schedule("nightly")
        with self.assertRaises(svc.ServiceError):
            client.get_schedule("nightly")
        counted = client.count_bulk("cancel", {"definition_id": "other"})
        self.assertEqual(counted.count, 1)
        started = client.start_bulk("cancel", svc.RunFilter(definition_id="other"), reason="enough")
        assert started.bulk_id is not None
        bulk_id = started.bulk_id
        until(lambda: client.get_bulk(bulk_id).done == 1)
        runs = client.list_runs(definition_id="other", status="cancelled", limit=5).runs
        self.assertEqual(len(runs), 1)

    def test_scores_feedback_and_all_six_signals_are_stored(self) -> None:
        client = self.client()
        with svc.Instrumentation(endpoint=self.daemon.url) as tracer:
            with tracer.span("answer", kind="agent_run") as span:
                span.set(output="hello")
                tracer.log("info", "a line")
                tracer.counter("calls", 1)
                tracer.histogram("wait", count=2, sum=3.0, bounds=[1.0], bucket_counts=[1, 1])
                tracer.score("tone", 4, min=1, max=5)
                tracer.feedback("thumbs", "up", author_kind="end_user")
                tracer.aspect_note("tone", "The answer is kind.")
            self.assertTrue(tracer.flush(30))
            self.assertEqual(tracer.counters(), svc.ExportCounters(sent=7))
        stored = client.score("facts", 1, min=0, max=1, trace_id=span.trace_id)
        self.assertEqual((stored.scorer_id, stored.source), ("facts", "live"))
        client.feedback("comment", "well done", trace_id=span.trace_id)
        self.assertEqual(
            {score.scorer_id for score in client.list_scores(trace_id=span.trace_id).scores}, {"tone", "facts"}
        )
        self.assertEqual(len(client.list_feedback(span.trace_id).feedback), 2)
        self.assertIn(span.trace_id, [trace.trace_id for trace in client.list_traces(limit=50).traces])
        self.assertTrue(client.read("/v1/api/aspect_notes", {"trace_id": span.trace_id})["aspect_notes"])
        self.assertEqual(client.get_trace(span.trace_id, include="all").spans[0].output, "hello")


if __name__ == "__main__":
    unittest.main()
