"""A service that follows a script: it records each call, and answers as the test says."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Call:
    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def verb(self) -> str:
        return self.path.split("?", maxsplit=1)[0].rsplit("/", maxsplit=1)[-1]


@dataclass
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False
    after: threading.Event | None = None
    """The answer is held back until then."""
    raw: bytes | None = None
    """Sent as it is, in place of an answer; then the connection ends."""


Script = "Callable[[Call], Reply | None]"


class Scripted:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.binary = False
        """Bodies are no JSON."""
        self.replies: dict[str, list[Reply]] = {}
        self.seen_more = threading.Condition()
        self.rule: Callable[[Call], Reply | None] = lambda _: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None: ...

            def _serve(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                text = self.rfile.read(length)
                body = json.loads(text) if text and not outer.binary else text or None
                headers = {k.lower(): v for k, v in self.headers.items()}
                outer._answer(self, Call(self.command, self.path, headers, body))

            do_GET = do_POST = do_PUT = do_DELETE = _serve

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_: object) -> None: ...

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def answer(self, verb: str, *replies: Reply) -> None:
        """The next calls to this verb are answered so, each once."""
        self.replies.setdefault(verb, []).extend(replies)

    def _answer(self, handler: BaseHTTPRequestHandler, call: Call) -> None:
        with self.seen_more:
            self.calls.append(call)
            queued = self.replies.get(call.verb)
            reply = queued.pop(0) if queued else None
            self.seen_more.notify_all()
        reply = reply or self.rule(call) or default_reply(call)
        if reply.after is not None:
            reply.after.wait(20)
        if reply.hang_up or reply.raw is not None:
            handler.wfile.write(reply.raw or b"")
            handler.close_connection = True
            return
        text = b"" if reply.body is None else json.dumps(reply.body).encode()
        handler.send_response(reply.status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(text)))
        handler.send_header("x-request-id", "request-1")
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text)

    def calls_to(self, verb: str) -> list[Call]:
        with self.seen_more:
            return [call for call in self.calls if call.verb == verb]

    def seen(self, verb: str, count: int = 1, seconds: float = 20) -> Call:
        """Waits for the so-many-th call to a verb."""
        with self.seen_more:
            found = self.seen_more.wait_for(
                lambda: len([call for call in self.calls if call.verb == verb]) >= count, seconds
            )
            if not found:
                raise AssertionError(f"no call number {count} to {verb}; there were {[c.verb for c in self.calls]}")
            return [call for call in self.calls if call.verb == verb][count - 1]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def default_reply(call: Call) -> Reply:
    match call.verb:
        case "healthz":
            return Reply(body={"status": "ok", "version": "0", "spec_version": "1.0"})
        case "traces":
            return Reply(200)
        case "ingest":
            return Reply(body={"accepted": 1, "rejected": 0, "duplicate": 0, "errors": []})
        case _:
            return Reply(404, {"code": "not_found", "message": "not in the script"})


def refusal(status: int, code: str, **headers: str) -> Reply:
    return Reply(status, {"code": code, "message": f"{code} by the test"}, headers)


@contextmanager
def scripted() -> Iterator[Scripted]:
    service = Scripted()
    try:
        yield service
    finally:
        service.stop()


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Waits for a condition; fails when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come")
        time.sleep(0.005)
