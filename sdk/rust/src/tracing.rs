//! Events of `tracing` as logs: the feature `tracing`.

use std::fmt;

use serde_json::Value;
use tracing_core::field::{Field, Visit};
use tracing_core::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::instrumentation::Instrumentation;
use crate::wire::{LogRecordInput, Object, Severity};

/// A layer that records each event as a log, on the span around it.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let svc = svc::Instrumentation::from_env();
/// let subscriber = tracing_subscriber::registry().with(svc::tracing::LogLayer::new(&svc));
/// ```
#[derive(Debug, Clone)]
pub struct LogLayer {
    instrumentation: Instrumentation,
}

impl LogLayer {
    /// For a subscriber that is yours; none is set here.
    #[must_use]
    pub fn new(instrumentation: &Instrumentation) -> Self {
        Self { instrumentation: instrumentation.clone() }
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        // What lies below this library on its own threads would come back here without end.
        if std::thread::current().name().is_some_and(|name| name.starts_with("svc-")) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let severity = match *metadata.level() {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warn,
            Level::INFO => Severity::Info,
            Level::DEBUG => Severity::Debug,
            Level::TRACE => Severity::Trace,
        };
        self.instrumentation.log_record(LogRecordInput {
            severity: Some(severity),
            message: fields.message,
            logger: Some(metadata.target().to_owned()),
            attributes: Some(fields.others).filter(|others| !others.is_empty()),
            ..LogRecordInput::default()
        });
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Object,
}

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        match (field.name(), value.into()) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => drop(self.others.insert(name.to_owned(), value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }
}
