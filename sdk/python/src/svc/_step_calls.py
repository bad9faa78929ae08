from __future__ import annotations

import json
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from . import _json
from ._errors import ConnectionFailed, ServiceError, SvcError
from ._http import DEFAULT_TIMEOUT_SECONDS, Request, refusal
from ._motion import BODIES_SECONDS, LEASES_SECONDS, Motion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._daemon_pool import DaemonPool
    from ._http import Http
    from ._signal import Signal

StepVerb = Literal["started", "heartbeat", "complete", "fail"]
"""The calls that the holder of a lease makes on it."""

# See docs/worker-protocol.md, "Many calls in one".
_BATCH_ITEMS = 1000
_LARGE_BYTES = 256 * 1024
"""Larger reports go by themselves: nobody waits until they are through."""
_BATCH_BYTES = 1024 * 1024
_BATCHES_AT_ONCE = 2
"""The service writes one batch while it reads the next."""
_CLAIM_LIMIT = 1000
_NO_THREAD = "no thread can be started for a call"
_LISTS: Mapping[StepVerb, str] = {
    "started": "started",
    "heartbeat": "heartbeats",
    "complete": "completes",
    "fail": "fails",
}


@dataclass(frozen=True)
class StepCall:
    verb: StepVerb
    lease_id: str
    body: bytes
    """A JSON object that is not empty."""
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    cut: Signal | None = None
    """Breaks the call off."""
    frees_slot: bool = False
    """It ends its lease, and a step may be claimed with it for the slot. Not so where a report before it was one."""


def _is_of_batch(refused: ServiceError) -> bool:
    """Whether a refusal is about the call that holds the others, so that each is to be made by itself.

    One that cannot be read spoils no other. A key or a limit holds for all of them.
    """
    return 400 <= refused.status < 500 and refused.status not in (401, 403) and not refused.retryable


class Item:
    """A call under way; it is settled once."""

    __slots__ = ("_lock", "_on_answer", "_remove", "call", "moves", "waits")

    def __init__(self, call: StepCall, on_answer: Callable[[Any, SvcError | None], None], *, moves: bool) -> None:
        self.call = call
        self.moves = moves
        """Its answer sets its lease going."""
        self.waits = False
        """It stands in line. Of those who send."""
        self._remove: Callable[[], None] = lambda: None
        self._on_answer: Callable[[Any, SvcError | None], None] | None = on_answer
        self._lock = threading.Lock()

    def settle(self, answer: Any, error: SvcError | None) -> None:
        with self._lock:
            on_answer, self._on_answer = self._on_answer, None
            remove = self._remove
        if on_answer is not None:
            remove()
            on_answer(answer, error)

    def break_off_by(self, remove: Callable[[], None]) -> None:
        """What forgets the signal that breaks it off. The answer may have come before."""
        with self._lock:
            self._remove = remove
            is_settled = self._on_answer is None
        if is_settled:
            remove()


def _by_lease(items: Sequence[Item]) -> Iterable[Sequence[Item]]:
    """The calls on each lease, in the order that a batch gives them."""
    found: dict[str, list[Item]] = {}
    for verb in _LISTS:
        for item in items:
            if item.call.verb == verb:
                found.setdefault(item.call.lease_id, []).append(item)
    return found.values()


