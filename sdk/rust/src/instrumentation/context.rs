use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::wire::{Object, Usage};

/// A service as one caller sees it. Spans of one realm nest; those of another are no business of it. Never shown: it
/// holds the key.
#[derive(PartialEq, Eq)]
pub(crate) struct Realm {
    pub(crate) endpoint: String,
    pub(crate) api_key: Option<String>,
}

/// Another tracing library whose spans ours nest with.
pub trait ContextBridge: Send + Sync {
    /// Trace id and span id, in lowercase hex, of its active span.
    fn current(&self) -> Option<(String, String)>;

    /// Makes a span of ours its active one, until what it gives is dropped, on the same thread.
    fn attach(&self, trace_id: &str, span_id: &str, sampled: bool) -> Box<dyn Any>;
}

/// Called at the end of every model span below a scope, and of any other that carries usage.
pub(crate) type OnModelSpan = Arc<dyn Fn(Option<&str>, Option<&Usage>) + Send + Sync>;

/// What code runs under: the span that new ones become children of.
pub(crate) struct Scope {
    pub(crate) realm: Arc<Realm>,
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    pub(crate) sampled: bool,
    pub(crate) correlation: Arc<Object>,
    /// What of the correlation comes from the settings of its instrumentation.
    pub(crate) base: Arc<Object>,
    pub(crate) on_model_span: Option<OnModelSpan>,
    pub(crate) bridge: Option<Arc<dyn ContextBridge>>,
    /// That of another realm, around it.
    outer: Option<Arc<Scope>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Scope>>> = const { RefCell::new(None) };
}

fn current() -> Option<Arc<Scope>> {
    // A thread that ends has no context.
    CURRENT.try_with(|scope| scope.borrow().clone()).ok().flatten()
}

/// The scope of a realm around the call.
pub(crate) fn active(realm: &Realm) -> Option<Arc<Scope>> {
    std::iter::successors(current(), |scope| scope.outer.clone()).find(|scope| *scope.realm == *realm)
}

impl Scope {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        realm: Arc<Realm>,
        ids: (String, String),
        sampled: bool,
        correlation: Arc<Object>,
        base: Arc<Object>,
        on_model_span: Option<OnModelSpan>,
        bridge: Option<Arc<dyn ContextBridge>>,
    ) -> Arc<Self> {
        let around = current();
        let outer = around.and_then(|scope| if *scope.realm == *realm { scope.outer.clone() } else { Some(scope) });
        let (trace_id, span_id) = ids;
        Arc::new(Self { realm, trace_id, span_id, sampled, correlation, base, on_model_span, bridge, outer })
    }

    pub(crate) fn traceparent(&self) -> String {
        format!("00-{}-{}-{}", self.trace_id, self.span_id, if self.sampled { "01" } else { "00" })
    }
}

/// The span around a piece of code, to be carried to another task or thread.
///
/// Inside [`SpanBuilder::run`](crate::SpanBuilder::run) and in the body of a step it goes along by itself; a spawned
/// task or thread gets it by hand:
///
/// ```
/// # async fn work() {}
/// # fn spawn<F: std::future::Future + Send + 'static>(_: F) {}
/// let context = svc::TraceContext::current();
/// spawn(context.run(work()));
/// ```
#[derive(Clone, Default)]
pub struct TraceContext {
    scope: Option<Arc<Scope>>,
}

impl TraceContext {
    /// That of the call.
    #[must_use]
    pub fn current() -> Self {
        Self { scope: current() }
    }

    pub(crate) fn of(scope: &Arc<Scope>) -> Self {
        Self { scope: Some(Arc::clone(scope)) }
    }

    /// The span as a `traceparent` header, for an outgoing request; nothing outside of any.
    #[must_use]
    pub fn traceparent(&self) -> Option<String> {
        self.scope.as_deref().map(Scope::traceparent)
    }

    /// Runs a future under it, on whatever thread it is polled.
    pub fn run<F: Future>(&self, future: F) -> InContext<F> {
        InContext { future, context: self.clone() }
    }

    /// Runs a closure under it.
    pub fn run_sync<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.enter();
        work()
    }

    /// Only for code that does not await: a guard that is held across an await mixes traces.
    fn enter(&self) -> Entered {
        let before = CURRENT.try_with(|scope| scope.replace(self.scope.clone())).ok().flatten();
        let bridged = self.scope.as_deref().and_then(|scope| {
            let bridge = scope.bridge.as_deref()?;
            Some(bridge.attach(&scope.trace_id, &scope.span_id, scope.sampled))
        });
        Entered { before, _bridged: bridged, not_send: PhantomData }
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("TraceContext").field(&self.traceparent()).finish()
    }
}

struct Entered {
    before: Option<Arc<Scope>>,
    _bridged: Option<Box<dyn Any>>,
    not_send: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|scope| scope.replace(self.before.take()));
        let PhantomData = self.not_send;
    }
}

pin_project! {
    /// A future that runs under a [`TraceContext`].
    #[must_use = "a future does nothing until it is awaited"]
    pub struct InContext<F> {
        #[pin]
        future: F,
        context: TraceContext,
    }
}

impl<F: Future> Future for InContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _entered = this.context.enter();
        this.future.poll(context)
    }
}

impl<F> fmt::Debug for InContext<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InContext").field("context", &self.context).finish_non_exhaustive()
    }
}
