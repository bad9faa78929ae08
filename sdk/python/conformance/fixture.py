"""Joins the conformance kit to this library, through its public interface alone. See sdk/conformance/README.md."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import svc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Json = dict[str, Any]
_output = threading.Lock()


def emit(line: Mapping[str, Any]) -> None:
    text = json.dumps(line, default=plain) + "\n"
    with _output:
        sys.stdout.write(text)
        sys.stdout.flush()


class _Model(Protocol):
    def to_json(self) -> Json: ...


def plain(value: Any) -> Any:
    """The library's own value in wire form."""
    if hasattr(value, "to_json"):
        model: _Model = value
        return model.to_json()
    raise TypeError(f"{type(value).__name__} is not JSON")


def error_of(error: BaseException) -> Json:
    told: Json = {"message": str(error)}
    if isinstance(error, svc.ServiceError):
        members = ("status", "code", "field", "request_id", "retry_after_ms")
        told |= {name: getattr(error, name) for name in members if getattr(error, name) is not None}
        return told | {"type": "ServiceError"}
    if isinstance(error, svc.RunFailed):
        return told | {"type": "RunFailed", "run": error.run.to_json()}
    names: list[tuple[type[BaseException], str]] = [
        (svc.ConnectionFailed, "ConnectionError"),
        (svc.IncompatibleServer, "IncompatibleServer"),
        (asyncio.CancelledError, "Cancelled"),
        (TypeError, "InvalidArgument"),
        (ValueError, "InvalidArgument"),
        (NotImplementedError, "Unsupported"),
    ]
    return told | {"type": next((name for kind, name in names if isinstance(error, kind)), "Unexpected")}


class Worlds:
    """The objects of one process."""

    def __init__(self) -> None:
        self.code: Json = {}
        self.tracing: Json = {}
        self.calling: Json = {}
        self.made: svc.Instrumentation | None = None
        self.caller: svc.AsyncClient | None = None
        self.workers: dict[str, svc.Worker] = {}
        self.released: set[str] = set()

    def configure(self, given: Json) -> Json:
        shared = ("endpoint", "api_key", "project")
        names = (*shared, "environment", "service_name", "service_version", "sample", "enabled")
        self.code = {name: given[name] for name in names if name in given}
        self.calling = {name: given[name] for name in shared if name in given}
        self.tracing = {n: given[n] for n in ("max_queued", "max_queued_bytes", "batch_size") if n in given}
        if "delay_ms" in given:
            self.tracing["delay"] = given["delay_ms"] / 1000
        for name in ("timeout", "stream_idle"):
            if f"{name}_ms" in given:
                self.calling[name] = given[f"{name}_ms"] / 1000
        if "retry" in given:
            retry = given["retry"]
            policy = svc.RetryPolicy(retry["attempts"], retry["base_ms"] / 1000, retry["max_ms"] / 1000)
            self.calling["retry"] = self.tracing["retry"] = policy
        return {"problems": list(self.tracer.problems)}

    @property
    def tracer(self) -> svc.Instrumentation:
        if self.made is None:
            self.made = svc.Instrumentation(**self.code, **self.tracing, bridge=otel_bridge())
            logger = logging.getLogger("app")
            logger.setLevel(logging.DEBUG)
            logger.propagate = False
            logger.addHandler(svc.LogHandler(self.made))
        return self.made

    @property
    def client(self) -> svc.AsyncClient:
        if self.caller is None:
            self.caller = svc.AsyncClient(**self.calling)
        return self.caller


def otel_bridge() -> svc.ContextBridge | None:
    try:
        from svc import otel  # noqa: PLC0415  It is an extra.
    except ImportError:
        return None
    return otel.Bridge()


worlds = Worlds()
main_jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
under_way: dict[int, asyncio.Task[None]] = {}

# --- Instrumentation


def given(w: Json, *names: str) -> Json:
    return {name: w[name] for name in names if name in w}


async def span(w: Json) -> Json:
    around = given(w, "kind", "input", "model", "provider", "entity_name", "attributes", "correlation", "traceparent")
    out: Json = {}
    try:
        with worlds.tracer.span(w["name"], **around) as entered:
            out = {"trace_id": entered.trace_id, "span_id": entered.span_id, "traceparent": entered.traceparent}
            entered.set(**given(w, "output", "usage"))
            for event in w.get("events", []):
                entered.event(event["name"], event.get("attributes"))
            inside = run_inside(w.get("inside", []))
            # A task has a copy of the context that it was made in.
            out["inside"] = await (asyncio.create_task(inside) if w.get("hop") else inside)
            if "error" in w:
                raise RuntimeError(w["error"])
    except RuntimeError as error:
        out["raised"] = str(error)
    return out


