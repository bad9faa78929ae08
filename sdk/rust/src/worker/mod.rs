mod builder;
mod heart;
mod motion;
mod serve_lease;
mod step;
mod step_calls;
mod step_error;
#[cfg(test)]
mod tests;
mod usage;
mod workflow;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use serde_json::{json, Value};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, Notify};
use tokio::time::timeout;

pub use self::builder::WorkerBuilder;
use self::serve_lease::{LeaseHost, ServedLease};
pub use self::step::Step;
use self::step_calls::{LeaseTaker, StepCalls};
pub use self::step_error::{Interruption, StepError};
pub use self::workflow::Workflow;
use crate::cancellation::CancellationToken;
use crate::client::is_over;
use crate::error::{Error, ServiceError};
use crate::http::{escape, Http, Request};
use crate::instrumentation::{Instrumentation, CLOSE_TIME};
use crate::machine::Machine;
use crate::retry::{with_retries, RetryPolicy};
use crate::settings::Settings;
use crate::spec_version::SpecCheck;
use crate::warnings::LogSink;
use crate::wire::{Lease, Registration, RunDetail, Severity};

// What one claim may ask for. See spec/openapi.yaml, `Claim`.
const CLAIM_LIMIT: usize = 1000;
/// A claim that is not answered so long after its wait is over, is lost.
const CLAIM_SLACK: Duration = Duration::from_secs(15);
const WARN_AFTER_FAILURES: u32 = 3;
/// What was cut at the end of a stop has so long to notice.
const CUT_TIME: Duration = Duration::from_secs(1);

/// Registers its workflows, claims steps, runs their bodies on the tokio runtime of its caller, and reports what came
/// of them.
///
/// It takes no more steps than it has free slots. Claims, heartbeats and reports live on a thread `svc-worker` with a
/// runtime of its own: a body that blocks its thread keeps its lease.
#[must_use = "a worker serves nothing until it runs"]
pub struct Worker {
    core: Arc<Core>,
}

/// Stops a [`Worker`] that runs, from anywhere.
#[derive(Clone)]
pub struct WorkerHandle {
    core: Arc<Core>,
}

impl Worker {
    /// A worker without workflows yet. What code sets wins over `SVC_*`.
    pub fn builder() -> WorkerBuilder {
        WorkerBuilder::new()
    }

    /// What stops it.
    #[must_use]
    pub fn handle(&self) -> WorkerHandle {
        WorkerHandle { core: Arc::clone(&self.core) }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.core.worker_id
    }

    /// Where the spans of its bodies go.
    #[must_use]
    pub fn instrumentation(&self) -> &Instrumentation {
        &self.core.instrumentation
    }

    /// Serves until SIGTERM or SIGINT, [`WorkerHandle::stop`], or the end of its one run; then it drains.
    ///
    /// A second signal ends the time that bodies have.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until).
    pub async fn run(self) -> Result<(), Error> {
        let (stopping, force, ended) = (self.core.stopping.clone(), self.core.force.clone(), self.core.ended.clone());
        self.core.machine.detach(async move {
            let signals = async {
                signalled().await?;
                stopping.cancel();
                signalled().await?;
                force.cancel();
                Ok::<(), std::io::Error>(())
            };
            tokio::select! {
                // Where signals cannot be had, `stop` is left.
                _ = signals => {}
                () = ended.cancelled() => {}
            }
        });
        self.run_until(std::future::pending::<()>()).await
    }

    /// Serves until a future ends, [`WorkerHandle::stop`], or the end of its one run; then it drains: it claims
    /// nothing more, lets bodies finish for the grace time, then cancels them. Who drops this future stops it likewise.
    ///
    /// # Errors
    ///
    /// [`Error::Service`] when the service refuses the worker itself (a bad key, a bad definition, a
    /// `definition_conflict`), [`Error::IncompatibleServer`], and [`Error::InvalidArgument`] outside of a runtime.
    pub async fn run_until(self, stop: impl Future) -> Result<(), Error> {
        let core = self.core;
        let bodies = Handle::try_current().map_err(|_| {
            Error::InvalidArgument("a worker runs its bodies on the tokio runtime of its caller".to_owned())
        })?;
        let _ = core.bodies.set(bodies);
        core.ran.store(true, Ordering::SeqCst);
        let _stop = StopOnDrop(Arc::clone(&core));
        let (told, ended) = oneshot::channel();
        let serving = Arc::clone(&core);
        core.machine.detach(async move {
            let result = serving.serve().await;
            serving.ended.cancel();
            drop(told.send(result));
        });
        let mut ended = std::pin::pin!(ended);
        let result = tokio::select! {
            result = &mut ended => result,
            _ = stop => {
                core.stopping.cancel();
                ended.await
            }
        };
        result.unwrap_or_else(|_| Err(Error::Connection("the thread of the worker has ended".to_owned())))
    }
}

struct StopOnDrop(Arc<Core>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stopping.cancel();
    }
}

