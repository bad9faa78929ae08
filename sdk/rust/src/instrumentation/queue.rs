use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{timeout, Instant};

use crate::cancellation::CancellationToken;
use crate::error::Error;
use crate::http::{Http, Request};
use crate::machine::Machine;
use crate::random;
use crate::retry::{with_retries, RetryPolicy};
use crate::spec_version::SpecCheck;
use crate::warnings::LogSink;
use crate::wire::Severity;

const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How long a batch that was broken off may take to be counted.
const SETTLE_TIME: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalName {
    Spans,
    Logs,
    Metrics,
    Scores,
    Feedback,
    AspectNotes,
}

const SIGNALS: [(SignalName, &str); 6] = [
    (SignalName::Spans, "spans"),
    (SignalName::Logs, "logs"),
    (SignalName::Metrics, "metrics"),
    (SignalName::Scores, "scores"),
    (SignalName::Feedback, "feedback"),
    (SignalName::AspectNotes, "aspect_notes"),
];

/// What became of signals since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Stored by the service, or recognised by it as sent before.
    pub sent: u64,
    /// Pushed out by newer ones while the queue was full; or too large, or not JSON; or recorded after `close`.
    pub dropped: u64,
    /// Refused by the service: a 4xx, or an error of its answer.
    pub refused: u64,
    /// Given up after the last try, or at `close`.
    pub failed: u64,
    /// Calls that gave something that is no signal, such as a score without a scale.
    pub invalid: u64,
}

#[derive(Clone)]
pub(crate) struct QueueOptions {
    pub(crate) max_queued: usize,
    pub(crate) max_bytes: usize,
    pub(crate) batch_size: usize,
    pub(crate) delay: Duration,
    pub(crate) retry: RetryPolicy,
}

#[derive(Default)]
struct Line {
    items: VecDeque<(SignalName, Vec<u8>)>,
    bytes: usize,
    /// Signals that ever came into the queue. The first that still waits is number `added - items.len()`.
    added: u64,
    /// The number of the first signal of the batch that is being sent.
    under_way: Option<u64>,
    /// Calls of `flush` that wait: then nothing waits for others to travel with.
    hurried: u32,
    closed: bool,
    machine: Option<Arc<Machine>>,
    counters: Counters,
}

impl Line {
    /// Whether all signals before this number were sent, refused, given up or pushed out.
    fn is_settled(&self, number: u64) -> bool {
        self.added - self.items.len() as u64 >= number && self.under_way.is_none_or(|first| first >= number)
    }
}

/// Sends signals in the background, in batches, one batch at a time, on a thread of its own.
///
/// Adding never fails and never waits: a signal is text already, and goes into a bounded queue that drops its oldest.
pub(crate) struct Queue {
    line: Mutex<Line>,
    invalid: AtomicU64,
    wake: Notify,
    settled: Notify,
    given_up: CancellationToken,
    http: Http,
    spec: SpecCheck,
    options: QueueOptions,
    log: LogSink,
    /// That the service has another major version was said.
    warned: AtomicBool,
}

impl Queue {
    pub(crate) fn new(http: Http, options: QueueOptions, log: LogSink) -> Arc<Self> {
        Arc::new(Self {
            line: Mutex::default(),
            invalid: AtomicU64::new(0),
            wake: Notify::new(),
            settled: Notify::new(),
            given_up: CancellationToken::new(),
            http,
            spec: SpecCheck::default(),
            options,
            log,
            warned: AtomicBool::new(false),
        })
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { invalid: self.invalid.load(Ordering::Relaxed), ..self.line().counters }
    }

    pub(crate) fn add_invalid(&self) {
        self.invalid.fetch_add(1, Ordering::Relaxed);
    }

    /// Queues a signal that was written as JSON; counts one that could not be.
    pub(crate) fn add(self: &Arc<Self>, signal: SignalName, text: Option<Vec<u8>>) {
        let text = text.filter(|text| text.len() <= BATCH_BYTES.min(self.options.max_bytes));
        let mut line = self.line();
        let Some(mut text) = text.filter(|_| !line.closed) else {
            line.counters.dropped += 1;
            return;
        };
        // What was written grew by doubling: the bound is on bytes that are held.
        text.shrink_to_fit();
        line.bytes += text.len();
        line.added += 1;
        line.items.push_back((signal, text));
        while line.items.len() > self.options.max_queued || line.bytes > self.options.max_bytes {
            let Some((_, oldest)) = line.items.pop_front() else { break };
            line.bytes -= oldest.len();
            line.counters.dropped += 1;
        }
        self.start(&mut line);
        let is_turn = line.items.len() == 1 || line.items.len() == self.options.batch_size;
        drop(line);
        if is_turn {
            self.wake.notify_one();
        }
    }

    /// Starts the thread. Where none can be started now, the next signal tries again.
    fn start(self: &Arc<Self>, line: &mut Line) {
        if line.machine.is_some() {
            return;
        }
        if let Ok(machine) = Machine::start("svc-export") {
            let machine = Arc::new(machine);
            let queue = Arc::clone(self);
            machine.detach(async move {
                queue.export().await;
                // The thread ends with the last signal.
                drop(queue.line().machine.take());
                queue.settled.notify_waiters();
            });
            line.machine = Some(machine);
        }
    }

    async fn export(self: &Arc<Self>) {
        while self.wait_for_batch().await {
            let batch = self.take();
            if !batch.is_empty() {
                self.send(batch).await;
            }
        }
    }

    /// Gives whether there is one; otherwise all is over.
    async fn wait_for_batch(&self) -> bool {
        loop {
            {
                let line = self.line();
                if !line.items.is_empty() {
                    break;
                }
                if line.closed {
                    return false;
                }
            }
            self.wake.notified().await;
        }
        let due = Instant::now() + self.options.delay;
        loop {
            {
                let line = self.line();
                if self.given_up.is_cancelled() {
                    return false;
                }
                if line.closed || line.hurried > 0 || line.items.len() >= self.options.batch_size {
                    return true;
                }
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep_until(due) => return true,
            }
        }
    }

