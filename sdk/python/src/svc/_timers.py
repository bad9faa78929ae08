from __future__ import annotations

import heapq
import itertools
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


_SLACK = 64
"""So many that were taken back may always stand in the heap."""


class Timers:
    """One thread that calls back when it is time, for all leases of a worker. Callbacks must not block."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._sooner = threading.Condition(self._lock)
        self._heap: list[tuple[float, int]] = []
        self._calls: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._closed = False

    def at(self, when: float, call: Callable[[], None]) -> Callable[[], None]:
        """Calls back at a time of the monotonic clock. Returns what takes that back.

        Raises RuntimeError where no thread can be started; the next call tries again.
        """
        with self._lock:
            number = next(self._numbers)
            if self._closed:
                return lambda: None
            if self._thread is None:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                thread.start()
                self._thread = thread
            if len(self._heap) > _SLACK + 2 * len(self._calls):
                self._heap = [entry for entry in self._heap if entry[1] in self._calls]
                heapq.heapify(self._heap)
            self._calls[number] = call
            heapq.heappush(self._heap, (when, number))
            if self._heap[0][1] == number:
                self._sooner.notify()

        def cancel() -> None:
            with self._lock:
                self._calls.pop(number, None)

        return cancel

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._closed:
                    # What was taken back is left in the heap for a while: most beats never come.
                    while self._heap and self._heap[0][1] not in self._calls:
                        heapq.heappop(self._heap)
                    left = self._heap[0][0] - time.monotonic() if self._heap else None
                    if left is not None and left <= 0:
                        break
                    self._sooner.wait(left)
                if self._closed:
                    return
                _, number = heapq.heappop(self._heap)
                call = self._calls.pop(number)
            # One that fails must not keep the others from being called.
            with suppress(Exception):
                call()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._calls.clear()
            self._sooner.notify()
