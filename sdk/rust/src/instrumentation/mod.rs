mod context;
mod ids;
mod queue;
mod signals;
mod span;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::context::{active, OnModelSpan, Realm, Scope};
pub use self::context::{ContextBridge, InContext, TraceContext};
pub use self::queue::Counters;
use self::queue::{Queue, QueueOptions};
pub use self::span::{Span, SpanBuilder};
use crate::http::Http;
use crate::retry::RetryPolicy;
use crate::settings::{setting_methods, signal_setting_methods, Overrides, Settings};
use crate::warnings::{standard_error, LogSink};
use crate::wire::{Object, Severity};

/// How long [`Instrumentation::close`] may take where no time is named.
pub const CLOSE_TIME: Duration = Duration::from_secs(5);

/// What spans need of their instrumentation.
pub(crate) struct Host {
    pub(crate) realm: Arc<Realm>,
    pub(crate) base: Arc<Object>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) bridge: Option<Arc<dyn ContextBridge>>,
    pub(crate) enabled: bool,
    sample: f64,
    problems: Vec<String>,
}

impl Host {
    pub(crate) fn keeps(&self, trace_id: &str) -> bool {
        self.enabled && ids::is_sampled(trace_id, self.sample)
    }
}

/// Records traces, logs, metrics, scores, feedback and aspect notes, and sends them in the background, from a thread
/// `svc-export`. Cheap to clone.
///
/// Nothing here fails into the code that it watches, and nothing here makes it wait; what cannot be delivered is
/// counted. At the end of a program, [`close`](Self::close) sends what is queued.
#[derive(Clone)]
pub struct Instrumentation {
    host: Arc<Host>,
    _last: Arc<Last>,
}

/// When the last clone is dropped, what is queued is still sent, while the process lives.
struct Last(Arc<Queue>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.begin_close();
    }
}

/// Makes an [`Instrumentation`]. What code sets wins over `SVC_*`.
#[must_use = "a builder records nothing"]
pub struct InstrumentationBuilder {
    code: Overrides,
    options: QueueOptions,
    bridge: Option<Arc<dyn ContextBridge>>,
    log: LogSink,
}

impl InstrumentationBuilder {
    setting_methods!();
    signal_setting_methods!();

    /// How many signals may wait in memory while the service is slow or away; 10,000.
    pub fn max_queued(mut self, signals: usize) -> Self {
        self.options.max_queued = signals.max(1);
        self
    }

    /// How many bytes may wait in memory; 32 MiB.
    pub fn max_queued_bytes(mut self, bytes: usize) -> Self {
        self.options.max_bytes = bytes.max(1);
        self
    }

    /// How many signals travel together; 500.
    pub fn batch_size(mut self, signals: usize) -> Self {
        self.options.batch_size = signals.max(1);
        self
    }

    /// How long a signal waits for others to travel with; 500 ms.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.options.delay = delay;
        self
    }

    /// How a batch is tried again; [`RetryPolicy::EXPORT`].
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.options.retry = retry;
        self
    }

    /// Another tracing library whose spans ours nest with.
    pub fn bridge(mut self, bridge: impl ContextBridge + 'static) -> Self {
        self.bridge = Some(Arc::new(bridge));
        self
    }

    /// Where it says what a person should know; lines on standard error by default.
    pub fn on_log(mut self, log: impl Fn(&Severity, &str) + Send + Sync + 'static) -> Self {
        self.log = Arc::new(log);
        self
    }

    /// A setting that cannot be used falls back to its default, and is named in
    /// [`problems`](Instrumentation::problems).
    #[must_use]
    pub fn build(self) -> Instrumentation {
        let settings = Settings::from_env(self.code);
        for problem in &settings.problems {
            (self.log)(&Severity::Warn, &format!("instrumentation: {problem}"));
        }
        let base = [
            ("project", &settings.project),
            ("environment", &settings.environment),
            ("service_name", &settings.service_name),
            ("service_version", &settings.service_version),
        ];
        let members = base.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.as_deref()?.into())));
        let queue = Queue::new(Http::new(&settings), self.options, self.log);
        let host = Host {
            base: Arc::new(members.collect()),
            realm: Arc::new(Realm { endpoint: settings.endpoint.shown(), api_key: settings.api_key.clone() }),
            queue: Arc::clone(&queue),
            bridge: self.bridge,
            enabled: settings.enabled,
            sample: settings.sample,
            problems: settings.problems,
        };
        Instrumentation { host: Arc::new(host), _last: Arc::new(Last(queue)) }
    }
}

impl fmt::Debug for InstrumentationBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InstrumentationBuilder").finish_non_exhaustive()
    }
}

impl fmt::Debug for Instrumentation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Instrumentation")
            .field("endpoint", &self.host.realm.endpoint)
            .field("enabled", &self.host.enabled)
            .finish_non_exhaustive()
    }
}

impl Instrumentation {
    /// From the environment alone.
    #[must_use]
    pub fn from_env() -> Self {
        Self::builder().build()
    }

    /// For what the environment does not say.
    pub fn builder() -> InstrumentationBuilder {
        InstrumentationBuilder {
            code: Overrides::default(),
            options: QueueOptions {
                max_queued: 10_000,
                max_bytes: 32 * 1024 * 1024,
                batch_size: 500,
                delay: Duration::from_millis(500),
                retry: RetryPolicy::EXPORT,
            },
            bridge: None,
            log: standard_error(),
        }
    }

    /// From settings that another builder was given.
    pub(crate) fn of(code: Overrides) -> Self {
        InstrumentationBuilder { code, ..Self::builder() }.build()
    }

    /// A span, to be run or started. Its parent is the span around the call.
    pub fn span(&self, name: &str) -> SpanBuilder {
        SpanBuilder::new(Arc::clone(&self.host), name)
    }

    /// A context under a span that somebody else records: the step of a run.
    pub(crate) fn context_of(
        &self,
        trace_id: &str,
        span_id: &str,
        correlation: Object,
        on_model_span: OnModelSpan,
    ) -> TraceContext {
        let scope = Scope::new(
            Arc::clone(&self.host.realm),
            (trace_id.to_owned(), span_id.to_owned()),
            true,
            Arc::new(correlation),
            Arc::default(),
            Some(on_model_span),
            self.host.bridge.clone(),
        );
        TraceContext::of(&scope)
    }

    /// Settings that could not be used.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.host.problems
    }

    /// What became of signals since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.host.queue.counters()
    }

    /// Sends what is queued now. Gives whether it went out, or was refused, within the time.
    pub async fn flush(&self, time: Duration) -> bool {
        self.host.queue.flush(time).await
    }

    /// Sends what is queued for so long at most, [`CLOSE_TIME`] for example, then stops. What is recorded later is
    /// dropped.
    pub async fn close(&self, time: Duration) {
        self.host.queue.close(time).await;
    }

    /// [`close`](Self::close) for a program without a runtime: blocks the thread.
    pub fn close_blocking(&self, time: Duration) {
        let queue = Arc::clone(&self.host.queue);
        let closing = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(queue.close(time));
            }
        };
        // On a thread of its own, so that it may be called from anywhere.
        if let Ok(thread) = std::thread::Builder::new().name("svc-close".to_owned()).spawn(closing) {
            let _ = thread.join();
        }
    }
}
