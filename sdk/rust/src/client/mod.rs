mod calls;
mod follow;
mod run;
mod start;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::Serialize;
use tokio::time::Instant;

pub use self::calls::Page;
pub use self::follow::Watch;
pub use self::run::Run;
pub use self::start::{Deliver, Start};
use crate::cancellation::CancellationToken;
use crate::error::Error;
use crate::http::{decode, Http, Request};
use crate::machine::Machine;
use crate::retry::{with_retries, RetryPolicy};
use crate::settings::{setting_methods, Overrides, Settings};
use crate::spec_version::SpecCheck;

/// A service that was there once may be away so long, for a restart or an upgrade, before a follower gives up.
const PATIENCE: Duration = Duration::from_secs(300);
/// A call that is not answered so long after its wait is over, is lost.
const WAIT_SLACK: Duration = Duration::from_secs(15);

/// Talks to the service on behalf of who starts, follows and steers runs. Cheap to clone; all clones share its
/// connections, and a thread `svc-client` that makes the calls, so that it works on every runtime.
///
/// Every call is tried again on 429, on a 5xx that says "later" and when there is no answer; that is safe, because
/// starts and events carry a key of their own. Calls fail with [`Error::Service`] when the service refuses and with
/// [`Error::Connection`] when it does not answer. Who drops the future of a call ends it, with its connection.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    machine: Arc<Machine>,
}

struct Inner {
    http: Http,
    spec: SpecCheck,
    project: Option<String>,
    timeout: Duration,
    stream_idle: Duration,
    retry: RetryPolicy,
    closing: CancellationToken,
    answered_at: Mutex<Option<Instant>>,
    shown: String,
}

/// Makes a [`Client`]. What code sets wins over `SVC_ENDPOINT`, `SVC_API_KEY` and `SVC_PROJECT`.
#[derive(Clone)]
#[must_use = "a builder calls nothing"]
pub struct ClientBuilder {
    code: Overrides,
    timeout: Duration,
    stream_idle: Duration,
    retry: RetryPolicy,
}

impl ClientBuilder {
    setting_methods!();

    /// For one try of one call; 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// A stream that is silent for so long is replaced; 50 s. The service writes a comment every 15 s.
    pub fn stream_idle(mut self, idle: Duration) -> Self {
        self.stream_idle = idle;
        self
    }

    /// How calls are tried again; [`RetryPolicy::CALLER`].
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Calls nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] on a setting that cannot be used.
    pub fn build(self) -> Result<Client, Error> {
        // Samples nothing: a bad `SVC_SAMPLE` is no business of a client.
        let settings = Settings::from_env(Overrides { sample: Some(1.0), ..self.code });
        if !settings.problems.is_empty() {
            return Err(Error::InvalidArgument(settings.problems.join("; ")));
        }
        let machine = Machine::start("svc-client")
            .map_err(|cause| Error::InvalidArgument(format!("the thread of the client cannot be started: {cause}")))?;
        Ok(Client {
            inner: Arc::new(Inner {
                http: Http::new(&settings),
                spec: SpecCheck::default(),
                shown: settings.endpoint.shown(),
                project: settings.project,
                timeout: self.timeout,
                stream_idle: self.stream_idle,
                retry: self.retry,
                closing: CancellationToken::new(),
                answered_at: Mutex::default(),
            }),
            machine: Arc::new(machine),
        })
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientBuilder").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Client")
            .field("endpoint", &self.inner.shown)
            .field("project", &self.inner.project)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// From the environment alone.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] on a setting that cannot be used.
    pub fn from_env() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// For what the environment does not say.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            code: Overrides::default(),
            timeout: crate::http::DEFAULT_TIMEOUT,
            stream_idle: Duration::from_secs(50),
            retry: RetryPolicy::CALLER,
        }
    }

    /// Breaks off what is on its way. Later calls fail with [`Error::Connection`].
    pub fn close(&self) {
        self.inner.closing.cancel();
    }

    /// Makes a call on the machine of the client, and reads its answer.
    async fn call<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        decode(&self.send(request, self.inner.retry).await?)
    }

    /// The same for a call that is not safe to repeat.
    async fn call_once<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        decode(&self.send(request, RetryPolicy { attempts: Some(1), ..self.inner.retry }).await?)
    }

    async fn send(&self, request: Request, policy: RetryPolicy) -> Result<Vec<u8>, Error> {
        let inner = Arc::clone(&self.inner);
        self.machine.run(async move { inner.send(&request, policy).await }).await
    }

    /// Fails where the service has another major `spec_version`.
    async fn ensure_compatible(&self) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        if inner.spec.is_known() {
            return inner.spec.ensure(&inner.http).await;
        }
        self.machine.run(async move { inner.spec.ensure(&inner.http).await }).await
    }

    /// The project that a call names: its own, else that of the settings.
    fn project(&self, own: Option<String>) -> Option<String> {
        own.or_else(|| self.inner.project.clone())
    }
}

impl Inner {
    async fn send(&self, request: &Request, policy: RetryPolicy) -> Result<Vec<u8>, Error> {
        let timeout = request.timeout.unwrap_or(self.timeout);
        let request = request.clone().timeout(timeout);
        let calls = with_retries(policy, Some(&self.closing), || async {
            let answer = self.http.call(&request).await?;
            self.answered();
            Ok(answer)
        });
        self.unless_closed(calls).await
    }

    async fn unless_closed<T>(&self, calls: impl std::future::Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(Error::Connection("the client is closed".to_owned())),
            answer = calls => answer,
        }
    }

    fn answered(&self) {
        *self.answered_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn last_answer(&self) -> Option<Instant> {
        *self.answered_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a service that has answered before: a restart must not hide how a run ended.
    fn patient(&self) -> RetryPolicy {
        self.retry.forever().within(PATIENCE)
    }
}

fn written(what: &str, value: &(impl Serialize + ?Sized)) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|cause| Error::not_json(what, &cause))
}

/// Whether a run has ended: nothing about it changes any more.
pub(crate) fn is_over(status: &str) -> bool {
    matches!(status, "succeeded" | "failed" | "cancelled")
}
