use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::{json, Value};
use tokio::sync::oneshot;

use super::motion::Motion;
use crate::error::{Error, ServiceError};
use crate::http::{escape, Http, Request, DEFAULT_TIMEOUT};

// See docs/worker-protocol.md, "Many calls in one".
const BATCH_ITEMS: usize = 1000;
/// Larger reports go by themselves: nobody waits until they are through.
const LARGE_BYTES: usize = 256 * 1024;
const BATCH_BYTES: usize = 1024 * 1024;
/// The service writes one batch while it reads the next.
const BATCHES_AT_ONCE: usize = 2;

/// The calls that the holder of a lease makes on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepVerb {
    Started,
    Heartbeat,
    Complete,
    Fail,
}

/// Each with its path and its list in a batch.
const VERBS: [(StepVerb, &str, &str); 4] = [
    (StepVerb::Started, "started", "started"),
    (StepVerb::Heartbeat, "heartbeat", "heartbeats"),
    (StepVerb::Complete, "complete", "completes"),
    (StepVerb::Fail, "fail", "fails"),
];

#[derive(Debug, Clone)]
pub(crate) struct StepCall {
    pub(crate) verb: StepVerb,
    pub(crate) lease_id: String,
    /// A JSON object that is not empty.
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Duration,
    /// It ends its lease, and a step may be claimed with it for the slot. Not so where a report before it was one.
    pub(crate) frees_slot: bool,
    /// Its answer sets its lease going. See [`Motion`].
    pub(crate) sets_going: bool,
    /// Set when it leaves. What is called on the same lease before that travels with it, in the order of the protocol.
    pub(crate) sent: Option<Arc<AtomicBool>>,
}

