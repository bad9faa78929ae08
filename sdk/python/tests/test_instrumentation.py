from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import unittest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import svc
from scripted import Reply, Scripted, refusal
from svc._spec_version import SpecCheck

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SOURCE = str(Path(__file__).parents[1] / "src")
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-00"
QUICK = svc.RetryPolicy(attempts=3, base=0.001, max=0.002)


class WithService(unittest.TestCase):
    def setUp(self) -> None:
        self.service = Scripted()
        self.addCleanup(self.service.stop)

    def tracer(self, **options: Any) -> svc.Instrumentation:
        made = svc.Instrumentation(**{"endpoint": self.service.url, "retry": QUICK, **options})
        self.addCleanup(made.close, 0)
        return made

    def signals(self, name: str) -> list[dict[str, Any]]:
        return [one for call in self.service.calls_to("ingest") for one in call.body.get(name, [])]

    def spans(self) -> dict[str, dict[str, Any]]:
        return {span["name"]: span for span in self.signals("spans")}


class Spans(WithService):
    def test_a_span_arrives_as_it_was_set(self) -> None:
        tracer = self.tracer(project="shop", environment="live", service_name="refunds", service_version="3")
        with tracer.span(
            "draft",
            kind="model_generation",
            model="m",
            provider="p",
            entity_name="writer",
            input={"q": "é"},
            attributes={"a": 1},
            correlation={"user_id": "u"},
        ) as span:
            span.set(output=["x"], usage={"input_tokens": 3}, attributes={"b": 2.5})
            span.event("first token", {"ms": 7})
        self.assertTrue(tracer.flush(10))
        sent = self.spans()["draft"]
        self.assertEqual(sent["trace_id"], span.trace_id)
        self.assertEqual(sent["span_id"], span.span_id)
        self.assertNotIn("parent_span_id", sent)
        self.assertEqual(sent["kind"], "model_generation")
        self.assertEqual(sent["status"], "ok")
        self.assertEqual((sent["model"], sent["provider"], sent["entity_name"]), ("m", "p", "writer"))
        self.assertEqual((sent["input"], sent["output"]), ({"q": "é"}, ["x"]))
        self.assertEqual(sent["usage"], {"input_tokens": 3})
        self.assertEqual(sent["attributes"], {"a": 1, "b": 2.5})
        self.assertEqual(sent["events"][0]["name"], "first token")
        self.assertEqual(
            sent["correlation"],
            {
                "project": "shop",
                "environment": "live",
                "service_name": "refunds",
                "service_version": "3",
                "user_id": "u",
            },
        )
        self.assertLessEqual(sent["start_time"], sent["end_time"])
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=1))

    def test_a_span_inside_is_a_child_and_inherits_the_correlation(self) -> None:
        tracer = self.tracer()
        with tracer.span("outer", correlation={"user_id": "u"}) as outer, tracer.span("inner"):
            self.assertTrue((tracer.traceparent() or "").startswith(f"00-{outer.trace_id}-"))
        self.assertIsNone(tracer.traceparent())
        tracer.flush(10)
        spans = self.spans()
        self.assertEqual(spans["inner"]["parent_span_id"], spans["outer"]["span_id"])
        self.assertEqual(spans["inner"]["trace_id"], spans["outer"]["trace_id"])
        self.assertEqual(spans["inner"]["correlation"], {"user_id": "u"})

    def test_a_span_that_its_caller_ends_is_nobodys_parent(self) -> None:
        tracer = self.tracer()
        by_hand = tracer.span("by hand")
        with tracer.span("other"):
            pass
        by_hand.end()
        by_hand.end()
        by_hand.set(output="late").fail("late").event("late")
        tracer.flush(10)
        self.assertEqual(len(self.signals("spans")), 2)
        self.assertNotIn("parent_span_id", self.spans()["other"])
        self.assertNotIn("output", self.spans()["by hand"])

    def test_an_exception_marks_the_span_and_goes_on(self) -> None:
        tracer = self.tracer()
        with self.assertRaisesRegex(KeyError, "gone"), tracer.span("failing"):
            raise KeyError("gone")
        tracer.flush(10)
        sent = self.spans()["failing"]
        self.assertEqual(sent["status"], "error")
        self.assertEqual((sent["error"]["type"], sent["error"]["message"]), ("KeyError", "'gone'"))
        self.assertIn("test_an_exception_marks", sent["error"]["stack"])

    def test_spans_nest_across_tasks_and_threads_that_copy_the_context(self) -> None:
        tracer = self.tracer()

        async def work(name: str) -> None:
            await asyncio.sleep(0.001)
            with tracer.span(name):
                await asyncio.sleep(0.001)

        async def main() -> None:
            with tracer.span("outer"):
                await asyncio.gather(*(work(f"task-{i}") for i in range(5)))
                await asyncio.to_thread(lambda: tracer.span("thread").end())
            with tracer.span("next"):
                pass

        asyncio.run(main())
        with tracer.span("outer-2"):
            context = contextvars.copy_context()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                pool.submit(context.run, lambda: tracer.span("pool").end()).result()
        tracer.flush(10)
        spans = self.spans()
        for name in [f"task-{i}" for i in range(5)] + ["thread"]:
            self.assertEqual(spans[name]["parent_span_id"], spans["outer"]["span_id"], name)
        self.assertEqual(spans["pool"]["parent_span_id"], spans["outer-2"]["span_id"])
        self.assertNotIn("parent_span_id", spans["next"])

    def test_a_traceparent_is_continued_and_a_malformed_one_starts_a_new_trace(self) -> None:
        tracer = self.tracer()
        with tracer.span("around"):
            with tracer.span("incoming", traceparent=PARENT) as span:
                self.assertEqual(span.traceparent, f"00-{TRACE}-{span.span_id}-01")
                headers: dict[str, str] = {}
                tracer.inject(headers)
                self.assertEqual(headers, {"traceparent": span.traceparent})
            with tracer.span("malformed", traceparent="nonsense"):
                pass
        tracer.flush(10)
        spans = self.spans()
        self.assertEqual(spans["incoming"]["parent_span_id"], "b7ad6b7169203331")
        self.assertNotIn("parent_span_id", spans["malformed"])
        self.assertNotEqual(spans["malformed"]["trace_id"], spans["around"]["trace_id"])

    def test_sampling_is_by_trace_and_the_flag_says_so(self) -> None:
        tracer = self.tracer(sample=0.5)
        with tracer.span("kept", traceparent=f"00-{'0' * 18}{'0' * 13}1-b7ad6b7169203331-00") as kept:
            tracer.log("info", "kept")
        with tracer.span("dropped", traceparent=f"00-{'f' * 32}-b7ad6b7169203331-01") as dropped:
            tracer.log("info", "dropped")
        tracer.flush(10)
        self.assertEqual(list(self.spans()), ["kept"])
        self.assertEqual([log["message"] for log in self.signals("logs")], ["kept"])
        self.assertTrue(kept.traceparent.endswith("-01"))
        self.assertTrue(dropped.traceparent.endswith("-00"))

    def test_two_instrumentations_of_one_service_nest_and_those_of_two_do_not(self) -> None:
        tracer = self.tracer()
        same = self.tracer()
        other = self.tracer(api_key="of another tenant")
        with tracer.span("outer", correlation={"user_id": "u"}), other.span("foreign"), same.span("inner"):
            pass
        for each in (tracer, same, other):
            each.flush(10)
        spans = self.spans()
        self.assertEqual(spans["inner"]["parent_span_id"], spans["outer"]["span_id"])
        self.assertNotIn("parent_span_id", spans["foreign"])
        self.assertNotIn("correlation", spans["foreign"])


