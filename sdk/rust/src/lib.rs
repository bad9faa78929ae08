//! Client, worker and instrumentation of the svc daemon.
#![doc(html_no_source)]

mod cancellation;
mod client;
mod error;
mod event_stream;
mod http;
mod instrumentation;
mod machine;
mod random;
mod retry;
mod settings;
mod spec_version;
mod timestamp;
#[cfg(feature = "tracing")]
pub mod tracing;
#[cfg(test)]
mod vectors;
mod warnings;
#[allow(missing_docs, clippy::pedantic)]
pub mod wire;
mod worker;

pub use cancellation::CancellationToken;
pub use client::{Client, ClientBuilder, Deliver, Page, Run, Start, Watch};
pub use error::{Error, ServiceError};
pub use instrumentation::{
    ContextBridge, Counters, InContext, Instrumentation, InstrumentationBuilder, Span, SpanBuilder, TraceContext,
    CLOSE_TIME,
};
pub use retry::RetryPolicy;
pub use warnings::LogSink;
pub use worker::{Interruption, Step, StepError, Worker, WorkerBuilder, WorkerHandle, Workflow};
