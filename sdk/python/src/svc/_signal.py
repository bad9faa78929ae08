from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Signal:
    """Fires once. Threads wait for it; callbacks run in the thread that fires it.

    Each lease has some, and nobody waits for most of them: an event is made for who does.
    """

    __slots__ = ("_callbacks", "_event", "_fired", "_lock", "_next")

    def __init__(self) -> None:
        self._fired = False
        self._event: threading.Event | None = None
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] | None = None
        self._next = 0

    @property
    def event(self) -> threading.Event:
        """Set when it has fired; to be looked at, not to be set."""
        with self._lock:
            if self._event is None:
                self._event = threading.Event()
                if self._fired:
                    self._event.set()
            return self._event

    @property
    def fired(self) -> bool:
        return self._fired

    def fire(self) -> None:
        with self._lock:
            if self._fired:
                return
            self._fired = True
            if self._event is not None:
                self._event.set()
            callbacks, self._callbacks = self._callbacks, None
        for callback in () if callbacks is None else callbacks.values():
            # One that fails must not keep the others from being called.
            with suppress(Exception):
                callback()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for so many seconds at most. Returns whether it has fired."""
        return self._fired or self.event.wait(seconds)

    def on_fire(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls back when it fires, at once if it has. Returns what takes the callback away again."""
        with self._lock:
            if not self._fired:
                self._next += 1
                key = self._next
                if self._callbacks is None:
                    self._callbacks = {}
                self._callbacks[key] = callback
                return lambda: self._remove(key)
        callback()
        return lambda: None

    def _remove(self, key: int) -> None:
        with self._lock:
            if self._callbacks is not None:
                self._callbacks.pop(key, None)
