from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._calls import Calls, decode, segment
from ._errors import ConnectionFailed, RunFailed
from ._follow import WAIT_SLACK_SECONDS, end_of, watch
from ._http import QueryValue, Request
from ._retry import RetryPolicy
from ._run_handle import RunHandle
from ._settings import read_settings
from ._spec_version import SpecCheck
from ._typed import read_as
from ._wire import (
    ABSENT,
    Bulk,
    ChangedSchedule,
    DefinitionOverview,
    DefinitionState,
    DefinitionVersion,
    EventOutcome,
    Feedback,
    GetStepCauseResponse,
    ListDefinitionsResponse,
    ListFeedbackResponse,
    ListParkedEventsResponse,
    ListRunEventsResponse,
    ListRunsResponse,
    ListSchedulesResponse,
    ListScoresResponse,
    ListTracesResponse,
    ListWorkersResponse,
    Model,
    Run,
    RunDetail,
    RunFilter,
    Schedule,
    ScheduleInput,
    Score,
    StartedBulk,
    StoredDefinition,
    TraceDetail,
)
from ._workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ._signal import Signal
    from ._wire import (
        AuthorKind,
        BulkAction,
        CorrelationInput,
        FeedbackKind,
        JournalEntry,
        RunCorrelation,
        RunStatus,
        ScoreSource,
        WaitingOn,
    )

T = TypeVar("T")
M = TypeVar("M", bound=Model)

CALLER_POLICY = RetryPolicy(attempts=5, base=0.2, max=10.0)


def _members(**members: object) -> dict[str, object]:
    """A body without the members that were not given."""
    return {name: value for name, value in members.items() if value is not None and value is not ABSENT}


