"""What the library costs: ``bench.py spans <url>``, or ``bench.py runs`` with a plan. See bench/sdk/README.md."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import svc

WARM_UP = 10_000
SPANS = 50_000
OFFERED = 300_000
RATE = 100_000


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
    for i in range(WARM_UP):
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


def stalled(url: str) -> dict[str, float]:
    tracer = svc.Instrumentation(endpoint=url)
    record(tracer, -1)
    time.sleep(1)
    question = "x" * 4096
    before = resident_mb()
    most = before
    started = time.perf_counter()
    for i in range(1, OFFERED + 1):
        record(tracer, i, question)
        if i % 1000 == 0:
            most = max(most, resident_mb())
            ahead = i / RATE - (time.perf_counter() - started)
            if ahead > 0:
                time.sleep(ahead)
    seconds = time.perf_counter() - started
    dropped = tracer.counters().dropped
    tracer.close(0)
    return {
        "offered_per_s": round(OFFERED / seconds),
        "dropped": dropped,
        "grew_mb": round(most - before, 1),
    }


class Count:
    """Steps that bodies ran; several threads add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.steps = 0

    def add(self, _step: svc.Step) -> dict[str, bool]:
        with self._lock:
            self.steps += 1
        return {"ok": True}


def runs() -> dict[str, float]:
    plan = json.load(sys.stdin)
    in_flight: int = plan["inFlight"]
    count = Count()
    over = threading.Event()
    faults: list[str] = []
    with svc.Client(endpoint=plan["url"]) as client:
        definition = client.get_definition(plan["definition"]).latest
        workflow = svc.Workflow(definition)
        for step in definition["steps"]:
            workflow.step(step["id"])(count.add)
        worker = svc.Worker(workflow, endpoint=plan["url"], concurrency=in_flight)
        serving = threading.Thread(target=worker.run)
        serving.start()

        def drive(number: int) -> None:
            while not over.is_set():
                run = client.start(plan["definition"], {"n": number}, wait_ms=60_000).run
                if run.status != "succeeded":
                    faults.append(f"run {run.run_id} is {run.status}")
                    return

        drivers = [threading.Thread(target=drive, args=(number,)) for number in range(in_flight)]
        for driver in drivers:
            driver.start()
        time.sleep(plan["warmUpSeconds"])
        print("measuring", flush=True)
        cpu, began, steps = time.process_time(), time.perf_counter(), count.steps
        time.sleep(plan["seconds"])
        print("measured", flush=True)
        cpu, seconds, steps = time.process_time() - cpu, time.perf_counter() - began, count.steps - steps
        over.set()
        for driver in drivers:
            driver.join()
        worker.stop()
        serving.join()
    if faults:
        sys.exit("; ".join(faults))
    return {"steps": steps, "seconds": seconds, "cpu_us": cpu * 1e6}


if __name__ == "__main__":
    if sys.argv[1] == "spans":
        print(json.dumps({"stalled": stalled(sys.argv[2]), "record": cost(sys.argv[2])}))
    else:
        print(json.dumps(runs()))
