from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import svc
from scripted import Reply, refusal, until
from svc._serve_lease import ServedLease
from worker_service import DEFINITION, WithWorker, WorkerService, a_lease

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = str(Path(__file__).parents[1] / "src")


@dataclass
class Order:
    amount: float


class Bodies(WithWorker):
    def test_started_comes_before_the_body_and_its_output_completes_the_step(self) -> None:
        order: list[str] = []

        def pay(step: svc.Step, order_: Order) -> dict[str, Any]:
            order.append(",".join(service.verbs()))
            step.patch_state({"paid": True})
            return {"amount": order_.amount, "key": step.key, "prior": step.prior, "state": dict(step.state)}

        service, _ = self.serving(pay)
        service.offer(a_lease(delivery="at_most_once"))
        report = service.reported("complete")
        self.assertEqual(order, ["started"])
        self.assertEqual(
            report["output"],
            {"amount": 5.0, "key": "key-1", "prior": {"triage": {"sure": True}}, "state": {"seen": 1}},
        )
        self.assertEqual(report["state_patch"], {"paid": True})
        self.assertEqual(service.verbs(), ["started", "complete"])

    def test_coroutines_are_bodies_too(self) -> None:
        async def pay(_step: svc.Step, order: dict[str, float]) -> float:
            await asyncio.sleep(0.001)
            return order["amount"]

        service, _ = self.serving(pay)
        service.offer(a_lease(1), a_lease(2))
        service.reported("complete", 2)
        self.assertEqual([report["output"] for report in service.all("complete")], [5, 5])

    def test_what_a_body_raises_decides_and_no_stack_travels(self) -> None:
        for error, expected, wait in (
            (svc.Retryable("later", retry_after_ms=1.5), {"class": "retryable", "message": "later"}, 2),
            (
                svc.StepFailure("empty", error_class="no_funds", code="E17"),
                {"class": "no_funds", "code": "E17", "message": "empty"},
                None,
            ),
            (RuntimeError("broken"), {"class": "fatal", "message": "broken"}, None),
            (KeyError(), {"class": "fatal", "message": "KeyError"}, None),
            (SystemExit("out"), {"class": "fatal", "message": "out"}, None),
        ):
            for body in (raising(error), raising_async(error)):
                with self.subTest(error=error, body=body):
                    service, worker = self.serving(body)
                    service.offer(a_lease())
                    report = service.reported("fail")
                    worker.stop()
                    self.assertEqual(report["error"], expected)
                    self.assertEqual(report.get("retry_after_ms"), wait)

    def test_an_input_that_the_body_does_not_take_fails_the_step_and_says_where(self) -> None:
        def pay(_step: svc.Step, order: Order) -> float:
            return order.amount

        service, _ = self.serving(pay)
        service.offer(a_lease(input={"amount": "secret"}))
        error = service.reported("fail")["error"]
        self.assertEqual((error["class"], error["code"]), ("fatal", "invalid_input"))
        self.assertIn("input.amount: expected a number, got str", error["message"])
        self.assertNotIn("secret", error["message"])

    def test_an_output_that_is_not_json_fails_the_step(self) -> None:
        service, _ = self.serving(lambda _step: object())
        service.offer(a_lease())
        error = service.reported("fail")["error"]
        self.assertEqual((error["class"], error["code"]), ("fatal", "invalid_output"))

    def test_an_output_that_the_service_refuses_fails_the_step(self) -> None:
        service, _ = self.serving(lambda _step: 1)
        service.script("complete", refusal(413, "payload_too_large"))
        service.offer(a_lease())
        self.assertEqual(service.reported("fail")["error"]["code"], "payload_too_large")

    def test_a_class_that_the_service_refuses_is_reported_as_fatal(self) -> None:
        service, _ = self.serving(raising(svc.StepFailure("mine", error_class="timeout")))
        service.script("fail", refusal(400, "invalid_parameter"))
        service.offer(a_lease())
        error = service.reported("fail", 2)["error"]
        self.assertEqual((error["class"], error["code"]), ("fatal", "invalid_failure"))
        self.assertIn("mine", error["message"])

    def test_a_step_that_it_does_not_hold_goes_back_without_started(self) -> None:
        service, _ = self.serving()
        service.offer(a_lease(step_id="other"))
        self.assertEqual(service.reported("fail")["error"]["class"], "unservable")
        self.assertEqual(service.verbs(), ["fail"])

    def test_usage_is_that_of_the_spans_or_what_the_body_says(self) -> None:
        def by_spans(step: svc.Step) -> None:
            for _ in range(2):
                with step.span("call", kind="model_generation", model="m") as span:
                    span.set(usage={"input_tokens": 3, "input_details": {"cache_read": 1}})

        def by_hand(step: svc.Step) -> None:
            step.set_usage({"model": "m", "input_tokens": 5}, svc.ReportedUsage(output_tokens=1, record=False))

        def both(step: svc.Step) -> None:
            step.span("call", kind="model_generation").end()
            step.set_usage({"input_tokens": 5})

        for body, expected in (
            (by_spans, [{"model": "m", "input_tokens": 6, "input_details": {"cache_read": 2}}]),
            (by_hand, [{"record": True, "model": "m", "input_tokens": 5}, {"output_tokens": 1, "record": False}]),
            (both, [{"input_tokens": 5}]),
        ):
            with self.subTest(body=body.__name__):
                service, worker = self.serving(body)
                service.offer(a_lease())
                self.assertEqual(service.reported("complete")["usage"], expected)
                worker.stop()

    def test_spans_of_any_instrumentation_of_that_service_nest_below_the_step(self) -> None:
        service = WorkerService()
        tracer = svc.Instrumentation(endpoint=service.url)
        self.addCleanup(tracer.close, 0)

        async def pay(step: svc.Step) -> str | None:
            with tracer.span("mine"):
                step.log("info", "inside")
            return tracer.traceparent()

        service, worker = self.serving(pay, service)
        service.offer(a_lease())
        output = service.reported("complete")["output"]
        worker.stop()
        tracer.flush()
        bodies = [call.body for call in service.calls_to("ingest")]
        span = next(span for body in bodies for span in body.get("spans", []))
        log = next(log for body in bodies for log in body.get("logs", []))
        self.assertEqual(output, "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01")
        self.assertEqual((span["trace_id"], span["parent_span_id"]), (output[3:35], "eee19b7ec3c1b174"))
        self.assertEqual(span["correlation"], {"user_id": "u", "project": "default", "run_id": "run-1"})
        self.assertEqual((log["span_id"], log["logger"]), (span["span_id"], "refund"))