impl StepCall {
    fn leave(&self) {
        if let Some(sent) = &self.sent {
            sent.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether a call with such a body never shares a batch.
pub(crate) fn is_large(body: &[u8]) -> bool {
    body.len() > LARGE_BYTES
}

struct Item {
    call: StepCall,
    answer: oneshot::Sender<Result<Value, Error>>,
}

/// What the calls need of their worker.
pub(crate) trait LeaseTaker: Send + Sync {
    /// Whether a report may claim what fills the slot that it frees.
    fn claims(&self) -> bool;

    /// Takes what came with the answer to a report.
    fn take(&self, leases: Vec<Value>);
}

#[derive(Default)]
struct Line {
    items: VecDeque<Item>,
    senders: usize,
    closed: bool,
}

/// The calls of all leases of one worker. Those that come together travel together, and the steps that follow come
/// back in the same answer. A service that does not know the batch gets each call by itself.
pub(crate) struct StepCalls {
    http: Arc<Http>,
    worker_id: String,
    run_id: Option<String>,
    taker: Weak<dyn LeaseTaker>,
    motion: Motion,
    line: Mutex<Line>,
    knows_batch: AtomicBool,
}

fn broken_off() -> Error {
    Error::Connection("the worker has ended".to_owned())
}

impl StepCalls {
    pub(crate) fn new(
        http: Arc<Http>,
        worker_id: String,
        run_id: Option<String>,
        taker: Weak<dyn LeaseTaker>,
    ) -> Arc<Self> {
        let (line, knows_batch) = (Mutex::default(), AtomicBool::new(true));
        Arc::new(Self { http, worker_id, run_id, taker, motion: Motion::default(), line, knows_batch })
    }

    /// Of the leases of the worker: a batch waits until they have said what they have to say.
    pub(crate) fn motion(&self) -> &Motion {
        &self.motion
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one call, one try. On the runtime of the worker alone; who drops it, takes it back.
    pub(crate) async fn make(self: &Arc<Self>, call: StepCall) -> Result<Value, Error> {
        if !self.knows_batch.load(Ordering::Relaxed) || is_large(&call.body) {
            return self.alone(&call).await;
        }
        let (answer, answered) = oneshot::channel();
        {
            let mut line = self.line();
            if line.closed {
                return Err(broken_off());
            }
            line.items.push_back(Item { call, answer });
            if line.senders < BATCHES_AT_ONCE {
                line.senders += 1;
                drop(tokio::spawn(Arc::clone(self).send_all()));
            }
        }
        answered.await.unwrap_or_else(|_| Err(broken_off()))
    }

    /// What still waits is answered as broken off.
    pub(crate) fn close(&self) {
        let mut line = self.line();
        line.closed = true;
        line.items.clear();
    }

    async fn alone(&self, call: &StepCall) -> Result<Value, Error> {
        call.leave();
        let verb = VERBS.iter().find(|(verb, ..)| *verb == call.verb).map_or("", |(_, path, _)| path);
        let path = format!("/v1/api/steps/{}/{verb}", escape(&call.lease_id));
        self.http.call_for(&Request::post(path, call.body.clone()).timeout(call.timeout)).await
    }

    async fn send_all(self: Arc<Self>) {
        loop {
            // What can go on comes first, so that what is ready together travels together.
            self.motion.wait().await;
            let Some(items) = self.take() else { return };
            self.send(items).await;
        }
    }

    /// What travels next; nothing where nothing waits, and then one sender less is at work.
    fn take(&self) -> Option<Vec<Item>> {
        let mut line = self.line();
        let mut items: Vec<Item> = Vec::new();
        let mut size = 0;
        while items.len() < BATCH_ITEMS {
            let Some(next) = line.items.front() else { break };
            size += next.call.body.len();
            if !items.is_empty() && size > BATCH_BYTES {
                break;
            }
            // One that nobody waits for any more was taken back.
            items.extend(line.items.pop_front().filter(|item| !item.answer.is_closed()));
        }
        if items.is_empty() {
            line.senders -= 1;
            return None;
        }
        Some(items)
    }

    async fn send(self: &Arc<Self>, items: Vec<Item>) {
        for item in &items {
            item.call.leave();
        }
        let timeout = items.iter().map(|item| item.call.timeout).min().unwrap_or(DEFAULT_TIMEOUT);
        let request = Request::post("/v1/api/steps/batch", self.text_of(&items)).timeout(timeout);
        match self.http.call_for(&request).await {
            Ok(answer) => self.deliver(items, answer),
            Err(Error::Service(refusal)) if is_of_batch(&refusal) => {
                if refusal.status == 404 {
                    self.knows_batch.store(false, Ordering::Relaxed);
                }
                self.each_alone(items);
            }
            Err(error) => {
                for item in items {
                    drop(item.answer.send(Err(error.clone())));
                }
            }
        }
    }

    /// What is called on a lease comes after its declaration here, too.
    fn each_alone(self: &Arc<Self>, items: Vec<Item>) {
        let (declarations, others): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| item.call.verb == StepVerb::Started);
        let mut of_lease: HashMap<String, Vec<Item>> = HashMap::new();
        for item in others {
            of_lease.entry(item.call.lease_id.clone()).or_default().push(item);
        }
        for declaration in declarations {
            let behind = of_lease.remove(&declaration.call.lease_id).unwrap_or_default();
            let calls = Arc::clone(self);
            drop(tokio::spawn(async move {
                calls.answer_alone(declaration).await;
                calls.all_at_once(behind);
            }));
        }
        self.all_at_once(of_lease.into_values().flatten());
    }

    fn all_at_once(self: &Arc<Self>, items: impl IntoIterator<Item = Item>) {
        for item in items {
            let calls = Arc::clone(self);
            drop(tokio::spawn(async move { calls.answer_alone(item).await }));
        }
    }

    async fn answer_alone(&self, item: Item) {
        let answer = self.alone(&item.call).await;
        drop(item.answer.send(answer));
    }

    fn text_of(&self, items: &[Item]) -> Vec<u8> {
        let mut text = format!("{{\"worker_id\":{}", json!(self.worker_id)).into_bytes();
        let freed = items.iter().filter(|item| item.call.frees_slot).count();
        for (verb, _, list) in VERBS {
            let own: Vec<&StepCall> = items.iter().map(|item| &item.call).filter(|call| call.verb == verb).collect();
            if own.is_empty() {
                continue;
            }
            text.extend_from_slice(format!(",\"{list}\":[").as_bytes());
            for (number, call) in own.iter().enumerate() {
                let comma = if number == 0 { "" } else { "," };
                text.extend_from_slice(format!("{comma}{{\"lease_id\":{},", json!(call.lease_id)).as_bytes());
                text.extend_from_slice(&call.body[1..]);
            }
            text.push(b']');
        }
        if freed > 0 && self.taker.upgrade().is_some_and(|taker| taker.claims()) {
            let mut claim = json!({"max": freed, "wait_ms": 0});
            if let Some(run_id) = &self.run_id {
                claim["run_id"] = run_id.as_str().into();
            }
            text.extend_from_slice(format!(",\"claim\":{claim}").as_bytes());
        }
        text.push(b'}');
        text
    }

    fn deliver(&self, mut items: Vec<Item>, mut answer: Value) {
        // First: whoever counts free slots next must see what fills them.
        if let (Some(Value::Array(leases)), Some(taker)) = (answer.get_mut("leases"), self.taker.upgrade()) {
            taker.take(std::mem::take(leases));
        }
        for (verb, _, list) in VERBS {
            let answers = answer.get_mut(list).and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
            let mut answers = answers.into_iter();
            let (own, others): (Vec<Item>, Vec<Item>) = items.into_iter().partition(|item| item.call.verb == verb);
            items = others;
            self.motion.begin(own.iter().filter(|item| item.call.sets_going).count());
            for item in own {
                drop(item.answer.send(read_item(answers.next())));
            }
        }
    }
}

/// Whether a refusal is about the call that holds the others, so that each is to be made by itself: one that cannot be
/// read spoils no other. A key or a limit holds for all of them.
fn is_of_batch(refusal: &ServiceError) -> bool {
    (400..500).contains(&refusal.status) && !matches!(refusal.status, 401 | 403) && !refusal.is_retryable()
}

fn read_item(answer: Option<Value>) -> Result<Value, Error> {
    let missing = || Error::Connection("the answer to a batch lacks an item".to_owned());
    let mut answer = answer.ok_or_else(missing)?;
    let status = answer.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    let body = answer.get_mut("body").map(Value::take);
    match status.ok_or_else(missing)? {
        200..=299 => Ok(body.unwrap_or_default()),
        status => Err(ServiceError::from_value(status, body.as_ref(), "").into()),
    }
}
