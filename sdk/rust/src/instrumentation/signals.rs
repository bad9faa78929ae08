use std::panic::{catch_unwind, AssertUnwindSafe};

use serde::Serialize;

use super::queue::SignalName;
use super::span::now_ns;
use super::{active, Instrumentation};
use crate::timestamp;
use crate::wire::{
    AspectNoteInput, CorrelationInput, FeedbackInput, FeedbackKind, LogRecordInput, MetricPointInput, MetricType,
    Object, ScoreInput, ScoreSource, Severity, Temporality,
};

fn now() -> String {
    timestamp::write(now_ns())
}

impl Instrumentation {
    fn add(&self, signal: SignalName, value: &impl Serialize) {
        let written = catch_unwind(AssertUnwindSafe(|| serde_json::to_vec(value)));
        self.host.queue.add(signal, written.ok().and_then(Result::ok));
    }

    /// What a signal belongs to: the settings, the span around the call, and what it says itself.
    fn belongs(&self, own: Option<CorrelationInput>) -> Option<CorrelationInput> {
        let mut members = (*self.host.base).clone();
        if let Some(scope) = active(&self.host.realm) {
            members.extend((*scope.correlation).clone());
        }
        if let Some(Ok(serde_json::Value::Object(own))) = own.map(serde_json::to_value) {
            members.extend(own);
        }
        serde_json::from_value(members.into()).ok()
    }

    /// Records a log line, of the span around the call where there is one.
    pub fn log(&self, severity: Severity, message: &str) {
        self.log_record(LogRecordInput {
            severity: Some(severity),
            message: message.to_owned(),
            ..LogRecordInput::default()
        });
    }

    /// The same with a logger, attributes and whatever else is known. What is left out is filled in.
    pub fn log_record(&self, mut record: LogRecordInput) {
        let around = active(&self.host.realm);
        if !around.as_ref().map_or(self.host.enabled, |scope| self.host.keeps(&scope.trace_id)) {
            return;
        }
        if let (Some(scope), None) = (around, &record.trace_id) {
            record.trace_id = Some(scope.trace_id.clone());
            record.span_id.get_or_insert_with(|| scope.span_id.clone());
        }
        record.timestamp.get_or_insert_with(now);
        record.correlation = self.belongs(record.correlation);
        self.add(SignalName::Logs, &record);
    }

    /// Counts: `value` is what came since the last call.
    pub fn counter(&self, name: &str, value: f64) {
        self.metric(MetricPointInput { value: Some(value), ..MetricPointInput::new(name, MetricType::Counter) });
    }

    /// Says how much there is now.
    pub fn gauge(&self, name: &str, value: f64) {
        self.metric(MetricPointInput { value: Some(value), ..MetricPointInput::new(name, MetricType::Gauge) });
    }

