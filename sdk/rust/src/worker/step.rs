use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

use super::heart::Heart;
use super::step_error::Interruption;
use crate::cancellation::CancellationToken;
use crate::error::Error;
use crate::instrumentation::{Instrumentation, SpanBuilder};
use crate::timestamp;
use crate::wire::{FeedbackInput, Lease, LogRecordInput, Object, ReportedUsage, RunCorrelation, ScoreInput, Severity};

/// See docs/worker-protocol.md, "Heartbeat".
const DETAILS_LIMIT_BYTES: usize = 64 * 1024;

/// Fires once, with its reason.
#[derive(Default)]
pub(crate) struct Interrupt {
    pub(crate) token: CancellationToken,
    reason: OnceLock<Interruption>,
}

impl Interrupt {
    pub(crate) fn fire(&self, reason: Interruption) {
        if self.reason.set(reason).is_ok() {
            self.token.cancel();
        }
    }

    pub(crate) fn reason(&self) -> Option<Interruption> {
        self.reason.get().copied()
    }
}

pub(crate) struct Shared {
    pub(crate) lease: Lease,
    pub(crate) instrumentation: Instrumentation,
    pub(crate) interrupt: Interrupt,
    pub(crate) heart: Heart,
    pub(crate) patch: Mutex<Object>,
    pub(crate) usage: Mutex<Option<Vec<ReportedUsage>>>,
}

/// What the body of a step works with. Cheap to clone.
#[derive(Clone)]
pub struct Step {
    pub(crate) shared: Arc<Shared>,
}

impl Step {
    /// All that came with the step.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.shared.lease
    }

    /// The id of the run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.lease().run_id
    }

    /// The id of the step in its definition.
    #[must_use]
    pub fn step_id(&self) -> &str {
        &self.lease().step_id
    }

    /// Entries into this step, this one included.
    #[must_use]
    pub fn visit(&self) -> i64 {
        self.lease().visit
    }

    /// Attempts of this visit, this one included.
    #[must_use]
    pub fn attempt(&self) -> i64 {
        self.lease().attempt
    }

    /// The same for every attempt of this visit. Hand it on as the idempotency key of whatever the step does to the
    /// world, and a second attempt does it no second time.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.lease().step_key
    }

    /// The state of the run, as it was when the step was leased.
    #[must_use]
    pub fn state(&self) -> &Object {
        &self.lease().state
    }

    /// The output of a step before this one.
    #[must_use]
    pub fn prior(&self, step_id: &str) -> Option<&Value> {
        self.lease().steps.get(step_id)?.output.as_ref()
    }

    /// Who and what the run belongs to.
    #[must_use]
    pub fn correlation(&self) -> &RunCorrelation {
        &self.lease().correlation
    }

    /// The details of the last [`heartbeat`](Self::heartbeat) of the attempt before this one.
    #[must_use]
    pub fn last_details(&self) -> Option<&Value> {
        self.lease().last_details.as_ref()
    }

    /// When the run ends by itself, where its definition limits the time.
    #[must_use]
    pub fn deadline(&self) -> Option<SystemTime> {
        let ns = timestamp::read(self.lease().deadline_at.as_deref()?)?;
        Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(ns).ok()?))
    }

    /// Why the work is of no more use; nothing while it is.
    #[must_use]
    pub fn interruption(&self) -> Option<Interruption> {
        self.shared.interrupt.reason()
    }

    /// Fires when the work is of no more use: the run was cancelled, another worker has the step, or this worker must
    /// stop. The future of a body is never dropped for it: a body listens, or goes on.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.shared.interrupt.token
    }

    /// Returns when the work is of no more use: for `select!`.
    pub async fn cancelled(&self) -> Interruption {
        self.cancellation().cancelled().await;
        self.interruption().unwrap_or(Interruption::Stopping)
    }

    /// For a loop: `step.check()?`.
    ///
    /// # Errors
    ///
    /// When the work is of no more use.
    pub fn check(&self) -> Result<(), Interruption> {
        self.interruption().map_or(Ok(()), Err)
    }

    /// Leaves a mark for the next attempt, which finds it as [`last_details`](Self::last_details). Sent within a
    /// second.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] on what is not JSON, and on more than 64 KiB of it.
    pub fn heartbeat(&self, details: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        let text = serde_json::to_vec(details).map_err(|cause| Error::not_json("a heartbeat's details", &cause))?;
        if text.len() > DETAILS_LIMIT_BYTES {
            let size = text.len();
            return Err(Error::InvalidArgument(format!(
                "heartbeat details have {size} bytes as JSON, more than {DETAILS_LIMIT_BYTES}"
            )));
        }
        self.shared.heart.tell(text);
        Ok(())
    }

    /// Merges into the state of the run when the step completes: these top-level keys replace those of the run.
    pub fn patch_state(&self, patch: Object) {
        self.shared.patch.lock().unwrap_or_else(PoisonError::into_inner).extend(patch);
    }

    /// Reports the usage of the step, an entry a model.
    ///
    /// Without this call it is the sum of what the spans of the body carry; with it, this alone. Where the body has
    /// recorded no model span, the service makes one of each entry, so that the trace holds tokens and money too;
    /// `record: Some(false)` in an entry says that another library has recorded it.
    pub fn set_usage(&self, usage: Vec<ReportedUsage>) {
        *self.shared.usage.lock().unwrap_or_else(PoisonError::into_inner) = Some(usage);
    }

    /// A span of the step. Those of an [`Instrumentation`] of your own nest just so.
    pub fn span(&self, name: &str) -> SpanBuilder {
        self.shared.instrumentation.span(name)
    }

    /// Records a log line on the step's span.
    pub fn log(&self, severity: Severity, message: &str, attributes: Object) {
        self.shared.instrumentation.log_record(LogRecordInput {
            severity: Some(severity),
            message: message.to_owned(),
            logger: Some(self.lease().definition_id.clone()),
            attributes: Some(attributes).filter(|members| !members.is_empty()),
            ..LogRecordInput::default()
        });
    }

    /// Records an evaluation of the run's trace.
    pub fn score(&self, score: ScoreInput) {
        self.shared.instrumentation.score(score);
    }

    /// Records a judgement of the run's trace.
    pub fn feedback(&self, feedback: FeedbackInput) {
        self.shared.instrumentation.feedback(feedback);
    }

    /// The step's span as a `traceparent` header, for calls to services that trace.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.lease().trace_id, self.lease().span_id)
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lease = self.lease();
        formatter
            .debug_struct("Step")
            .field("run_id", &lease.run_id)
            .field("step_id", &lease.step_id)
            .field("attempt", &lease.attempt)
            .finish_non_exhaustive()
    }
}
