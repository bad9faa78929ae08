use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{written, Client, Run, WAIT_SLACK};
use crate::error::Error;
use crate::http::{escape, Request};
use crate::random;
use crate::wire::{self, EventOutcome, Object, RunCorrelation, RunInput};

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// A start that is not made yet: await it.
#[must_use = "a start does nothing until it is awaited"]
#[derive(Debug)]
pub struct Start<T> {
    client: Client,
    input: Result<RunInput, Error>,
    output: PhantomData<fn() -> T>,
}

impl<T> Start<T> {
    pub(super) fn new(client: Client, definition_id: &str, input: &(impl Serialize + ?Sized)) -> Self {
        let input = serde_json::to_value(input).map_err(|cause| Error::not_json("the input", &cause));
        let input =
            input.map(|input| RunInput { definition_id: definition_id.to_owned(), input, ..RunInput::default() });
        Self { client, input, output: PhantomData }
    }

    fn set(mut self, set: impl FnOnce(&mut RunInput)) -> Self {
        if let Ok(input) = &mut self.input {
            set(input);
        }
        self
    }

    /// The same key again gives the run that it started first. Without one, a new one makes a retry of this call safe.
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        self.set(|input| input.idempotency_key = Some(key.into()))
    }

    /// A version of the definition; the highest one by default.
    pub fn version(self, version: i64) -> Self {
        self.set(|input| input.definition_version = Some(version))
    }

    /// Another project than that of the client.
    pub fn project(self, project: impl Into<String>) -> Self {
        self.set(|input| input.project = Some(project.into()))
    }

    /// Who and what the run belongs to.
    pub fn correlation(self, correlation: RunCorrelation) -> Self {
        self.set(|input| input.correlation = Some(correlation))
    }

    /// How long the call waits for the end of the run, at most 60 s; it may still be open in the answer.
    pub fn wait_for_end(self, time: Duration) -> Self {
        self.set(|input| input.wait_ms = Some(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// RFC 3339, or from now as `+10m`.
    pub fn start_at(self, time: impl Into<String>) -> Self {
        self.set(|input| input.start_at = Some(time.into()))
    }

    /// From -100 to 100: steps of a higher one are offered first.
    pub fn priority(self, priority: i64) -> Self {
        self.set(|input| input.priority = Some(priority))
    }
}

impl<T: Send + 'static> IntoFuture for Start<T> {
    type Output = Result<Run<T>, Error>;
    type IntoFuture = Answer<Run<T>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, input, .. } = self;
            let mut input = input?;
            client.ensure_compatible().await?;
            input.project = client.project(input.project);
            input.idempotency_key.get_or_insert_with(random::uuid);
            let mut request = Request::post("/v1/api/runs", written("the input", &input)?);
            if let Some(wait) = input.wait_ms {
                let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0));
                request = request.timeout(client.inner.timeout.max(wait.saturating_add(WAIT_SLACK)));
            }
            let run: wire::Run = client.call(request).await?;
            Ok(Run::new(client, run))
        })
    }
}

/// An event that is not sent yet: await it.
#[must_use = "an event is not sent until it is awaited"]
#[derive(Debug)]
pub struct Deliver {
    client: Client,
    path: String,
    body: Result<Object, Error>,
}

impl Deliver {
    pub(super) fn to_run(client: Client, run_id: &str, event: &str, payload: &(impl Serialize + ?Sized)) -> Self {
        let path = format!("/v1/api/runs/{}/signal", escape(run_id));
        Self { client, path, body: body_of(event, payload) }
    }

    pub(super) fn by_key(client: Client, event: &str, key: &str, payload: &(impl Serialize + ?Sized)) -> Self {
        let mut body = body_of(event, payload);
        if let Ok(body) = &mut body {
            body.insert("key".to_owned(), key.into());
            if let Some(project) = client.project(None) {
                body.insert("project".to_owned(), project.into());
            }
        }
        Self { client, path: "/v1/api/events".to_owned(), body }
    }

    fn with(mut self, name: &str, value: String) -> Self {
        if let Ok(body) = &mut self.body {
            body.insert(name.to_owned(), value.into());
        }
        self
    }

    /// The same id again changes nothing. Without one, a new one makes a retry of this call safe.
    pub fn event_id(self, id: impl Into<String>) -> Self {
        self.with("event_id", id.into())
    }

    /// Another project than that of the client; for published events.
    pub fn project(self, project: impl Into<String>) -> Self {
        self.with("project", project.into())
    }
}

fn body_of(event: &str, payload: &(impl Serialize + ?Sized)) -> Result<Object, Error> {
    let payload = serde_json::to_value(payload).map_err(|cause| Error::not_json("the payload", &cause))?;
    Ok(Object::from_iter([("event".to_owned(), Value::from(event)), ("payload".to_owned(), payload)]))
}

impl IntoFuture for Deliver {
    type Output = Result<EventOutcome, Error>;
    type IntoFuture = Answer<EventOutcome>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut body = self.body?;
            if !body.contains_key("event_id") {
                body.insert("event_id".to_owned(), random::uuid().into());
            }
            self.client.call(Request::post(self.path, written("the event", &body)?)).await
        })
    }
}
