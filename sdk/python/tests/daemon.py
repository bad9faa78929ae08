"""Starts the real daemon of this repository as its own process, on a free port of the loopback address."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "bin" / "svc.mjs"


def node() -> str:
    named = os.environ.get("SVC_TEST_NODE")
    local = ROOT / "node_modules" / ".bin" / "node"
    return named or (str(local) if local.exists() else shutil.which("node") or "node")


def lasting_port() -> int:
    """Below those that the system gives to a program that asks for any, so that it is still free after a restart."""
    for _ in range(1000):
        port = random.randrange(20_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")


class Daemon:
    """One daemon; the same folder and port again is a restart."""

    def __init__(self, *flags: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="svc-python-")
        self.port = lasting_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._flags = flags
        self.process: subprocess.Popen[str] | None = None
        self.lines: list[str] = []
        self.start()

    def start(self) -> None:
        files = ["--data", f"{self.folder}/svc.db", "--runs-data", f"{self.folder}/svc-runs.db"]
        self.process = subprocess.Popen(
            [node(), str(PROGRAM), "--port", str(self.port), *files, *self._flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**{k: v for k, v in os.environ.items() if not k.startswith("SVC")}, "NODE_ENV": "production"},
        )
        listens = threading.Event()
        output = self.process.stdout
        assert output is not None

        def read() -> None:
            for line in output:
                self.lines.append(line)
                if re.search(r'"address":"http:', line):
                    listens.set()
            listens.set()

        threading.Thread(target=read, daemon=True).start()
        listens.wait(120)
        if self.process.poll() is not None:
            raise AssertionError(f"the daemon ended:\n{''.join(self.lines)}")

    def kill(self) -> None:
        """As a power cut does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
