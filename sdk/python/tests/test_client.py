from __future__ import annotations

import asyncio
import json
import threading
import time
import unittest
from typing import Any

import svc
from scripted import Call, Reply, Scripted, refusal, until

QUICK = svc.RetryPolicy(attempts=3, base=0.001, max=0.002)


def a_run(**more: Any) -> dict[str, Any]:
    return {
        "run_id": "run-1",
        "trace_id": "5b8efff798038103d269b633813fc60c",
        "project": "default",
        "definition_id": "refund",
        "definition_version": 1,
        "status": "succeeded",
        "created_at": "2026-11-20T09:00:00Z",
        "updated_at": "2026-11-20T09:00:00Z",
        "input": {},
        "state": {},
        "correlation": {},
        "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
        "step_count": 1,
        "priority": 0,
        "attempts": [],
        "timers": [],
        "waits": [],
        "children": [],
        **more,
    }


def entry(seq: int, kind: str = "cursor.moved") -> dict[str, Any]:
    return {"seq": seq, "kind": kind, "at": "2026-11-20T09:00:00Z", "data": {}}


def stream(*events: dict[str, Any]) -> Reply:
    text = b"".join(b": alive\n\nid: %d\ndata: %s\n\n" % (e["seq"], json.dumps(e).encode()) for e in events)
    return Reply(raw=b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + text)


class WithService(unittest.TestCase):
    def setUp(self) -> None:
        self.service = Scripted()
        self.addCleanup(self.service.stop)

    def client(self, **options: Any) -> svc.Client:
        made = svc.Client(**{"endpoint": self.service.url, "retry": QUICK, **options})
        self.addCleanup(made.close)
        return made


