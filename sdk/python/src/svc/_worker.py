from __future__ import annotations

import logging
import os
import queue
import secrets
import signal
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from . import _json
from ._body_loop import BodyLoop
from ._daemon_pool import DaemonPool
from ._errors import ConnectionFailed, ServiceError, SvcError
from ._follow import is_over
from ._http import Http, Request
from ._instrumentation import Instrumentation
from ._lease_calls import LeaseHost
from ._retry import UNTIL_ANSWERED, asked_wait, backoff, is_retryable, with_retries
from ._serve_lease import ServedLease
from ._settings import read_settings
from ._signal import Signal
from ._spec_version import SpecCheck
from ._step_calls import StepCalls
from ._timers import Timers
from ._wire import Lease, Registration, RunDetail, WireError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from ._workflow import Workflow

# What one claim may ask for, and what one worker may say of itself. See spec/openapi.yaml, `Claim` and `NewWorker`.
_CLAIM_LIMIT = 1000
_CONCURRENCY_LIMIT = 100_000
_CLAIM_SLACK_SECONDS = 15.0
"""A claim that is not answered so long after its wait is over, is lost."""
_WARN_AFTER_FAILURES = 3


def _as_text(refusal: ServiceError) -> ServiceError:
    """A refusal of the worker itself, with each fault of a definition on a line of its own."""
    head, colon, faults = refusal.message.partition(": ")
    if refusal.code != "definition_invalid" or not colon:
        return refusal
    return ServiceError(
        f"{head}:\n  " + faults.replace("; ", "\n  "),
        code=refusal.code,
        status=refusal.status,
        field=refusal.field,
        request_id=refusal.request_id,
        retry_after_ms=refusal.retry_after_ms,
    )