    /// Records a point with a unit, attributes, or the buckets of a histogram: one more of `bucket_counts` than of
    /// `bounds`. Counters and histograms are of the time since the last call.
    pub fn metric(&self, mut point: MetricPointInput) {
        if !self.host.enabled {
            return;
        }
        let bounds = point.bounds.as_deref().unwrap_or_default();
        let numbers = [point.value, point.sum].into_iter().flatten().chain(bounds.iter().copied());
        let is_finite = numbers.into_iter().all(f64::is_finite);
        let has_numbers = if point.r#type == MetricType::Histogram {
            let buckets = point.bucket_counts.as_ref().map_or(0, Vec::len);
            point.count.is_some() && point.sum.is_some() && buckets == bounds.len() + 1
        } else {
            point.value.is_some()
        };
        if !is_finite || !has_numbers {
            self.host.queue.add_invalid();
            return;
        }
        if point.r#type != MetricType::Gauge {
            point.temporality.get_or_insert(Temporality::Delta);
        }
        point.timestamp.get_or_insert_with(now);
        point.correlation = self.belongs(point.correlation);
        self.add(SignalName::Metrics, &point);
    }

    /// Whether a signal is about anything: what it names, else the trace around the call. Counts one about nothing.
    fn is_about(&self, trace_id: &mut Option<String>, span_id: Option<&str>) -> bool {
        if !self.host.enabled {
            return false;
        }
        if trace_id.is_none() && span_id.is_none() {
            *trace_id = active(&self.host.realm).map(|scope| scope.trace_id.clone());
        }
        let is_about = trace_id.is_some() || span_id.is_some();
        if !is_about {
            self.host.queue.add_invalid();
        }
        is_about
    }

    /// Records a machine's evaluation of a trace or a span; of the trace around the call where none is named.
    ///
    /// The scale, `min` and `max`, is part of the score: without it a number says nothing.
    pub fn score(&self, mut score: ScoreInput) {
        let has_scale = match (score.min, score.max) {
            (Some(min), Some(max)) => min < max && min.is_finite() && max.is_finite() && score.value.is_finite(),
            _ => false,
        };
        if !has_scale {
            self.host.queue.add_invalid();
            return;
        }
        if !self.is_about(&mut score.trace_id, score.span_id.as_deref()) {
            return;
        }
        score.score_id.get_or_insert_with(String::new);
        score.source.get_or_insert(ScoreSource::Live);
        score.timestamp.get_or_insert_with(now);
        score.correlation = self.belongs(score.correlation);
        self.add(SignalName::Scores, &score);
    }

    /// Records a person's judgement. It is counted by kind, and never averaged with anything.
    ///
    /// `thumbs`: `up` or `down`. `rating`: a number. `correction`, `tag` and `comment`: a text. `author_id` is stored
    /// exactly as sent: send a pseudonymous id.
    pub fn feedback(&self, mut feedback: FeedbackInput) {
        if !self.is_about(&mut feedback.trace_id, feedback.span_id.as_deref()) {
            return;
        }
        feedback.feedback_id.get_or_insert_with(String::new);
        feedback.timestamp.get_or_insert_with(now);
        feedback.correlation = self.belongs(feedback.correlation);
        self.add(SignalName::Feedback, &feedback);
    }

    /// Records one sentence that a model wrote about a run; about the trace around the call where none is named by
    /// `trace_id`, which may be empty.
    pub fn aspect_note(&self, mut note: AspectNoteInput) {
        let mut trace_id = Some(std::mem::take(&mut note.trace_id)).filter(|id| !id.is_empty());
        if !self.is_about(&mut trace_id, None) {
            return;
        }
        note.trace_id = trace_id.unwrap_or_default();
        note.timestamp.get_or_insert_with(now);
        note.correlation = self.belongs(note.correlation);
        self.add(SignalName::AspectNotes, &note);
    }
}

impl ScoreInput {
    /// A score on its scale, from `min` to `max`; the other members as needed.
    #[must_use]
    pub fn new(scorer_id: &str, value: f64, min: f64, max: f64) -> Self {
        Self { scorer_id: scorer_id.to_owned(), value, min: Some(min), max: Some(max), ..Self::default() }
    }
}

impl FeedbackInput {
    /// A judgement; the other members as needed.
    #[must_use]
    pub fn new(kind: FeedbackKind, value: impl Into<serde_json::Value>) -> Self {
        Self {
            kind,
            value: value.into(),
            feedback_id: None,
            trace_id: None,
            span_id: None,
            comment: None,
            author_kind: None,
            author_id: None,
            metadata: None,
            timestamp: None,
            correlation: None,
        }
    }

    /// On which scale a rating is; kept with its metadata.
    #[must_use]
    pub fn on_scale(mut self, min: f64, max: f64) -> Self {
        let metadata = self.metadata.get_or_insert_with(Object::new);
        metadata.insert("scale_min".to_owned(), min.into());
        metadata.insert("scale_max".to_owned(), max.into());
        self
    }
}

impl MetricPointInput {
    /// A point without its numbers.
    #[must_use]
    pub fn new(name: &str, kind: MetricType) -> Self {
        Self {
            name: name.to_owned(),
            r#type: kind,
            unit: None,
            description: None,
            timestamp: None,
            value: None,
            sum: None,
            count: None,
            bounds: None,
            bucket_counts: None,
            temporality: None,
            attributes: None,
            correlation: None,
            exemplars: None,
        }
    }
}
