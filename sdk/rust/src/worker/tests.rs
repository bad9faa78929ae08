//! What the kit cannot see: the end of the runtime that bodies run on, and what travels together.

use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::time::Duration;

use serde_json::{json, Value};

use super::{Interruption, Step, StepError, Worker, Workflow};

const LONG: Duration = Duration::from_secs(30);

/// A service with one step to give, in its first attempt. Says what each call brought.
fn service() -> (String, Receiver<(String, Value)>) {
    service_with(1, json!({"status": 200, "body": {"run_status": "running"}}))
}

/// The same, with what a declaration is answered.
fn service_with(attempt: i64, declared: Value) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (calls, arrived) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (connection, calls, declared) = (connection.unwrap(), calls.clone(), declared.clone());
            std::thread::spawn(move || answer_all(&connection, &calls, attempt, &declared));
        }
    });
    (url, arrived)
}

fn answer_all(connection: &TcpStream, calls: &Sender<(String, Value)>, attempt: i64, declared: &Value) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut writer = connection;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            (reader.read_line(&mut head).ok()? > 0).then_some(())?;
        }
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let path = head.split(' ').nth(1)?.to_owned();
        let answer = answer_to(&path, attempt, declared).to_string();
        calls.send((path, serde_json::from_slice(&body).unwrap_or_default())).ok()?;
        write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).ok()?;
    }
}

fn answer_to(path: &str, attempt: i64, declared: &Value) -> Value {
    match path {
        "/healthz" => json!({"spec_version": "1.0"}),
        "/v1/api/workers/register" => {
            json!({"worker_id": "w", "lease_ttl_ms": 30_000, "heartbeat_ms": 10_000, "definitions": []})
        }
        "/v1/api/steps/claim" => json!({"leases": [{
            "lease_id": "l-1", "run_id": "r-1", "project": "default", "definition_id": "w", "definition_version": 1,
            "step_id": "a", "visit": 1, "attempt": attempt, "delivery": "at_least_once", "steps": {}, "state": {},
            "correlation": {}, "step_key": "r-1:a:1", "trace_id": "0af7651916cd43dd8448eb211c80319c",
            "span_id": "b7ad6b7169203331", "lease_expires_at": "2026-11-20T09:00:05.25Z",
        }]}),
        _ => json!({"started": [declared],
            "completes": [{"status": 200, "body": {"run_status": "completed"}}],
            "fails": [{"status": 200, "body": {"run_status": "queued"}}]}),
    }
}

fn worker(url: &str, began: Sender<()>) -> Worker {
    worker_of(url, move |_: Step, _: Value| {
        let began = began.clone();
        async move {
            began.send(()).unwrap();
            std::future::pending::<Result<Value, StepError>>().await
        }
    })
}

fn worker_of<F>(url: &str, body: impl Fn(Step, Value) -> F + Send + Sync + 'static) -> Worker
where
    F: Future<Output = Result<Value, StepError>> + Send + 'static,
{
    let definition = json!({"id": "w", "version": 1, "steps": [{"id": "a", "kind": "task"}]});
    let workflow = Workflow::new(definition).unwrap().step("a", body);
    Worker::builder().endpoint(url).enabled(false).concurrency(1).workflow(workflow).build().unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap()
}

#[test]
fn a_step_whose_runtime_ends_is_given_back_and_has_not_failed() {
    let (url, arrived) = service();
    let (began, beginning) = channel();
    let bodies = runtime();
    drop(bodies.spawn(worker(&url, began).run()));
    beginning.recv_timeout(LONG).unwrap();
    bodies.shutdown_background();
    let failure = loop {
        let (_, call) = arrived.recv_timeout(LONG).unwrap();
        if let Some(failure) = call.pointer("/fails/0") {
            break failure.clone();
        }
    };
    assert_eq!(failure["error"]["class"], "rate_limited");
    assert_eq!(failure["error"]["code"], "worker_stopping");
    assert_eq!(failure["retry_after_ms"], 0);
}

#[test]
fn a_worker_outside_of_a_runtime_is_refused_in_words() {
    let (began, _begun) = channel();
    let mut run = std::pin::pin!(worker("http://127.0.0.1:9", began).run());
    let polled = run.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    let std::task::Poll::Ready(Err(error)) = polled else { panic!("it waits") };
    assert!(error.to_string().contains("tokio runtime"), "{error}");
}

/// The batches that it sends, one after the other.
fn next_batch(arrived: &Receiver<(String, Value)>) -> Value {
    loop {
        let (path, call) = arrived.recv_timeout(LONG).unwrap();
        if path == "/v1/api/steps/batch" {
            return call;
        }
    }
}

#[test]
fn a_body_that_ends_at_once_is_declared_and_reported_in_one_batch() {
    let (url, arrived) = service();
    let bodies = runtime();
    drop(bodies.spawn(worker_of(&url, |_, _| async { Ok(json!({"ok": true})) }).run()));
    // The body of one or the other begins too late for that, where the machine is busy.
    let mut batches = (0..1000).map(|_| next_batch(&arrived));
    let is_whole = |batch: &Value| batch.get("started").is_some() && batch.get("completes").is_some();
    let batch = batches.find(is_whole).expect("a batch with both");
    assert_eq!(batch["completes"][0]["output"], json!({"ok": true}), "{batch}");
    bodies.shutdown_background();
}

#[test]
fn a_body_that_blocks_its_thread_is_declared() {
    let (url, arrived) = service();
    let bodies = runtime();
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    let body = move |_: Step, _: Value| {
        let _ = released.lock().unwrap().recv();
        async { Ok(Value::Null) }
    };
    drop(bodies.spawn(worker_of(&url, body).run()));
    let batch = next_batch(&arrived);
    assert_eq!(batch["started"][0]["lease_id"], "l-1", "{batch}");
    assert_eq!(batch.get("completes"), None, "{batch}");
    drop(release);
    assert_eq!(next_batch(&arrived)["completes"][0]["lease_id"], "l-1");
    bodies.shutdown_background();
}

#[test]
fn a_body_whose_declaration_is_refused_is_cancelled_and_not_reported() {
    for (code, reason) in [("fenced", Interruption::Fenced), ("run_terminal", Interruption::RunTerminal)] {
        let (url, arrived) = service_with(1, json!({"status": 409, "body": {"code": code, "message": "no"}}));
        let bodies = runtime();
        let (cancelled, told) = channel();
        let body = move |step: Step, _: Value| {
            let cancelled = cancelled.clone();
            async move {
                cancelled.send(step.cancelled().await).unwrap();
                Ok(Value::Null)
            }
        };
        drop(bodies.spawn(worker_of(&url, body).run()));
        assert_eq!(told.recv_timeout(LONG).unwrap(), reason);
        // Its slot is free for what the next claim brings, which stands in line without a report of this one.
        for _ in 0..2 {
            let batch = next_batch(&arrived);
            assert_eq!((batch.get("completes"), batch.get("fails")), (None, None), "{batch}");
        }
        bodies.shutdown_background();
    }
}

#[test]
fn the_body_of_a_second_attempt_waits_for_its_declaration() {
    let (url, arrived) = service_with(2, json!({"status": 409, "body": {"code": "fenced", "message": "no"}}));
    let (began, beginning) = channel();
    let bodies = runtime();
    drop(bodies.spawn(worker(&url, began).run()));
    for _ in 0..2 {
        assert_eq!(next_batch(&arrived)["started"][0]["lease_id"], "l-1");
    }
    assert!(beginning.try_recv().is_err(), "it began");
    bodies.shutdown_background();
}
