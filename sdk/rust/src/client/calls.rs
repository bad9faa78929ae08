use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

use super::{written, Client, Deliver, Run, Start};
use crate::error::Error;
use crate::http::{decode, escape, Request};
use crate::random;
use crate::wire::{
    self, Bulk, BulkInput, ChangedSchedule, CorrelationInput, DefinitionOverview, DefinitionState, DefinitionVersion,
    DeleteScheduleResponse, Feedback, FeedbackInput, GetStepCauseResponse, ListDefinitionsResponse,
    ListFeedbackResponse, ListParkedEventsResponse, ListRunEventsResponse, ListRunsResponse, ListSchedulesResponse,
    ListScoresResponse, ListTracesResponse, ListWorkersResponse, Object, RestartRun, RunDetail, RunFilter, Schedule,
    ScheduleInput, Score, ScoreInput, StartedBulk, StoredDefinition, TraceDetail,
};

/// Which page of a list: how many items, and behind which cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// How many items at most; the service's default where there is none.
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl Page {
    fn of(&self, request: Request) -> Request {
        request.with("limit", self.limit).with("cursor", self.cursor.as_deref())
    }
}

/// The members of a model as parameters of a query; those of an object within it as `outer.inner`.
fn with_members(mut request: Request, prefix: &str, model: &Value) -> Request {
    for (name, value) in model.as_object().into_iter().flatten() {
        let name = format!("{prefix}{name}");
        request = match value {
            Value::Object(_) => with_members(request, &format!("{name}."), value),
            Value::String(text) => request.with(&name, Some(text)),
            other => request.with(&name, Some(other)),
        };
    }
    request
}

fn reasoned(reason: Option<&str>) -> Object {
    reason.map(|reason| ("reason".to_owned(), reason.into())).into_iter().collect()
}

fn run_path(run_id: &str, rest: &str) -> String {
    format!("/v1/api/runs/{}{rest}", escape(run_id))
}

fn schedule_path(id: &str, rest: &str) -> String {
    format!("/v1/api/schedules/{}{rest}", escape(id))
}

/// Starts, reads and steers runs.
///
/// # Errors
///
/// Each call fails with [`Error::Service`] when the service refuses, and with [`Error::Connection`] without an answer.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// A start of a run of the definition with that id, to be awaited. Its output is read as `T`.
    ///
    /// Fails with [`Error::IncompatibleServer`] where the service has another major `spec_version`.
    pub fn start<T>(&self, definition_id: &str, input: &(impl Serialize + ?Sized)) -> Start<T> {
        Start::new(self.clone(), definition_id, input)
    }

    /// A handle of a run that was started elsewhere.
    pub async fn attach<T>(&self, run_id: &str) -> Result<Run<T>, Error> {
        Ok(Run::new(self.clone(), self.call(Request::get(run_path(run_id, ""))).await?))
    }

    /// The run with its attempts, timers, waits and children.
    pub async fn get_run(&self, run_id: &str) -> Result<RunDetail, Error> {
        self.call(Request::get(run_path(run_id, ""))).await
    }

    /// Runs that match, newest-updated first.
    pub async fn list_runs(&self, filter: &RunFilter, page: &Page) -> Result<ListRunsResponse, Error> {
        let filter = RunFilter { project: self.project(filter.project.clone()), ..filter.clone() };
        let filter = serde_json::to_value(filter).map_err(|cause| Error::not_json("the filter", &cause))?;
        self.call(page.of(with_members(Request::get("/v1/api/runs"), "", &filter))).await
    }

    /// A page of the run's journal, behind the sequence number `after`.
    pub async fn journal(
        &self,
        run_id: &str,
        after: Option<i64>,
        limit: Option<u32>,
    ) -> Result<ListRunEventsResponse, Error> {
        self.call(Request::get(run_path(run_id, "/events")).with("after", after).with("limit", limit)).await
    }

    /// Why a step was attempted: the journal entries that led to it, oldest last.
    pub async fn step_cause(&self, run_id: &str, step_id: &str) -> Result<GetStepCauseResponse, Error> {
        self.call(Request::get(run_path(run_id, &format!("/steps/{}/cause", escape(step_id))))).await
    }

    /// Gives an event to one run's own open wait, to be awaited.
    ///
    /// Refused with `conflict` when it has none, with `run_terminal` when it has ended.
    pub fn signal(&self, run_id: &str, event: &str, payload: &(impl Serialize + ?Sized)) -> Deliver {
        Deliver::to_run(self.clone(), run_id, event, payload)
    }

    /// Publishes an event to whichever run waits for it by name and key, to be awaited; it is held for 24 hours when
    /// none does.
    pub fn publish(&self, event: &str, key: &str, payload: &(impl Serialize + ?Sized)) -> Deliver {
        Deliver::by_key(self.clone(), event, key, payload)
    }

    /// Ends a run and its children. A run that has ended is given as it is.
    pub async fn cancel(&self, run_id: &str, reason: Option<&str>) -> Result<wire::Run, Error> {
        self.post(run_path(run_id, "/cancel"), &reasoned(reason)).await
    }

    /// Pauses a run and its children: what a worker holds goes on, and nothing new is offered or starts.
    pub async fn pause(&self, run_id: &str, reason: Option<&str>) -> Result<wire::Run, Error> {
        self.post(run_path(run_id, "/pause"), &reasoned(reason)).await
    }

    /// Resumes a paused run: what fell due or came meanwhile acts at once.
    pub async fn resume(&self, run_id: &str, reason: Option<&str>) -> Result<wire::Run, Error> {
        self.post(run_path(run_id, "/resume"), &reasoned(reason)).await
    }

    /// Takes up an ended run as a new run, with the state and outputs of that moment. The ended run stays as it is.
    ///
    /// An `idempotency_key` is made where none is given, so that a retry of this call is safe.
    pub async fn restart<T>(&self, run_id: &str, how: RestartRun) -> Result<Run<T>, Error> {
        let key = how.idempotency_key.clone().unwrap_or_else(random::uuid);
        let how = RestartRun { idempotency_key: Some(key), ..how };
        Ok(Run::new(self.clone(), self.post(run_path(run_id, "/restart"), &how).await?))
    }

    async fn post<T: DeserializeOwned>(&self, path: impl Into<String>, body: &impl Serialize) -> Result<T, Error> {
        self.call(Request::post(path, written("the body", body)?)).await
    }
}