impl WorkerHandle {
    /// Claims nothing more, and drains. Returns at once; may be called before the worker runs, and again.
    pub fn stop(&self) {
        self.core.stopping.cancel();
    }

    /// Returns when the worker has ended; at once where it never ran.
    pub async fn stopped(&self) {
        if self.core.ran.load(Ordering::SeqCst) {
            self.core.ended.cancelled().await;
        }
    }

    /// Steps that it holds now.
    #[must_use]
    pub fn active(&self) -> usize {
        self.core.active.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").field("id", &self.core.worker_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for WorkerHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WorkerHandle").field("id", &self.core.worker_id).finish_non_exhaustive()
    }
}

#[cfg(unix)]
async fn signalled() -> std::io::Result<()> {
    use tokio::signal::unix::{signal, SignalKind};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn signalled() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

struct Core {
    settings: Settings,
    workflows: HashMap<(String, i64), Workflow>,
    concurrency: usize,
    worker_id: String,
    name: Option<String>,
    version: Option<String>,
    run_id: Option<String>,
    claim_wait: Duration,
    grace: Duration,
    settle: Duration,
    instrumentation: Instrumentation,
    owns_instrumentation: bool,
    log: LogSink,
    http: Arc<Http>,
    spec: SpecCheck,
    calls: Arc<StepCalls>,
    machine: Machine,
    bodies: OnceLock<Handle>,
    /// What the latest registration says.
    host: Mutex<Option<Arc<LeaseHost>>>,
    stopping: CancellationToken,
    force: CancellationToken,
    ended: CancellationToken,
    ran: AtomicBool,
    active: AtomicUsize,
    changed: Notify,
    itself: Weak<Core>,
}

impl LeaseTaker for Core {
    fn claims(&self) -> bool {
        !self.stopping.is_cancelled()
    }

    fn take(&self, leases: Vec<Value>) {
        // Also of a worker that was stopped meanwhile: they are its own, and their bodies have the time of bodies then.
        for lease in leases {
            match serde_json::from_value(lease) {
                Ok(lease) => self.serve_lease(lease),
                // It lapses, and comes again.
                Err(error) => (self.log)(&Severity::Error, &format!("an offer cannot be read: {error}")),
            }
        }
    }
}

/// A slot that is taken, until it is dropped.
struct Slot(Arc<Core>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
        self.0.calls.motion().end();
    }
}

impl Core {
    fn serve_lease(&self, lease: Lease) {
        let host = self.host.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (Some(host), Some(core)) = (host, self.itself.upgrade()) else { return };
        let workflow = self.workflows.get(&(lease.definition_id.clone(), lease.definition_version));
        let body = workflow.and_then(|workflow| workflow.body_of(&lease.step_id));
        let served = ServedLease::new(host, lease, body.is_some());
        self.active.fetch_add(1, Ordering::SeqCst);
        let slot = Slot(core);
        self.machine.detach(async move {
            served.serve(body).await;
            drop(slot);
        });
    }

    async fn serve(self: &Arc<Self>) -> Result<(), Error> {
        let result = tokio::select! {
            biased;
            () = self.stopping.cancelled() => Ok(()),
            result = self.claim_loop() => result,
        };
        self.drain().await;
        result
    }

    /// Lets bodies finish, then cancels them, then leaves behind those that do not listen.
    async fn drain(&self) {
        self.stopping.cancel();
        let is_idle = tokio::select! {
            is_idle = self.wait_until_idle(self.grace) => is_idle,
            () = self.force.cancelled() => false,
        };
        if !is_idle {
            self.force.cancel();
            // Twice: once for the bodies, once for the reports of those that did end.
            self.wait_until_idle(2 * self.settle).await;
        }
        // What is still on its way is cut.
        self.calls.close();
        self.wait_until_idle(CUT_TIME).await;
        if self.owns_instrumentation {
            self.instrumentation.close(CLOSE_TIME).await;
        } else {
            self.instrumentation.flush(CLOSE_TIME).await;
        }
    }

    async fn wait_until_idle(&self, time: Duration) -> bool {
        let idle = async {
            loop {
                let changed = self.changed.notified();
                if self.active.load(Ordering::SeqCst) == 0 {
                    return;
                }
                changed.await;
            }
        };
        timeout(time, idle).await.is_ok()
    }

