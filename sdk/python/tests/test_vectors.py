"""The tables that all libraries share."""

from __future__ import annotations

import json
import unittest
from datetime import datetime
from pathlib import Path
from typing import Any

from svc import _wire
from svc._http import retry_after_ms
from svc._json import decode, encode
from svc._retry import RetryPolicy, backoff
from svc._settings import read_settings
from svc._trace_context import is_sampled, parse_traceparent, timestamp

VECTORS = Path(__file__).parents[2] / "conformance" / "vectors"


def vector(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text("utf-8"))
    return found


def at(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


@unittest.skipUnless(VECTORS.exists(), "the vectors are in the repository, not in the package")
class Vectors(unittest.TestCase):
    def test_sampling_keeps_the_traces_that_the_service_keeps(self) -> None:
        table = vector("sampling")
        for case in table["cases"]:
            kept = [is_sampled(case["trace_id"], fraction) for fraction in table["fractions"]]
            self.assertEqual(kept, case["kept"], case["trace_id"])

    def test_a_traceparent_is_read_as_the_standard_says(self) -> None:
        for case in vector("traceparent")["cases"]:
            found = parse_traceparent(case["header"]) or (None, None)
            self.assertEqual(tuple(found), (case["trace_id"], case["span_id"]), case["header"])

    def test_settings_come_from_code_then_from_the_environment(self) -> None:
        for case in vector("settings")["cases"]:
            with self.subTest(case["why"]):
                read = read_settings(**case["code"], env=case["env"])
                for name, value in case["settings"].items():
                    self.assertEqual(getattr(read, name), value, name)
                named = [any(setting in problem for problem in read.problems) for setting in case["problems"]]
                self.assertTrue(all(named), read.problems)
                self.assertEqual(len(read.problems), len(case["problems"]))

    def test_retry_after_is_seconds_or_a_date(self) -> None:
        for case in vector("retry-after")["cases"]:
            now = datetime.fromisoformat(case["now"].replace("Z", "+00:00"))
            self.assertEqual(retry_after_ms(case["header"], now), case["wait_ms"], case["header"])

    def test_a_backoff_lies_between_nothing_and_its_bound(self) -> None:
        for case in vector("backoff")["cases"]:
            policy = RetryPolicy(base=case["base_ms"] / 1000, max=case["max_ms"] / 1000)
            self.assertEqual(backoff(policy, case["attempt"], lambda: 0.0) * 1000, case["least_ms"])
            self.assertAlmostEqual(backoff(policy, case["attempt"], lambda: 1.0) * 1000, case["most_ms"])

    def test_timestamps_are_as_exact_as_the_clock(self) -> None:
        for case in vector("timestamps")["cases"]:
            self.assertEqual(timestamp(int(case["epoch_ns"])), case["text"])

    def test_answers_keep_what_they_hold(self) -> None:
        for case in vector("decoding")["cases"]:
            with self.subTest(case["why"]):
                model: type[_wire.Model] = getattr(_wire, case["model"])
                again = json.loads(encode(model.from_json(decode(case["text"].encode()))))
                for expected in case["expect"]:
                    if expected["json"] is None:
                        with self.assertRaises(KeyError):
                            at(again, expected["path"])
                        continue
                    found = at(again, expected["path"])
                    self.assertEqual(found, json.loads(expected["json"]), expected["path"])
                for path in case.get("unknown", []):
                    with self.assertRaises((KeyError, IndexError)):
                        at(again, path)


if __name__ == "__main__":
    unittest.main()