/// Definitions, schedules and actions on many runs.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// Stores definitions without a worker, all or none: runs can be started before the first worker is there.
    ///
    /// Refused with `definition_invalid`, or with `definition_conflict` where a version has other content.
    pub async fn store_definitions(&self, definitions: &[Value]) -> Result<Vec<StoredDefinition>, Error> {
        self.ensure_compatible().await?;
        let mut answer: Object = self.post("/v1/api/definitions", &self.definitions_body(definitions)).await?;
        listed(&mut answer)
    }

    /// Stores nothing, and says of each definition what is wrong with it: `{"id", "version", "faults"}`.
    pub async fn check_definitions(&self, definitions: &[Value]) -> Result<Vec<Value>, Error> {
        let body = written("the definitions", &self.definitions_body(definitions))?;
        let mut answer: Object =
            self.call(Request::post("/v1/api/definitions", body).with("check", Some(true))).await?;
        listed(&mut answer)
    }

    fn definitions_body(&self, definitions: &[Value]) -> Object {
        let mut body = Object::from_iter([("definitions".to_owned(), definitions.into())]);
        if let Some(project) = self.project(None) {
            body.insert("project".to_owned(), project.into());
        }
        body
    }

    /// Those of the project, where one is set, and those of the service.
    pub async fn list_definitions(&self, page: &Page) -> Result<ListDefinitionsResponse, Error> {
        self.call(page.of(self.in_project(Request::get("/v1/api/definitions")))).await
    }

    /// The project's own where it owns one of that id, else the service's.
    pub async fn get_definition(&self, id: &str) -> Result<DefinitionOverview, Error> {
        self.call(self.in_project(Request::get(format!("/v1/api/definitions/{}", escape(id))))).await
    }

    /// One version, with its content.
    pub async fn get_definition_version(&self, id: &str, version: i64) -> Result<DefinitionVersion, Error> {
        let path = format!("/v1/api/definitions/{}/versions/{version}", escape(id));
        self.call(self.in_project(Request::get(path))).await
    }

    /// Pauses a definition in all its versions: starts stay queued, and no step of its runs is offered.
    pub async fn pause_definition(&self, id: &str, reason: Option<&str>) -> Result<DefinitionState, Error> {
        self.move_definition("pause", id, reason).await
    }

    /// Resumes a paused definition. Runs that were paused by name stay paused.
    pub async fn resume_definition(&self, id: &str, reason: Option<&str>) -> Result<DefinitionState, Error> {
        self.move_definition("resume", id, reason).await
    }

    async fn move_definition(&self, verb: &str, id: &str, reason: Option<&str>) -> Result<DefinitionState, Error> {
        let mut body = reasoned(reason);
        if let Some(project) = self.project(None) {
            body.insert("project".to_owned(), project.into());
        }
        self.post(format!("/v1/api/definitions/{}/{verb}", escape(id)), &body).await
    }

    /// By project and id, without their inputs.
    pub async fn list_schedules(&self, page: &Page) -> Result<ListSchedulesResponse, Error> {
        self.call(page.of(self.in_project(Request::get("/v1/api/schedules")))).await
    }

    /// With its next ten times, and what became of the last ten.
    pub async fn get_schedule(&self, id: &str) -> Result<Schedule, Error> {
        self.call(self.in_project(Request::get(schedule_path(id, "")))).await
    }

    /// Makes a schedule. One that is there with the same content is the answer; refused with `conflict` where it has
    /// other content.
    pub async fn create_schedule(&self, schedule: ScheduleInput) -> Result<Schedule, Error> {
        let schedule = ScheduleInput { project: self.project(schedule.project.clone()), ..schedule };
        self.post("/v1/api/schedules", &schedule).await
    }

    /// Replaces all that a schedule was made of; what is left out gets its default.
    pub async fn replace_schedule(&self, id: &str, schedule: &ChangedSchedule) -> Result<Schedule, Error> {
        let mut request = self.in_project(Request::new("PUT", schedule_path(id, "")));
        request.body = Some(written("the schedule", schedule)?);
        self.call(request).await
    }

    /// Deletes a schedule; runs that it started go on. `not_found` also where an earlier try was not answered.
    pub async fn delete_schedule(&self, id: &str) -> Result<(), Error> {
        let request = self.in_project(Request::new("DELETE", schedule_path(id, "")));
        self.call::<Option<DeleteScheduleResponse>>(request).await.map(drop)
    }

    /// Its times are missed from now on; a trigger still works.
    pub async fn pause_schedule(&self, id: &str) -> Result<Schedule, Error> {
        self.call(self.in_project(Request::new("POST", schedule_path(id, "/pause")))).await
    }

    /// Goes on; the times that were missed follow its `catch_up`.
    pub async fn resume_schedule(&self, id: &str) -> Result<Schedule, Error> {
        self.call(self.in_project(Request::new("POST", schedule_path(id, "/resume")))).await
    }

    /// Fires once, now: see the first of `firings`. Not tried again, as a lost try may have fired.
    pub async fn trigger_schedule(&self, id: &str) -> Result<Schedule, Error> {
        self.call_once(self.in_project(Request::new("POST", schedule_path(id, "/trigger")))).await
    }

    /// How many runs match, and ten of them; nothing is begun.
    pub async fn count_bulk(&self, bulk: BulkInput) -> Result<StartedBulk, Error> {
        self.call(self.bulk_request(BulkInput { dry_run: Some(true), idempotency_key: None, ..bulk })?).await
    }

    /// Does something with all runs that match, in slices behind this call; no `bulk_id`: no run matched.
    ///
    /// The same `idempotency_key` again gives the action that it began first, for as long as that is kept; without one,
    /// a new one makes a retry of this call safe.
    pub async fn start_bulk(&self, mut bulk: BulkInput) -> Result<StartedBulk, Error> {
        bulk.idempotency_key.get_or_insert_with(random::uuid);
        self.call(self.bulk_request(BulkInput { dry_run: Some(false), ..bulk })?).await
    }

    fn bulk_request(&self, mut bulk: BulkInput) -> Result<Request, Error> {
        // An empty filter stays empty, which the service refuses: it would mean every run.
        if bulk.filter != RunFilter::default() {
            bulk.filter.project = self.project(bulk.filter.project);
        }
        Ok(Request::post("/v1/api/runs/bulk", written("the action", &bulk)?))
    }

    /// How far it is: `count`, `done`, `refused`.
    pub async fn get_bulk(&self, bulk_id: &str) -> Result<Bulk, Error> {
        self.call(Request::get(format!("/v1/api/runs/bulk/{}", escape(bulk_id)))).await
    }

    /// Ends it; what was done stays done.
    pub async fn stop_bulk(&self, bulk_id: &str) -> Result<Bulk, Error> {
        self.call(Request::new("DELETE", format!("/v1/api/runs/bulk/{}", escape(bulk_id)))).await
    }

    fn in_project(&self, request: Request) -> Request {
        request.with("project", self.project(None))
    }
}