    async fn register(&self) -> Result<(), Error> {
        self.spec.ensure(&self.http).await?;
        let definitions: Vec<&Value> = self.workflows.values().map(Workflow::definition).collect();
        let mut body =
            json!({"worker_id": self.worker_id, "definitions": definitions, "concurrency": self.concurrency});
        for (name, value) in [("name", &self.name), ("version", &self.version), ("project", &self.settings.project)] {
            if let Some(value) = value {
                body[name] = value.as_str().into();
            }
        }
        let request = Request::post("/v1/api/workers/register", body.to_string().into_bytes());
        let calls = with_retries(RetryPolicy::UNTIL_ANSWERED, None, || self.http.call_for::<Registration>(&request));
        let registration = calls.await.map_err(|error| match error {
            Error::Service(refusal) => Error::Service(Box::new(with_faults_on_lines(*refusal))),
            other => other,
        })?;
        let mut served: Vec<String> = self.workflows.keys().map(|(id, version)| format!("{id}@{version}")).collect();
        served.sort();
        (self.log)(
            &Severity::Info,
            &format!(
                "{} is registered at {} and serves {}, up to {} steps at once",
                self.worker_id,
                self.settings.endpoint.shown(),
                served.join(", "),
                self.concurrency
            ),
        );
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.lease_host(&registration));
        Ok(())
    }

    fn lease_host(&self, registration: &Registration) -> Arc<LeaseHost> {
        let millis = |time: i64| Duration::from_millis(u64::try_from(time).unwrap_or(0).max(1));
        let (run_id, stopping) = (self.run_id.clone(), self.stopping.clone());
        Arc::new(LeaseHost {
            calls: Arc::clone(&self.calls),
            worker_id: self.worker_id.clone(),
            heartbeat: millis(registration.heartbeat_ms),
            lease_ttl: millis(registration.lease_ttl_ms),
            instrumentation: self.instrumentation.clone(),
            log: Arc::clone(&self.log),
            bodies: self.bodies.get().cloned().unwrap_or_else(Handle::current),
            force: self.force.clone(),
            settle: self.settle,
            on_run_end: Arc::new(move |ended| {
                // The one run that this worker serves is over.
                if run_id.as_deref() == Some(ended) {
                    stopping.cancel();
                }
            }),
        })
    }

    /// Claims until the worker is refused, or its one run has ended. Its future is dropped when the worker stops, which
    /// hangs up on a held claim: that gives back what was on its way.
    async fn claim_loop(&self) -> Result<(), Error> {
        self.register().await?;
        let mut failures = 0;
        loop {
            // Slots that are freed together are filled by one claim.
            self.calls.motion().wait().await;
            let changed = self.changed.notified();
            let free = self.concurrency.saturating_sub(self.active.load(Ordering::SeqCst));
            if free == 0 {
                changed.await;
                continue;
            }
            match self.claim_once(free).await {
                Ok(true) => return Ok(()),
                Ok(false) => failures = 0,
                Err(error) => {
                    // With one run to serve, it may be the run that is not there.
                    let is_forgotten = error.as_service().is_some_and(|refusal| {
                        refusal.status == 404
                            && (self.run_id.is_none() || refusal.field.as_deref() == Some("worker_id"))
                    });
                    if !is_forgotten && !error.is_retryable() {
                        return Err(error);
                    }
                    failures += 1;
                    if failures == WARN_AFTER_FAILURES {
                        (self.log)(&Severity::Warn, &format!("the service does not answer claims: {error}"));
                    }
                    let wait = RetryPolicy::UNTIL_ANSWERED.wait_after(failures);
                    tokio::time::sleep(error.asked_wait().max(wait)).await;
                    // A service that was away may be another one, with an older file.
                    self.register().await?;
                }
            }
        }
    }

    /// Gives whether the one run that is served has ended.
    async fn claim_once(&self, free: usize) -> Result<bool, Error> {
        let wait = u64::try_from(self.claim_wait.as_millis()).unwrap_or(u64::MAX);
        let mut body = json!({"worker_id": self.worker_id, "max": free.min(CLAIM_LIMIT), "wait_ms": wait});
        if let Some(run_id) = &self.run_id {
            body["run_id"] = run_id.as_str().into();
        }
        let request = Request::post("/v1/api/steps/claim", body.to_string().into_bytes());
        let mut answer: Value = self.http.call_for(&request.timeout(self.claim_wait + CLAIM_SLACK)).await?;
        let Some(Value::Array(leases)) = answer.get_mut("leases").map(Value::take) else {
            return Err(Error::Connection("the answer to a claim lacks `leases`".to_owned()));
        };
        let is_empty = leases.is_empty();
        self.take(leases);
        match &self.run_id {
            Some(run_id) if is_empty => self.has_ended(run_id).await,
            _ => Ok(false),
        }
    }

    /// Whether the one run is over. A claim on a run that has ended is answered as one that found nothing. A key that
    /// may serve steps need not be one that may read runs: then the worker goes on until it is stopped.
    async fn has_ended(&self, run_id: &str) -> Result<bool, Error> {
        match self.http.call_for::<RunDetail>(&Request::get(format!("/v1/api/runs/{}", escape(run_id)))).await {
            Ok(run) => Ok(is_over(run.status.as_str())),
            Err(Error::Service(refusal)) if matches!(refusal.status, 401 | 403) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A refusal of the worker itself, with each fault of a definition on a line of its own.
fn with_faults_on_lines(mut refusal: ServiceError) -> ServiceError {
    if refusal.code == "definition_invalid" {
        if let Some((head, faults)) = refusal.message.split_once(": ") {
            refusal.message = format!("{head}:\n  {}", faults.replace("; ", "\n  "));
        }
    }
    refusal
}