def raising(error: BaseException) -> Callable[[svc.Step], None]:
    def body(_step: svc.Step) -> None:
        raise error

    return body


def raising_async(error: BaseException) -> Callable[[svc.Step], Any]:
    async def body(_step: svc.Step) -> None:
        raise error

    return body


class Leases(WithWorker):
    def test_reports_are_repeated_until_they_are_answered(self) -> None:
        service, _ = self.serving(lambda _step: 1)
        service.script("started", Reply(hang_up=True))
        service.script("complete", Reply(hang_up=True), refusal(503, "busy"), refusal(429, "overloaded"))
        service.offer(a_lease())
        service.reported("complete", 4)
        self.assertEqual(len(service.all("started")), 2)

    def test_a_report_that_landed_before_is_a_success(self) -> None:
        service, worker = self.serving(lambda _step: 1)
        service.script("complete", refusal(409, "already_applied"))
        service.offer(a_lease())
        service.reported("complete")
        until(lambda: worker.active == 0)
        self.assertEqual(service.all("fail"), [])

    def test_a_refused_start_runs_no_body(self) -> None:
        ran: list[bool] = []
        for code in ("fenced", "run_terminal", "already_applied"):
            service, worker = self.serving(lambda _step: ran.append(True))
            service.script("started", refusal(409, code))
            service.offer(a_lease(attempt=2))
            service.reported("started")
            until(lambda worker=worker: worker.active == 0)  # type: ignore[misc]
            self.assertEqual(service.verbs(), ["started"], code)
        self.assertEqual(ran, [])

    def test_it_never_claims_more_than_its_free_slots(self) -> None:
        release = threading.Event()
        self.addCleanup(release.set)
        running: list[int] = []
        most: list[int] = []
        lock = threading.Lock()

        def pay(_step: svc.Step) -> None:
            with lock:
                running.append(1)
                most.append(len(running))
            release.wait(20)
            with lock:
                running.pop()

        service, worker = self.serving(pay, concurrency=2)
        service.offer(*(a_lease(i) for i in range(6)))
        service.reported("started", 2)
        time.sleep(0.05)
        self.assertEqual(worker.active, 2)
        self.assertTrue(all(call.body["max"] <= 2 for call in service.calls_to("claim")))
        release.set()
        service.reported("complete", 6)
        self.assertLessEqual(max(most), 2)

    def test_a_service_without_the_batch_gets_single_calls(self) -> None:
        service, _ = self.serving(lambda _step: 1, WorkerService(batches=False, heartbeat_ms=20))
        service.offer(a_lease(1), a_lease(2))
        service.reported("complete", 2)
        self.assertLessEqual(len(service.calls_to("batch")), 2)
        self.assertEqual(sorted(service.verbs()), ["complete", "complete", "started", "started"])

    def test_nothing_of_a_lease_is_left_to_the_collector(self) -> None:
        served: list[weakref.ref[Any]] = []
        begin = ServedLease.begin

        def noted(lease: ServedLease) -> None:
            served.append(weakref.ref(lease))
            begin(lease)

        gc.disable()
        self.addCleanup(gc.enable)
        with mock.patch.object(ServedLease, "begin", noted):
            service, _ = self.serving(lambda _step: 1)
            service.offer(a_lease(1), a_lease(2, attempt=2))
            service.reported("complete", 2)
            until(lambda: len(served) == 2 and all(lease() is None for lease in served))

    def test_a_large_report_travels_by_itself(self) -> None:
        service, _ = self.serving(lambda _step: "x" * 300_000)
        service.offer(a_lease())
        self.assertEqual(len(service.reported("complete")["output"]), 300_000)
        self.assertEqual(len(service.calls_to("complete")), 1)


