use std::any::Any;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use serde_json::{json, Value};
use tokio::runtime::Handle;

use super::heart::{Heart, Pulse};
use super::step::{Interrupt, Shared, Step};
use super::step_calls::{is_large, StepCall, StepCalls, StepVerb};
use super::step_error::{cut, Interruption, StepError};
use super::usage::UsageTotals;
use super::workflow::{Body, Outcome};
use crate::cancellation::CancellationToken;
use crate::client::is_over;
use crate::error::{Error, ServiceError};
use crate::http::DEFAULT_TIMEOUT;
use crate::instrumentation::{Instrumentation, OnModelSpan};
use crate::retry::{with_retries, RetryPolicy};
use crate::warnings::LogSink;
use crate::wire::{Delivery, Lease, ReportedUsage, Severity};

/// What leases need of their worker.
pub(crate) struct LeaseHost {
    pub(crate) calls: Arc<StepCalls>,
    pub(crate) worker_id: String,
    pub(crate) heartbeat: Duration,
    pub(crate) lease_ttl: Duration,
    pub(crate) instrumentation: Instrumentation,
    pub(crate) log: LogSink,
    /// Where bodies run.
    pub(crate) bodies: Handle,
    /// Fires when bodies must end: the time that a stopping worker gives them is over.
    pub(crate) force: CancellationToken,
    /// How long a body may take to end after that.
    pub(crate) settle: Duration,
    /// Called when an answer says that the run of a lease has ended.
    pub(crate) on_run_end: Arc<dyn Fn(&str) + Send + Sync>,
}

enum Answer {
    Taken,
    /// One of the four refusals, which are of the state of the lease.
    AlreadyApplied,
    Fenced,
    RunTerminal,
    NotStarted,
    /// Refused for another reason: a bug, a key, a body that is too large.
    Rejected(Box<ServiceError>),
    Unanswered,
}

/// How long to try one call: until it is answered, or until the token fires.
#[derive(Clone)]
struct How {
    policy: RetryPolicy,
    stop: Option<CancellationToken>,
}

/// What is known of the declaration of a lease.
#[derive(Default)]
struct Declaration {
    sent: Arc<AtomicBool>,
    /// Whether the body may go on.
    is_taken: OnceLock<bool>,
    answered: CancellationToken,
}

/// A lease that moves, until it rests.
struct Moving {
    calls: Arc<StepCalls>,
    moves: AtomicBool,
}

impl Moving {
    fn new(calls: &Arc<StepCalls>, moves: bool) -> Arc<Self> {
        calls.motion().begin(usize::from(moves));
        Arc::new(Self { calls: Arc::clone(calls), moves: AtomicBool::new(moves) })
    }

    fn rest(&self) {
        if self.moves.swap(false, Ordering::SeqCst) {
            self.calls.motion().end();
        }
    }
}

/// One lease, from its offer to its end.
///
/// Declares it started, keeps it alive while the body runs, reports what came of it, and does what the protocol asks
/// on each of the four refusals. See service.md, "Worker protocol".
pub(crate) struct ServedLease {
    host: Arc<LeaseHost>,
    shared: Arc<Shared>,
    title: String,
    /// A report said that the slot is free. A second one must not have it claimed again.
    has_freed: AtomicBool,
    /// The body begins before its declaration is answered, so that what it gives may travel with that. Not where it may
    /// run once only, and not in a second attempt: in the first it may have ended its process before that declared it.
    is_early: bool,
    declaration: Declaration,
    is_reporting: AtomicBool,
    moving: Arc<Moving>,
}

impl Drop for ServedLease {
    fn drop(&mut self) {
        self.moving.rest();
    }
}

