"""Runs every test here with the standard library alone, and prints what became of each as a line of JSON.

``python3 tests/run.py`` runs all, ``--list`` names them; ``python3 -m unittest discover -s tests`` is for people.
"""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]


def each(suite: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
    if isinstance(suite, unittest.TestSuite):
        for part in suite:
            yield from each(part)
    else:
        yield suite


class JsonResult(unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self._state: dict[str, str] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802  The name is of unittest.
        super().startTest(test)
        self._state = {"test": test.id(), "state": "passed", "text": ""}

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().stopTest(test)
        print(json.dumps(self._state), flush=True)

    def _failed(self, test: unittest.TestCase, error: Any) -> None:
        text = self._exc_info_to_string(error, test)  # type: ignore[attr-defined]
        self._state.update(state="failed", text=self._state["text"] + text)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self._failed(test, err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        if self._state.get("test") == test.id():
            self._failed(test, err)
        else:
            # A module that cannot be imported, or a set-up of a class.
            print(json.dumps({"test": test.id(), "state": "failed", "text": str(err[1])}), flush=True)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        if err is not None:
            self._failed(subtest, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self._state.update(state="skipped", text=reason)


tests = unittest.defaultTestLoader.discover(str(HERE))
if "--list" in sys.argv:
    print(json.dumps([test.id() for test in each(tests)]))
else:
    tests.run(JsonResult())
