//! The scripted body: its input decides what it does.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{json, Value};
use svc::wire::{ReportedUsage, ScoreInput};
use svc::{Step, StepError};

use crate::signals::{feedback_of, set_inside, span_of};
use crate::worlds::Worlds;
use crate::{emit, get, need, Fault};

/// What a body may end with.
pub enum Output {
    Json(Value),
    NotJson,
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(value) => value.serialize(serializer),
            Self::NotJson => Err(serde::ser::Error::custom("no JSON of this")),
        }
    }
}

/// Says that the body ended, however it does.
struct Ended(Step);

impl Drop for Ended {
    fn drop(&mut self) {
        emit(&json!({"event": "body.ended", "lease_id": self.0.lease().lease_id}));
    }
}

/// Says that the body was cancelled, also while it does not listen.
struct Listener(tokio::task::JoinHandle<()>);

impl Listener {
    fn of(step: Step) -> Self {
        Self(tokio::spawn(async move {
            let reason = step.cancelled().await;
            emit(&json!({"event": "body.cancelled", "lease_id": step.lease().lease_id, "reason": reason.as_str()}));
        }))
    }

    /// The word of a cancel comes before that of the end.
    async fn finish(mut self, step: &Step) {
        if step.interruption().is_some() {
            let _ = (&mut self.0).await;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub async fn scripted(worlds: Arc<Worlds>, step: Step, input: Value) -> Result<Output, StepError> {
    let lease = step.lease();
    emit(&json!({
        "event": "body.started", "lease_id": lease.lease_id, "run_id": step.run_id(), "step_id": step.step_id(),
        "attempt": step.attempt(),
    }));
    let _ended = Ended(step.clone());
    let listener = Listener::of(step.clone());
    let script = match (input.get("attempts"), input.get("script")) {
        (Some(Value::Array(attempts)), _) => {
            let last = attempts.len().saturating_sub(1);
            attempts.get(usize::try_from(step.attempt() - 1).unwrap_or(0).min(last)).cloned().unwrap_or_default()
        }
        (_, Some(script)) => script.clone(),
        _ => return Ok(Output::Json(input)),
    };
    let result = play(&worlds, &step, &script).await;
    listener.finish(&step).await;
    result
}

async fn play(worlds: &Worlds, step: &Step, script: &Value) -> Result<Output, StepError> {
    for action in script.as_array().into_iter().flatten() {
        let Some((verb, value)) = action.as_object().and_then(|action| action.iter().next()) else { continue };
        match verb.as_str() {
            "return" => return Ok(Output::Json(value.clone())),
            "return_not_json" => return Ok(Output::NotJson),
            "return_bytes" => {
                let bytes = usize::try_from(value.as_u64().unwrap_or(0)).unwrap_or(0);
                return Ok(Output::Json("x".repeat(bytes).into()));
            }
            "throw" => return Err(thrown(value)),
            "sleep_ms" => tokio::select! {
                () = tokio::time::sleep(millis(value)) => {}
                reason = step.cancelled() => Err(reason)?,
            },
            "await" => {
                // Another request says so.
                while !worlds.is_released(value.as_str().unwrap_or("")) {
                    step.check()?;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            "deaf_ms" => tokio::time::sleep(millis(value)).await,
            "block_ms" => std::thread::sleep(millis(value)),
            _ => act(step, verb, value).map_err(|fault| match fault {
                Fault::Library(error) => StepError::fatal(error),
                Fault::Named(_, message) => StepError::fatal(message),
            })?,
        }
    }
    Ok(Output::Json(Value::Null))
}

fn millis(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().unwrap_or(0))
}

#[derive(Debug)]
struct Plain(String);

impl std::fmt::Display for Plain {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Plain {}

fn thrown(what: &Value) -> StepError {
    let text = |name: &str| what.get(name).and_then(Value::as_str);
    let message = text("message").unwrap_or("");
    let mut error = match text("as") {
        Some("retryable") => StepError::retryable(message),
        Some("failure") => StepError::new(text("class").unwrap_or("fatal"), message),
        Some("panic") => panic!("{message}"),
        _ => return Plain(message.to_owned()).into(),
    };
    if let Some(code) = text("code") {
        error = error.code(code);
    }
    if let Some(wait) = what.get("retry_after_ms") {
        error = error.after(millis(wait));
    }
    error
}

fn act(step: &Step, verb: &str, value: &Value) -> Result<(), Fault> {
    match verb {
        "emit" => emit(&json!({"event": "body.emit", "lease_id": step.lease().lease_id, "value": value})),
        "emit_context" => emit(&context_of(step)),
        "beat" => step.heartbeat(value)?,
        "patch" => step.patch_state(serde_json::Map::deserialize(value)?),
        "usage" => step.set_usage(match value {
            Value::Array(_) => Vec::<ReportedUsage>::deserialize(value)?,
            _ => vec![ReportedUsage::deserialize(value)?],
        }),
        "span" => {
            let span = span_of(step.span(&need::<String>(value, "name")?), value)?.start();
            set_inside(&span, value)?;
            span.end();
        }
        "log" => step.log(
            need(value, "severity")?,
            &need::<String>(value, "message")?,
            get(value, "attributes")?.unwrap_or_default(),
        ),
        "score" => step.score(ScoreInput::deserialize(value)?),
        "feedback" => step.feedback(feedback_of(value)?),
        _ => return Err(crate::unsupported(verb)),
    }
    Ok(())
}

fn context_of(step: &Step) -> Value {
    let lease = step.lease();
    let steps: serde_json::Map<String, Value> = lease
        .steps
        .keys()
        .map(|name| (name.clone(), step.prior(name).map_or_else(|| json!({}), |output| json!({"output": output}))))
        .collect();
    let mut context = json!({
        "event": "body.context", "lease_id": lease.lease_id, "run_id": step.run_id(), "project": lease.project,
        "definition_id": lease.definition_id, "definition_version": lease.definition_version,
        "step_id": step.step_id(), "visit": step.visit(), "attempt": step.attempt(), "step_key": step.key(),
        "state": step.state(), "steps": steps, "correlation": step.correlation(), "traceparent": step.traceparent(),
    });
    if let Some(details) = step.last_details() {
        context["last_details"] = details.clone();
    }
    if step.deadline().is_some_and(|deadline| deadline > SystemTime::UNIX_EPOCH) {
        context["deadline_at"] = json!(lease.deadline_at);
    }
    context
}
