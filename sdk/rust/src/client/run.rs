use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::Serialize;

use super::{Client, Deliver, Watch};
use crate::error::Error;
use crate::wire::{self, RunDetail};

/// A run whose output is read as `T`, and what can be done with it.
#[derive(Debug, Clone)]
pub struct Run<T = serde_json::Value> {
    client: Client,
    started: wire::Run,
    output: PhantomData<fn() -> T>,
}

impl<T> Run<T> {
    pub(super) fn new(client: Client, run: wire::Run) -> Self {
        Self { client, started: run, output: PhantomData }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.started.run_id
    }

    /// The id of its trace.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.started.trace_id
    }

    /// The run as it was when this was made.
    #[must_use]
    pub fn as_started(&self) -> &wire::Run {
        &self.started
    }

    /// The run as it is now, with its attempts, timers and waits.
    ///
    /// # Errors
    ///
    /// Those of [`Client`].
    pub async fn get(&self) -> Result<RunDetail, Error> {
        self.client.get_run(self.id()).await
    }

    /// Every entry of its journal once, in order. See [`Client::watch`].
    pub fn watch(&self) -> Watch {
        self.client.watch(self.id())
    }

    /// Gives an event to the run's own open wait. See [`Client::signal`].
    pub fn signal(&self, event: &str, payload: &(impl Serialize + ?Sized)) -> Deliver {
        self.client.signal(self.id(), event, payload)
    }

    /// Ends the run and its children.
    ///
    /// # Errors
    ///
    /// Those of [`Client`].
    pub async fn cancel(&self, reason: Option<&str>) -> Result<wire::Run, Error> {
        self.client.cancel(self.id(), reason).await
    }

    /// Pauses the run and its children.
    ///
    /// # Errors
    ///
    /// Those of [`Client`].
    pub async fn pause(&self, reason: Option<&str>) -> Result<wire::Run, Error> {
        self.client.pause(self.id(), reason).await
    }

    /// Resumes the paused run.
    ///
    /// # Errors
    ///
    /// Those of [`Client`].
    pub async fn resume(&self, reason: Option<&str>) -> Result<wire::Run, Error> {
        self.client.resume(self.id(), reason).await
    }
}

impl<T: DeserializeOwned> Run<T> {
    /// Waits for its end, and gives its output. See [`Client::wait`].
    ///
    /// # Errors
    ///
    /// [`Error::RunFailed`], with the run, when it did not succeed.
    pub async fn wait(&self) -> Result<T, Error> {
        self.client.wait(self.id()).await
    }
}