    fn take(&self) -> Vec<(SignalName, Vec<u8>)> {
        let mut line = self.line();
        line.under_way = Some(line.added - line.items.len() as u64);
        let mut batch = Vec::new();
        let mut size = 0;
        while batch.len() < self.options.batch_size {
            let Some((_, next)) = line.items.front() else { break };
            size += next.len();
            if !batch.is_empty() && size > BATCH_BYTES {
                break;
            }
            batch.extend(line.items.pop_front());
        }
        line.bytes -= batch.iter().map(|(_, text)| text.len()).sum::<usize>();
        batch
    }

    /// Sends one batch, and counts what became of it.
    async fn send(&self, batch: Vec<(SignalName, Vec<u8>)>) {
        let count = batch.len() as u64;
        // Written once: a batch is sent again under the same key.
        let request = Request::post("/v1/ingest", body_of(&batch));
        drop(batch);
        let sending = async {
            if let Err(fault @ Error::IncompatibleServer { .. }) = self.spec.ensure(&self.http).await {
                if !self.warned.swap(true, Ordering::Relaxed) {
                    (self.log)(&Severity::Warn, &format!("instrumentation: {fault}"));
                }
            }
            with_retries(self.options.retry, Some(&self.given_up), || self.http.call_for::<Value>(&request)).await
        };
        let answer = tokio::select! {
            biased;
            answer = sending => answer,
            () = self.given_up.cancelled() => Err(Error::Connection("given up".to_owned())),
        };
        let mut line = self.line();
        match answer {
            Ok(answer) => {
                let rejected = answer.get("rejected").and_then(Value::as_u64).unwrap_or(0).min(count);
                line.counters.refused += rejected;
                line.counters.sent += count - rejected;
            }
            Err(Error::Service(refusal)) if (400..500).contains(&refusal.status) && refusal.status != 429 => {
                line.counters.refused += count;
            }
            Err(_) => line.counters.failed += count,
        }
        line.under_way = None;
        drop(line);
        self.settled.notify_waiters();
    }

    /// Sends what is queued. Gives whether all of it was settled in time.
    pub(crate) async fn flush(self: &Arc<Self>, time: Duration) -> bool {
        let (goal, machine) = {
            let mut line = self.line();
            if line.is_settled(line.added) {
                return true;
            }
            if !line.closed {
                self.start(&mut line);
            }
            let Some(machine) = line.machine.clone() else { return false };
            line.hurried += 1;
            (line.added, machine)
        };
        let _hurry = Hurry(self);
        self.wake.notify_one();
        let queue = Arc::clone(self);
        let waiting = async move { timeout(time, queue.until(|line| line.is_settled(goal))).await.is_ok() };
        machine.spawn(waiting).await.unwrap_or(false)
    }

    async fn until(&self, is_so: impl Fn(&Line) -> bool) {
        loop {
            let changed = self.settled.notified();
            if is_so(&self.line()) {
                return;
            }
            changed.await;
        }
    }

    /// Nothing more is taken; what is queued is still sent.
    pub(crate) fn begin_close(&self) {
        self.line().closed = true;
        self.wake.notify_one();
    }

    /// Sends what is queued for so long at most, then gives up the rest and stops.
    pub(crate) async fn close(self: &Arc<Self>, time: Duration) {
        self.begin_close();
        let machine = self.line().machine.clone();
        if let Some(machine) = machine {
            let queue = Arc::clone(self);
            let closing = async move {
                if timeout(time, queue.until(|line| line.machine.is_none())).await.is_err() {
                    queue.given_up.cancel();
                    // What was on its way is broken off now, and counted.
                    let _ = timeout(SETTLE_TIME, queue.until(|line| line.machine.is_none())).await;
                }
            };
            let _ = machine.spawn(closing).await;
        }
        self.given_up.cancel();
        let mut line = self.line();
        line.counters.failed += line.items.len() as u64;
        line.items.clear();
        line.bytes = 0;
        drop(line);
        self.settled.notify_waiters();
    }
}

/// A flush that waits; also one whose caller stopped waiting.
struct Hurry<'a>(&'a Queue);

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.line().hurried -= 1;
    }
}

fn body_of(batch: &[(SignalName, Vec<u8>)]) -> Vec<u8> {
    // The key makes a resend after a lost answer count as a duplicate, so that nothing is stored twice.
    let mut body = format!("{{\"ingest_key\":\"{}\"", random::uuid()).into_bytes();
    for (signal, name) in SIGNALS {
        let mut own = batch.iter().filter(|(other, _)| *other == signal).map(|(_, text)| text).peekable();
        if own.peek().is_none() {
            continue;
        }
        body.extend_from_slice(format!(",\"{name}\":[").as_bytes());
        while let Some(text) = own.next() {
            body.extend_from_slice(text);
            body.push(if own.peek().is_some() { b',' } else { b']' });
        }
    }
    body.push(b'}');
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_lists_each_signal_once_and_in_order() {
        let batch =
            [(SignalName::Spans, b"1".to_vec()), (SignalName::Logs, b"2".to_vec()), (SignalName::Spans, b"3".to_vec())];
        let body: Value = serde_json::from_slice(&body_of(&batch)).unwrap();
        assert_eq!((&body["spans"], &body["logs"]), (&serde_json::json!([1, 3]), &serde_json::json!([2])));
        assert_eq!(body.as_object().unwrap().len(), 3);
        assert_eq!(body["ingest_key"].as_str().unwrap().len(), 36);
    }
}