class Client:
    """Talks to the service on behalf of who starts, follows and steers runs. Safe for threads.

    Every call is tried again on 429, on a 5xx that says "later" and when there is no answer; that is safe, because
    starts and events carry a key of their own. Calls raise `ServiceError` when the service refuses and
    `ConnectionFailed` when it does not answer.
    """

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        api_key: str | None = None,
        project: str | None = None,
        timeout: float = 30.0,
        stream_idle: float = 50.0,
        retry: RetryPolicy = CALLER_POLICY,
    ) -> None:
        """What code says wins over `SVC_ENDPOINT`, `SVC_API_KEY` and `SVC_PROJECT`; nothing is called yet.

        `timeout` is seconds for one try of one call. A stream that is silent for `stream_idle` seconds is replaced: the
        service writes a comment every 15 s, and three of them were missed. Raises ValueError on a setting that cannot
        be used.
        """
        # Samples nothing: a bad `SVC_SAMPLE` is no business of a client.
        settings = read_settings(endpoint=endpoint, api_key=api_key, project=project, sample=1)
        if settings.problems:
            raise ValueError("; ".join(settings.problems))
        self._calls = Calls(settings, timeout=timeout, stream_idle=stream_idle, retry=retry)
        self._spec = SpecCheck(self._calls.http)

    @property
    def closing(self) -> Signal:
        """Fires when the client is closed."""
        return self._calls.closing

    def _in(self, project: str | None) -> str | None:
        return self._calls.in_project(project)

    # --- Runs

    def start(
        self,
        workflow: str | Workflow,
        input: object,  # noqa: A002  The word of the field.
        *,
        project: str | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
        correlation: RunCorrelation | Mapping[str, Any] | None = None,
        wait_ms: int | None = None,
        start_at: str | None = None,
        priority: int | None = None,
    ) -> RunHandle:
        """Starts a run of a workflow, or of the definition with that id, in its highest version unless one is named.

        The same `idempotency_key` again gives the run that it started first; without one, a new one makes a retry of
        this call safe. `wait_ms`, up to 60,000, is how long the call waits for the end of the run, which may still be
        open in its answer. `start_at` is RFC 3339, or from now as `+10m`. Steps of a higher `priority`, from -100 to
        100, are offered first. Raises IncompatibleServer where the service has another major `spec_version`.
        """
        self._spec.ensure(self._calls.signal())
        body = _members(
            definition_id=workflow.id if isinstance(workflow, Workflow) else workflow,
            project=self._in(project),
            definition_version=version,
            idempotency_key=str(uuid.uuid4()) if idempotency_key is None else idempotency_key,
            correlation=correlation,
            wait_ms=wait_ms,
            start_at=start_at,
            priority=priority,
        )
        timeout = None if wait_ms is None else max(self._calls.timeout, wait_ms / 1000 + WAIT_SLACK_SECONDS)
        return RunHandle(self, self._calls.post(Run, "/v1/api/runs", {**body, "input": input}, timeout=timeout))

    def attach(self, run_id: str) -> RunHandle:
        """A handle of a run that was started elsewhere."""
        return RunHandle(self, self.get_run(run_id))

    def get_run(self, run_id: str) -> RunDetail:
        """The run with its attempts, timers, waits and children."""
        return self._calls.get(RunDetail, f"/v1/api/runs/{segment(run_id)}")

    def list_runs(
        self,
        *,
        project: str | None = None,
        status: RunStatus | None = None,
        definition_id: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        parent_run_id: str | None = None,
        waiting_on: WaitingOn | None = None,
        correlation: Mapping[str, str] | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> ListRunsResponse:
        """Runs, newest-updated first. `correlation` holds other members of it: `{"request_id": "r-1"}`.

        `from_` and `to` are RFC 3339, or relative as `-1h`.
        """
        query: dict[str, QueryValue] = {
            "project": self._in(project),
            "status": status,
            "definition_id": definition_id,
            "user_id": user_id,
            "session_id": session_id,
            "parent_run_id": parent_run_id,
            "waiting_on": waiting_on,
            "from": from_,
            "to": to,
            "limit": limit,
            "cursor": cursor,
        }
        for name, value in (correlation or {}).items():
            query[f"correlation.{name}"] = value
        return self._calls.get(ListRunsResponse, "/v1/api/runs", **query)

    def journal(self, run_id: str, *, after: int | None = None, limit: int | None = None) -> ListRunEventsResponse:
        """A page of the run's journal, behind the sequence number `after`."""
        path = f"/v1/api/runs/{segment(run_id)}/events"
        return self._calls.get(ListRunEventsResponse, path, after=after, limit=limit)

    def step_cause(self, run_id: str, step_id: str) -> GetStepCauseResponse:
        """Why a step was attempted: the journal entries that led to it, oldest last."""
        return self._calls.get(GetStepCauseResponse, f"/v1/api/runs/{segment(run_id)}/steps/{segment(step_id)}/cause")

    def signal(
        self, run_id: str, event: str, payload: Mapping[str, Any], *, event_id: str | None = None
    ) -> EventOutcome:
        """Gives an event to one run's own open wait.

        Raises ServiceError `conflict` when it has none, `run_terminal` when it has ended.
        """
        body = {"event": event, "payload": payload, "event_id": event_id or str(uuid.uuid4())}
        return self._calls.post(EventOutcome, f"/v1/api/runs/{segment(run_id)}/signal", body)

    def publish(
        self,
        event: str,
        key: str,
        payload: Mapping[str, Any],
        *,
        event_id: str | None = None,
        project: str | None = None,
    ) -> EventOutcome:
        """Publishes an event to whichever run waits for it by name and key; it is held for 24 hours when none does.

        The same `event_id` again changes nothing; without one, a new one makes a retry of this call safe.
        """
        identity = event_id or str(uuid.uuid4())
        body = _members(project=self._in(project), event=event, key=key, payload=payload, event_id=identity)
        return self._calls.post(EventOutcome, "/v1/api/events", body)

    def cancel(self, run_id: str, reason: str | None = None) -> Run:
        """Ends a run and its children. A run that has ended is returned as it is."""
        return self._calls.post(Run, f"/v1/api/runs/{segment(run_id)}/cancel", _members(reason=reason))

    def pause(self, run_id: str, reason: str | None = None) -> Run:
        """Pauses a run and its children: what a worker holds goes on, and nothing new is offered or starts."""
        return self._calls.post(Run, f"/v1/api/runs/{segment(run_id)}/pause", _members(reason=reason))

    def resume(self, run_id: str, reason: str | None = None) -> Run:
        """Resumes a paused run: what fell due or came meanwhile acts at once."""
        return self._calls.post(Run, f"/v1/api/runs/{segment(run_id)}/resume", _members(reason=reason))

    def restart(
        self,
        run_id: str,
        *,
        from_step: str | None = None,
        visit: int | None = None,
        definition_version: int | None = None,
        input: object = ABSENT,  # noqa: A002  The word of the field.
        state_patch: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> RunHandle:
        """Takes up an ended run as a new run, with the state and outputs of that moment. The ended run stays as it is.

        It begins at the step that failed, or at `from_step`, in its last visit or the one named. `input` stands in
        place of that of the ended run, and the top-level keys of `state_patch` replace those of its state.
        """
        body = _members(
            from_step=from_step,
            visit=visit,
            definition_version=definition_version,
            state_patch=state_patch,
            idempotency_key=idempotency_key or str(uuid.uuid4()),
        )
        if input is not ABSENT:
            body["input"] = input
        return RunHandle(self, self._calls.post(Run, f"/v1/api/runs/{segment(run_id)}/restart", body))

    # --- Following a run

    def watch(self, run_id: str, *, after: int = -1) -> Iterator[JournalEntry]:
        """Follows the journal of a run: every entry once, in order, across broken connections and restarts.

        Begins behind the sequence number `after`, and ends when the run has ended, or when the client is closed.
        """
        return watch(self._calls, run_id, after)

    @overload
    def wait(self, run_id: str, output: type[T], *, timeout: float | None = None) -> T: ...
    @overload
    def wait(self, run_id: str, *, timeout: float | None = None) -> Any: ...
    def wait(self, run_id: str, output: Any = Any, *, timeout: float | None = None) -> Any:
        """Waits for the end of a run, for so many seconds at most. Returns its output, read as the type that is given.

        Raises RunFailed, with the run, when it did not succeed, and TimeoutError when the time is over.
        """
        run = end_of(self._calls, run_id, timeout)
        if run.status != "succeeded":
            raise RunFailed(run)
        value = None if run.output is ABSENT else run.output
        return read_as(value, output, "output")

    # --- Definitions

    def store_definitions(
        self, definitions: Sequence[Mapping[str, Any] | Workflow], *, project: str | None = None
    ) -> Sequence[StoredDefinition]:
        """Stores definitions without a worker, all or none: runs can be started before the first worker is there.

        Raises ServiceError `definition_invalid`, or `definition_conflict` where a version has other content.
        """
        self._spec.ensure(self._calls.signal())
        body = _members(definitions=_plain_definitions(definitions), project=self._in(project))
        answer = self._calls.call(Request("POST", "/v1/api/definitions", body=body))
        return _list(StoredDefinition, answer, "definitions")

    def check_definitions(
        self, definitions: Sequence[Mapping[str, Any] | Workflow], *, project: str | None = None
    ) -> list[dict[str, Any]]:
        """Stores nothing, and says of each definition what is wrong with it: `{"id", "version", "faults"}`."""
        body = _members(definitions=_plain_definitions(definitions), project=self._in(project))
        answer = self._calls.call(Request("POST", "/v1/api/definitions", {"check": True}, body))
        try:
            return list(answer["definitions"])
        except (TypeError, KeyError) as cause:
            raise ConnectionFailed("the answer lacks `definitions`") from cause

    def list_definitions(
        self, *, project: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> ListDefinitionsResponse:
        """Those of the project, where one is given or set, and those of the service."""
        return self._calls.get(
            ListDefinitionsResponse, "/v1/api/definitions", project=self._in(project), limit=limit, cursor=cursor
        )

    def get_definition(self, definition_id: str, *, project: str | None = None) -> DefinitionOverview:
        """The project's own where it owns one of that id, else the service's."""
        path = f"/v1/api/definitions/{segment(definition_id)}"
        return self._calls.get(DefinitionOverview, path, project=self._in(project))

    def get_definition_version(
        self, definition_id: str, version: int, *, project: str | None = None
    ) -> DefinitionVersion:
        """One version, with its content."""
        path = f"/v1/api/definitions/{segment(definition_id)}/versions/{version}"
        return self._calls.get(DefinitionVersion, path, project=self._in(project))

    def pause_definition(
        self, definition_id: str, *, reason: str | None = None, project: str | None = None
    ) -> DefinitionState:
        """Pauses a definition in all its versions: starts stay queued, and no step of its runs is offered."""
        body = _members(project=self._in(project), reason=reason)
        return self._calls.post(DefinitionState, f"/v1/api/definitions/{segment(definition_id)}/pause", body)

    def resume_definition(
        self, definition_id: str, *, reason: str | None = None, project: str | None = None
    ) -> DefinitionState:
        """Resumes a paused definition. Runs that were paused by name stay paused."""
        body = _members(project=self._in(project), reason=reason)
        return self._calls.post(DefinitionState, f"/v1/api/definitions/{segment(definition_id)}/resume", body)

    # --- Schedules

    def list_schedules(
        self, *, project: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> ListSchedulesResponse:
        """By project and id, without their inputs."""
        return self._calls.get(
            ListSchedulesResponse, "/v1/api/schedules", project=self._in(project), limit=limit, cursor=cursor
        )

    def get_schedule(self, schedule_id: str, *, project: str | None = None) -> Schedule:
        """With its next ten times, and what became of the last ten."""
        return self._calls.get(Schedule, f"/v1/api/schedules/{segment(schedule_id)}", project=self._in(project))

    def create_schedule(self, schedule: ScheduleInput) -> Schedule:
        """Makes a schedule. One that is there with the same content is the answer.

        Raises ServiceError `conflict` where it is there with other content.
        """
        body = schedule.to_json()
        if self._calls.project is not None:
            body.setdefault("project", self._calls.project)
        return self._calls.post(Schedule, "/v1/api/schedules", body)

    def replace_schedule(self, schedule_id: str, schedule: ChangedSchedule, *, project: str | None = None) -> Schedule:
        """Replaces all that a schedule was made of; what is left out gets its default."""
        path = f"/v1/api/schedules/{segment(schedule_id)}"
        request = Request("PUT", path, {"project": self._in(project)}, schedule)
        return decode(Schedule, self._calls.call(request))

    def delete_schedule(self, schedule_id: str, *, project: str | None = None) -> None:
        """Deletes a schedule; runs that it started go on. `not_found` also where an earlier try was not answered."""
        path = f"/v1/api/schedules/{segment(schedule_id)}"
        self._calls.call(Request("DELETE", path, {"project": self._in(project)}))

    def _move_schedule(self, verb: str, schedule_id: str, project: str | None) -> Request:
        return Request("POST", f"/v1/api/schedules/{segment(schedule_id)}/{verb}", {"project": self._in(project)})

    def pause_schedule(self, schedule_id: str, *, project: str | None = None) -> Schedule:
        """Its times are missed from now on; a trigger still works."""
        return decode(Schedule, self._calls.call(self._move_schedule("pause", schedule_id, project)))

    def resume_schedule(self, schedule_id: str, *, project: str | None = None) -> Schedule:
        """Goes on; the times that were missed follow its `catch_up`."""
        return decode(Schedule, self._calls.call(self._move_schedule("resume", schedule_id, project)))

    def trigger_schedule(self, schedule_id: str, *, project: str | None = None) -> Schedule:
        """Fires once, now: see the first of `firings`. Not tried again, as a lost try may have fired."""
        return decode(Schedule, self._calls.call_once(self._move_schedule("trigger", schedule_id, project)))

    # --- Many runs at once

    def _bulk(
        self,
        action: BulkAction,
        filter: RunFilter | Mapping[str, Any],  # noqa: A002
        *,
        dry_run: bool,
        reason: str | None,
        event: str | None,
        payload: Mapping[str, Any] | None,
        idempotency_key: str | None = None,
    ) -> Request:
        which = filter.to_json() if isinstance(filter, RunFilter) else dict(filter)
        # An empty filter stays empty, which the service refuses: it would mean every run.
        if which and self._calls.project is not None:
            which.setdefault("project", self._calls.project)
        body = _members(
            action=action,
            dry_run=dry_run,
            reason=reason,
            event=event,
            payload=payload,
            idempotency_key=idempotency_key,
        )
        return Request("POST", "/v1/api/runs/bulk", body={**body, "filter": which})

    def count_bulk(
        self,
        action: BulkAction,
        filter: RunFilter | Mapping[str, Any],  # noqa: A002  The word of the field.
        *,
        reason: str | None = None,
        event: str | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> StartedBulk:
        """How many runs match, and ten of them; nothing is begun."""
        request = self._bulk(action, filter, dry_run=True, reason=reason, event=event, payload=payload)
        return decode(StartedBulk, self._calls.call(request))

    def start_bulk(
        self,
        action: BulkAction,
        filter: RunFilter | Mapping[str, Any],  # noqa: A002  The word of the field.
        *,
        reason: str | None = None,
        event: str | None = None,
        payload: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> StartedBulk:
        """Does something with all runs that match, in slices behind this call; no `bulk_id`: no run matched.

        The same `idempotency_key` again gives the action that it began first, for as long as that is kept; without
        one, a new one makes a retry of this call safe.
        """
        request = self._bulk(
            action,
            filter,
            dry_run=False,
            reason=reason,
            event=event,
            payload=payload,
            idempotency_key=str(uuid.uuid4()) if idempotency_key is None else idempotency_key,
        )
        return decode(StartedBulk, self._calls.call(request))

    def get_bulk(self, bulk_id: str) -> Bulk:
        """How far it is: `count`, `done`, `refused`."""
        return self._calls.get(Bulk, f"/v1/api/runs/bulk/{segment(bulk_id)}")

    def stop_bulk(self, bulk_id: str) -> Bulk:
        """Ends it; what was done stays done."""
        return decode(Bulk, self._calls.call(Request("DELETE", f"/v1/api/runs/bulk/{segment(bulk_id)}")))

    # --- Traces, scores, feedback

    def get_trace(self, trace_id: str, *, include: str | None = None) -> TraceDetail:
        """A trace with its spans; `include` is a comma list of `scores` and `feedback`, or `all`."""
        return self._calls.get(TraceDetail, f"/v1/api/traces/{segment(trace_id)}", include=include)

    def list_traces(self, /, *, project: str | None = None, **query: QueryValue) -> ListTracesResponse:
        """Traces; `query` holds the parameters of `GET /v1/api/traces`, such as `q`, `has_score`, `sort`, `limit`."""
        return self._calls.get(ListTracesResponse, "/v1/api/traces", **{"project": self._in(project), **query})

    def score(
        self,
        scorer_id: str,
        value: float,
        *,
        min: float,  # noqa: A002  The words of the fields.
        max: float,  # noqa: A002
        trace_id: str | None = None,
        span_id: str | None = None,
        score_id: str | None = None,
        scorer_version: str | None = None,
        label: str | None = None,
        reason: str | None = None,
        source: ScoreSource = "live",
        experiment_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        correlation: CorrelationInput | Mapping[str, Any] | None = None,
    ) -> Score:
        """Stores one score now, and returns it as it was stored.

        A `score_id` makes a retry of this call safe; one is made where none is given.
        """
        body = _members(
            score_id=score_id or str(uuid.uuid4()),
            trace_id=trace_id,
            span_id=span_id,
            scorer_id=scorer_id,
            scorer_version=scorer_version,
            value=value,
            min=min,
            max=max,
            label=label,
            reason=reason,
            source=source,
            experiment_id=experiment_id,
            metadata=metadata,
            correlation=self._correlation(correlation),
        )
        return self._calls.post(Score, "/v1/api/scores", body)

    def feedback(
        self,
        kind: FeedbackKind,
        value: str | float,
        *,
        trace_id: str | None = None,
        span_id: str | None = None,
        feedback_id: str | None = None,
        comment: str | None = None,
        author_kind: AuthorKind | None = None,
        author_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        correlation: CorrelationInput | Mapping[str, Any] | None = None,
    ) -> Feedback:
        """Stores one judgement now, and returns it as it was stored. A `feedback_id` makes a retry safe."""
        body = _members(
            feedback_id=feedback_id or str(uuid.uuid4()),
            trace_id=trace_id,
            span_id=span_id,
            kind=kind,
            value=value,
            comment=comment,
            author_kind=author_kind,
            author_id=author_id,
            metadata=metadata,
            correlation=self._correlation(correlation),
        )
        return self._calls.post(Feedback, "/v1/api/feedback", body)

    def _correlation(self, given: CorrelationInput | Mapping[str, Any] | None) -> object:
        members = given.to_json() if isinstance(given, Model) else dict(given or {})
        if self._calls.project is not None:
            members.setdefault("project", self._calls.project)
        return members or None

    def list_scores(self, /, *, project: str | None = None, **query: QueryValue) -> ListScoresResponse:
        """Scores, newest first; `query` holds the parameters of `GET /v1/api/scores`."""
        return self._calls.get(ListScoresResponse, "/v1/api/scores", **{"project": self._in(project), **query})

    def list_feedback(self, trace_id: str) -> ListFeedbackResponse:
        """Judgements on a trace."""
        return self._calls.get(ListFeedbackResponse, "/v1/api/feedback", trace_id=trace_id)

    # --- Other reads

    def list_workers(
        self, *, project: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> ListWorkersResponse:
        """Those limited to the project, where one is given or set, and those limited to none."""
        query: dict[str, QueryValue] = {"project": self._in(project), "limit": limit, "cursor": cursor}
        return self._calls.get(ListWorkersResponse, "/v1/api/workers", **query)

    def list_parked_events(
        self, *, project: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> ListParkedEventsResponse:
        """Events that no run has taken yet."""
        return self._calls.get(
            ListParkedEventsResponse, "/v1/api/events", project=self._in(project), limit=limit, cursor=cursor
        )

    def read(self, path: str, query: Mapping[str, QueryValue] | None = None) -> Any:
        """A read of the query API that has no method here: `read("/v1/api/sessions", {"limit": 10})`."""
        return self._calls.call(Request("GET", path, query))

    # --- Its life

    def close(self) -> None:
        """Lets go of the connections; what is on its way is broken off."""
        self._calls.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _list(model: type[M], answer: object, member: str) -> Sequence[M]:
    items = answer.get(member) if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise ConnectionFailed(f"the answer lacks `{member}`")
    return tuple(decode(model, item) for item in items)


def _plain_definitions(definitions: Sequence[Mapping[str, Any] | Workflow]) -> list[Mapping[str, Any]]:
    return [each.definition if isinstance(each, Workflow) else each for each in definitions]
