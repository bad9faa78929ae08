from __future__ import annotations

import socket
import threading
import time
import unittest
from contextlib import suppress
from typing import TYPE_CHECKING

import svc
from svc._http import Http, Request
from svc._settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

OK = b"HTTP/1.1 200 OK\r\n"


class Answers(unittest.TestCase):
    def answering(self, *answers: Sequence[bytes]) -> Http:
        """Connections to a server that answers each request by the next of these, a piece at a time."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        rest = list(answers)
        self.connections = 0

        def serve(connection: socket.socket) -> None:
            # Whoever has read enough hangs up.
            with connection, suppress(OSError):
                while rest and connection.recv(65536):
                    for piece in rest.pop(0):
                        connection.sendall(piece)
                        time.sleep(0.001)

        def run() -> None:
            while rest:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                self.connections += 1
                serve(connection)

        threading.Thread(target=run, daemon=True).start()
        http = Http(read_settings(endpoint=f"http://127.0.0.1:{server.getsockname()[1]}", env={}))
        self.addCleanup(http.close)
        return http

    def ask(self, http: Http, timeout: float = 20) -> object:
        return http.call(Request("GET", "/", timeout=timeout))

    def test_a_body_is_read_by_its_length_by_its_chunks_or_to_the_end(self) -> None:
        for answer in (
            [OK + b"Content-Length: 9\r\n\r\n", b'{"a":', b"[1]}"],
            [OK + b"content-length:9\n\n" + b'{"a":[1]}'],
            [
                OK + b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r",
                b'\n{"a":\r\n',
                b"4\r\n[1]}\r\n0\r\nTrailer: x\r\n\r\n",
            ],
            [b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"content-length: 9\r\n\r\n" + b'{"a":[1]}'],
            [OK + b"\r\n", b'{"a":[1]}'],
        ):
            with self.subTest(answer):
                self.assertEqual(self.ask(self.answering(answer)), {"a": [1]})

    def test_an_empty_body_is_none(self) -> None:
        for head in (b"HTTP/1.1 204 No Content\r\n\r\n", OK + b"content-length: 0\r\n\r\n"):
            self.assertIsNone(self.ask(self.answering([head])))

    def test_a_connection_is_used_again_until_one_side_closes_it(self) -> None:
        kept = [OK + b"content-length: 1\r\n\r\n1"]
        last = [OK + b"content-length: 1\r\nconnection: close\r\n\r\n1"]
        http = self.answering(kept, kept, last)
        for _ in range(3):
            self.assertEqual(self.ask(http), 1)
        self.assertEqual(self.connections, 1)

    def test_what_is_no_answer_is_a_failed_connection(self) -> None:
        for answer in (
            [b"SSH-2.0-OpenSSH\r\n"],
            [b"HTTP/1.1 OK\r\n\r\n"],
            [OK + b"content-length: -1\r\n\r\n"],
            [OK + b"content-length: 9\r\n\r\n{"],
            [OK + b"transfer-encoding: chunked\r\n\r\n5\r\n{"],
            [OK + b"transfer-encoding: chunked\r\n\r\nx\r\n{"],
            [OK + b"a: b\r\n" * 300 + b"\r\n"],
            [OK + b"a: " + b"b" * 70_000],
            [OK + b"content-length: 1\r\n\r\n{"],
        ):
            with self.subTest(answer[0][:60]), self.assertRaises(svc.ConnectionFailed):
                self.ask(self.answering(answer))

    def test_an_answer_that_drips_ends_at_its_time_however_slowly(self) -> None:
        dripping = [OK + b"content-length: 100000\r\n\r\n", *[b"1"] * 100_000]
        with self.assertRaisesRegex(svc.ConnectionFailed, "no answer within 0.2 s"):
            self.ask(self.answering(dripping), timeout=0.2)


if __name__ == "__main__":
    unittest.main()
