from __future__ import annotations

import asyncio
import functools
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from ._calls import call_signal
from ._client import CALLER_POLICY, Client
from ._daemon_pool import DaemonPool
from ._signal import Signal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping

    from ._retry import RetryPolicy
    from ._run_handle import RunHandle
    from ._wire import EventOutcome, JournalEntry, Run, RunDetail

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def _bridged(
    method: Callable[Concatenate[Client, P], R],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    """The same call, awaited."""

    async def call(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._bridge(functools.partial(method, self._client, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


def _handled(
    method: Callable[Concatenate[Client, P], RunHandle],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, AsyncRunHandle]]:
    async def call(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncRunHandle:
        handle = await self._bridge(functools.partial(method, self._client, *args, **kwargs))
        return AsyncRunHandle(self, handle.run)

    functools.update_wrapper(call, method)
    return call


class AsyncClient:
    """`Client` for asyncio: the same calls, awaited. A cancelled call closes its connection."""

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        api_key: str | None = None,
        project: str | None = None,
        timeout: float = 30.0,
        stream_idle: float = 50.0,
        retry: RetryPolicy = CALLER_POLICY,
    ) -> None:
        """As of `Client`."""
        self._client = Client(
            endpoint=endpoint,
            api_key=api_key,
            project=project,
            timeout=timeout,
            stream_idle=stream_idle,
            retry=retry,
        )
        self._pool = DaemonPool("svc-client")

    async def _bridge(self, call: Callable[[], R]) -> R:
        """Runs a call in a thread, so that nothing of it blocks the loop."""
        return await self._run(call, Signal())

    async def _run(self, call: Callable[[], R], signal: Signal) -> R:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        context = copy_context()
        context.run(call_signal.set, signal)

        def settle(result: R | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]  # There is no error, so it is one.

        def work() -> None:
            result: R | None = None
            failure: BaseException | None = None
            try:
                result = context.run(call)
            except BaseException as error:
                failure = error
            # The loop may be gone: then nobody waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, result, failure)

        remove = self._client.closing.on_fire(signal.fire)
        self._pool.submit(work)
        try:
            return await future
        except asyncio.CancelledError:
            signal.fire()
            raise
        finally:
            remove()

    start = _handled(Client.start)
    attach = _handled(Client.attach)
    restart = _handled(Client.restart)
    get_run = _bridged(Client.get_run)
    list_runs = _bridged(Client.list_runs)
    journal = _bridged(Client.journal)
    step_cause = _bridged(Client.step_cause)
    signal = _bridged(Client.signal)
    publish = _bridged(Client.publish)
    cancel = _bridged(Client.cancel)
    pause = _bridged(Client.pause)
    resume = _bridged(Client.resume)
    store_definitions = _bridged(Client.store_definitions)
    check_definitions = _bridged(Client.check_definitions)
    list_definitions = _bridged(Client.list_definitions)
    get_definition = _bridged(Client.get_definition)
    get_definition_version = _bridged(Client.get_definition_version)
    pause_definition = _bridged(Client.pause_definition)
    resume_definition = _bridged(Client.resume_definition)
    list_schedules = _bridged(Client.list_schedules)
    get_schedule = _bridged(Client.get_schedule)
    create_schedule = _bridged(Client.create_schedule)
    replace_schedule = _bridged(Client.replace_schedule)
    delete_schedule = _bridged(Client.delete_schedule)
    pause_schedule = _bridged(Client.pause_schedule)
    resume_schedule = _bridged(Client.resume_schedule)
    trigger_schedule = _bridged(Client.trigger_schedule)
    count_bulk = _bridged(Client.count_bulk)
    start_bulk = _bridged(Client.start_bulk)
    get_bulk = _bridged(Client.get_bulk)
    stop_bulk = _bridged(Client.stop_bulk)
    get_trace = _bridged(Client.get_trace)
    list_traces = _bridged(Client.list_traces)
    score = _bridged(Client.score)
    feedback = _bridged(Client.feedback)
    list_scores = _bridged(Client.list_scores)
    list_feedback = _bridged(Client.list_feedback)
    list_workers = _bridged(Client.list_workers)
    list_parked_events = _bridged(Client.list_parked_events)
    read = _bridged(Client.read)

    @overload
    async def wait(self, run_id: str, output: type[T], *, timeout: float | None = None) -> T: ...
    @overload
    async def wait(self, run_id: str, *, timeout: float | None = None) -> Any: ...
    async def wait(self, run_id: str, output: Any = Any, *, timeout: float | None = None) -> Any:
        """As `Client.wait`."""
        return await self._bridge(lambda: self._client.wait(run_id, output, timeout=timeout))

    async def watch(self, run_id: str, *, after: int = -1) -> AsyncIterator[JournalEntry]:
        """As `Client.watch`. Whoever leaves the loop early, or is cancelled, closes the connection."""
        signal = Signal()
        entries = self._client.watch(run_id, after=after)
        try:
            while True:
                entry = await self._run(lambda: next(entries, None), signal)
                if entry is None:
                    return
                yield entry
        finally:
            signal.fire()

    async def aclose(self) -> None:
        """Lets go of the connections; what is on its way is broken off."""
        self._client.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class AsyncRunHandle:
    """A run, and what can be done with it. `run` is the run as it was when this was made."""

    def __init__(self, client: AsyncClient, run: Run | RunDetail) -> None:
        self._client = client
        self.run = run

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def trace_id(self) -> str:
        return self.run.trace_id

    async def get(self) -> RunDetail:
        """The run as it is now, with its attempts, timers and waits."""
        return await self._client.get_run(self.run_id)

    def watch(self, *, after: int = -1) -> AsyncIterator[JournalEntry]:
        """Every entry of its journal once, in order. See `Client.watch`."""
        return self._client.watch(self.run_id, after=after)

    @overload
    async def wait(self, output: type[T], *, timeout: float | None = None) -> T: ...
    @overload
    async def wait(self, *, timeout: float | None = None) -> Any: ...
    async def wait(self, output: Any = Any, *, timeout: float | None = None) -> Any:
        """Waits for its end, and returns its output. See `Client.wait`."""
        return await self._client.wait(self.run_id, output, timeout=timeout)

    async def signal(self, event: str, payload: Mapping[str, Any], *, event_id: str | None = None) -> EventOutcome:
        """Gives an event to the run's own open wait."""
        return await self._client.signal(self.run_id, event, payload, event_id=event_id)

    async def cancel(self, reason: str | None = None) -> Run:
        """Ends the run and its children."""
        return await self._client.cancel(self.run_id, reason)

    async def pause(self, reason: str | None = None) -> Run:
        """Pauses the run and its children."""
        return await self._client.pause(self.run_id, reason)

    async def resume(self, reason: str | None = None) -> Run:
        """Resumes the paused run."""
        return await self._client.resume(self.run_id, reason)

    def __repr__(self) -> str:
        return f"AsyncRunHandle({self.run_id!r})"