async def run_inside(requests: list[Json]) -> list[Any]:
    return [await signals[each["do"]](each.get("with", {})) for each in requests]


async def otel_span(w: Json) -> Json:
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  It is an extra.

    with TracerProvider().get_tracer("fixture").start_as_current_span(w["name"]) as active:
        context = active.get_span_context()
        inside = await run_inside(w.get("inside", []))
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}", "inside": inside}


def metric(w: Json) -> None:
    more = given(w, "unit", "attributes")
    if w["type"] == "histogram":
        worlds.tracer.histogram(w["name"], **given(w, "count", "sum", "bounds", "bucket_counts"), **more)
    elif w["type"] == "gauge":
        worlds.tracer.gauge(w["name"], w["value"], **more)
    else:
        worlds.tracer.counter(w["name"], w["value"], **more)


class Throws:
    def model_dump(self, mode: str) -> object:
        raise RuntimeError(f"no {mode} of this")


def hostile(w: Json) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    values: Json = {
        "cycle": cycle,
        "nan": float("nan"),
        "huge": "x" * 8 * 1024 * 1024,
        "bad_text": "\ud800",
        "throws": Throws(),
    }
    with worlds.tracer.span(w["name"], input=values[w["what"]]):
        pass


def burst(w: Json) -> None:
    payload = "x" * w["payload_bytes"] if "payload_bytes" in w else None
    prefix = w.get("prefix", "burst-")

    def record(count: int, title: str) -> None:
        for i in range(count):
            worlds.tracer.span(f"{title}{i}", input=payload).end()

    if "threads" not in w:
        record(w["count"], prefix)
        return
    share = w["count"] // w["threads"]
    threads = [threading.Thread(target=record, args=(share, f"{prefix}{i}-")) for i in range(w["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fork(w: Json) -> None:
    child = os.fork()
    if child == 0:
        worlds.tracer.span(w["name"]).end()
        worlds.tracer.close()
        os._exit(0)
    os.waitpid(child, 0)


def log_native(w: Json) -> None:
    levels = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
    logging.getLogger("app").log(levels[w["level"]], "%s", w["message"])


def now(call: Callable[[Json], Any]) -> Callable[[Json], Any]:
    """A verb that neither waits nor answers more than it gave back."""

    async def verb(w: Json) -> Any:
        result = call(w)
        return {} if result is None else result

    return verb


def apart(call: Callable[[Json], Any]) -> Callable[[Json], Any]:
    """A verb that waits, and must not hold up the others."""

    async def verb(w: Json) -> Any:
        result = await asyncio.to_thread(call, w)
        return {} if result is None else result

    return verb


signals: dict[str, Callable[[Json], Any]] = {
    "span": span,
    "otel.span": otel_span,
    "log": now(lambda w: worlds.tracer.log(**w)),
    "metric": now(metric),
    "score": now(lambda w: worlds.tracer.score(**{"min": None, "max": None, **w})),
    "feedback": now(lambda w: worlds.tracer.feedback(**w)),
    "aspect_note": now(lambda w: worlds.tracer.aspect_note(**w)),
    "hostile": now(hostile),
    "burst": now(burst),
    "log.native": now(log_native),
    "counters": now(lambda _: vars(worlds.tracer.counters())),
    "fork": apart(fork),
    "flush": apart(lambda w: {"flushed": worlds.tracer.flush(w.get("timeout_ms", 5000) / 1000)}),
    "close": apart(lambda w: worlds.tracer.close(w.get("timeout_ms", 5000) / 1000)),
}

# --- Client


def take(w: Json, *names: str) -> list[Any]:
    """These members in order, out of the rest."""
    return [w.pop(name) for name in names if name in w]


async def start(w: Json) -> Any:
    return (await worlds.client.start(*take(w, "definition_id", "input"), **w)).run


async def wait(w: Json) -> Json:
    return {"output": await worlds.client.wait(w["run_id"])}


async def watch(w: Json) -> Json:
    seqs: list[int] = []
    call = w.pop("call")
    limit = w.pop("limit", None)
    try:
        async for entry in worlds.client.watch(**w):
            seqs.append(entry.seq)
            emit({"event": "watch.entry", "call": call, "seq": entry.seq, "kind": entry.kind})
            if len(seqs) == limit:
                break
    except asyncio.CancelledError:
        pass
    return {"seqs": seqs}


async def schedule(verb: str, w: Json) -> Any:
    if verb == "create":
        return await worlds.client.create_schedule(svc.ScheduleInput(id=w["id"], **w["schedule"]))
    return await worlds.client.replace_schedule(w["id"], svc.ChangedSchedule(**w["schedule"]))


async def definitions(w: Json, *, check: bool) -> Json:
    client = worlds.client
    found = await (client.check_definitions if check else client.store_definitions)(w["definitions"])
    return {"definitions": list(found)}


async def restart(w: Json) -> Any:
    return (await worlds.client.restart(**w)).run


client_verbs: dict[str, Callable[[Json], Any]] = {
    "start": start,
    "watch": watch,
    "wait": wait,
    "get": lambda w: worlds.client.get_run(**w),
    "cause": lambda w: worlds.client.step_cause(**w),
    "list": lambda w: worlds.client.list_runs(**w),
    "restart": restart,
    "store_definitions": lambda w: definitions(w, check=False),
    "check_definitions": lambda w: definitions(w, check=True),
    "pause_definition": lambda w: worlds.client.pause_definition(*take(w, "id"), **w),
    "resume_definition": lambda w: worlds.client.resume_definition(*take(w, "id"), **w),
    "create_schedule": lambda w: schedule("create", w),
    "replace_schedule": lambda w: schedule("replace", w),
    "close": lambda _: worlds.client.aclose(),
}


async def client_verb(verb: str, w: Json) -> Any:
    if verb in client_verbs:
        result = await client_verbs[verb](w)
    else:
        # The others are called as the methods, with the members of their one id or of their body.
        method = getattr(worlds.client, verb, None)
        if method is None:
            raise NotImplementedError(verb)
        result = await method(*take(w, "id"), **w)
    return {} if result is None and verb in ("close", "delete_schedule") else result


# --- Worker


async def scripted_body(step: svc.Step, given_input: Any) -> Any:
    lease_id = step.lease.lease_id
    started = {"run_id": step.run_id, "step_id": step.step_id, "attempt": step.attempt}
    emit({"event": "body.started", "lease_id": lease_id, **started})
    try:
        if not isinstance(given_input, dict) or not {"script", "attempts"} & set(given_input):
            return given_input
        attempts = given_input.get("attempts") or [given_input["script"]]
        for action in attempts[min(step.attempt, len(attempts)) - 1]:
            ((verb, value),) = action.items()
            if verb == "return":
                return value
            if verb == "return_not_json":
                return object()
            if verb == "return_bytes":
                return "x" * value
            await act(step, verb, value)
        return None
    except asyncio.CancelledError:
        cancelled(step)
        raise
    finally:
        emit({"event": "body.ended", "lease_id": lease_id})


def cancelled(step: svc.Step) -> None:
    reason = None if step.interruption is None else step.interruption.reason
    emit({"event": "body.cancelled", "lease_id": step.lease.lease_id, "reason": reason})


async def act(step: svc.Step, verb: str, value: Any) -> None:
    if verb == "sleep_ms":
        await asyncio.sleep(value / 1000)
    elif verb == "deaf_ms":
        until = time.monotonic() + value / 1000
        while (left := until - time.monotonic()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                cancelled(step)
    elif verb == "block_ms":
        time.sleep(value / 1000)  # noqa: ASYNC251  That is what it is for.
    elif verb == "await":
        # Another thread says so.
        while value not in worlds.released:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    elif verb == "emit":
        emit({"event": "body.emit", "lease_id": step.lease.lease_id, "value": value})
    elif verb == "emit_context":
        emit({"event": "body.context", **context_of(step)})
    elif verb == "beat":
        step.heartbeat(value)
    elif verb == "patch":
        step.patch_state(value)
    elif verb == "usage":
        step.set_usage(*(value if isinstance(value, list) else [value]))
    elif verb == "span":
        with step.span(value["name"], **given(value, "kind", "input", "model", "provider", "entity_name")) as inner:
            inner.set(**given(value, "output", "usage", "attributes"))
    elif verb == "log":
        step.log(value["severity"], value["message"], value.get("attributes"))
    elif verb == "score":
        step.score(**value)
    elif verb == "feedback":
        step.feedback(**value)
    elif verb == "throw":
        throw(value)


class Panic(BaseException):
    """What unwinds past a handler of `Exception`."""


def throw(what: Json) -> None:
    message = what.get("message", "")
    if what["as"] == "retryable":
        raise svc.Retryable(message, **given(what, "retry_after_ms"))
    if what["as"] == "failure":
        error_class = {"error_class": what["class"]} if "class" in what else {}
        raise svc.StepFailure(message, **error_class, **given(what, "code", "retry_after_ms"))
    raise (Panic if what["as"] == "panic" else RuntimeError)(message)


def context_of(step: svc.Step) -> Json:
    names = ("run_id", "project", "definition_id", "definition_version", "step_id", "visit", "attempt", "state")
    context: Json = {"lease_id": step.lease.lease_id, **{name: getattr(step, name) for name in names}}
    context |= {"step_key": step.key, "correlation": step.correlation, "traceparent": step.traceparent}
    context["steps"] = {name: {"output": output} for name, output in step.prior.items()}
    if step.last_details is not None:
        context["last_details"] = step.last_details
    if step.deadline_at is not None:
        context["deadline_at"] = step.deadline_at.isoformat().replace("+00:00", "Z")
    return context


class WorkerLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        level = "warn" if record.levelno == logging.WARNING else record.levelname.lower()
        emit({"event": "worker.log", "level": level, "message": record.getMessage()})


async def worker_run(w: Json) -> Json:
    workflows: list[svc.Workflow] = []
    for definition in w["definitions"]:
        workflow = svc.Workflow(definition)
        for step in definition["steps"]:
            if step.get("kind") == "task":
                workflow.step(step["id"])(scripted_body)
        workflows.append(workflow)
    options = given(w, "worker_id", "concurrency", "version", "run_id")
    for name in ("claim_wait", "grace", "settle"):
        if f"{name}_ms" in w:
            options[name] = w[f"{name}_ms"] / 1000
    worker = svc.Worker(*workflows, **worlds.code, **options, logger=worker_logger, instrumentation=worlds.tracer)
    worlds.workers[w.get("name", "w")] = worker
    if not w.get("signals"):
        await asyncio.to_thread(worker.run)
        return {}
    # Signals are taken by the main thread alone.
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        try:
            worker.run()
        except Exception as error:
            loop.call_soon_threadsafe(ended.set_exception, error)
        else:
            loop.call_soon_threadsafe(ended.set_result, None)

    main_jobs.put(run)
    await ended
    return {}


worker_logger = logging.getLogger("fixture.worker")
worker_logger.setLevel(logging.DEBUG)
worker_logger.propagate = False
worker_logger.addHandler(WorkerLog())


def leave(code: int) -> None:
    for worker in worlds.workers.values():
        worker.stop()
    if worlds.caller is not None:
        asyncio.run(worlds.caller.aclose())
    worlds.tracer.close()
    sys.exit(code)


HELLO: Json = {
    "language": "python",
    "library": "svc-sdk",
    "version": svc.__version__,
    "capabilities": ["threads", "log_bridge", "blocking_bodies", "int64", "batch"],
}
HELLO["capabilities"] += (["fork"] if hasattr(os, "fork") else []) + (["otel_bridge"] if otel_bridge() else [])
verbs: dict[str, Callable[[Json], Any]] = {
    **signals,
    "hello": now(lambda _: HELLO),
    "configure": now(worlds.configure),
    "exit": now(lambda w: main_jobs.put(lambda: leave(w.get("code", 0)))),
    "worker.run": worker_run,
    "worker.stop": apart(lambda w: worlds.workers[w.get("name", "w")].stop()),
    "release": now(lambda w: worlds.released.add(w["name"])),
}


async def serve(request: Json) -> None:
    identity, verb, w = request["id"], request["do"], request.get("with", {})
    try:
        if verb == "cancel_call":
            under_way[w["call"]].cancel()
            result: Any = {}
        elif verb.startswith("client."):
            name = verb.removeprefix("client.")
            result = await client_verb(name, {**w, "call": identity} if name == "watch" else w)
        elif verb in verbs:
            result = await verbs[verb](w)
        else:
            raise NotImplementedError(verb)
    except BaseException as error:
        emit({"id": identity, "error": error_of(error)})
    else:
        if verb != "exit":
            emit({"id": identity, "ok": result})
    finally:
        under_way.pop(identity, None)


def read(loop: asyncio.AbstractEventLoop) -> None:
    def begin(request: Json) -> None:
        # Each in a context of its own, as the requests of a server are.
        under_way[request["id"]] = contextvars.Context().run(loop.create_task, serve(request))

    for line in sys.stdin:
        loop.call_soon_threadsafe(begin, json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    the_loop = asyncio.new_event_loop()
    threading.Thread(target=the_loop.run_forever, daemon=True).start()
    threading.Thread(target=read, args=(the_loop,), daemon=True).start()
    while True:
        main_jobs.get()()
