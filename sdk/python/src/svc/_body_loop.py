from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ._signal import Signal


class BodyLoop:
    """The event loop of `async def` bodies, in a thread of its own: what blocks it holds up no heartbeat."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._run, args=(self._loop,), name="svc-bodies", daemon=True).start()
            return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        # Bodies that were left behind still hold it.
        if not asyncio.all_tasks(loop):
            loop.close()

    def run(self, make: Callable[[], Coroutine[Any, Any, Any]], interruption: Signal) -> Any:
        """Runs a coroutine to its end, and waits for it. It is cancelled when the interruption fires.

        Returns what it returns, and raises what it raises: CancelledError where it ended by its cancellation.
        """
        loop = self._running()
        ended = threading.Event()
        task: asyncio.Task[Any] | None = None
        outcome: list[tuple[Any, BaseException | None]] = []

        async def run() -> None:
            try:
                outcome.append((await make(), None))
            except BaseException as error:
                # Among it SystemExit, which would end the loop and the bodies of all others.
                outcome.append((None, error))

        def begin() -> None:
            nonlocal task
            task = loop.create_task(run())
            task.add_done_callback(lambda _: ended.set())
            if interruption.fired:
                task.cancel()

        def cancel() -> None:
            # One that is not there yet looks at the interruption when it begins.
            if task is not None:
                task.cancel()

        loop.call_soon_threadsafe(begin)
        remove = interruption.on_fire(lambda: _post(loop, cancel))
        ended.wait()
        remove()
        if not outcome:
            # Cancelled before its first instruction.
            raise asyncio.CancelledError
        result, error = outcome[0]
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            _post(loop, loop.stop)


def _post(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        # The loop has ended, and all of its tasks with it.
        return