class Traced(WithService):
    def test_functions_of_each_kind_run_under_a_span(self) -> None:
        tracer = self.tracer()

        @tracer.traced
        def plain(number: int) -> int:
            return number + 1

        @tracer.traced("a coroutine", kind="agent_run", record_input=True, record_output=True)
        async def coroutine(number: int) -> int:
            tracer.span("inside coroutine").end()
            return number + 2

        @tracer.traced("a generator")
        def generator(count: int) -> Iterator[int]:
            for i in range(count):
                tracer.span("inside generator").end()
                yield i

        @tracer.traced("an async generator")
        async def agenerator(count: int) -> AsyncIterator[int]:
            for i in range(count):
                yield i

        async def read() -> list[int]:
            return [i async for i in agenerator(3)]

        self.assertEqual(plain(1), 2)
        self.assertEqual(asyncio.run(coroutine(1)), 3)
        reader = generator(2)
        self.assertEqual(next(reader), 0)
        tracer.span("between").end()
        self.assertEqual(list(reader), [1])
        self.assertEqual(asyncio.run(read()), [0, 1, 2])
        tracer.flush(10)
        spans = self.spans()
        self.assertEqual(plain.__name__, "plain")
        self.assertTrue(any(name.endswith("plain") for name in spans))
        self.assertEqual(spans["a coroutine"]["input"], {"number": 1})
        self.assertEqual(spans["a coroutine"]["output"], 3)
        self.assertEqual(spans["a coroutine"]["kind"], "agent_run")
        self.assertEqual(spans["inside coroutine"]["parent_span_id"], spans["a coroutine"]["span_id"])
        self.assertEqual(spans["inside generator"]["parent_span_id"], spans["a generator"]["span_id"])
        self.assertNotIn("parent_span_id", spans["between"])
        self.assertIn("an async generator", spans)

    def test_a_generator_that_is_closed_ends_its_span_without_an_error(self) -> None:
        tracer = self.tracer()
        closed = []

        @tracer.traced("reader")
        def generator() -> Iterator[int]:
            try:
                yield 1
                yield 2
            finally:
                closed.append(True)

        reader = generator()
        next(reader)
        reader.close()  # type: ignore[attr-defined]
        tracer.flush(10)
        self.assertEqual(closed, [True])
        self.assertEqual(self.spans()["reader"]["status"], "ok")

    def test_a_cancelled_coroutine_is_cancelled(self) -> None:
        tracer = self.tracer()

        @tracer.traced("slow")
        async def slow() -> None:
            await asyncio.sleep(60)

        async def main() -> None:
            task = asyncio.ensure_future(slow())
            await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        tracer.flush(10)
        self.assertEqual(self.spans()["slow"]["error"]["type"], "CancelledError")


