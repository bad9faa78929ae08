//! Client, worker and instrumentation of the svc daemon: durable runs and traces of AI agents.
//!
//! - [`Instrumentation`] records traces, logs, metrics, scores, feedback and aspect notes. It never fails into the code
//!   that it watches, and never makes it wait.
//! - [`Client`] starts, follows and steers runs.
//! - [`Worker`] serves the steps of runs with bodies of yours.
//!
//! Settings come from `SVC_ENDPOINT`, `SVC_API_KEY`, `SVC_PROJECT`, `SVC_ENVIRONMENT`, `SVC_SERVICE_NAME`,
//! `SVC_SERVICE_VERSION`, `SVC_SAMPLE` and `SVC_ENABLED`; what code sets wins.
//!
//! Each of the three has a thread and a runtime of its own for the network: what user code does cannot hold it up, and
//! dropping one never blocks. Only the bodies of a worker need tokio; client and instrumentation work on every runtime.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(unreachable_pub)]

mod cancellation;
mod client;
mod error;
mod event_stream;
mod http;
mod instrumentation;
mod machine;
#[cfg(feature = "otel")]
pub mod otel;
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
#[cfg(test)]
mod wire_tests;
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

/// The programs of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
