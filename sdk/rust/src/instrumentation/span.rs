use std::fmt::{self, Display};
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use serde::Serialize;
use serde_json::Value;

use super::context::{active, OnModelSpan, Scope, TraceContext};
use super::ids::{new_span_id, new_trace_id, parse_traceparent};
use super::queue::SignalName;
use super::writer::ObjectWriter;
use super::Host;
use crate::timestamp;
use crate::wire::{CorrelationInput, CostInput, Object, SpanKind, Usage};

pub(crate) fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or_default()
}

/// What a span is made of, until it ends.
struct Fields {
    name: String,
    kind: SpanKind,
    parent_span_id: Option<String>,
    input: Option<Vec<u8>>,
    output: Option<Vec<u8>>,
    model: Option<String>,
    provider: Option<String>,
    entity_name: Option<String>,
    usage: Option<Usage>,
    cost: Option<CostInput>,
    error: Option<Object>,
    attributes: Object,
    events: Vec<Object>,
    /// A value was not JSON, or panicked when it was looked at: the span is counted instead of sent.
    is_broken: bool,
}

impl Fields {
    fn written(&mut self, value: &(impl Serialize + ?Sized)) -> Option<Vec<u8>> {
        let written = catch_unwind(AssertUnwindSafe(|| serde_json::to_vec(value)));
        let Ok(Ok(text)) = written else {
            self.is_broken = true;
            return None;
        };
        Some(text)
    }
}

/// Setters that a span has before it starts and while it runs.
macro_rules! field_methods {
    ($receiver:ty, $result:ty) => {
        /// What it works on. Any value that serializes.
        pub fn input(self: $receiver, input: &(impl Serialize + ?Sized)) -> $result {
            self.set(|fields| fields.input = fields.written(input))
        }

        /// The model that is called.
        pub fn model(self: $receiver, model: &str) -> $result {
            self.set(|fields| fields.model = Some(model.to_owned()))
        }

        /// Who serves the model.
        pub fn provider(self: $receiver, provider: &str) -> $result {
            self.set(|fields| fields.provider = Some(provider.to_owned()))
        }

        /// The agent, tool or retriever that this is an operation of.
        pub fn entity_name(self: $receiver, name: &str) -> $result {
            self.set(|fields| fields.entity_name = Some(name.to_owned()))
        }

        /// One attribute. Any value that serializes.
        pub fn attribute(self: $receiver, name: &str, value: impl Serialize) -> $result {
            self.set(|fields| match serde_json::to_value(value) {
                Ok(value) => drop(fields.attributes.insert(name.to_owned(), value)),
                Err(_) => fields.is_broken = true,
            })
        }

        /// Many attributes.
        pub fn attributes(self: $receiver, attributes: Object) -> $result {
            self.set(|fields| fields.attributes.extend(attributes))
        }
    };
}

/// A span that is not started yet.
#[must_use = "a span is recorded once it runs or is started"]
pub struct SpanBuilder {
    host: Arc<Host>,
    fields: Fields,
    correlation: Option<CorrelationInput>,
    traceparent: Option<String>,
}

impl SpanBuilder {
    pub(super) fn new(host: Arc<Host>, name: &str) -> Self {
        let fields = Fields {
            name: name.to_owned(),
            kind: SpanKind::Generic,
            parent_span_id: None,
            input: None,
            output: None,
            model: None,
            provider: None,
            entity_name: None,
            usage: None,
            cost: None,
            error: None,
            attributes: Object::new(),
            events: Vec::new(),
            is_broken: false,
        };
        Self { host, fields, correlation: None, traceparent: None }
    }

    fn set(mut self, set: impl FnOnce(&mut Fields)) -> Self {
        if self.host.enabled {
            set(&mut self.fields);
        }
        self
    }

    field_methods!(Self, Self);

    /// What kind of operation it is; `generic` by default.
    pub fn kind(self, kind: SpanKind) -> Self {
        self.set(|fields| fields.kind = kind)
    }

    /// Who and what it belongs to, and all below it.
    pub fn correlation(mut self, correlation: CorrelationInput) -> Self {
        self.correlation = Some(correlation);
        self
    }

