from __future__ import annotations

import math
import os
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from . import _json
from ._errors import ServiceError
from ._http import DEFAULT_TIMEOUT_SECONDS, Request
from ._retry import RetryPolicy, with_retries
from ._signal import Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._http import Http

SignalName = Literal["spans", "logs", "metrics", "scores", "feedback", "aspect_notes"]

EXPORT_RETRY = RetryPolicy(attempts=8, base=0.5, max=30.0)
_BATCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class ExportCounters:
    """What became of signals since the start of this process."""

    sent: int = 0
    """Stored by the service, or recognised by it as sent before."""
    dropped: int = 0
    """Pushed out by newer ones while the queue was full; or too large, or not JSON; or recorded after `close`."""
    refused: int = 0
    """Refused by the service: a 4xx, or an error of its answer."""
    failed: int = 0
    """Given up after the last try, or at `close`."""
    invalid: int = 0
    """Calls that gave something that is no signal, such as a score without a scale."""


class _Line:
    """The queue of one process. A fork makes a new one: neither thread nor locks survive in the child."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wake = threading.Condition(self.lock)
        self.settled = threading.Condition(self.lock)
        self.given_up = Signal()
        self.items: deque[tuple[SignalName, bytes]] = deque()
        self.bytes = 0
        self.added = 0
        """Signals that ever came into the queue. The first that still waits is number `added - len(items)`."""
        self.under_way: int | None = None
        """The number of the first signal of the batch that is being sent."""
        self.hurried = 0
        """Calls of `flush` that wait: then nothing waits for others to travel with."""
        self.closed = False
        self.thread: threading.Thread | None = None
        self.sent = self.dropped = self.refused = self.failed = self.invalid = 0

    def is_settled(self, number: int) -> bool:
        """Whether all signals before this number were sent, refused, given up or pushed out."""
        return self.added - len(self.items) >= number and (self.under_way is None or self.under_way >= number)


class ExportQueue:
    """Sends signals in the background, in batches, one batch at a time.

    Adding never raises and never waits: a signal is written to text at once, so that what the caller changes later
    does not show, and goes into a bounded queue that drops its oldest.
    """

    def __init__(
        self,
        http: Http,
        *,
        max_queued: int = 10_000,
        max_queued_bytes: int = 32 * 1024 * 1024,
        batch_size: int = 500,
        delay: float = 0.5,
        retry: RetryPolicy = EXPORT_RETRY,
        before_send: Callable[[Signal], None] | None = None,
        at_fork: Callable[[], None] | None = None,
    ) -> None:
        self._http = http
        self._max_queued = max(1, max_queued)
        self._max_bytes = max(1, max_queued_bytes)
        self._batch_size = max(1, batch_size)
        self._delay = delay
        self._retry = retry
        self._before_send = before_send
        self._at_fork = at_fork
        self._lines = {os.getpid(): _Line()}

    def _line(self) -> _Line:
        pid = os.getpid()
        line = self._lines.get(pid)
        if line is None:
            # The child of a fork: what the parent queued is the parent's to send. `setdefault` lets one thread win.
            made = _Line()
            line = self._lines.setdefault(pid, made)
            if line is made and self._at_fork is not None:
                self._at_fork()
            for other in [known for known in self._lines if known != pid]:
                self._lines.pop(other, None)
        return line

    @property
    def counters(self) -> ExportCounters:
        line = self._line()
        with line.lock:
            return ExportCounters(line.sent, line.dropped, line.refused, line.failed, line.invalid)

    def add_invalid(self) -> None:
        line = self._line()
        with line.lock:
            line.invalid += 1

    def add(self, signal: SignalName, value: object) -> None:
        line = self._line()
        try:
            text = _json.encode(value)
        except Exception:
            # A payload that refers to itself, or that is not JSON, or that raises when it is looked at.
            text = b""
        size = len(text)
        with line.lock:
            if not 0 < size <= min(_BATCH_BYTES, self._max_bytes) or line.closed:
                line.dropped += 1
                return
            line.items.append((signal, text))
            line.bytes += size
            line.added += 1
            while len(line.items) > self._max_queued or line.bytes > self._max_bytes:
                line.bytes -= len(line.items.popleft()[1])
                line.dropped += 1
            if line.thread is None:
                self._start(line)
            elif len(line.items) in (1, self._batch_size):
                line.wake.notify()

    def _start(self, line: _Line) -> None:
        thread = threading.Thread(target=self._run, args=(line,), name="svc-export", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # No thread can be started now; the next signal tries again.
            return
        line.thread = thread

    def _run(self, line: _Line) -> None:
        while True:
            with line.lock:
                while not line.items and not line.closed:
                    line.wake.wait()
                if not line.items or line.given_up.fired:
                    return
                due = time.monotonic() + self._delay
                while not (line.closed or line.hurried or len(line.items) >= self._batch_size):
                    if not line.wake.wait(max(0.0, due - time.monotonic())) and time.monotonic() >= due:
                        break
                batch = self._take(line)
            self._send(line, batch)

    def _take(self, line: _Line) -> list[tuple[SignalName, bytes]]:
        line.under_way = line.added - len(line.items) if line.items else None
        batch: list[tuple[SignalName, bytes]] = []
        size = 0
        while line.items and len(batch) < self._batch_size:
            size += len(line.items[0][1])
            if batch and size > _BATCH_BYTES:
                break
            batch.append(line.items.popleft())
            line.bytes -= len(batch[-1][1])
        return batch

    def _send(self, line: _Line, batch: Sequence[tuple[SignalName, bytes]], deadline: float = math.inf) -> None:
        """Sends one batch, and counts what became of it. Never raises.

        A deadline, by the monotonic clock, is for who cannot be told to give up.
        """
        sent = refused = failed = 0

        def once(body: bytes) -> object:
            timeout = min(DEFAULT_TIMEOUT_SECONDS, max(0.05, deadline - time.monotonic()))
            return self._http.call(Request("POST", "/v1/ingest", body=body, timeout=timeout), line.given_up)

        retry = self._retry
        if deadline < math.inf:
            retry = replace(retry, within=max(0.0, deadline - time.monotonic()))
        try:
            if self._before_send is not None:
                self._before_send(line.given_up)
            # Written once: a batch is sent again under the same key.
            body = _body_of(batch)
            answer = with_retries(retry, lambda: once(body), line.given_up)
            told = answer.get("rejected", 0) if isinstance(answer, dict) else 0
            refused = max(0, min(len(batch), told)) if isinstance(told, int) else 0
            sent = len(batch) - refused
        except Exception as error:
            is_refused = isinstance(error, ServiceError) and 400 <= error.status < 500 and error.status != 429
            refused = len(batch) if is_refused else 0
            failed = len(batch) - refused
        with line.lock:
            line.sent += sent
            line.refused += refused
            line.failed += failed
            line.under_way = None
            line.settled.notify_all()

    def flush(self, timeout: float) -> bool:
        """Sends what is queued. Returns whether all of it was settled within so many seconds."""
        line = self._line()
        deadline = time.monotonic() + timeout
        with line.lock:
            if line.thread is None and line.items and not line.closed:
                self._start(line)
            goal = line.added
            line.hurried += 1
            line.wake.notify()
            try:
                return line.settled.wait_for(lambda: line.is_settled(goal), max(0.0, deadline - time.monotonic()))
            finally:
                line.hurried -= 1

    def close(self, timeout: float) -> None:
        """Sends what is queued for so many seconds at most, then gives up the rest and stops."""
        line = self._line()
        deadline = time.monotonic() + timeout
        with line.lock:
            line.closed = True
            line.wake.notify()
            thread = line.thread
        if thread is not None and thread.is_alive():
            thread.join(max(0.0, deadline - time.monotonic()))
        else:
            # At the exit of the interpreter no thread can be started any more: this one sends.
            self._drain(line, deadline)
        line.given_up.fire()
        if thread is not None:
            # What was on its way is broken off now, and counted.
            thread.join(1.0)
        with line.lock:
            line.failed += len(line.items)
            line.items.clear()
            line.bytes = 0
            line.settled.notify_all()

    def _drain(self, line: _Line, deadline: float) -> None:
        while time.monotonic() < deadline:
            with line.lock:
                batch = self._take(line)
            if not batch:
                return
            self._send(line, batch, deadline)


def _body_of(batch: Sequence[tuple[SignalName, bytes]]) -> bytes:
    by_signal: dict[SignalName, list[bytes]] = {}
    for signal, text in batch:
        by_signal.setdefault(signal, []).append(text)
    # The key makes a resend after a lost answer count as a duplicate, so that nothing is stored twice.
    parts = [b'{"ingest_key":"%s"' % str(uuid.uuid4()).encode()]
    parts += [b'"%s":[%s]' % (signal.encode(), b",".join(texts)) for signal, texts in by_signal.items()]
    return b",".join(parts) + b"}"
