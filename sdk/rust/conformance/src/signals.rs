//! The verbs of instrumentation.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{json, Value};
use svc::wire::{AspectNoteInput, FeedbackInput, LogRecordInput, MetricPointInput, Object, ScoreInput};
use svc::{Instrumentation, SpanBuilder, TraceContext};

use crate::{get, need, unsupported, Answer, Fault};

fn none() -> Answer {
    Ok(json!({}))
}

/// What is given before a span starts.
pub fn span_of(mut span: SpanBuilder, with: &Value) -> Result<SpanBuilder, Fault> {
    if let Some(kind) = get(with, "kind")? {
        span = span.kind(kind);
    }
    if let Some(input) = with.get("input") {
        span = span.input(input);
    }
    if let Some(model) = get::<String>(with, "model")? {
        span = span.model(&model);
    }
    if let Some(provider) = get::<String>(with, "provider")? {
        span = span.provider(&provider);
    }
    if let Some(name) = get::<String>(with, "entity_name")? {
        span = span.entity_name(&name);
    }
    if let Some(attributes) = get::<Object>(with, "attributes")? {
        span = span.attributes(attributes);
    }
    if let Some(correlation) = get(with, "correlation")? {
        span = span.correlation(correlation);
    }
    if let Some(header) = get::<String>(with, "traceparent")? {
        span = span.traceparent(&header);
    }
    Ok(span)
}

/// What is set while it runs.
pub fn set_inside(span: &svc::Span, with: &Value) -> Result<(), Fault> {
    if let Some(output) = with.get("output") {
        span.output(output);
    }
    if let Some(usage) = get(with, "usage")? {
        span.usage(usage);
    }
    for event in with["events"].as_array().into_iter().flatten() {
        span.event(&need::<String>(event, "name")?, get(event, "attributes")?.unwrap_or_default());
    }
    Ok(())
}

async fn span(tracer: Instrumentation, with: Value) -> Answer {
    let mut out = json!({});
    let result: Result<(), String> = span_of(tracer.span(&need::<String>(&with, "name")?), &with)?
        .run(async |span| {
            let words = |_: Fault| "the fixture cannot read its request".to_owned();
            out = json!({"trace_id": span.trace_id(), "span_id": span.span_id()});
            out["traceparent"] = TraceContext::current().traceparent().into();
            set_inside(&span, &with).map_err(words)?;
            let inside = run_inside(tracer.clone(), with["inside"].as_array().cloned().unwrap_or_default());
            // A spawned task gets the context by hand.
            let inside = if with["hop"] == true {
                tokio::spawn(TraceContext::current().run(inside)).await.map_err(|error| error.to_string())?
            } else {
                inside.await
            };
            out["inside"] = inside.map_err(words)?;
            get::<String>(&with, "error").map_err(words)?.map_or(Ok(()), Err)
        })
        .await;
    if let Err(raised) = result {
        out["raised"] = raised.into();
    }
    Ok(out)
}

fn run_inside(tracer: Instrumentation, requests: Vec<Value>) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
    Box::pin(async move {
        let mut results = Vec::new();
        for request in requests {
            let with = request.get("with").cloned().unwrap_or_else(|| json!({}));
            results.push(serve(&tracer, &need::<String>(&request, "do")?, &with).await?);
        }
        Ok(results.into())
    })
}

/// Runs what is inside under an active span of OpenTelemetry, whose API alone is needed for one.
#[cfg(feature = "otel")]
async fn otel_span(tracer: Instrumentation, with: Value) -> Answer {
    use std::hash::{BuildHasher, RandomState};

    use opentelemetry::context::FutureExt;
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
    use opentelemetry::Context;

    let (high, low) = (RandomState::new().hash_one(0), RandomState::new().hash_one(0));
    let (trace_id, span_id) = (TraceId::from(u128::from(high) << 64 | u128::from(low)), SpanId::from(low));
    let active = SpanContext::new(trace_id, span_id, TraceFlags::SAMPLED, false, TraceState::default());
    let inside = run_inside(tracer, with["inside"].as_array().cloned().unwrap_or_default());
    let inside = inside.with_context(Context::current().with_remote_span_context(active)).await?;
    Ok(json!({"trace_id": trace_id.to_string(), "span_id": span_id.to_string(), "inside": inside}))
}