/// Traces, scores, feedback and other reads.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// A trace with its spans; `include` is a comma list of `scores` and `feedback`, or `all`.
    pub async fn get_trace(&self, trace_id: &str, include: Option<&str>) -> Result<TraceDetail, Error> {
        self.call(Request::get(format!("/v1/api/traces/{}", escape(trace_id))).with("include", include)).await
    }

    /// Traces; `query` holds the parameters of `GET /v1/api/traces`, such as `q`, `has_score`, `sort`, `limit`.
    pub async fn list_traces(&self, query: &[(&str, &str)]) -> Result<ListTracesResponse, Error> {
        self.call(self.listed_in_project("/v1/api/traces", query)).await
    }

    /// Scores, newest first; `query` holds the parameters of `GET /v1/api/scores`.
    pub async fn list_scores(&self, query: &[(&str, &str)]) -> Result<ListScoresResponse, Error> {
        self.call(self.listed_in_project("/v1/api/scores", query)).await
    }

    /// Judgements on a trace.
    pub async fn list_feedback(&self, trace_id: &str) -> Result<ListFeedbackResponse, Error> {
        self.call(Request::get("/v1/api/feedback").with("trace_id", Some(trace_id))).await
    }

    fn listed_in_project(&self, path: &str, query: &[(&str, &str)]) -> Request {
        let request = with_pairs(Request::get(path), query);
        if query.iter().any(|(name, _)| *name == "project") {
            request
        } else {
            self.in_project(request)
        }
    }

    /// Stores one score now, and gives it as it was stored. A `score_id` is made where none is given, so that a retry
    /// of this call is safe.
    pub async fn score(&self, mut score: ScoreInput) -> Result<Score, Error> {
        score.score_id.get_or_insert_with(random::uuid);
        score.correlation = self.correlation(score.correlation);
        self.post("/v1/api/scores", &score).await
    }

    /// Stores one judgement now, and gives it as it was stored. A `feedback_id` is made where none is given.
    pub async fn feedback(&self, mut feedback: FeedbackInput) -> Result<Feedback, Error> {
        feedback.feedback_id.get_or_insert_with(random::uuid);
        feedback.correlation = self.correlation(feedback.correlation);
        self.post("/v1/api/feedback", &feedback).await
    }

    fn correlation(&self, own: Option<CorrelationInput>) -> Option<CorrelationInput> {
        let Some(project) = self.project(None) else { return own };
        let mut correlation = own.unwrap_or_default();
        correlation.project.get_or_insert(project);
        Some(correlation)
    }

    /// Those limited to the project, where one is set, and those limited to none.
    pub async fn list_workers(&self, page: &Page) -> Result<ListWorkersResponse, Error> {
        self.call(page.of(self.in_project(Request::get("/v1/api/workers")))).await
    }

    /// Events that no run has taken yet.
    pub async fn list_parked_events(&self, page: &Page) -> Result<ListParkedEventsResponse, Error> {
        self.call(page.of(self.in_project(Request::get("/v1/api/events")))).await
    }

    /// A read of the query API that has no method here: `read("/v1/api/sessions", &[("limit", "10")])`.
    pub async fn read<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T, Error> {
        self.call(with_pairs(Request::get(path), query)).await
    }
}

fn with_pairs(mut request: Request, pairs: &[(&str, &str)]) -> Request {
    for (name, value) in pairs {
        request = request.with(name, Some(value));
    }
    request
}

/// The `definitions` of an answer.
fn listed<T: DeserializeOwned>(answer: &mut Object) -> Result<Vec<T>, Error> {
    let text = written("the answer", &answer.remove("definitions"))?;
    decode(&text)
}