class Worker:
    """Registers its workflows, claims steps, runs their bodies, and reports what came of them.

    It takes no more steps than it has free slots. `def` bodies run in threads, `async def` bodies on an event loop of
    their own; claims, heartbeats and reports never share a thread with them.

    >>> Worker(refund, concurrency=10).run()
    """

    def __init__(
        self,
        *workflows: Workflow,
        endpoint: str | None = None,
        api_key: str | None = None,
        project: str | None = None,
        environment: str | None = None,
        service_name: str | None = None,
        service_version: str | None = None,
        sample: float | None = None,
        enabled: bool | None = None,
        concurrency: int = 10,
        worker_id: str | None = None,
        name: str | None = None,
        version: str | None = None,
        run_id: str | None = None,
        claim_wait: float = 20.0,
        grace: float = 30.0,
        settle: float = 5.0,
        instrumentation: Instrumentation | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        """Several versions of one workflow may stand side by side through a deploy.

        `concurrency` is how many bodies may run at once. `worker_id` must be unique among workers; it is made of host,
        process and a random part by default. `run_id` serves this run alone, and ends with it. `claim_wait` is how
        many seconds a claim may wait for work, `grace` how long bodies may go on after `stop`, and `settle` how long a
        body may take to end once it is cancelled because of that. Spans of bodies go to an `instrumentation` of its
        own, unless one is given. Raises ValueError on what cannot be used.
        """
        settings = read_settings(
            endpoint=endpoint,
            api_key=api_key,
            project=project,
            environment=environment,
            service_name=service_name,
            service_version=service_version,
            sample=sample,
            enabled=enabled,
        )
        if settings.problems:
            raise ValueError("; ".join(settings.problems))
        if not 1 <= concurrency <= _CONCURRENCY_LIMIT:
            raise ValueError(f"concurrency is a whole number from 1 to {_CONCURRENCY_LIMIT}, not {concurrency}")
        self._workflows: dict[tuple[str, int], Workflow] = {}
        for workflow in workflows:
            identity = (workflow.id, workflow.version)
            if identity in self._workflows:
                raise ValueError(f"workflow {workflow.id} version {workflow.version} is given twice")
            without = workflow.without_body()
            if without:
                raise ValueError(
                    f"workflow {workflow.id} version {workflow.version} has no body for: {', '.join(without)}"
                )
            self._workflows[identity] = workflow
        self.worker_id = worker_id or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._settings = settings
        self._concurrency = concurrency
        self._name = name
        self._version = version
        self._run_id = run_id
        self._claim_wait = claim_wait
        self._grace = grace
        self._settle = settle
        self._logger = logger or logging.getLogger("svc.worker")
        self._owns_instrumentation = instrumentation is None
        self.instrumentation = instrumentation or Instrumentation(
            endpoint=endpoint,
            api_key=api_key,
            project=project,
            environment=environment,
            service_name=service_name,
            service_version=service_version,
            sample=sample,
            enabled=enabled,
        )
        self._http = Http(settings)
        self._spec = SpecCheck(self._http)
        self._stopping = Signal()
        self._force = Signal()
        self._ended = threading.Event()
        self._ran = False
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._held: set[ServedLease] = set()
        self._host: LeaseHost | None = None
        self._error: BaseException | None = None
        # What a handler of a signal may use: it runs in the middle of whatever the main thread does, locks held.
        self._inbox: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._pool = DaemonPool("svc-step", spare=concurrency)
        self._loop = BodyLoop()
        self._timers = Timers("svc-hearts")
        self._calls = StepCalls(
            self._http,
            self.worker_id,
            run_id=run_id,
            claims=lambda: not self._stopping.fired,
            on_leases=self._serve_all,
            pool=self._pool,
        )

    @property
    def active(self) -> int:
        """Steps that it holds now."""
        with self._lock:
            return len(self._held)

    # --- Its life

    def run(self, *, stop_on_signals: bool = True) -> None:
        """Serves until `stop`, a signal, or the end of its one run. Once.

        In the main thread SIGTERM and SIGINT stop it, unless `stop_on_signals` is false; a second one does what it
        does without a worker. Raises ServiceError when the service refuses the worker itself (a bad key, a bad
        definition, a `definition_conflict`), and IncompatibleServer.
        """
        with self._lock:
            if self._ran:
                raise RuntimeError("a worker runs once: make another")
            self._ran = True
        restore = self._take_signals() if stop_on_signals else []
        threading.Thread(target=self._claim_steps, name="svc-claims", daemon=True).start()
        try:
            self._inbox.get()
        finally:
            for number, before in restore:
                signal.signal(number, before)
            try:
                self._drain()
            finally:
                # Also when a second signal breaks it off.
                self._ended.set()
        if self._error is not None:
            raise self._error

    def stop(self, *, wait: bool = True) -> None:
        """Claims nothing more, lets bodies finish for `grace`, then cancels them. Returns when all is over.

        May be called from any thread, also before `run`; with `wait=False` it returns at once.
        """
        self._stopping.fire()
        self._inbox.put("stop")
        with self._lock:
            ran = self._ran
        if wait and ran:
            self._ended.wait()

    def _take_signals(self) -> list[tuple[int, Any]]:
        if threading.current_thread() is not threading.main_thread():
            return []
        taken: list[tuple[int, Any]] = []

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            for number, before in taken:
                signal.signal(number, before)
            self._inbox.put("signal")

        for number in (signal.SIGTERM, signal.SIGINT):
            taken.append((number, signal.getsignal(number)))
            signal.signal(number, on_signal)
        return list(taken)

    def _drain(self) -> None:
        """Lets bodies finish, then cancels them, then leaves behind those that do not listen."""
        self._stopping.fire()
        if not self._wait_until_idle(self._grace):
            self._force.fire()
            # Twice: once for the bodies, once for the reports of those that did end.
            self._wait_until_idle(2 * self._settle)
        # What is still on its way is cut.
        self._http.close()
        self._calls.close()
        self._wait_until_idle(1.0)
        self._timers.close()
        self._loop.close()
        if self._owns_instrumentation:
            self.instrumentation.close()
        else:
            self.instrumentation.flush()

    def _wait_until_idle(self, seconds: float) -> bool:
        with self._lock:
            return self._changed.wait_for(lambda: not self._held, seconds)

    # --- Leases

    def _serve_all(self, leases: Sequence[Any]) -> None:
        # Also of a worker that was stopped meanwhile: they are its own, and their bodies have the time of bodies then.
        host = self._host
        if host is None:
            return
        served: list[ServedLease] = []
        for lease in leases:
            try:
                served.append(self._served(host, Lease.from_json(lease)))
            except WireError as error:
                # It lapses, and comes again.
                self._logger.error("an offer cannot be read: %s", error)  # noqa: TRY400
        with self._lock:
            self._held.update(served)
        for each in served:
            each.begin()

    def _served(self, host: LeaseHost, lease: Lease) -> ServedLease:
        workflow = self._workflows.get((lease.definition_id, lease.definition_version))
        return ServedLease(host, lease, None if workflow is None else workflow.body_of(lease.step_id))

    def _on_lease_end(self, served: ServedLease) -> None:
        with self._lock:
            self._held.discard(served)
            # Whoever waits, waits for one of these.
            if len(self._held) in (0, self._concurrency - 1):
                self._changed.notify_all()

    def _on_run_end(self, run_id: str) -> None:
        # The one run that this worker serves is over.
        if self._run_id == run_id:
            self._stopping.fire()
            self._inbox.put("run ended")

    # --- Claims

    def _register(self) -> Registration:
        self._spec.ensure(self._stopping)
        members = {
            "worker_id": self.worker_id,
            "definitions": [workflow.definition for workflow in self._workflows.values()],
            "name": self._name,
            "version": self._version,
            "project": self._settings.project,
            "concurrency": self._concurrency,
        }
        request = Request(
            "POST",
            "/v1/api/workers/register",
            body={name: value for name, value in members.items() if value is not None},
        )
        try:
            answer = with_retries(UNTIL_ANSWERED, lambda: self._http.call(request, self._stopping), self._stopping)
            registration = Registration.from_json(answer)
        except ServiceError as refusal:
            raise _as_text(refusal) from None
        except WireError as error:
            raise ConnectionFailed(f"the answer to a registration cannot be read: {error}") from error
        served = ", ".join(f"{name}@{version}" for name, version in self._workflows)
        project = "" if self._settings.project is None else f", project {self._settings.project}"
        url = urlsplit(self._settings.endpoint)
        self._logger.info(
            "%s is registered at %s://%s%s and serves %s, up to %d steps at once",
            self.worker_id,
            url.scheme,
            url.netloc.rpartition("@")[2],
            project,
            served,
            self._concurrency,
        )
        self._host = LeaseHost(
            calls=self._calls,
            worker_id=self.worker_id,
            worker_body=_json.encode({"worker_id": self.worker_id}),
            heartbeat_seconds=registration.heartbeat_ms / 1000,
            lease_ttl_seconds=registration.lease_ttl_ms / 1000,
            instrumentation=self.instrumentation,
            logger=self._logger,
            loop=self._loop,
            timers=self._timers,
            force=self._force,
            settle_seconds=self._settle,
            threads=self._pool.submit,
            on_run_end=self._on_run_end,
            on_end=self._on_lease_end,
        )
        return registration

    def _claim_steps(self) -> None:
        try:
            self._claim_loop()
        except BaseException as error:
            # While it stops, a claim that was broken off is no fault.
            if not self._stopping.fired:
                self._error = error
        finally:
            self._inbox.put("ended")

    def _claim_loop(self) -> None:
        self._register()
        failures = 0
        while not self._stopping.fired:
            with self._lock:
                if len(self._held) >= self._concurrency:
                    # Looked at again when a slot is free; and now and then, for who stops.
                    self._changed.wait(0.2)
            # Slots that are freed together are filled by one claim.
            self._calls.motion.wait()
            with self._lock:
                free = self._concurrency - len(self._held)
            if free <= 0:
                continue
            try:
                leases = self._claim(free)
                failures = 0
                self._calls.motion.begin()
                try:
                    self._serve_all(leases)
                finally:
                    self._calls.motion.end()
                if not leases and self._run_id is not None and self._has_ended(self._run_id):
                    return
            except SvcError as error:
                if self._stopping.fired:
                    return
                # With one run to serve, it may be the run that is not there.
                forgotten = (
                    isinstance(error, ServiceError)
                    and error.status == 404
                    and (self._run_id is None or error.field == "worker_id")
                )
                if not forgotten and not is_retryable(error):
                    raise
                failures += 1
                if failures == _WARN_AFTER_FAILURES:
                    self._logger.warning("the service does not answer claims: %s", error)
                self._stopping.wait(max(asked_wait(error), backoff(UNTIL_ANSWERED, failures)))
                # A service that was away may be another one, with an older file.
                if not self._stopping.fired:
                    self._register()

    def _claim(self, free: int) -> Sequence[Any]:
        body: dict[str, Any] = {
            "worker_id": self.worker_id,
            "max": min(_CLAIM_LIMIT, free),
            "wait_ms": round(self._claim_wait * 1000),
        }
        if self._run_id is not None:
            body["run_id"] = self._run_id
        timeout = self._claim_wait + _CLAIM_SLACK_SECONDS
        # Hanging up gives back what was on its way to us.
        answer = self._http.call(Request("POST", "/v1/api/steps/claim", body=body, timeout=timeout), self._stopping)
        leases = answer.get("leases") if isinstance(answer, dict) else None
        if not isinstance(leases, list):
            raise ConnectionFailed("the answer to a claim lacks `leases`")
        return leases

    def _has_ended(self, run_id: str) -> bool:
        """Whether the one run is over.

        A claim on a run that has ended is answered as one that found nothing. A key that may serve steps need not be
        one that may read runs: then the worker goes on until it is stopped.
        """
        request = Request("GET", f"/v1/api/runs/{quote(run_id, safe='')}")
        try:
            with suppress(WireError):
                return is_over(RunDetail.from_json(self._http.call(request, self._stopping)).status)
        except ServiceError as error:
            if error.status not in (401, 403):
                raise
        return False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
