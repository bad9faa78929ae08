from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_IDLE_SECONDS = 30.0
_SPARE_THREADS = 16


class DaemonPool:
    """Threads that take work at once, as many as there is work, and never hold up the end of the process.

    An executor of the standard library has a bound, behind which a call that waits would hold up the call that ends
    its wait, and its threads are waited for at the exit.
    """

    def __init__(self, name: str, *, spare: int = _SPARE_THREADS) -> None:
        self._name = name
        self._max_spare = spare
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._work: deque[Callable[[], None]] = deque()
        self._spare = 0
        self._made = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Runs it in a thread of its own. It must not raise. Raises RuntimeError where no thread can be started."""
        with self._lock:
            if self._spare > len(self._work):
                self._work.append(work)
                self._ready.notify()
                return
            self._made += 1
            name = f"{self._name}-{self._made}"
        threading.Thread(target=self._run, args=(work,), name=name, daemon=True).start()

    def _run(self, work: Callable[[], None]) -> None:
        while True:
            work()
            # Nothing of it is held while the thread waits for the next.
            del work
            with self._lock:
                if self._spare >= self._max_spare:
                    return
                self._spare += 1
                found = self._ready.wait_for(lambda: bool(self._work), _IDLE_SECONDS)
                self._spare -= 1
                if not found:
                    return
                work = self._work.popleft()
