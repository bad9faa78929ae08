//! Spans of OpenTelemetry and ours nest: the feature `otel`. Nothing here touches the global tracer provider.

use std::any::Any;

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry::Context;

use crate::instrumentation::ContextBridge;

/// Makes an active OpenTelemetry span the parent of ours, and ours the parent of theirs: calls that an OpenTelemetry
/// instrumentation watches nest below our spans, and carry our `traceparent`.
///
/// ```
/// let svc = svc::Instrumentation::builder().bridge(svc::otel::Bridge).build();
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Bridge;

impl ContextBridge for Bridge {
    fn current(&self) -> Option<(String, String)> {
        let context = Context::current();
        let found = context.span().span_context().clone();
        found.is_valid().then(|| (found.trace_id().to_string(), found.span_id().to_string()))
    }

    fn attach(&self, trace_id: &str, span_id: &str, sampled: bool) -> Box<dyn Any> {
        let ids = (TraceId::from_hex(trace_id), SpanId::from_hex(span_id));
        let (Ok(trace_id), Ok(span_id)) = ids else { return Box::new(()) };
        let flags = if sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let ours = SpanContext::new(trace_id, span_id, flags, false, TraceState::default());
        Box::new(Context::current().with_remote_span_context(ours).attach())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn off() -> crate::Instrumentation {
        crate::Instrumentation::builder().endpoint("http://127.0.0.1:9").enabled(false).bridge(Bridge).build()
    }

    #[test]
    fn a_span_inside_one_of_opentelemetry_is_its_child_and_inside_ours_theirs_is_ours() {
        let theirs = Bridge.attach(TRACE, SPAN, true);
        let span = off().span("ours").start();
        assert_eq!(span.trace_id(), TRACE);
        span.context().run_sync(|| {
            assert_eq!(Bridge.current(), Some((TRACE.to_owned(), span.span_id().to_owned())));
        });
        assert_eq!(Bridge.current(), Some((TRACE.to_owned(), SPAN.to_owned())));
        drop(theirs);
        assert_eq!(Bridge.current(), None);
    }

    #[test]
    fn outside_of_any_a_span_begins_a_trace() {
        assert_ne!(off().span("ours").start().trace_id(), TRACE);
        assert_eq!(Bridge.current(), None);
    }
}