class StepCalls:
    """The calls of all leases of one worker.

    Those that come together travel together, and the steps that follow come back in the same answer. A service that
    does not know the batch gets each call by itself.
    """

    def __init__(
        self,
        http: Http,
        worker_id: str,
        *,
        run_id: str | None,
        claims: Callable[[], bool],
        on_leases: Callable[[Sequence[Any]], None],
        pool: DaemonPool,
    ) -> None:
        """`claims`: whether a report may claim what fills the slot that it frees. `on_leases` takes what came."""
        self._http = http
        self._worker = json.dumps(worker_id).encode()
        self._run_id = run_id
        self._claims = claims
        self._on_leases = on_leases
        self._pool = pool
        self.motion = Motion(LEASES_SECONDS)
        """Of the leases of the worker: a batch waits until they have said what they have to say.

        An answer to a call that was submitted, other than a heartbeat, sets its lease going.
        """
        self.bodies = Motion(BODIES_SECONDS)
        """Of bodies that began while their declaration is on its way: a batch waits for what a short one gives."""
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._queue: deque[Item] = deque()
        self._senders = 0
        self._knows_batch = True
        self._closed = False

    def make(self, call: StepCall) -> Any:
        """Makes one call, one try. Raises ServiceError when the service refuses, ConnectionFailed without an answer."""
        if self._goes_alone(call):
            return self._alone(call)
        answered = threading.Event()
        found: list[tuple[Any, SvcError | None]] = []

        def on_answer(answer: Any, error: SvcError | None) -> None:
            found.append((answer, error))
            answered.set()

        self._enqueue(Item(call, on_answer, moves=False))
        answered.wait()
        answer, error = found[0]
        if error is not None:
            raise error
        return answer

    def submit(self, call: StepCall, on_answer: Callable[[Any, SvcError | None], None]) -> Item:
        """The same for who must not wait; where no thread can be started, `on_answer` gets that as an error."""
        item = Item(call, on_answer, moves=call.verb != "heartbeat")
        if self._goes_alone(call):
            self._settle_apart([item])
        else:
            self._enqueue(item)
        return item

    def submit_behind(self, before: Item, call: StepCall, on_answer: Callable[[Any, SvcError | None], None]) -> bool:
        """Lets a call travel with one that still stands in line, behind it. Returns whether that was so."""
        if self._goes_alone(call):
            return False
        with self._lock:
            if before.waits:
                item = Item(call, on_answer, moves=True)
                item.waits = True
                self._queue.append(item)
                return True
        return False

    def close(self) -> None:
        """Ends the threads; what still waits is answered as broken off."""
        with self._lock:
            self._closed = True
            items, self._queue = list(self._queue), deque()
            for item in items:
                item.waits = False
            self._ready.notify_all()
        for item in items:
            item.settle(None, ConnectionFailed("the worker has ended"))

    def _goes_alone(self, call: StepCall) -> bool:
        return not self._knows_batch or len(call.body) > _LARGE_BYTES

    def _alone(self, call: StepCall) -> Any:
        path = f"/v1/api/steps/{quote(call.lease_id, safe='')}/{call.verb}"
        return self._http.call(Request("POST", path, body=call.body, timeout=call.timeout), call.cut)

    def _send_apart(self, items: Sequence[Item]) -> None:
        for own in _by_lease(items):
            self._settle_apart(own)

    def _settle_apart(self, items: Sequence[Item]) -> None:
        """Makes calls on one lease by themselves, one after the other."""
        try:
            self._pool.submit(lambda: self._settle_alone(items))
        except RuntimeError:
            for item in items:
                item.settle(None, ConnectionFailed(_NO_THREAD))

    def _settle_alone(self, items: Sequence[Item]) -> None:
        for item in items:
            try:
                answer = self._alone(item.call)
            except SvcError as error:
                item.settle(None, error)
            else:
                item.settle(answer, None)

    def _enqueue(self, item: Item) -> None:
        problem: str | None = None
        with self._lock:
            if self._closed:
                problem = "the worker has ended"
            elif self._senders == _BATCHES_AT_ONCE or self._add_sender() or self._senders > 0:
                item.waits = True
                self._queue.append(item)
                if len(self._queue) == 1:
                    # One that comes takes what came meanwhile, too.
                    self._ready.notify()
            else:
                problem = _NO_THREAD
        if problem is not None:
            item.settle(None, ConnectionFailed(problem))
        elif item.call.cut is not None:
            item.break_off_by(item.call.cut.on_fire(lambda: self._break_off(item)))

    def _add_sender(self) -> bool:
        """Starts one more thread that sends; with the lock. Where that fails, the next call tries again."""
        name = f"svc-steps-{self._senders + 1}"
        try:
            threading.Thread(target=self._run, name=name, daemon=True).start()
        except RuntimeError:
            return False
        self._senders += 1
        return True

    def _break_off(self, item: Item) -> None:
        with self._lock:
            if item.waits:
                item.waits = False
                self._queue.remove(item)
        item.settle(None, ConnectionFailed(f"the call {item.call.verb} was broken off"))

    def _run(self) -> None:
        while True:
            with self._lock:
                self._ready.wait_for(lambda: bool(self._queue) or self._closed)
            # What can go on comes first, so that what is ready together travels together.
            self.motion.wait()
            self.bodies.wait()
            with self._lock:
                if self._closed:
                    return
                items = self._take()
                if self._queue:
                    self._ready.notify()
            if items:
                self._send_safely(items)

    def _send_safely(self, items: Sequence[Item]) -> None:
        """Whatever one of them makes of its answer, the others are answered, and the thread goes on."""
        try:
            self._send(items)
        except Exception:
            for item in items:
                with suppress(Exception):
                    item.settle(None, ConnectionFailed("a batch could not be read"))

    def _take(self) -> list[Item]:
        items: list[Item] = []
        size = 0
        while self._queue and len(items) < _BATCH_ITEMS:
            size += len(self._queue[0].call.body)
            if items and size > _BATCH_BYTES:
                break
            item = self._queue.popleft()
            item.waits = False
            items.append(item)
        return items

    def _send(self, items: Sequence[Item]) -> None:
        if not self._knows_batch:
            # They came before that was known.
            self._send_apart(items)
            return
        timeout = min(item.call.timeout for item in items)
        request = Request("POST", "/v1/api/steps/batch", body=self._text_of(items), timeout=timeout)
        try:
            answer = self._http.call(request)
        except ServiceError as error:
            if error.status == 404:
                self._knows_batch = False
            if _is_of_batch(error):
                self._send_apart(items)
            else:
                for item in items:
                    item.settle(None, error)
        except ConnectionFailed as error:
            for item in items:
                item.settle(None, error)
        else:
            self.motion.begin()
            try:
                self._deliver(items, answer)
            finally:
                self.motion.end()

    def _text_of(self, items: Sequence[Item]) -> bytes:
        parts = [b'{"worker_id":' + self._worker]
        freed = sum(item.call.frees_slot for item in items)
        for verb, name in _LISTS.items():
            own = [item.call for item in items if item.call.verb == verb]
            if not own:
                continue
            written = b",".join(
                b'{"lease_id":%s,%s' % (json.dumps(call.lease_id).encode(), call.body[1:]) for call in own
            )
            parts.append(b'"%s":[%s]' % (name.encode(), written))
        if freed > 0 and self._claims():
            claim: dict[str, Any] = {"max": min(freed, _CLAIM_LIMIT), "wait_ms": 0}
            if self._run_id is not None:
                claim["run_id"] = self._run_id
            parts.append(b'"claim":' + _json.encode(claim))
        return b",".join(parts) + b"}"

    def _deliver(self, items: Sequence[Item], answer: Any) -> None:
        told: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        leases = told.get("leases")
        # First: the next count of free slots must see what fills them.
        if isinstance(leases, list) and leases:
            self._on_leases(leases)
        for verb, name in _LISTS.items():
            answers = told.get(name)
            rest = iter(answers if isinstance(answers, list) else [])
            own = [item for item in items if item.call.verb == verb]
            self.motion.begin(sum(item.moves for item in own))
            for item in own:
                one = next(rest, None)
                status = one.get("status") if isinstance(one, dict) else None
                if not isinstance(one, dict) or not isinstance(status, int):
                    item.settle(None, ConnectionFailed("the answer to a batch lacks an item"))
                elif 200 <= status <= 299:
                    item.settle(one.get("body"), None)
                else:
                    item.settle(None, refusal(status, one.get("body")))
