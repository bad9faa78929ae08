"""What recording a span costs its thread, and what a stalled service costs the process.

``python3 sdk/python/bench/spans.py``. The first figure is the time from the start of a span with an input, an output
and usage to behind its end, in microseconds: of the wall clock (aim: 40 at the median), and of this thread's processor
time, which other processes do not lengthen. The second offers spans of 4 KiB, at most 100,000 a second, to a service
that takes connections and never answers: how much the process grew (aim: 64 MB), and whether the lost are the oldest.
"""

from __future__ import annotations

import json
import resource
import socket
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import svc

SPANS = 50_000
OFFERED = 300_000
RATE = 100_000


def listening() -> tuple[socket.socket, str]:
    """A service that takes connections and what is sent, and never answers."""
    server = socket.create_server(("127.0.0.1", 0), backlog=64)

    def take() -> None:
        held: list[socket.socket] = []
        while True:
            connection, _ = server.accept()
            held.append(connection)
            threading.Thread(target=swallow, args=(connection,), daemon=True).start()

    def swallow(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            pass

    threading.Thread(target=take, daemon=True).start()
    return server, f"http://127.0.0.1:{server.getsockname()[1]}"


def record(tracer: svc.Instrumentation, number: int, question: str = "What is it all about?") -> None:
    with tracer.span(
        "draft", kind="model_generation", model="gpt-4o-mini", input=question, attributes={"n": number}
    ) as span:
        span.set(output="42", usage={"input_tokens": 12, "output_tokens": 1})


def resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def cost(url: str) -> dict[str, float]:
    tracer = svc.Instrumentation(endpoint=url)
    for i in range(1000):
        record(tracer, i)
    taken: list[int] = []
    cpu = time.thread_time_ns()
    for i in range(SPANS):
        before = time.perf_counter_ns()
        record(tracer, i)
        taken.append(time.perf_counter_ns() - before)
    cpu = time.thread_time_ns() - cpu
    tracer.close(0)
    quantiles = statistics.quantiles(taken, n=100)
    return {
        "median_us": round(quantiles[49] / 1000, 1),
        "p99_us": round(quantiles[98] / 1000, 1),
        "cpu_us": round(cpu / SPANS / 1000, 1),
    }


def stalled(url: str) -> dict[str, float | bool]:
    tracer = svc.Instrumentation(endpoint=url)
    record(tracer, -1)
    time.sleep(1)
    question = "x" * 4096
    before = resident_mb()
    most = before
    started = time.perf_counter()
    for i in range(OFFERED):
        record(tracer, i, question)
        if i % 10_000 == 0:
            most = max(most, resident_mb())
            ahead = i / RATE - (time.perf_counter() - started)
            if ahead > 0:
                time.sleep(ahead)
    seconds = time.perf_counter() - started
    counters = tracer.counters()
    queued = [json.loads(text)["attributes"]["n"] for _, text in tracer._queue._line().items]  # noqa: SLF001
    tracer.close(0)
    return {
        "offered_per_s": round(OFFERED / seconds),
        "dropped": counters.dropped,
        "only_the_oldest_are_lost": queued == list(range(OFFERED - len(queued), OFFERED)),
        "grew_mb": round(most - before, 1),
    }


if __name__ == "__main__":
    the_server, the_url = listening()
    print(json.dumps({"stalled": stalled(the_url), "record": cost(the_url)}, indent=2))