struct Throws;

impl Serialize for Throws {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("no JSON of this"))
    }
}

fn hostile(tracer: &Instrumentation, with: &Value) -> Answer {
    let span = tracer.span(&need::<String>(with, "name")?);
    match need::<String>(with, "what")?.as_str() {
        "nan" => span.input(&f64::NAN).start().end(),
        "huge" => span.input(&"x".repeat(8 * 1024 * 1024)).start().end(),
        "throws" => span.input(&Throws).start().end(),
        what => return Err(Fault::Named("Unrepresentable", format!("safe Rust has no {what}"))),
    }
    none()
}

fn burst(tracer: &Instrumentation, with: &Value) -> Answer {
    let count: usize = need(with, "count")?;
    let payload = get(with, "payload_bytes")?.map(|bytes| "x".repeat(bytes));
    let prefix: String = get(with, "prefix")?.unwrap_or_else(|| "burst-".to_owned());
    let record = |count: usize, prefix: &str| {
        for i in 0..count {
            let span = tracer.span(&format!("{prefix}{i}"));
            match &payload {
                Some(payload) => span.input(payload).start().end(),
                None => span.start().end(),
            }
        }
    };
    match get::<usize>(with, "threads")? {
        None => record(count, &prefix),
        Some(threads) => std::thread::scope(|scope| {
            for thread in 0..threads {
                let (record, prefix) = (&record, &prefix);
                scope.spawn(move || record(count / threads, &format!("{prefix}{thread}-")));
            }
        }),
    }
    none()
}

fn log_native(with: &Value) -> Answer {
    let message: String = need(with, "message")?;
    match need::<String>(with, "level")?.as_str() {
        "debug" => tracing::debug!("{message}"),
        "info" => tracing::info!("{message}"),
        "warn" => tracing::warn!("{message}"),
        _ => tracing::error!("{message}"),
    }
    none()
}

/// A rating with the scale that it is on.
pub fn feedback_of(with: &Value) -> Result<FeedbackInput, Fault> {
    let feedback = FeedbackInput::deserialize(with)?;
    match (get(with, "scale_min")?, get(with, "scale_max")?) {
        (Some(min), Some(max)) => Ok(feedback.on_scale(min, max)),
        _ => Ok(feedback),
    }
}

fn note_of(with: &Value) -> Result<AspectNoteInput, Fault> {
    let mut with = with.clone();
    if with.get("trace_id").is_none() {
        with["trace_id"] = "".into();
    }
    Ok(AspectNoteInput::deserialize(with)?)
}

pub async fn serve(tracer: &Instrumentation, verb: &str, with: &Value) -> Answer {
    let time = Duration::from_millis(get(with, "timeout_ms")?.unwrap_or(5000));
    match verb {
        "span" => span(tracer.clone(), with.clone()).await,
        #[cfg(feature = "otel")]
        "otel.span" => otel_span(tracer.clone(), with.clone()).await,
        "log" => {
            tracer.log_record(LogRecordInput::deserialize(with)?);
            none()
        }
        "metric" => {
            tracer.metric(MetricPointInput::deserialize(with)?);
            none()
        }
        "score" => {
            tracer.score(ScoreInput::deserialize(with)?);
            none()
        }
        "feedback" => {
            tracer.feedback(feedback_of(with)?);
            none()
        }
        "aspect_note" => {
            tracer.aspect_note(note_of(with)?);
            none()
        }
        "hostile" => hostile(tracer, with),
        "burst" => burst(tracer, with),
        "log.native" => log_native(with),
        "counters" => {
            let found = tracer.counters();
            Ok(json!({
                "sent": found.sent, "dropped": found.dropped, "refused": found.refused,
                "failed": found.failed, "invalid": found.invalid,
            }))
        }
        "flush" => Ok(json!({"flushed": tracer.flush(time).await})),
        "close" => {
            tracer.close(time).await;
            none()
        }
        _ => Err(unsupported(verb)),
    }
}