class Hearts(WithWorker):
    def test_a_body_that_blocks_its_loop_or_its_thread_keeps_its_lease(self) -> None:
        service = WorkerService(heartbeat_ms=20)

        def block(_step: svc.Step) -> None:
            until = time.monotonic() + 20
            while len(service.all("heartbeat")) < 3 and time.monotonic() < until:
                time.sleep(0.01)

        async def blocks(step: svc.Step) -> None:
            block(step)

        for body in (blocks, block):
            service = WorkerService(heartbeat_ms=20)
            _, worker = self.serving(body, service)
            service.offer(a_lease())
            service.reported("complete")
            worker.stop()
            self.assertGreaterEqual(len(service.all("heartbeat")), 3)

    def test_details_travel_and_go_before_a_failure(self) -> None:
        def pay(step: svc.Step) -> None:
            step.heartbeat({"page": step.last_details["page"] + 1})
            raise svc.Retryable("again")

        service, _ = self.serving(pay)
        service.offer(a_lease(last_details={"page": 1}))
        service.reported("fail")
        self.assertEqual(service.all("heartbeat")[-1]["details"], {"page": 2})
        verbs = [verb for verb, _, _ in service.reports]
        self.assertEqual(verbs, ["started", "heartbeat", "fail"])

    def test_details_beyond_their_bound_are_refused_where_they_are_given(self) -> None:
        def pay(step: svc.Step) -> str:
            step.heartbeat("x" * (64 * 1024 - 2))
            try:
                step.heartbeat("x" * (64 * 1024 - 1))
            except ValueError as error:
                return str(error)
            return "taken"

        service, _ = self.serving(pay)
        service.offer(a_lease())
        self.assertIn("65537 bytes", service.reported("complete")["output"])

    def test_a_fenced_beat_cancels_the_body_and_nothing_is_reported(self) -> None:
        learned: list[str] = []

        def waits(step: svc.Step) -> None:
            step.cancelled.wait(20)
            assert step.interruption is not None
            learned.append(step.interruption.reason)
            step.raise_if_cancelled()

        async def sleeps(step: svc.Step) -> None:
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                assert step.interruption is not None
                learned.append(step.interruption.reason)
                raise

        for body in (waits, sleeps):
            for code in ("fenced", "run_terminal"):
                service, worker = self.serving(body, WorkerService(heartbeat_ms=20))
                service.script("heartbeat", refusal(409, code))
                service.offer(a_lease())
                service.reported("heartbeat")
                until(lambda worker=worker: worker.active == 0)  # type: ignore[misc]
                worker.stop()
                self.assertEqual(service.verbs(), ["started"])
        self.assertEqual(learned, ["fenced", "run_terminal", "fenced", "run_terminal"])