impl ServedLease {
    pub(crate) fn new(host: Arc<LeaseHost>, lease: Lease, is_held: bool) -> Arc<Self> {
        let (id, version) = (&lease.definition_id, lease.definition_version);
        let title = format!("{id}@{version}/{} of run {}", lease.step_id, lease.run_id);
        let instrumentation = host.instrumentation.clone();
        let may_be_early = lease.delivery == Delivery::AtLeastOnce && lease.attempt == 1;
        let is_early = is_held && may_be_early && !host.force.is_cancelled();
        let shared = Shared {
            lease,
            instrumentation,
            interrupt: Interrupt::default(),
            heart: Heart::default(),
            patch: std::sync::Mutex::default(),
            usage: std::sync::Mutex::default(),
        };
        let moving = Moving::new(&host.calls, is_early);
        Arc::new(Self {
            host,
            shared: Arc::new(shared),
            title,
            has_freed: AtomicBool::new(false),
            is_early,
            declaration: Declaration::default(),
            is_reporting: AtomicBool::new(false),
            moving,
        })
    }

    fn log(&self, severity: &Severity, words: &str) {
        (self.host.log)(severity, &format!("{}: {words}", self.title));
    }

    /// The body of a call: a JSON object with the worker, and what stands behind it.
    fn body_of(&self, members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut body = format!("{{\"worker_id\":{}", json!(self.host.worker_id)).into_bytes();
        for (name, text) in members {
            body.extend_from_slice(format!(",\"{name}\":").as_bytes());
            body.extend_from_slice(text);
        }
        body.push(b'}');
        body
    }

