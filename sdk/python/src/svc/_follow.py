from __future__ import annotations

import time
from typing import TYPE_CHECKING

from . import _json
from ._calls import PATIENCE_SECONDS, Calls, decode, segment
from ._errors import ConnectionFailed, ServiceError
from ._event_stream import read_events
from ._http import Request
from ._retry import RetryPolicy, backoff, is_retryable
from ._wire import JournalEntry, ListRunEventsResponse, RunDetail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._signal import Signal

WAIT_SLACK_SECONDS = 15.0
"""A call that is not answered so long after its wait is over, is lost."""
_END_WAIT_MS = 20_000
"""How long one call asks the service to wait for the end of a run; it may answer sooner."""
_HELD_SECONDS = 1.0
"""Answered sooner than this, a call was not held: the next one waits a moment."""
_ENDS = ("succeeded", "failed", "cancelled")


def is_over(status: str) -> bool:
    """Whether a run has ended: nothing about it changes any more."""
    return status in _ENDS


def watch(calls: Calls, run_id: str, after: int) -> Iterator[JournalEntry]:
    """Every entry behind the sequence number `after`, once and in order. See `Client.watch`."""
    signal = calls.signal()
    last = after
    failures = 0
    there_at = calls.answered_at
    while not signal.fired:
        opened = False
        try:
            for entry in _stream(calls, run_id, last, signal):
                if entry is None:
                    opened = True
                    continue
                failures = 0
                if entry.seq <= last:
                    continue
                last = entry.seq
                yield entry
                if entry.kind == "run.finished":
                    return
            # The stream ended in good order without the end of the run: the service stops, or the end lies before
            # the point from which we follow.
            if signal.fired:
                return
            entries, over = _rest(calls, run_id, last)
            for entry in entries:
                last = entry.seq
                yield entry
            if over:
                return
            if not entries:
                signal.wait(backoff(calls.retry, 1))
        except (ConnectionFailed, ServiceError) as error:
            if signal.fired:
                return
            if not is_retryable(error):
                raise
            failures += 1
            if opened:
                # It was there until now, however long the run was silent.
                there_at = time.monotonic()
            patient = there_at is not None and time.monotonic() - there_at < PATIENCE_SECONDS
            if calls.retry.attempts is not None and failures >= calls.retry.attempts and not patient:
                raise
            signal.wait(backoff(calls.retry, failures))


def _rest(calls: Calls, run_id: str, after: int) -> tuple[Sequence[JournalEntry], bool]:
    """A page of what follows, and whether nothing comes behind it.

    The run is read before its journal: when it had ended by then, the journal holds all there is; the other way
    round, its end could be missed.
    """
    status = calls.get(RunDetail, f"/v1/api/runs/{segment(run_id)}").status
    entries = calls.get(ListRunEventsResponse, f"/v1/api/runs/{segment(run_id)}/events", after=after).events
    if not entries:
        return entries, is_over(status)
    return entries, entries[-1].kind == "run.finished"


def _stream(calls: Calls, run_id: str, after: int, signal: Signal) -> Iterator[JournalEntry | None]:
    """Entries of one connection, and nothing once it is open."""
    path = f"/v1/api/runs/{segment(run_id)}/events"
    headers = {} if after < 0 else {"last-event-id": str(after)}
    request = Request("GET", path, accept="text/event-stream", headers=headers, timeout=calls.timeout)
    stream = calls.http.stream(request, signal)
    try:
        calls.answered_at = time.monotonic()
        yield None
        for event in read_events(stream, calls.stream_idle):
            try:
                data = _json.decode(event.data.encode())
            except (ValueError, RecursionError) as cause:
                raise ConnectionFailed("the journal stream holds something that is not JSON") from cause
            yield decode(JournalEntry, data)
    finally:
        stream.close()


def end_of(calls: Calls, run_id: str, timeout: float | None) -> RunDetail:
    """The run once it has ended. Raises TimeoutError after so many seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        return _ask_for_end(calls, run_id, deadline)
    except ServiceError as error:
        if error.field != "wait_ms":
            raise
        # A service that does not hold a read.
        return _follow_to_end(calls, run_id, deadline)


def _ask_for_end(calls: Calls, run_id: str, deadline: float | None) -> RunDetail:
    """Asks for the end again and again; each call is held by the service."""
    signal = calls.signal()
    unheld = 0
    while True:
        asked_at = time.monotonic()
        wait_ms = _END_WAIT_MS
        policy = calls.retry if calls.answered_at is None else calls.patient
        if deadline is not None:
            left = deadline - asked_at
            if left <= 0:
                raise TimeoutError(f"run {run_id} has not ended in time")
            wait_ms = min(wait_ms, int(left * 1000) + 1)
            policy = RetryPolicy(policy.attempts, policy.base, policy.max, min(left, policy.within or left))
        request = Request(
            "GET",
            f"/v1/api/runs/{segment(run_id)}",
            {"wait_ms": wait_ms},
            timeout=wait_ms / 1000 + WAIT_SLACK_SECONDS,
        )
        try:
            run = decode(RunDetail, calls.call(request, policy))
        except ConnectionFailed:
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"run {run_id} has not ended in time") from None
            raise
        if is_over(run.status):
            return run
        unheld = unheld + 1 if time.monotonic() - asked_at < _HELD_SECONDS else 0
        if unheld > 0:
            signal.wait(backoff(calls.retry, unheld))
        if signal.fired:
            raise ConnectionFailed("the wait was broken off")


def _follow_to_end(calls: Calls, run_id: str, deadline: float | None) -> RunDetail:
    while True:
        run = decode(RunDetail, calls.call(Request("GET", f"/v1/api/runs/{segment(run_id)}"), calls.patient))
        if is_over(run.status):
            return run
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError(f"run {run_id} has not ended in time")
        if calls.signal().wait(_HELD_SECONDS):
            raise ConnectionFailed("the wait was broken off")
