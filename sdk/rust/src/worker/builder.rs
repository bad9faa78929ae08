use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::step_calls::{LeaseTaker, StepCalls};
use super::{Core, Worker, Workflow};
use crate::cancellation::CancellationToken;
use crate::error::Error;
use crate::http::Http;
use crate::instrumentation::Instrumentation;
use crate::machine::Machine;
use crate::random;
use crate::settings::{setting_methods, signal_setting_methods, Overrides, Settings};
use crate::spec_version::SpecCheck;
use crate::warnings::{standard_error, LogSink};
use crate::wire::Severity;

/// Of bodies in one worker. See spec/openapi.yaml, `WorkerInput`.
const CONCURRENCY_LIMIT: usize = 100_000;

/// Makes a [`Worker`].
#[must_use = "a builder serves nothing"]
pub struct WorkerBuilder {
    code: Overrides,
    workflows: Vec<Workflow>,
    concurrency: usize,
    worker_id: Option<String>,
    name: Option<String>,
    version: Option<String>,
    run_id: Option<String>,
    claim_wait: Duration,
    grace: Duration,
    settle: Duration,
    instrumentation: Option<Instrumentation>,
    log: LogSink,
}

impl WorkerBuilder {
    pub(super) fn new() -> Self {
        Self {
            code: Overrides::default(),
            workflows: Vec::new(),
            concurrency: 10,
            worker_id: None,
            name: None,
            version: None,
            run_id: None,
            claim_wait: Duration::from_secs(20),
            grace: Duration::from_secs(30),
            settle: Duration::from_secs(5),
            instrumentation: None,
            log: standard_error(),
        }
    }

    setting_methods!();
    signal_setting_methods!();

    /// One more workflow to serve. Several versions of one may stand side by side through a deploy.
    pub fn workflow(mut self, workflow: Workflow) -> Self {
        self.workflows.push(workflow);
        self
    }

    /// How many bodies may run at once; 10.
    pub fn concurrency(mut self, bodies: usize) -> Self {
        self.concurrency = bodies;
        self
    }

    /// Must be unique among workers; made of process and a random part by default.
    pub fn worker_id(mut self, id: impl Into<String>) -> Self {
        self.worker_id = Some(id.into());
        self
    }

    /// For people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Of the program; for people.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Serves this run alone, and ends with it.
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// How long a claim may wait for work; 20 s.
    pub fn claim_wait(mut self, time: Duration) -> Self {
        self.claim_wait = time;
        self
    }

    /// How long bodies may go on after a stop; 30 s.
    pub fn grace(mut self, time: Duration) -> Self {
        self.grace = time;
        self
    }

    /// How long a body may take to end once it is cancelled because of that; 5 s.
    pub fn settle(mut self, time: Duration) -> Self {
        self.settle = time;
        self
    }

    /// Where the spans of bodies go; to an instrumentation of its own by default.
    pub fn instrumentation(mut self, instrumentation: &Instrumentation) -> Self {
        self.instrumentation = Some(instrumentation.clone());
        self
    }

    /// Where it says what a person should know; lines on standard error by default.
    pub fn on_log(mut self, log: impl Fn(&Severity, &str) + Send + Sync + 'static) -> Self {
        self.log = Arc::new(log);
        self
    }

    /// Calls nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] on what cannot be used.
    pub fn build(self) -> Result<Worker, Error> {
        let settings = Settings::from_env(self.code.clone());
        let mut faults = settings.problems.clone();
        if !(1..=CONCURRENCY_LIMIT).contains(&self.concurrency) {
            faults.push(format!("concurrency is from 1 to {CONCURRENCY_LIMIT}, not {}", self.concurrency));
        }
        let mut workflows = HashMap::new();
        for workflow in self.workflows {
            faults.extend(workflow.faults());
            let title = workflow.title();
            if workflows.insert((workflow.id().to_owned(), workflow.version()), workflow).is_some() {
                faults.push(format!("{title} is given twice"));
            }
        }
        if !faults.is_empty() {
            return Err(Error::InvalidArgument(faults.join("; ")));
        }
        let machine = Machine::start("svc-worker")
            .map_err(|cause| Error::InvalidArgument(format!("the thread of the worker cannot be started: {cause}")))?;
        let owns_instrumentation = self.instrumentation.is_none();
        let instrumentation = self.instrumentation.unwrap_or_else(|| Instrumentation::of(self.code));
        let worker_id =
            self.worker_id.unwrap_or_else(|| format!("rust-{}-{:016x}", std::process::id(), random::bits()));
        let http = Arc::new(Http::new(&settings));
        let core = Arc::new_cyclic(|core: &Weak<Core>| {
            let taker: Weak<dyn LeaseTaker> = core.clone();
            Core {
                calls: StepCalls::new(Arc::clone(&http), worker_id.clone(), self.run_id.clone(), taker),
                http,
                spec: SpecCheck::default(),
                settings,
                workflows,
                concurrency: self.concurrency,
                worker_id,
                name: self.name,
                version: self.version,
                run_id: self.run_id,
                claim_wait: self.claim_wait,
                grace: self.grace,
                settle: self.settle,
                instrumentation,
                owns_instrumentation,
                log: self.log,
                machine,
                bodies: OnceLock::new(),
                host: Mutex::default(),
                stopping: CancellationToken::new(),
                force: CancellationToken::new(),
                ended: CancellationToken::new(),
                ran: AtomicBool::new(false),
                active: AtomicUsize::new(0),
                changed: Notify::new(),
                itself: core.clone(),
            }
        });
        Ok(Worker { core })
    }
}

impl fmt::Debug for WorkerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WorkerBuilder").field("workflows", &self.workflows).finish_non_exhaustive()
    }
}
