from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._client import Client
    from ._wire import EventOutcome, JournalEntry, Run, RunDetail

T = TypeVar("T")


class RunHandle:
    """A run, and what can be done with it. `run` is the run as it was when this was made."""

    def __init__(self, client: Client, run: Run | RunDetail) -> None:
        self._client = client
        self.run = run

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def trace_id(self) -> str:
        return self.run.trace_id

    def get(self) -> RunDetail:
        """The run as it is now, with its attempts, timers and waits."""
        return self._client.get_run(self.run_id)

    def watch(self, *, after: int = -1) -> Iterator[JournalEntry]:
        """Every entry of its journal once, in order. See `Client.watch`."""
        return self._client.watch(self.run_id, after=after)

    @overload
    def wait(self, output: type[T], *, timeout: float | None = None) -> T: ...
    @overload
    def wait(self, *, timeout: float | None = None) -> Any: ...
    def wait(self, output: Any = Any, *, timeout: float | None = None) -> Any:
        """Waits for its end, and returns its output. See `Client.wait`."""
        return self._client.wait(self.run_id, output, timeout=timeout)

    def signal(self, event: str, payload: Mapping[str, Any], *, event_id: str | None = None) -> EventOutcome:
        """Gives an event to the run's own open wait."""
        return self._client.signal(self.run_id, event, payload, event_id=event_id)

    def cancel(self, reason: str | None = None) -> Run:
        """Ends the run and its children."""
        return self._client.cancel(self.run_id, reason)

    def pause(self, reason: str | None = None) -> Run:
        """Pauses the run and its children."""
        return self._client.pause(self.run_id, reason)

    def resume(self, reason: str | None = None) -> Run:
        """Resumes the paused run."""
        return self._client.resume(self.run_id, reason)

    def __repr__(self) -> str:
        return f"RunHandle({self.run_id!r})"
