from __future__ import annotations

import io
import os
import select
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from . import _json
from ._errors import ConnectionFailed, ServiceError
from ._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._settings import Settings
    from ._signal import Signal

DEFAULT_TIMEOUT_SECONDS = 30.0
"""How long an answer may take, where the caller names no time."""
_CONNECT_SECONDS = 10.0
_ANSWER_LIMIT_BYTES = 256 * 1024 * 1024
"""An answer larger than this is refused: no read of the service is."""
_PIECE_BYTES = 64 * 1024
_HEAD_LINE_BYTES = 64 * 1024
_HEAD_LINES = 256
_IDLE_CONNECTIONS = 8
_MESSAGE_LIMIT_CHARACTERS = 500

QueryValue: TypeAlias = "str | int | float | bool | None"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    """From the root of the service: `/v1/api/runs`."""
    query: Mapping[str, QueryValue] | None = None
    body: object = None
    """Sent as JSON; bytes are sent as they are, as JSON that was written already."""
    accept: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds for the complete answer; of a stream, for its beginning."""


class _DeadlineReader(io.RawIOBase):
    """Reads a socket, and never longer than until the deadline of its connection, however slowly bytes drip."""

    def __init__(self, connection: _Connection) -> None:
        super().__init__()
        self._connection = connection
        self._raw = connection.sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        connection = self._connection
        remaining = connection.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        connection.sock.settimeout(remaining)
        return self._raw.readinto(buffer) or 0

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer:
    """An answer of HTTP/1.1, read under the deadline of its connection. See RFC 9112.

    That of the standard library reads headers as those of an e-mail, which costs more than the rest of a small call.
    """

    def __init__(self, connection: _Connection, method: str) -> None:
        self._reader = io.BufferedReader(_DeadlineReader(connection), _PIECE_BYTES)
        self._method = method
        self.status = 0
        self.headers: dict[str, str] = {}
        """By name in lower case."""
        self.will_close = False
        self.is_over = False
        """Whether the body was read to its end."""
        self._is_chunked = False
        self._left: int | None = None
        """Bytes to come of the body, or of its chunk; `None`: until the connection ends."""

    def begin(self) -> None:
        """Reads the head. Raises OSError when it breaks off, ValueError when it is no HTTP."""
        while True:
            version, status, *_ = [*self._line().split(None, 2), b"", b""]
            if not version.startswith(b"HTTP/1.") or not (len(status) == 3 and status.isdigit()):
                raise ValueError("the answer is no HTTP/1.1")
            self.status = int(status)
            self.headers = self._headers()
            if self.status >= 200:
                break
        connection = self.headers.get("connection", "").lower()
        self.will_close = "close" in connection or (version == b"HTTP/1.0" and "keep-alive" not in connection)
        self._is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length")
        if self._method == "HEAD" or self.status in (204, 304):
            self._left = 0
        elif self._is_chunked:
            self._left = 0
            return
        elif length is not None:
            if not (length.isascii() and length.isdigit()):
                raise ValueError("the answer has a content-length that is no number")
            self._left = int(length)
        else:
            self.will_close = True
        self.is_over = self._left == 0

    def read1(self, most: int) -> bytes:
        """The next bytes of the body; none at its end. Raises OSError when it breaks off, ValueError on no HTTP."""
        if self.is_over:
            return b""
        if self._is_chunked and self._left == 0:
            size = self._line().partition(b";")[0].strip()
            self._left = int(size, 16)
            if self._left == 0:
                self._headers()
                self.is_over = True
                return b""
        if self._left is None:
            piece = self._reader.read1(most)
            self.is_over = not piece
            return piece
        piece = self._reader.read1(min(most, self._left))
        if not piece:
            raise ConnectionResetError("the answer broke off")
        self._left -= len(piece)
        if self._left == 0:
            if self._is_chunked:
                self._line()
            else:
                self.is_over = True
        return piece

    def close(self) -> None:
        self._reader.close()

    def _line(self) -> bytes:
        line = self._reader.readline(_HEAD_LINE_BYTES)
        if not line:
            raise ConnectionResetError("the connection was closed without an answer")
        if not line.endswith(b"\n"):
            raise ValueError("a line of the head of the answer has no end")
        return line.rstrip(b"\r\n")

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for _ in range(_HEAD_LINES):
            line = self._line()
            if not line:
                return headers
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        raise ValueError(f"the head of the answer has more than {_HEAD_LINES} lines")


class _Connection:
    """One socket. `deadline` is by the monotonic clock."""

    __slots__ = ("deadline", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.deadline = 0.0

    def is_dropped(self) -> bool:
        """Whether the other side has closed it: an idle connection has nothing to read."""
        try:
            readable, _, _ = select.select([self.sock], [], [], 0)
        except (OSError, ValueError):
            # A descriptor that select cannot take; the call itself will tell.
            return self.sock.fileno() < 0
        return bool(readable)

    def abort(self) -> None:
        """Ends it under its reader. May be called from another thread."""
        with suppress(OSError, ValueError):
            # Not the method of an SSL socket: that one takes its state away under the reader.
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self.sock.close()


class ByteStream:
    """The body of an answer that goes on for as long as it likes."""

    def __init__(self, answer: _Answer, connection: _Connection, release: Callable[[], None]) -> None:
        self._answer = answer
        self._connection = connection
        self._release = release

    def read(self, idle_seconds: float) -> bytes:
        """The next bytes; none at the end. Raises ConnectionFailed when it breaks, or is silent for so long."""
        self._connection.deadline = time.monotonic() + idle_seconds
        try:
            piece = self._answer.read1(_PIECE_BYTES)
        except TimeoutError as cause:
            raise ConnectionFailed(f"the stream was silent for {idle_seconds:g} s") from cause
        except (OSError, ValueError) as cause:
            raise ConnectionFailed("the stream broke off") from cause
        return piece

    def close(self) -> None:
        self._answer.close()
        self._connection.close()
        self._release()


def retry_after_ms(header: str | None, now: datetime | None = None) -> float | None:
    """Milliseconds that a `Retry-After` header asks for; `None` where it says nothing.

    See RFC 9110, 10.2.3.
    """
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text) * 1000
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - (now or datetime.now(timezone.utc))).total_seconds() * 1000)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def refusal(status: int, problem: object, text: str = "", headers: Mapping[str, str] | None = None) -> ServiceError:
    """A refusal of the service, from the status and the body of its answer."""
    told: Mapping[str, object] = problem if isinstance(problem, dict) else {}
    return ServiceError(
        _text(told.get("message")) or text[:_MESSAGE_LIMIT_CHARACTERS] or f"HTTP {status}",
        code=_text(told.get("code")) or f"http_{status}",
        status=status,
        field=_text(told.get("field")),
        request_id=None if headers is None else headers.get("x-request-id"),
        retry_after_ms=None if headers is None else retry_after_ms(headers.get("retry-after")),
    )


def _query_text(value: QueryValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Http:
    """Connections to one service, kept alive between calls. Safe for threads; a fork begins with none."""

    def __init__(self, settings: Settings) -> None:
        url = urlsplit(settings.endpoint)
        self._secure = url.scheme == "https"
        self._host = url.hostname or ""
        self._port = url.port or (443 if self._secure else 80)
        self._prefix = quote(url.path.rstrip("/"), safe="/%:@!$&'()*+,;=-._~")
        host = f"[{self._host}]" if ":" in self._host else self._host
        self._head = (
            f"host: {host}{'' if url.port is None else f':{url.port}'}\r\nuser-agent: svc-python/{__version__}\r\n"
        )
        if settings.api_key is not None:
            self._head += f"authorization: Bearer {settings.api_key}\r\n"
        self._ssl: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()
        self._closed = False
        self._pid = os.getpid()

    def call(self, request: Request, signal: Signal | None = None) -> Any:
        """One call, one try. Returns the parsed body of a 2xx answer; `None` for an empty one.

        Raises ServiceError when the service refuses, ConnectionFailed when there is no answer that can be read.
        """
        with _Exchange(self, request, signal) as exchange:
            text = exchange.read_all()
            status = exchange.answer.status
            problem: object = None
            with suppress(ValueError, RecursionError):
                if text:
                    problem = _json.decode(text)
                    if 200 <= status <= 299:
                        return problem
            if not 200 <= status <= 299:
                raise refusal(status, problem, text.decode("utf-8", "replace"), exchange.answer.headers)
            if text:
                raise ConnectionFailed(f"{request.method} {request.path}: the answer is not JSON")
            return None

    def stream(self, request: Request, signal: Signal | None = None) -> ByteStream:
        """Opens a stream: its bytes, once it is known to be a 2xx answer."""
        exchange = _Exchange(self, request, signal)
        exchange.begin()
        try:
            status = exchange.answer.status
            if 200 <= status <= 299:
                return ByteStream(exchange.answer, exchange.connection, exchange.release)
            text = exchange.read_all()
            problem: object = None
            with suppress(ValueError, RecursionError):
                problem = _json.decode(text)
            raise refusal(status, problem, text.decode("utf-8", "replace"), exchange.answer.headers)
        except BaseException:
            exchange.drop()
            raise

    def close(self) -> None:
        """Lets go of the connections, and breaks off what is on its way."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for connection in idle:
            connection.close()
        for connection in busy:
            connection.abort()

    def bytes_of(self, request: Request) -> bytes:
        path = self._prefix + request.path
        if request.query is not None:
            query = urlencode({k: _query_text(v) for k, v in request.query.items() if v is not None})
            path += f"?{query}" if query else ""
        head = f"{request.method} {path} HTTP/1.1\r\n{self._head}accept: {request.accept}\r\n"
        for name, value in request.headers.items():
            head += f"{name}: {value}\r\n"
        payload = b""
        if request.body is not None:
            payload = request.body if isinstance(request.body, bytes) else _json.encode(request.body)
            head += f"content-type: application/json\r\ncontent-length: {len(payload)}\r\n"
        elif request.method != "GET":
            head += "content-length: 0\r\n"
        return head.encode("ascii") + b"\r\n" + payload

    def take(self, deadline: float) -> _Connection:
        """A connection that no one else uses. Raises ConnectionFailed, OSError."""
        if self._pid != os.getpid():
            self._forked()
        while True:
            with self._lock:
                if self._closed:
                    raise ConnectionFailed("the connections are closed")
                connection = self._idle.pop() if self._idle else None
                if connection is not None:
                    self._busy.add(connection)
            if connection is None:
                break
            if not connection.is_dropped():
                return connection
            self.give_up(connection)
        connection = self._connect(deadline)
        with self._lock:
            closed = self._closed
            self._busy.add(connection)
        if closed:
            self.give_up(connection)
            raise ConnectionFailed("the connections are closed")
        return connection

    def give_back(self, connection: _Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def give_up(self, connection: _Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
        connection.close()

    def _connect(self, deadline: float) -> _Connection:
        seconds = max(0.001, min(_CONNECT_SECONDS, deadline - time.monotonic()))
        sock = socket.create_connection((self._host, self._port), seconds)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._secure:
                if self._ssl is None:
                    self._ssl = ssl.create_default_context()
                sock = self._ssl.wrap_socket(sock, server_hostname=self._host)
        except BaseException:
            sock.close()
            raise
        return _Connection(sock)

    def _forked(self) -> None:
        """The connections, and the holder of the lock, are the parent's."""
        self._lock = threading.Lock()
        for connection in self._idle:
            connection.close()
        self._idle = []
        self._busy = set()
        self._pid = os.getpid()


class _Exchange:
    """One request and its answer."""

    def __init__(self, http_: Http, request: Request, signal: Signal | None) -> None:
        self._http = http_
        self._request = request
        self._signal = signal
        self._timeout = DEFAULT_TIMEOUT_SECONDS if request.timeout is None else request.timeout
        self._remove: Callable[[], None] = lambda: None
        self._over = False
        self.connection: _Connection
        self.answer: _Answer

    def __enter__(self) -> _Exchange:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        if self.answer.is_over and not self.answer.will_close:
            self.answer.close()
            self.release(keep=True)
        else:
            self.drop()

    def begin(self) -> None:
        """Sends the request and reads the head of the answer."""
        # What is not JSON is the caller's mistake, and no network has been touched.
        payload = self._http.bytes_of(self._request)
        deadline = time.monotonic() + self._timeout
        try:
            self._check()
            self.connection = self._http.take(deadline)
        except OSError as cause:
            raise self._failed(cause) from cause
        connection = self.connection
        connection.deadline = deadline
        if self._signal is not None:
            self._remove = self._signal.on_fire(connection.abort)
        try:
            connection.sock.settimeout(max(0.001, deadline - time.monotonic()))
            connection.sock.sendall(payload)
            self.answer = _Answer(connection, self._request.method)
            self.answer.begin()
        except (OSError, ValueError) as cause:
            self.drop()
            raise self._failed(cause) from cause
        except BaseException:
            self.drop()
            raise

    def read_all(self) -> bytes:
        """The body of the answer. Raises ConnectionFailed when it is late, broken off or too large."""
        pieces: list[bytes] = []
        size = 0
        try:
            while piece := self.answer.read1(_PIECE_BYTES):
                size += len(piece)
                if size > _ANSWER_LIMIT_BYTES:
                    raise ConnectionFailed(f"the answer is larger than {_ANSWER_LIMIT_BYTES} bytes")
                pieces.append(piece)
        except ConnectionFailed:
            raise
        except (OSError, ValueError) as cause:
            raise self._failed(cause) from cause
        return b"".join(pieces)

    def release(self, *, keep: bool = False) -> None:
        if self._over:
            return
        self._over = True
        self._remove()
        # One that was broken off while its answer came is not to be used again.
        if keep and not (self._signal is not None and self._signal.fired):
            self._http.give_back(self.connection)
        else:
            self._http.give_up(self.connection)

    def drop(self) -> None:
        with suppress(AttributeError, OSError):
            self.answer.close()
        self.release()

    def _check(self) -> None:
        if self._signal is not None and self._signal.fired:
            raise ConnectionFailed(f"{self._request.method} {self._request.path} was broken off")

    def _failed(self, cause: BaseException) -> ConnectionFailed:
        if isinstance(cause, ConnectionFailed):
            return cause
        what = f"{self._request.method} {self._request.path}"
        if self._signal is not None and self._signal.fired:
            return ConnectionFailed(f"{what} was broken off")
        if isinstance(cause, TimeoutError):
            return ConnectionFailed(f"{what} got no answer within {self._timeout:g} s")
        return ConnectionFailed(f"{what} got no answer: {cause or type(cause).__name__}")