class Calls(WithService):
    def test_a_start_carries_what_it_is_given(self) -> None:
        self.service.answer("runs", Reply(201, a_run(status="queued")))
        run = self.client(project="shop", api_key="k").start(
            "refund",
            {"amount": 40},
            version=2,
            idempotency_key="order-17",
            correlation={"user_id": "u"},
            wait_ms=10,
            start_at="+10m",
            priority=5,
        )
        call = self.service.calls_to("runs")[0]
        self.assertEqual(
            call.body,
            {
                "definition_id": "refund",
                "input": {"amount": 40},
                "project": "shop",
                "definition_version": 2,
                "idempotency_key": "order-17",
                "correlation": {"user_id": "u"},
                "wait_ms": 10,
                "start_at": "+10m",
                "priority": 5,
            },
        )
        self.assertEqual(call.headers["authorization"], "Bearer k")
        self.assertEqual((run.run_id, run.run.status), ("run-1", "queued"))

    def test_a_start_is_repeated_under_its_own_key(self) -> None:
        self.service.answer("runs", Reply(hang_up=True), refusal(503, "busy"), Reply(201, a_run()))
        self.client().start("refund", None)
        calls = self.service.calls_to("runs")
        self.assertEqual(len(calls), 3)
        self.assertEqual(len({call.body["idempotency_key"] for call in calls}), 1)
        self.assertIsNone(calls[0].body["input"])

    def test_a_refusal_has_its_code_field_and_request_id(self) -> None:
        body = {"code": "input_invalid", "message": "amount is missing", "field": "input.amount"}
        self.service.answer("runs", Reply(400, body))
        with self.assertRaises(svc.ServiceError) as raised:
            self.client().start("refund", {})
        error = raised.exception
        self.assertEqual((error.code, error.status, error.field), ("input_invalid", 400, "input.amount"))
        self.assertEqual((error.request_id, str(error)), ("request-1", "amount is missing"))
        self.assertEqual(len(self.service.calls_to("runs")), 1)

    def test_a_refusal_that_is_no_json_keeps_its_words(self) -> None:
        head = b"HTTP/1.1 422 Unprocessable\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\r\n"
        self.service.answer("scores", Reply(raw=head + b"missing field"))
        with self.assertRaises(svc.ServiceError) as raised:
            self.client().score("tone", 1, min=0, max=1, trace_id="0" * 31 + "1")
        self.assertEqual((raised.exception.code, str(raised.exception)), ("http_422", "missing field"))

    def test_runs_disabled_is_not_retried(self) -> None:
        self.service.answer("run-1", refusal(503, "runs_disabled"))
        with self.assertRaises(svc.ServiceError):
            self.client().get_run("run-1")
        self.assertEqual(len(self.service.calls_to("run-1")), 1)

    def test_a_trigger_is_not_tried_again(self) -> None:
        self.service.answer("trigger", Reply(hang_up=True))
        with self.assertRaises(svc.ConnectionFailed):
            self.client().trigger_schedule("nightly")
        self.assertEqual(len(self.service.calls_to("trigger")), 1)

    def test_a_bulk_is_tried_again_under_the_key_that_it_had(self) -> None:
        answer = Reply(202, {"bulk_id": "b", "count": 1, "sample": []})
        self.service.answer("bulk", Reply(hang_up=True), answer, answer)
        client = self.client()
        client.start_bulk("cancel", svc.RunFilter(definition_id="refund"))
        client.start_bulk("cancel", svc.RunFilter(definition_id="refund"), idempotency_key="mine")
        lost, again, named = (call.body["idempotency_key"] for call in self.service.calls_to("bulk"))
        self.assertEqual(lost, again)
        self.assertNotEqual(lost, "mine")
        self.assertEqual(named, "mine")

    def test_an_empty_filter_stays_empty_whatever_the_project(self) -> None:
        self.service.answer("bulk", *[Reply(body={"count": 0, "sample": []})] * 2)
        client = self.client(project="shop")
        client.count_bulk("cancel", {})
        client.count_bulk("cancel", svc.RunFilter(status="failed"))
        bodies = [call.body for call in self.service.calls_to("bulk")]
        self.assertEqual(bodies[0], {"action": "cancel", "dry_run": True, "filter": {}})
        self.assertEqual(bodies[1]["filter"], {"status": "failed", "project": "shop"})

    def test_answers_that_cannot_be_read_are_a_failed_connection(self) -> None:
        length = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"
        for raw in (length + b'{"run_id"', length + b"{", b"HTTP/1.1 200 OK\r\n\r\n[]", b"no HTTP\r\n\r\n"):
            self.service.answer("run-1", *[Reply(raw=raw)] * 3)
            with self.subTest(raw), self.assertRaises(svc.ConnectionFailed):
                self.client().get_run("run-1")
            self.service.replies.clear()

    def test_an_answer_that_drips_is_given_up_after_its_time(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.service.answer("run-1", *[Reply(after=hold)] * 3)
        with self.assertRaisesRegex(svc.ConnectionFailed, "no answer within 0.1 s"):
            self.client(timeout=0.1).get_run("run-1")
        # The service may read the last one after it was given up.
        until(lambda: len(self.service.calls_to("run-1")) == 3)

    def test_settings_that_cannot_be_used_are_refused_and_no_network_is_touched_before_a_call(self) -> None:
        with self.assertRaisesRegex(ValueError, "not an http or https URL"):
            svc.Client(endpoint="ftp://x")
        self.client()
        self.assertEqual(self.service.calls, [])

    def test_another_major_version_is_refused_before_the_first_start(self) -> None:
        self.service.answer("healthz", Reply(hang_up=True), Reply(body={"spec_version": "2.1"}))
        self.service.answer("runs", Reply(201, a_run()))
        client = self.client()
        client.start("refund", {})
        for _ in range(2):
            with self.assertRaises(svc.IncompatibleServer) as raised:
                client.start("refund", {})
        self.assertEqual(raised.exception.served, "2.1")
        self.assertEqual(len(self.service.calls_to("healthz")), 2)
        self.assertEqual(len(self.service.calls_to("runs")), 1)

    def test_callers_that_start_together_ask_for_the_version_once(self) -> None:
        hold = threading.Event()
        self.service.answer("healthz", Reply(body={"spec_version": "1.0"}, after=hold))
        self.service.answer("runs", Reply(201, a_run()))
        client = self.client()
        callers = [threading.Thread(target=client.start, args=("refund", {})) for _ in range(8)]
        for caller in callers:
            caller.start()
        time.sleep(0.1)
        hold.set()
        for caller in callers:
            caller.join(60)
        self.assertEqual(len(self.service.calls_to("healthz")), 1)
        self.assertEqual(len(self.service.calls_to("runs")), 8)

    def test_a_closed_client_breaks_off_what_is_on_its_way(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.service.answer("run-1", Reply(after=hold))
        client = self.client()
        failed: list[BaseException] = []

        def read() -> None:
            try:
                client.get_run("run-1")
            except svc.ConnectionFailed as error:
                failed.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        self.service.seen("run-1")
        client.close()
        thread.join(10)
        self.assertEqual(len(failed), 1)
        with self.assertRaises(svc.ConnectionFailed):
            client.get_run("run-1")
        self.assertEqual(len(self.service.calls_to("run-1")), 1)


class Following(WithService):
    def test_a_watch_gives_every_entry_once_across_broken_streams(self) -> None:
        streams = [
            stream(entry(0, "run.started"), entry(1)),
            refusal(503, "busy"),
            stream(entry(1), entry(2)),
            stream(entry(3, "run.finished")),
        ]

        # A stream that ends in good order is followed by a look at the run and its journal.
        def rule(call: Call) -> Reply:
            if call.headers["accept"] == "text/event-stream":
                return streams.pop(0)
            if call.verb == "events":
                return Reply(body={"events": [], "next_after": 1})
            return Reply(body=a_run(status="running"))

        self.service.rule = rule
        seqs = [each.seq for each in self.client().watch("run-1")]
        self.assertEqual(seqs, [0, 1, 2, 3])
        opened = [c for c in self.service.calls_to("events") if c.headers["accept"] == "text/event-stream"]
        self.assertEqual([c.headers.get("last-event-id") for c in opened], [None, "1", "1", "2"])

    def test_a_wait_gives_the_output_as_the_type_that_is_asked_for(self) -> None:
        self.service.answer("run-1", Reply(body=a_run(status="running")), Reply(body=a_run(output={"x": 1})))
        self.assertEqual(self.client().wait("run-1", dict[str, int]), {"x": 1})
        self.assertTrue(self.service.calls_to("run-1")[0].path.endswith("wait_ms=20000"))

    def test_a_run_that_did_not_succeed_is_raised_with_the_run(self) -> None:
        error = {"class": "no_funds", "code": "E17", "message": "the account is empty"}
        self.service.answer("run-1", Reply(body=a_run(status="failed", error=error)))
        with self.assertRaises(svc.RunFailed) as raised:
            self.client().wait("run-1")
        self.assertEqual(str(raised.exception), "run run-1 failed: no_funds/E17: the account is empty")
        self.assertEqual(raised.exception.run.status, "failed")

    def test_a_wait_ends_at_its_time(self) -> None:
        self.service.rule = lambda _: Reply(body=a_run(status="running"))
        with self.assertRaises(TimeoutError):
            self.client().wait("run-1", timeout=0.05)

    def test_a_service_that_does_not_hold_a_read_is_asked_again_and_again(self) -> None:
        refused = Reply(400, {"code": "invalid_parameter", "message": "unknown", "field": "wait_ms"})
        self.service.answer("run-1", refused, Reply(body=a_run(output=7)))
        self.assertEqual(self.client().wait("run-1"), 7)


class Async(WithService):
    def test_calls_are_awaited(self) -> None:
        self.service.answer("runs", Reply(201, a_run()))
        self.service.answer("events", stream(entry(0, "run.started"), entry(1, "run.finished")))
        self.service.rule = lambda _: Reply(body=a_run(output=1))

        async def main() -> tuple[list[int], Any]:
            async with svc.AsyncClient(endpoint=self.service.url, retry=QUICK) as client:
                run = await client.start("refund", {})
                return [each.seq async for each in run.watch()], await run.wait(int)

        self.assertEqual(asyncio.run(main()), ([0, 1], 1))

    def test_a_cancelled_call_closes_its_connection_and_its_loop_is_not_blocked(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.service.answer("run-1", Reply(after=hold))

        async def main() -> None:
            async with svc.AsyncClient(endpoint=self.service.url, retry=QUICK) as client:
                waiting = asyncio.ensure_future(client.wait("run-1"))
                await asyncio.to_thread(self.service.seen, "run-1")
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting

        asyncio.run(main())
        until(lambda: not [t for t in threading.enumerate() if t.name.startswith("svc-client") and _is_reading(t)])

    def test_refusals_arrive_as_they_are(self) -> None:
        async def main() -> None:
            async with svc.AsyncClient(endpoint=self.service.url, retry=QUICK) as client:
                await client.get_run("other")

        with self.assertRaises(svc.ServiceError):
            asyncio.run(main())

    def test_many_waits_do_not_hold_up_one_another(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.service.rule = lambda call: Reply(body=a_run(), after=hold if "wait_ms" in call.path else None)

        async def main() -> None:
            async with svc.AsyncClient(endpoint=self.service.url, retry=QUICK) as client:
                waits = [asyncio.ensure_future(client.wait("run-1")) for _ in range(40)]
                await client.get_run("run-1")
                # Answered while all of them wait.
                self.assertFalse(any(wait.done() for wait in waits))
                hold.set()
                await asyncio.gather(*waits)

        asyncio.run(main())


def _is_reading(thread: threading.Thread) -> bool:
    import sys  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and any(f.name == "read_all" for f in traceback.extract_stack(frame))


if __name__ == "__main__":
    unittest.main()