    async fn call(&self, verb: StepVerb, body: Vec<u8>, how: &How) -> Answer {
        let lease_id = self.shared.lease.lease_id.clone();
        let is_report = matches!(verb, StepVerb::Complete | StepVerb::Fail);
        let sets_going = is_report || !self.is_early;
        let sent = (!is_report).then(|| Arc::clone(&self.declaration.sent));
        let call = StepCall { verb, lease_id, body, timeout: DEFAULT_TIMEOUT, frees_slot: false, sets_going, sent };
        let make = || {
            let frees_slot = is_report && !self.has_freed.swap(true, Ordering::Relaxed);
            self.host.calls.make(StepCall { frees_slot, ..call.clone() })
        };
        let mut calling = pin!(with_retries(how.policy, how.stop.as_ref(), make));
        // It stands in line when it was polled once.
        let first = poll_fn(|context| Poll::Ready(calling.as_mut().poll(context))).await;
        if is_report {
            self.moving.rest();
        }
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => calling.await,
        };
        self.read(answer)
    }

    /// Reports what a body came to, never before its declaration. Gives nothing where the declaration was not taken.
    async fn report(&self, verb: StepVerb, body: Vec<u8>, how: &How) -> Option<Answer> {
        if !self.is_early {
            return Some(self.call(verb, body, how).await);
        }
        // One that still stands in line is sent with the report, before it.
        if self.declaration.sent.load(Ordering::Relaxed) || is_large(&body) {
            self.until_declared().await?;
        }
        self.is_reporting.store(true, Ordering::Relaxed);
        let answer = self.call(verb, body.clone(), how).await;
        if !matches!(answer, Answer::NotStarted) {
            return Some(answer);
        }
        // The report overtook it: it was lost on its way, and is sent again.
        self.until_declared().await?;
        Some(self.call(verb, body, how).await)
    }

    /// Gives nothing where the body is of no more use.
    async fn until_declared(&self) -> Option<()> {
        self.moving.rest();
        tokio::select! {
            () = self.declaration.answered.cancelled() => {}
            () = self.past_settling() => {}
        }
        self.declaration.is_taken.get().filter(|is_taken| **is_taken).map(|_| ())
    }

    /// Cancels a body that had begun and may not go on. Gives whether it may.
    fn on_declared(&self, answer: &Answer) -> bool {
        let is_taken = matches!(answer, Answer::Taken);
        let _ = self.declaration.is_taken.set(is_taken);
        self.declaration.answered.cancel();
        // The answer to a report counts, where there is one.
        if is_taken || self.is_reporting.load(Ordering::Relaxed) {
            return true;
        }
        self.settle(answer);
        let reason = match answer {
            Answer::RunTerminal => Interruption::RunTerminal,
            _ => Interruption::Fenced,
        };
        self.shared.interrupt.fire(reason);
        false
    }

    fn read(&self, answer: Result<Value, Error>) -> Answer {
        let run_id = &self.shared.lease.run_id;
        let refusal = match answer {
            Ok(body) => {
                if body.get("run_status").and_then(Value::as_str).is_some_and(is_over) {
                    (self.host.on_run_end)(run_id);
                }
                return Answer::Taken;
            }
            // A fault of the service says nothing about the report; the step must not fail for it.
            Err(Error::Service(refusal)) if refusal.status < 500 && !refusal.is_retryable() => refusal,
            Err(_) => return Answer::Unanswered,
        };
        match (refusal.status, refusal.code.as_str()) {
            (409, "already_applied") => Answer::AlreadyApplied,
            (409, "fenced") => Answer::Fenced,
            (409, "run_terminal") => {
                (self.host.on_run_end)(run_id);
                Answer::RunTerminal
            }
            (409, "not_started") => Answer::NotStarted,
            _ => Answer::Rejected(refusal),
        }
    }

    /// Says what of an answer a person should know. Nothing is left to do then.
    fn settle(&self, answer: &Answer) {
        match answer {
            Answer::Rejected(error) => {
                self.log(&Severity::Error, &format!("the service refused a call: {}: {error}", error.code));
            }
            Answer::NotStarted => {
                self.log(&Severity::Error, "the service never saw it started: a bug in this library, please report it");
            }
            _ => {}
        }
    }

    fn failure_of(&self, error: &StepError, usage: &[ReportedUsage]) -> Vec<u8> {
        let mut told = json!({"class": error.class, "message": error.message});
        if let Some(code) = &error.code {
            told["code"] = code.as_str().into();
        }
        let told = told.to_string();
        // A whole number of milliseconds, and no shorter than was asked.
        let wait = error.retry_after.map(|wait| wait.as_nanos().div_ceil(1_000_000).to_string());
        let usage = usage_text(usage);
        let mut members = vec![("error", told.as_bytes())];
        members.extend(wait.as_ref().map(|wait| ("retry_after_ms", wait.as_bytes())));
        members.extend(usage.as_ref().map(|usage| ("usage", usage.as_slice())));
        self.body_of(&members)
    }

    /// Fails the step where there is no body whose declaration may stand in line.
    async fn fail(&self, error: &StepError, usage: &[ReportedUsage], how: &How) -> Answer {
        self.call(StepVerb::Fail, self.failure_of(error, usage), how).await
    }

    async fn report_failure(&self, error: &StepError, usage: &[ReportedUsage], how: &How) {
        let Some(answer) = self.report(StepVerb::Fail, self.failure_of(error, usage), how).await else { return };
        let Answer::Rejected(refusal) = &answer else { return self.settle(&answer) };
        // A class that the service keeps for itself, a wait over its bound: the step fails, and says why.
        let message = cut(&format!("{} (reported as fatal: {refusal})", error.message));
        let plain = StepError::fatal(message).code("invalid_failure");
        self.settle(&self.fail(&plain, &[], how).await);
    }

    /// Lives the lease. The body is absent when this worker does not hold the definition, the version or the step.
    pub(crate) async fn serve(self: Arc<Self>, body: Option<Body>) {
        let force = &self.host.force;
        let Some(body) = body else { return self.refuse_unheld().await };
        // A worker that stops lets a last report go out, but does not wait for its answer without end.
        let lastly = How { policy: RetryPolicy::UNTIL_ANSWERED.within(self.host.settle), stop: None };
        let mut declaring = pin!(self.declare());
        if !self.is_early {
            let started = declaring.as_mut().await;
            // Without its word that the body may run, the body does not run: its own earlier report is no such word either.
            if !matches!(started, Answer::Taken) {
                return self.settle(&started);
            }
            // The time of bodies was over before this one began: it must not.
            if force.is_cancelled() {
                return self.settle(&self.fail(&given_back(), &[], &lastly).await);
            }
        }
        let mut beating = pin!(self.shared.heart.run(self.host.heartbeat, |details| self.beat(details)));
        let mut forced = pin!(force.cancelled());
        let mut running = pin!(self.run(&body, &lastly));
        let (mut declares, mut beats, mut may_be_forced) = (self.is_early, true, true);
        loop {
            tokio::select! {
                // The declaration stands in line before the body begins.
                biased;
                answer = declaring.as_mut(), if declares => {
                    declares = false;
                    beats = self.on_declared(&answer) && beats;
                }
                () = forced.as_mut(), if may_be_forced => {
                    may_be_forced = false;
                    self.shared.interrupt.fire(Interruption::Stopping);
                }
                () = running.as_mut() => return,
                () = beating.as_mut(), if beats => beats = false,
            }
        }
    }

    async fn declare(&self) -> Answer {
        // A late declaration is refused as fenced; one that is never answered must not be repeated without end.
        let policy = RetryPolicy::UNTIL_ANSWERED.within(self.host.lease_ttl);
        let how = How { policy, stop: Some(self.host.force.clone()) };
        self.call(StepVerb::Started, self.body_of(&[]), &how).await
    }

    async fn refuse_unheld(&self) {
        let lease = &self.shared.lease;
        self.log(&Severity::Warn, "this worker does not hold that step; another may serve it");
        let held = format!("{} version {}, step {}", lease.definition_id, lease.definition_version, lease.step_id);
        let error = StepError::new("unservable", format!("worker {} does not hold {held}", self.host.worker_id));
        let how = How { policy: RetryPolicy::UNTIL_ANSWERED, stop: Some(self.host.force.clone()) };
        self.settle(&self.fail(&error, &[], &how).await);
    }

    /// Runs the body, and reports what came of it.
    async fn run(&self, body: &Body, lastly: &How) {
        let usage = Arc::new(UsageTotals::default());
        let outcome = tokio::select! {
            outcome = self.run_body(body, &usage) => outcome,
            () = self.past_settling() => {
                return self.log(
                    &Severity::Warn,
                    "its body did not end in time; the service gives the step to another worker",
                );
            }
        };
        let reason = self.shared.interrupt.reason();
        let is_stopping = reason == Some(Interruption::Stopping);
        let is_refused = self.declaration.is_taken.get() == Some(&false);
        if is_refused || (reason.is_some() && !is_stopping) {
            return;
        }
        let by_hand = self.shared.usage.lock().unwrap_or_else(PoisonError::into_inner).take();
        let usage = usage.reported(by_hand);
        let until_interrupted =
            How { policy: RetryPolicy::UNTIL_ANSWERED, stop: Some(self.shared.interrupt.token.clone()) };
        let how = if is_stopping { lastly } else { &until_interrupted };
        match outcome {
            Outcome::Failed(error) => {
                // The mark for the next attempt goes first: after the report nobody takes it.
                self.shared.heart.flush(if is_stopping { self.host.settle } else { self.host.lease_ttl }).await;
                if is_stopping && error.is_plain {
                    self.give_back(&usage, how).await;
                } else {
                    self.report_failure(&error, &usage, how).await;
                }
            }
            // A program that ends while its body runs has not failed: another worker takes the step.
            Outcome::Abandoned => self.give_back(&usage, lastly).await,
            Outcome::NotJson(message) => {
                self.report_failure(&StepError::fatal(message).code("invalid_output"), &usage, how).await;
            }
            Outcome::Output(output) => self.complete(&output, &usage, how).await,
        }
    }

    async fn give_back(&self, usage: &[ReportedUsage], how: &How) {
        if let Some(answer) = self.report(StepVerb::Fail, self.failure_of(&given_back(), usage), how).await {
            self.settle(&answer);
        }
    }

    async fn complete(&self, output: &[u8], usage: &[ReportedUsage], how: &How) {
        let patch = std::mem::take(&mut *self.shared.patch.lock().unwrap_or_else(PoisonError::into_inner));
        let patch = (!patch.is_empty()).then(|| written(&patch));
        let reported = usage_text(usage);
        let mut members = vec![("output", output)];
        members.extend(patch.as_ref().map(|patch| ("state_patch", patch.as_slice())));
        members.extend(reported.as_ref().map(|usage| ("usage", usage.as_slice())));
        let Some(answer) = self.report(StepVerb::Complete, self.body_of(&members), how).await else { return };
        let Answer::Rejected(refusal) = &answer else { return self.settle(&answer) };
        let step_id = &self.shared.lease.step_id;
        let error = StepError::fatal(cut(&format!("the service refused the output of step {step_id}: {refusal}")));
        self.report_failure(&error.code(refusal.code.as_str()), usage, how).await;
    }

    /// Returns when the worker stops, and the body had its time to end.
    async fn past_settling(&self) {
        self.host.force.cancelled().await;
        tokio::time::sleep(self.host.settle).await;
    }

    /// What came of the body, which runs on the runtime of the user and is not dropped with this.
    fn run_body(&self, body: &Body, usage: &Arc<UsageTotals>) -> impl Future<Output = Outcome> {
        let lease = &self.shared.lease;
        let mut correlation = match serde_json::to_value(&lease.correlation) {
            Ok(Value::Object(members)) => members,
            _ => serde_json::Map::new(),
        };
        correlation.insert("project".to_owned(), lease.project.as_str().into());
        correlation.insert("run_id".to_owned(), lease.run_id.as_str().into());
        let totals = Arc::clone(usage);
        let on_model_span: OnModelSpan = Arc::new(move |model, usage| totals.on_model_span(model, usage));
        let context = self.host.instrumentation.context_of(&lease.trace_id, &lease.span_id, correlation, on_model_span);
        let (body, step) = (Arc::clone(body), Step { shared: Arc::clone(&self.shared) });
        let (moving, is_early) = (Arc::clone(&self.moving), self.is_early);
        // A task: what panics in it unwinds no further, and what blocks there holds up nothing here.
        let task = self.host.bodies.spawn(context.run(async move {
            if !is_early {
                moving.calls.motion().end();
            }
            let mut running = body(step);
            let first = poll_fn(|context| Poll::Ready(running.as_mut().poll(context))).await;
            if let Poll::Ready(outcome) = first {
                return outcome;
            }
            moving.rest();
            running.await
        }));
        async {
            task.await.unwrap_or_else(|failed| {
                let panic = failed.try_into_panic();
                panic.map_or(Outcome::Abandoned, |panic| {
                    Outcome::Failed(StepError::fatal(cut(&words_of(panic.as_ref()))))
                })
            })
        }
    }

    async fn beat(&self, details: Option<Vec<u8>>) -> Pulse {
        let members = details.as_deref().map(|details| ("details", details));
        let call = StepCall {
            verb: StepVerb::Heartbeat,
            lease_id: self.shared.lease.lease_id.clone(),
            body: self.body_of(members.as_slice()),
            // Given up in time for another one, over another connection, before the lease is over.
            timeout: DEFAULT_TIMEOUT.min(self.host.heartbeat.max(self.host.lease_ttl / 3)),
            frees_slot: false,
            sets_going: false,
            sent: None,
        };
        let answer = self.host.calls.make(call).await;
        // Fenced: another lease ended this one. Run over: a cancel, above all. The work is of no more use.
        match self.read(answer) {
            Answer::Unanswered => Pulse::Sooner,
            Answer::Taken | Answer::Rejected(_) | Answer::NotStarted => Pulse::Again,
            Answer::AlreadyApplied => Pulse::Over,
            Answer::Fenced => {
                self.shared.interrupt.fire(Interruption::Fenced);
                Pulse::Over
            }
            Answer::RunTerminal => {
                self.shared.interrupt.fire(Interruption::RunTerminal);
                Pulse::Over
            }
        }
    }
}

/// Not the fault of the step: the class that spends no budget, here with no wait.
fn given_back() -> StepError {
    StepError::rate_limited("the worker stopped while the step ran", Duration::ZERO).code("worker_stopping")
}

fn usage_text(usage: &[ReportedUsage]) -> Option<Vec<u8>> {
    (!usage.is_empty()).then(|| written(usage))
}

/// Models and objects of JSON: they can be written.
fn written(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

/// What a panic says, without its place.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "the body panicked".to_owned())
}