    /// The header of an incoming request, whose trace it continues; a malformed one begins a new trace.
    pub fn traceparent(mut self, header: &str) -> Self {
        self.traceparent = Some(header.to_owned());
        self
    }

    /// Starts it. Its caller ends it: by [`Span::end`], or by dropping it.
    #[must_use]
    pub fn start(self) -> Span {
        let Self { host, mut fields, correlation, traceparent } = self;
        let around = active(&host.realm);
        let parent = match &traceparent {
            Some(header) => parse_traceparent(header).map(|(trace, span)| (trace.to_owned(), span.to_owned())),
            None => host
                .bridge
                .as_ref()
                .and_then(|bridge| bridge.current())
                .or_else(|| around.as_ref().map(|scope| (scope.trace_id.clone(), scope.span_id.clone()))),
        };
        let trace_id = match parent {
            Some((trace_id, span_id)) => {
                fields.parent_span_id = Some(span_id);
                trace_id
            }
            None => new_trace_id(),
        };
        let belongs = match (&around, &correlation) {
            (None, None) => Arc::clone(&host.base),
            (Some(scope), None) if Arc::ptr_eq(&scope.base, &host.base) => Arc::clone(&scope.correlation),
            _ => {
                let mut belongs = (*host.base).clone();
                belongs.extend(around.iter().flat_map(|scope| (*scope.correlation).clone()));
                if let Some(Ok(Value::Object(own))) = correlation.map(serde_json::to_value) {
                    belongs.extend(own);
                }
                Arc::new(belongs)
            }
        };
        let on_model_span = around.and_then(|scope| scope.on_model_span.clone());
        let sampled = host.keeps(&trace_id);
        let scope = Scope::new(
            Arc::clone(&host.realm),
            (trace_id, new_span_id()),
            sampled,
            belongs,
            Arc::clone(&host.base),
            on_model_span,
            host.bridge.clone(),
        );
        let core = Core { host, scope, started: (now_ns(), Instant::now()), fields: Mutex::new(Some(fields)) };
        Span { core: Arc::new(core) }
    }

    /// Runs work under it: spans that the work records become its children. An `Err` marks it, and is given back as
    /// it is; it ends with the work, also with work that is dropped.
    ///
    /// # Errors
    ///
    /// Those of the work.
    pub async fn run<T, E, F>(self, work: impl FnOnce(Span) -> F) -> Result<T, E>
    where
        E: Display,
        F: Future<Output = Result<T, E>>,
    {
        let span = self.start();
        let ends = EndOnDrop(&span);
        let context = span.context();
        let result = context.run(context.run_sync(|| work(span.clone()))).await;
        ends.0.finish(result)
    }

    /// The same for work that does not await.
    ///
    /// # Errors
    ///
    /// Those of the work.
    pub fn run_sync<T, E: Display>(self, work: impl FnOnce(&Span) -> Result<T, E>) -> Result<T, E> {
        let span = self.start();
        let ends = EndOnDrop(&span);
        ends.0.finish(span.context().run_sync(|| work(&span)))
    }
}

impl fmt::Debug for SpanBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SpanBuilder").field("name", &self.fields.name).finish_non_exhaustive()
    }
}

/// Ends a span whose work unwinds or is dropped.
struct EndOnDrop<'a>(&'a Span);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail("the work panicked");
        }
        self.0.end();
    }
}

struct Core {
    host: Arc<Host>,
    scope: Arc<Scope>,
    started: (i128, Instant),
    /// Nothing once it has ended.
    fields: Mutex<Option<Fields>>,
}

/// A span that runs. Its methods may be called until its end, in any order and on any thread; none of them fails.
#[derive(Clone)]
pub struct Span {
    core: Arc<Core>,
}