class OtherSignals(WithService):
    def test_all_six_travel(self) -> None:
        tracer = self.tracer(project="shop")
        with tracer.span("outer") as span:
            tracer.log("warn", "careful", logger="desk", attributes={"n": 1})
            tracer.counter("calls", 2, unit="1", attributes={"to": "bank"})
            tracer.gauge("open", 3.5)
            tracer.histogram("wait", count=3, sum=6.5, bounds=[1, 2], bucket_counts=[1, 1, 1])
            tracer.score("tone", 4, min=1, max=5, reason="kind")
            tracer.feedback("rating", 3, scale_min=1, scale_max=5, author_kind="end_user", author_id="p-1")
            tracer.aspect_note("tone", "The answer is kind.", model="m")
        self.assertTrue(tracer.flush(10))
        log = self.signals("logs")[0]
        self.assertEqual((log["severity"], log["message"], log["logger"]), ("warn", "careful", "desk"))
        self.assertEqual((log["trace_id"], log["span_id"]), (span.trace_id, span.span_id))
        counter, gauge, histogram = self.signals("metrics")
        self.assertEqual((counter["type"], counter["value"], counter["temporality"]), ("counter", 2, "delta"))
        self.assertEqual((gauge["type"], gauge["value"]), ("gauge", 3.5))
        self.assertEqual((histogram["bounds"], histogram["bucket_counts"]), ([1, 2], [1, 1, 1]))
        score = self.signals("scores")[0]
        self.assertEqual((score["value"], score["min"], score["max"], score["source"]), (4, 1, 5, "live"))
        self.assertEqual(score["trace_id"], span.trace_id)
        feedback = self.signals("feedback")[0]
        self.assertEqual(feedback["metadata"], {"scale_min": 1, "scale_max": 5})
        note = self.signals("aspect_notes")[0]
        self.assertEqual((note["trace_id"], note["aspect"]), (span.trace_id, "tone"))
        self.assertEqual(note["correlation"], {"project": "shop"})
        self.assertEqual(tracer.counters().sent, 8)

    def test_what_is_no_signal_is_counted_and_not_sent(self) -> None:
        tracer = self.tracer()
        tracer.score("tone", 4, min=1, max=5)
        with tracer.span("outer"):
            tracer.score("tone", 4, min=5, max=5)
            tracer.score("tone", math.nan, min=1, max=5)
            tracer.score("tone", 4, min=None, max=None)  # type: ignore[arg-type]
        tracer.feedback("thumbs", "up")
        tracer.aspect_note("tone", "about nothing", span_id="b7ad6b7169203331")
        tracer.gauge("g", math.inf)
        tracer.histogram("h", count=1, sum=1, bounds=[1], bucket_counts=[1])
        tracer.flush(10)
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=1, invalid=8))

    def test_records_of_logging_arrive_as_logs(self) -> None:
        tracer = self.tracer()
        logger = logging.getLogger("shop.desk")
        logger.propagate = False
        logger.setLevel(logging.DEBUG)
        handler = svc.LogHandler(tracer)
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        with tracer.span("outer") as span:
            try:
                raise OSError("no disk")
            except OSError:
                logger.exception("it %s", "failed", extra={"order": 17, "thing": object()})
            logger.debug("a detail")
            logger.critical("the end")
            logger.info("%d", "no number")
        tracer.flush(10)
        failed, detail, end = self.signals("logs")
        self.assertEqual((failed["severity"], failed["message"], failed["logger"]), ("error", "it failed", "shop.desk"))
        self.assertEqual(failed["span_id"], span.span_id)
        self.assertEqual(failed["attributes"]["order"], 17)
        self.assertEqual(failed["attributes"]["exception.type"], "OSError")
        self.assertEqual((detail["severity"], end["severity"]), ("debug", "fatal"))
        self.assertEqual(tracer.counters().invalid, 1)


