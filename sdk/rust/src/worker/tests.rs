//! What the kit cannot see: the end of the runtime that bodies run on.

use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::time::Duration;

use serde_json::{json, Value};

use super::{Step, StepError, Worker, Workflow};

const LONG: Duration = Duration::from_secs(30);

/// A service with one step to give. Says what each call brought.
fn service() -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (calls, arrived) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (connection, calls) = (connection.unwrap(), calls.clone());
            std::thread::spawn(move || answer_all(&connection, &calls));
        }
    });
    (url, arrived)
}

fn answer_all(connection: &TcpStream, calls: &Sender<(String, Value)>) -> Option<()> {
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
        let answer = answer_to(&path).to_string();
        calls.send((path, serde_json::from_slice(&body).unwrap_or_default())).ok()?;
        write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).ok()?;
    }
}

fn answer_to(path: &str) -> Value {
    match path {
        "/healthz" => json!({"spec_version": "1.0"}),
        "/v1/api/workers/register" => {
            json!({"worker_id": "w", "lease_ttl_ms": 30_000, "heartbeat_ms": 10_000, "definitions": []})
        }
        "/v1/api/steps/claim" => json!({"leases": [{
            "lease_id": "l-1", "run_id": "r-1", "project": "default", "definition_id": "w", "definition_version": 1,
            "step_id": "a", "visit": 1, "attempt": 1, "delivery": "at_least_once", "steps": {}, "state": {},
            "correlation": {}, "step_key": "r-1:a:1", "trace_id": "0af7651916cd43dd8448eb211c80319c",
            "span_id": "b7ad6b7169203331", "lease_expires_at": "2026-11-20T09:00:05.25Z",
        }]}),
        _ => json!({"started": [{"status": 200, "body": {"run_status": "running"}}],
            "fails": [{"status": 200, "body": {"run_status": "queued"}}]}),
    }
}

fn worker(url: &str, began: Sender<()>) -> Worker {
    let body = move |_: Step, _: Value| {
        let began = began.clone();
        async move {
            began.send(()).unwrap();
            std::future::pending::<Result<Value, StepError>>().await
        }
    };
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