#[allow(clippy::must_use_candidate, clippy::return_self_not_must_use)]
impl Span {
    fn set(&self, set: impl FnOnce(&mut Fields)) -> &Self {
        if self.core.host.enabled {
            if let Some(fields) = self.core.fields.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                set(fields);
            }
        }
        self
    }

    field_methods!(&Self, &Self);

    /// What came of it. Any value that serializes.
    pub fn output(&self, output: &(impl Serialize + ?Sized)) -> &Self {
        self.set(|fields| fields.output = fields.written(output))
    }

    /// The tokens of this model call; on a step of a run they are reported as the step's usage too.
    pub fn tokens(&self, input: i64, output: i64) -> &Self {
        self.usage(Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() })
    }

    /// The same with all that is known of them. A count that is not known is left out, never zero.
    pub fn usage(&self, usage: Usage) -> &Self {
        self.set(|fields| fields.usage = Some(usage))
    }

    /// What it cost, where that is known; the service prices the rest.
    pub fn cost(&self, cost: CostInput) -> &Self {
        self.set(|fields| fields.cost = Some(cost))
    }

    /// Marks a moment within the span.
    pub fn event(&self, name: &str, attributes: Object) -> &Self {
        self.set(|fields| {
            let time = timestamp::write(now_ns());
            fields.events.push(Object::from_iter([
                ("name".to_owned(), name.into()),
                ("time".to_owned(), time.into()),
                ("attributes".to_owned(), attributes.into()),
            ]));
        })
    }

    /// Marks the span as failed.
    pub fn fail(&self, error: impl Display) -> &Self {
        self.set(|fields| {
            fields.error = Some(Object::from_iter([("message".to_owned(), error.to_string().into())]));
        })
    }

    /// The id of its trace: 32 hex digits.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.core.scope.trace_id
    }

    /// Its id: 16 hex digits.
    #[must_use]
    pub fn span_id(&self) -> &str {
        &self.core.scope.span_id
    }

    /// The `traceparent` header for a service that continues this trace.
    #[must_use]
    pub fn traceparent(&self) -> String {
        self.core.scope.traceparent()
    }

    /// What makes it the parent of code that runs elsewhere.
    #[must_use]
    pub fn context(&self) -> TraceContext {
        TraceContext::of(&self.core.scope)
    }

    /// Ends the span, once; a second call does nothing.
    pub fn end(&self) {
        self.core.end();
    }

    fn finish<T, E: Display>(&self, result: Result<T, E>) -> Result<T, E> {
        if let Err(error) = &result {
            self.fail(error);
        }
        self.end();
        result
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Span").field(&self.traceparent()).finish()
    }
}

impl Core {
    fn end(&self) {
        let Some(fields) = self.fields.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let on_model_span: Option<&OnModelSpan> = self.scope.on_model_span.as_ref();
        if fields.usage.is_some() || fields.kind == SpanKind::ModelGeneration {
            if let Some(tell) = on_model_span {
                tell(fields.model.as_deref(), fields.usage.as_ref());
            }
        }
        if self.scope.sampled {
            self.host.queue.add(SignalName::Spans, self.written(&fields));
        }
    }

    fn written(&self, fields: &Fields) -> Option<Vec<u8>> {
        if fields.is_broken {
            return None;
        }
        let (started_ns, clock) = self.started;
        let ended_ns = started_ns + i128::try_from(clock.elapsed().as_nanos()).unwrap_or_default();
        let mut writer = ObjectWriter::new();
        writer.member("trace_id", &self.scope.trace_id);
        writer.member("span_id", &self.scope.span_id);
        writer.optional("parent_span_id", fields.parent_span_id.as_ref());
        writer.member("name", &fields.name);
        writer.member("kind", &fields.kind);
        writer.member("status", if fields.error.is_some() { "error" } else { "ok" });
        writer.member("start_time", &timestamp::write(started_ns));
        writer.member("end_time", &timestamp::write(ended_ns));
        writer.written("input", fields.input.as_deref());
        writer.written("output", fields.output.as_deref());
        writer.optional("model", fields.model.as_ref());
        writer.optional("provider", fields.provider.as_ref());
        writer.optional("entity_name", fields.entity_name.as_ref());
        writer.optional("usage", fields.usage.as_ref());
        writer.optional("cost", fields.cost.as_ref());
        writer.optional("error", fields.error.as_ref());
        writer.optional("correlation", Some(&*self.scope.correlation).filter(|members| !members.is_empty()));
        writer.optional("attributes", Some(&fields.attributes).filter(|members| !members.is_empty()));
        writer.optional("events", Some(&fields.events).filter(|events| !events.is_empty()));
        writer.finish()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.end();
    }
}