class Lives(WithWorker):
    def test_it_registers_what_it_serves(self) -> None:
        service, worker = self.serving(name="refunds", version="3", project="shop", concurrency=7)
        body = service.seen("register").body
        self.assertEqual(
            body,
            {
                "worker_id": worker.worker_id,
                "definitions": [DEFINITION],
                "name": "refunds",
                "version": "3",
                "project": "shop",
                "concurrency": 7,
            },
        )

    def test_a_claim_that_is_not_known_registers_again(self) -> None:
        service, _ = self.serving()
        service.answer("claim", refusal(404, "not_found"))
        service.seen("register", 2)

    def test_a_wrong_key_a_bad_definition_and_another_major_version_end_it(self) -> None:
        service = WorkerService()
        service.answer("register", refusal(401, "unauthenticated"))
        _, worker = self.serving(service=service)
        until(lambda: bool(self.ended))
        self.assertEqual(getattr(self.ended[0], "status", None), 401)
        faults = {"code": "definition_invalid", "message": "definition refund@1: steps[0]: bad; steps[1]: worse"}
        service.answer("register", Reply(400, faults))
        _, worker = self.serving(service=service)
        until(lambda: bool(self.ended))
        self.assertEqual(
            str(self.ended[0]), "definition refund@1:\n  steps[0]: bad; steps[1]: worse".replace("; ", "\n  ")
        )
        service.answer("healthz", Reply(body={"spec_version": "9.0"}))
        _, worker = self.serving(service=service)
        until(lambda: bool(self.ended))
        self.assertIsInstance(self.ended[0], svc.IncompatibleServer)
        self.assertEqual(worker.active, 0)

    def test_a_stop_in_a_held_claim_ends_at_once_and_is_answered_by_no_step(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        service = WorkerService()
        service.answer("claim", Reply(body={"leases": []}, after=hold))
        _, worker = self.serving(service=service, claim_wait=600.0)
        service.seen("claim")
        worker.stop()
        until(lambda: bool(self.ended))
        # The claim was never answered.
        self.assertFalse(hold.is_set())
        self.assertEqual((self.ended, len(service.calls_to("claim"))), ([None], 1))

    def test_a_stop_lets_bodies_finish(self) -> None:
        release = threading.Event()
        service, worker = self.serving(lambda _step: release.wait(20), WorkerService(heartbeat_ms=20))
        service.offer(a_lease())
        service.reported("started")
        worker.stop(wait=False)
        beats = len(service.all("heartbeat"))
        service.reported("heartbeat", beats + 2)
        release.set()
        self.assertTrue(service.reported("complete")["output"])

    def test_past_its_grace_it_gives_back_what_ends_and_leaves_behind_what_is_deaf(self) -> None:
        release = threading.Event()
        self.addCleanup(release.set)

        began = threading.Semaphore(0)

        def pay(step: svc.Step, order: dict[str, Any]) -> None:
            began.release()
            if order["amount"] == 1:
                release.wait(60)
            else:
                step.cancelled.wait(20)
                raise RuntimeError("interrupted")

        service, worker = self.serving(pay, grace=0.05, settle=0.3)
        service.offer(a_lease(1, input={"amount": 1}), a_lease(2, input={"amount": 2}))
        for _ in range(2):
            self.assertTrue(began.acquire(timeout=20))
        worker.stop()
        report = service.reported("fail")
        self.assertEqual((report["error"]["class"], report["error"]["code"]), ("rate_limited", "worker_stopping"))
        self.assertEqual(report["retry_after_ms"], 0)
        self.assertEqual(sorted(service.verbs()), ["fail", "started", "started"])
        release.set()
        time.sleep(0.1)
        self.assertEqual(sorted(service.verbs()), ["fail", "started", "started"])

    def test_one_run_alone_ends_with_its_run(self) -> None:
        service, _ = self.serving(run_id="run-1")
        service.script("complete", Reply(body={"run_status": "succeeded"}))
        service.offer(a_lease())
        until(lambda: bool(self.ended))
        self.assertEqual(self.ended, [None])
        self.assertEqual(service.calls_to("claim")[0].body["run_id"], "run-1")

    def test_what_cannot_be_served_is_refused_where_it_is_written(self) -> None:
        workflow = svc.Workflow(DEFINITION)
        with self.assertRaisesRegex(ValueError, "has no body for: pay"):
            svc.Worker(workflow)
        with self.assertRaisesRegex(ValueError, "has no task 'other'"):
            workflow.step("other")
        with self.assertRaisesRegex(TypeError, "a body takes its step"):
            workflow.step("pay")(lambda: None)
        workflow.step("pay")(lambda _step: None)
        with self.assertRaisesRegex(ValueError, "has a body already"):
            workflow.step("pay")
        with self.assertRaisesRegex(ValueError, "is given twice"):
            svc.Worker(workflow, workflow)
        with self.assertRaisesRegex(ValueError, "concurrency"):
            svc.Worker(workflow, concurrency=0)
        with self.assertRaisesRegex(TypeError, "a definition is a mapping"):
            svc.Workflow({"id": "x"})

    def test_sigterm_drains_and_the_program_goes_on_behind_run(self) -> None:
        service = WorkerService()
        self.addCleanup(service.stop)
        program = """
            import json, sys, time, svc
            workflow = svc.Workflow(json.loads(sys.argv[1]))
            @workflow.step("pay")
            def pay(step):
                print("began", flush=True)
                time.sleep(0.3)
                return "done"
            svc.Worker(workflow, claim_wait=0.3).run()
            print("behind", flush=True)
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(program), json.dumps(DEFINITION)],
                env={**os.environ, "PYTHONPATH": SOURCE, "SVC_ENDPOINT": service.url},
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdout is not None
            before = len(service.all("complete"))
            service.offer(a_lease())
            self.assertEqual(process.stdout.readline(), "began\n")
            process.send_signal(number)
            self.assertEqual(process.communicate(timeout=60)[0], "behind\n")
            self.assertEqual(process.returncode, 0)
            self.assertEqual(service.all("complete")[before]["output"], "done")


if __name__ == "__main__":
    unittest.main()