class Delivery(WithService):
    def test_a_value_that_is_not_json_is_counted_and_never_raises(self) -> None:
        tracer = self.tracer()
        cycle: list[Any] = []
        cycle.append(cycle)

        class Raises:
            def model_dump(self, mode: str) -> object:
                raise RuntimeError(mode)

        for value in (cycle, object(), b"\xff", Raises(), "x" * (5 * 1024 * 1024)):
            tracer.span("hostile", input=value).end()
        tracer.span("half a pair", input="\ud800").end()
        tracer.flush(10)
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=1, dropped=5))
        self.assertEqual(self.spans()["half a pair"]["input"], "\ud800")

    def test_a_full_queue_drops_its_oldest_and_counts_them(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.service.answer("ingest", Reply(body={"rejected": 0}, after=hold))
        tracer = self.tracer(max_queued=10, batch_size=5, delay=0.0)
        tracer.span("first").end()
        self.service.seen("ingest")
        for i in range(25):
            tracer.span(f"s{i}").end()
        self.assertEqual(tracer.counters().dropped, 15)
        self.assertFalse(tracer.flush(0.01))
        hold.set()
        self.assertTrue(tracer.flush(10))
        self.assertEqual(list(self.spans()), ["first", *(f"s{i}" for i in range(15, 25))])
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=11, dropped=15))

    def test_the_queue_is_bounded_in_bytes_too(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.service.answer("ingest", Reply(body={}, after=hold))
        tracer = self.tracer(max_queued_bytes=10_000, delay=0.0)
        tracer.span("first").end()
        self.service.seen("ingest")
        for i in range(10):
            tracer.span(f"s{i}", input="x" * 3000).end()
        hold.set()
        self.assertTrue(tracer.flush(10))
        self.assertEqual(list(self.spans()), ["first", "s7", "s8", "s9"])

    def test_a_batch_is_sent_again_under_its_key_on_429_503_and_a_lost_answer(self) -> None:
        self.service.answer(
            "ingest", refusal(429, "overloaded", **{"retry-after": "0"}), refusal(503, "busy"), Reply(hang_up=True)
        )
        tracer = self.tracer(retry=svc.RetryPolicy(attempts=5, base=0.001, max=0.002))
        tracer.span("s").end()
        self.assertTrue(tracer.flush(10))
        calls = self.service.calls_to("ingest")
        self.assertEqual(len(calls), 4)
        self.assertEqual(len({call.body["ingest_key"] for call in calls}), 1)
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=1))

    def test_a_4xx_is_never_sent_again(self) -> None:
        for status in (400, 401, 403, 413, 422):
            self.service.answer("ingest", refusal(status, "refused"))
            tracer = self.tracer()
            tracer.span("s").end()
            self.assertTrue(tracer.flush(10))
            self.assertEqual(tracer.counters(), svc.ExportCounters(refused=1), status)
        self.assertEqual(len(self.service.calls_to("ingest")), 5)

    def test_what_the_last_try_did_not_deliver_is_counted_as_failed(self) -> None:
        self.service.answer("ingest", *[refusal(502, "bad")] * 3)
        tracer = self.tracer()
        tracer.span("s").end()
        self.assertTrue(tracer.flush(10))
        self.assertEqual(tracer.counters(), svc.ExportCounters(failed=1))

    def test_signals_that_the_answer_rejects_are_counted(self) -> None:
        self.service.answer("ingest", Reply(body={"accepted": 1, "rejected": 1, "duplicate": 0, "errors": []}))
        tracer = self.tracer(delay=0.2)
        tracer.span("a").end()
        tracer.span("b").end()
        self.assertTrue(tracer.flush(10))
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=1, refused=1))

    def test_a_flush_before_anything_and_after_close_is_true(self) -> None:
        tracer = self.tracer()
        self.assertTrue(tracer.flush(1))
        tracer.span("s").end()
        tracer.close()
        tracer.close()
        self.assertTrue(tracer.flush(1))
        with tracer.span("late") as late:
            late.set(output=1)
        tracer.log("info", "late")
        self.assertEqual(tracer.counters(), svc.ExportCounters(sent=1, dropped=2))

    def test_close_gives_up_at_its_deadline(self) -> None:
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.service.answer("ingest", Reply(after=hold))
        tracer = self.tracer(batch_size=1)
        tracer.span("a").end()
        self.service.seen("ingest")
        tracer.span("b").end()
        tracer.close(0.2)
        # The service has not answered, and does not.
        self.assertFalse(hold.is_set())
        self.assertEqual(tracer.counters(), svc.ExportCounters(failed=2))

    def test_many_threads_lose_and_double_nothing(self) -> None:
        tracer = self.tracer()

        def record(thread: int) -> None:
            for i in range(200):
                tracer.span(f"{thread}-{i}").end()

        threads = [threading.Thread(target=record, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(tracer.flush(20))
        names = [span["name"] for span in self.signals("spans")]
        self.assertEqual(sorted(names), sorted(f"{t}-{i}" for t in range(8) for i in range(200)))

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_the_child_of_a_fork_asks_for_the_version_itself_where_its_parent_was_about_to(self) -> None:
        parent, asked, answered = os.getpid(), threading.Event(), threading.Event()

        class Asked:
            def call(self, _request: object, _signal: object) -> dict[str, str]:
                if os.getpid() == parent:
                    asked.set()
                    answered.wait(60)
                return {"spec_version": "1.0"}

        check = SpecCheck(Asked())  # type: ignore[arg-type]
        asking = threading.Thread(target=check.ensure)
        asking.start()
        self.assertTrue(asked.wait(60))
        child = os.fork()
        if child == 0:
            # Ends it where it waits for a thread that is not there.
            signal.alarm(30)
            check.ensure()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answered.set()
        asking.join(60)
        self.assertEqual(status, 0)

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_the_child_of_a_fork_sends_its_own_signals_and_not_its_parents(self) -> None:
        tracer = self.tracer(delay=60, batch_size=1000)
        tracer.span("of the parent").end()
        child = os.fork()
        if child == 0:
            tracer.span("of the child").end()
            tracer.close(10)
            os._exit(0 if tracer.counters().sent == 1 else 1)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertTrue(tracer.flush(10))
        self.assertEqual(sorted(span["name"] for span in self.signals("spans")), ["of the child", "of the parent"])

    def test_another_major_version_warns_once_and_goes_on(self) -> None:
        self.service.answer("healthz", Reply(body={"spec_version": "2.0"}))
        tracer = self.tracer()
        with self.assertLogs("svc", "WARNING") as logs:
            for name in ("a", "b"):
                tracer.span(name).end()
                self.assertTrue(tracer.flush(10))
        self.assertEqual(len(logs.records), 1)
        self.assertIn("2.0", logs.output[0])
        self.assertEqual(tracer.counters().sent, 2)
        self.assertEqual(len(self.service.calls_to("healthz")), 1)

    def test_disabled_instrumentation_returns_valid_objects_and_sends_nothing(self) -> None:
        tracer = self.tracer(enabled=False)
        with tracer.span("s") as span:
            tracer.log("info", "m")
            tracer.counter("c")
            tracer.score("tone", 1, min=0, max=1)
            self.assertRegex(span.traceparent, r"^00-[0-9a-f]{32}-[0-9a-f]{16}-00$")
        self.assertTrue(tracer.flush(1))
        tracer.close()
        self.assertEqual(self.service.calls, [])
        self.assertEqual(tracer.counters(), svc.ExportCounters())

    def test_a_key_is_sent_as_a_bearer_token_and_shown_nowhere(self) -> None:
        tracer = self.tracer(api_key="secret-key-1", sample=7)
        self.service.answer("ingest", refusal(401, "unauthenticated"))
        with self.assertNoLogs("svc"):
            tracer.span("s").end()
            tracer.flush(10)
        self.assertEqual(self.service.calls_to("ingest")[0].headers["authorization"], "Bearer secret-key-1")
        self.assertEqual(len(tracer.problems), 1)
        self.assertNotIn("secret", repr(vars(tracer)) + "".join(tracer.problems))

    def test_a_path_prefix_is_kept(self) -> None:
        tracer = self.tracer(endpoint=f"{self.service.url}/base/")
        tracer.span("s").end()
        self.assertTrue(tracer.flush(10))
        self.assertEqual(self.service.calls_to("ingest")[0].path, "/base/v1/ingest")


class Exits(WithService):
    def run_program(self, code: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, "PYTHONPATH": SOURCE, "SVC_ENDPOINT": self.service.url, **env},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def test_the_exit_of_a_program_sends_what_is_queued(self) -> None:
        ended = self.run_program("import svc; svc.Instrumentation(delay=60).span('last').end()")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
        self.assertIn("last", self.spans())

    def test_an_exit_by_an_exception_sends_it_too(self) -> None:
        ended = self.run_program(
            """
            import svc
            t = svc.Instrumentation(delay=60)
            with t.span("failing"):
                raise SystemExit(3)
            """
        )
        self.assertEqual(ended.returncode, 3)
        self.assertEqual(self.spans()["failing"]["status"], "error")

    def test_the_exit_with_a_dead_service_ends_in_time(self) -> None:
        # It waits for so long that only the deadline of the exit ends it.
        ended = self.run_program(
            """
            import svc
            t = svc.Instrumentation(retry=svc.RetryPolicy(attempts=None, base=600, max=600))
            t.span('s').end()
            """,
            SVC_ENDPOINT="http://127.0.0.1:9",
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_a_child_of_multiprocessing_sends_at_its_end(self) -> None:
        if not hasattr(os, "fork"):
            self.skipTest("this system has no fork")
        ended = self.run_program(
            """
            import multiprocessing, svc
            t = svc.Instrumentation(delay=60)
            def work():
                t.span("of the process").end()
            process = multiprocessing.get_context("fork").Process(target=work)
            process.start()
            process.join()
            """
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("of the process", self.spans())

    def test_importing_touches_no_network_and_starts_no_thread(self) -> None:
        ended = self.run_program(
            """
            import socket, threading
            def refuse(*_): raise AssertionError("network")
            socket.socket.connect = refuse
            socket.getaddrinfo = refuse
            import svc
            svc.Instrumentation()
            assert threading.active_count() == 1
            """
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
