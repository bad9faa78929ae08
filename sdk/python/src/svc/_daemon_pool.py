from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_IDLE_SECONDS = 30.0
_SPARE_THREADS = 16


class DaemonPool:
    """Threads that take work at once, as many as there is work, and never hold up the end of the process.

    They wake one after the other, so short work is done before each piece of it has woken a thread of its own. An
    executor of the standard library has a bound, behind which a call that waits would hold up the call that ends its
    wait, and its threads are waited for at the exit.
    """

    def __init__(self, name: str, *, spare: int = _SPARE_THREADS) -> None:
        self._name = name
        self._max_spare = spare
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._work: deque[Callable[[], None]] = deque()
        self._spare = 0
        self._made = 0
        self._waking = False
        """A thread was woken or started, and has not come yet."""

    def submit(self, work: Callable[[], None]) -> None:
        """Runs it in a thread. It must not raise. Raises RuntimeError where no thread can be started."""
        with self._lock:
            self._work.append(work)
            thread = self._wake()
        if thread is None:
            return
        try:
            thread.start()
        except RuntimeError:
            with self._lock:
                self._waking = False
                if work in self._work:
                    self._work.remove(work)
                    raise

    def _wake(self) -> threading.Thread | None:
        """With the lock: sees to it that a thread comes for what waits. Returns one that is to be started."""
        if self._waking or not self._work:
            return None
        self._waking = True
        if self._spare > 0:
            self._ready.notify()
            return None
        self._made += 1
        return threading.Thread(target=self._run, name=f"{self._name}-{self._made}", daemon=True)

    def _run(self) -> None:
        with self._lock:
            self._waking = False
        while True:
            with self._lock:
                work = self._next()
                thread = self._wake()
            if work is None:
                return
            if thread is not None:
                try:
                    thread.start()
                except RuntimeError:
                    # What waits is taken by the next thread that has nothing to do.
                    with self._lock:
                        self._waking = False
            work()
            # Nothing of it is held while the thread waits for the next.
            del work

    def _next(self) -> Callable[[], None] | None:
        """With the lock: what is to be done next; `None` for nothing any more."""
        if not self._work and self._spare >= self._max_spare:
            return None
        until = time.monotonic() + _IDLE_SECONDS
        while not self._work:
            left = until - time.monotonic()
            if left <= 0:
                return None
            self._spare += 1
            self._ready.wait(left)
            self._spare -= 1
            # Also where another thread was faster: whoever comes next is woken anew.
            self._waking = False
        return self._work.popleft()
