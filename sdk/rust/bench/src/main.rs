//! What recording a span costs its thread, what a stalled service costs the process, and a worker for steps/s.
//!
//! ```sh
//! cargo run --release --manifest-path sdk/rust/bench/Cargo.toml             # the figures, as JSON
//! cargo run --release --manifest-path sdk/rust/bench/Cargo.toml -- worker   # serves `bench` until SIGTERM
//! ```
//!
//! `record` is the time from the start of a span with an input, an attribute, an output and usage to behind its end, in
//! microseconds (aim: 5 at the median), and this process's processor time for each, its exporter included. `stalled`
//! offers spans of 4 KiB, at most 100,000 a second, to a service that takes connections and never answers: how much the
//! process grew (aim: 64 MB), and how many it lost.

use std::io::Read;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use svc::wire::SpanKind;
use svc::{Instrumentation, Step, StepError, Worker, Workflow};

const SPANS: u32 = 200_000;
const OFFERED: u32 = 300_000;
const RATE: f64 = 100_000.0;

/// A service that takes connections and what is sent, and never answers.
fn listening() -> String {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for connection in server.incoming() {
            let Ok(mut connection) = connection else { continue };
            std::thread::spawn(move || while connection.read(&mut [0; 1 << 16]).is_ok_and(|read| read > 0) {});
        }
    });
    url
}

fn record(tracer: &Instrumentation, number: u32, question: &str) {
    let span = tracer
        .span("draft")
        .kind(SpanKind::ModelGeneration)
        .model("gpt-4o-mini")
        .input(question)
        .attribute("n", number)
        .start();
    span.output("42").tokens(12, 1);
    span.end();
}

/// From /proc: pages that are resident, or ticks of the processor; 0 where there is none.
fn resident_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096.0 / 1e6
}

fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.get(11..13).into_iter().flatten().filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn cost(url: &str) -> Value {
    let tracer = Instrumentation::builder().endpoint(url).build();
    for number in 0..10_000 {
        record(&tracer, number, "What is it all about?");
    }
    let cpu = processor_seconds();
    let mut taken: Vec<u128> = (0..SPANS)
        .map(|number| {
            let before = Instant::now();
            record(&tracer, number, "What is it all about?");
            before.elapsed().as_nanos()
        })
        .collect();
    let cpu = processor_seconds() - cpu;
    tracer.close_blocking(Duration::ZERO);
    taken.sort_unstable();
    let at = |percent: usize| rounded(taken[taken.len() * percent / 100] as f64 / 1000.0);
    json!({"median_us": at(50), "p99_us": at(99), "cpu_us": rounded(cpu * 1e6 / f64::from(SPANS))})
}

fn stalled(url: &str) -> Value {
    let tracer = Instrumentation::builder().endpoint(url).build();
    record(&tracer, 0, "the first");
    std::thread::sleep(Duration::from_secs(1));
    let question = "x".repeat(4096);
    let before = resident_mb();
    let mut most = before;
    let started = Instant::now();
    for number in 0..OFFERED {
        record(&tracer, number, &question);
        if number % 10_000 == 0 {
            most = resident_mb().max(most);
            let ahead = f64::from(number) / RATE - started.elapsed().as_secs_f64();
            if ahead > 0.0 {
                std::thread::sleep(Duration::from_secs_f64(ahead));
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let dropped = tracer.counters().dropped;
    tracer.close_blocking(Duration::ZERO);
    json!({
        "offered_per_s": (f64::from(OFFERED) / seconds).round(),
        "dropped": dropped,
        "grew_mb": rounded(most - before),
    })
}

async fn echo(_: Step, input: Value) -> Result<Value, StepError> {
    Ok(input)
}

#[tokio::main]
async fn serve() -> Result<(), svc::Error> {
    let definition = json!({
        "id": "bench",
        "version": 1,
        "steps": [{"id": "first", "kind": "task"}, {"id": "second", "kind": "task"}, {"id": "third", "kind": "task"}],
    });
    let workflow = Workflow::new(definition)?.step("first", echo).step("second", echo).step("third", echo);
    Worker::builder().workflow(workflow).concurrency(100).build()?.run().await
}

fn main() -> Result<(), svc::Error> {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return serve();
    }
    let url = listening();
    let report = json!({"stalled": stalled(&url), "record": cost(&url)});
    println!("{report:#}");
    Ok(())
}
