//! What the library costs: `svc-bench spans <url>`, or `svc-bench runs` with a plan on standard input. See bench/sdk/README.md.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use svc::wire::{RunStatus, SpanKind};
use svc::{Client, Instrumentation, Step, StepError, Worker, Workflow};

const WARM_UP: u32 = 10_000;
const SPANS: u32 = 50_000;
const OFFERED: u32 = 300_000;
const RATE: f64 = 100_000.0;

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

fn resident_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096.0 / 1e6
}

/// Processor time of this thread, in microseconds. See proc(5), `schedstat`.
fn thread_us() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or_default() / 1e3
}

/// Processor time of this process, in microseconds: ticks of 10 ms.
fn processor_us() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.get(11..13).into_iter().flatten().filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 1e4
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn cost(url: &str) -> Value {
    let tracer = Instrumentation::builder().endpoint(url).build();
    for number in 0..WARM_UP {
        record(&tracer, number, "What is it all about?");
    }
    let cpu = thread_us();
    let mut taken: Vec<u128> = (0..SPANS)
        .map(|number| {
            let before = Instant::now();
            record(&tracer, number, "What is it all about?");
            before.elapsed().as_nanos()
        })
        .collect();
    let cpu = thread_us() - cpu;
    tracer.close_blocking(Duration::ZERO);
    taken.sort_unstable();
    let at = |percent: usize| rounded(taken[taken.len() * percent / 100] as f64 / 1000.0);
    json!({"median_us": at(50), "p99_us": at(99), "cpu_us": rounded(cpu / f64::from(SPANS))})
}

fn stalled(url: &str) -> Value {
    let tracer = Instrumentation::builder().endpoint(url).build();
    record(&tracer, 0, "the first");
    std::thread::sleep(Duration::from_secs(1));
    let question = "x".repeat(4096);
    let before = resident_mb();
    let mut most = before;
    let started = Instant::now();
    for number in 1..=OFFERED {
        record(&tracer, number, &question);
        if number % 1000 == 0 {
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

/// A worker and a client in one process; each run is started and awaited, so many at a time.
async fn runs(plan: Value) -> Result<Value, Box<dyn std::error::Error>> {
    let text = |name: &str| plan[name].as_str().unwrap_or_default().to_owned();
    let seconds = |name: &str| Duration::from_secs_f64(plan[name].as_f64().unwrap_or_default());
    let (url, id, in_flight) = (text("url"), text("definition"), plan["inFlight"].as_u64().unwrap_or_default());
    let client = Client::builder().endpoint(&url).build()?;
    let steps = Arc::new(AtomicU64::new(0));
    let definition = Value::Object(client.get_definition(&id).await?.latest);
    let mut workflow = Workflow::new(definition.clone())?;
    for step in definition["steps"].as_array().into_iter().flatten() {
        let steps = steps.clone();
        workflow = workflow.step(step["id"].as_str().unwrap_or_default(), move |_: Step, _: Value| {
            steps.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, StepError>(json!({"ok": true})) }
        });
    }
    let worker =
        Worker::builder().endpoint(&url).workflow(workflow).concurrency(usize::try_from(in_flight)?).build()?;
    let handle = worker.handle();
    let serving = tokio::spawn(worker.run());

    let over = Arc::new(AtomicBool::new(false));
    let drivers: Vec<_> =
        (0..in_flight).map(|number| tokio::spawn(drive(client.clone(), id.clone(), number, over.clone()))).collect();
    tokio::time::sleep(seconds("warmUpSeconds")).await;
    println!("measuring");
    let (began, cpu, before) = (Instant::now(), processor_us(), steps.load(Ordering::Relaxed));
    tokio::time::sleep(seconds("seconds")).await;
    println!("measured");
    let figures = json!({
        "steps": steps.load(Ordering::Relaxed) - before,
        "seconds": began.elapsed().as_secs_f64(),
        "cpu_us": processor_us() - cpu,
    });
    over.store(true, Ordering::Relaxed);
    for driver in drivers {
        driver.await??;
    }
    handle.stop();
    serving.await??;
    Ok(figures)
}

async fn drive(client: Client, id: String, number: u64, over: Arc<AtomicBool>) -> Result<(), String> {
    while !over.load(Ordering::Relaxed) {
        let start = client.start::<Value>(&id, &json!({"n": number})).wait_for_end(Duration::from_secs(60));
        let run = start.await.map_err(|error| error.to_string())?;
        if run.as_started().status != RunStatus::Succeeded {
            return Err(format!("run {} is {}", run.id(), run.as_started().status));
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let figures = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["spans", url] => json!({"stalled": stalled(url), "record": cost(url)}),
        ["runs"] => {
            let plan = serde_json::from_reader(std::io::stdin())?;
            tokio::runtime::Runtime::new()?.block_on(runs(plan))?
        }
        _ => return Err("usage: svc-bench spans <url> | svc-bench runs".into()),
    };
    println!("{figures}");
    Ok(())
}
