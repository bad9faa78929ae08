use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{is_over, Client, Inner, PATIENCE, WAIT_SLACK};
use crate::error::Error;
use crate::event_stream::EventReader;
use crate::http::{decode, escape, Accept, Request};
use crate::machine::Task;
use crate::wire::{JournalEntry, ListRunEventsResponse, RunDetail};

/// How long one call asks the service to wait for the end of a run; it may answer sooner.
const END_WAIT: Duration = Duration::from_secs(20);
/// Answered sooner than this, a call was not held: the next one waits a moment.
const HELD: Duration = Duration::from_secs(1);
/// Entries that were read before the caller asked for them.
const AHEAD: usize = 64;

/// The journal of a run: every entry once, in order. Ends with the run; who drops it, hangs up.
///
/// It is a [`Stream`], and [`next`](Self::next) reads it without a library for streams.
#[must_use = "a watch that is dropped hangs up"]
pub struct Watch {
    entries: mpsc::Receiver<Result<JournalEntry, Error>>,
    _task: Task<()>,
}

impl Watch {
    /// The next entry; nothing when the run has ended, or the client was closed.
    ///
    /// # Errors
    ///
    /// Those of [`Client`]; an error is the last item.
    pub async fn next(&mut self) -> Option<Result<JournalEntry, Error>> {
        self.entries.recv().await
    }
}

impl Stream for Watch {
    type Item = Result<JournalEntry, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.entries.poll_recv(context)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Client {
    /// Follows the journal of a run: every entry once, in order, across broken connections and restarts of the
    /// service. Ends when the run has ended, or when the client is closed.
    pub fn watch(&self, run_id: &str) -> Watch {
        self.watch_after(run_id, -1)
    }

    /// The same, behind a sequence number.
    pub fn watch_after(&self, run_id: &str, after: i64) -> Watch {
        let (sink, entries) = mpsc::channel(AHEAD);
        let follower = Follower {
            inner: Arc::clone(&self.inner),
            path: format!("/v1/api/runs/{}", escape(run_id)),
            last: after,
            sink,
        };
        Watch { entries, _task: self.machine.spawn(follower.follow()) }
    }

    /// Waits for the end of a run, and gives its output. Drop the future to stop waiting.
    ///
    /// # Errors
    ///
    /// [`Error::RunFailed`], with the run, when it did not succeed; [`Error::Output`] when the output is no `T`.
    pub async fn wait<T: DeserializeOwned>(&self, run_id: &str) -> Result<T, Error> {
        let inner = Arc::clone(&self.inner);
        let path = format!("/v1/api/runs/{}", escape(run_id));
        let run = self.machine.run(async move { inner.unless_closed(inner.end_of(&path)).await }).await?;
        if run.status.as_str() != "succeeded" {
            return Err(Error::RunFailed(Box::new(run)));
        }
        serde_json::from_value(run.output.unwrap_or_default())
            .map_err(|cause| Error::Output(format!("the output of run {run_id} cannot be read: {cause}")))
    }
}

impl Inner {
    /// Asks for the end again and again; each call is held by the service.
    async fn end_of(&self, path: &str) -> Result<RunDetail, Error> {
        let mut unheld = 0;
        let mut is_held = true;
        loop {
            let asked_at = Instant::now();
            let policy = if self.last_answer().is_some() { self.patient() } else { self.retry };
            let request = Request::get(path);
            let request = if is_held {
                request.with("wait_ms", Some(END_WAIT.as_millis())).timeout(END_WAIT + WAIT_SLACK)
            } else {
                request
            };
            let run: RunDetail = match self.send(&request, policy).await {
                // A service that does not hold a read.
                Err(Error::Service(refusal)) if is_held && refusal.field.as_deref() == Some("wait_ms") => {
                    is_held = false;
                    continue;
                }
                answer => decode(&answer?)?,
            };
            if is_over(run.status.as_str()) {
                return Ok(run);
            }
            if !is_held {
                tokio::time::sleep(HELD).await;
            } else if asked_at.elapsed() < HELD {
                unheld += 1;
                tokio::time::sleep(self.retry.wait_after(unheld)).await;
            } else {
                unheld = 0;
            }
        }
    }
}

/// One that follows a journal: a task of the machine of its client.
struct Follower {
    inner: Arc<Inner>,
    path: String,
    last: i64,
    sink: mpsc::Sender<Result<JournalEntry, Error>>,
}

/// What ends a connection without ending the watch.
struct Broken {
    error: Error,
    /// Whether the stream was open: then the service was there until now, however long the run was silent.
    was_open: bool,
}

impl Follower {
    async fn follow(mut self) {
        let closing = self.inner.closing.clone();
        let error = tokio::select! {
            biased;
            () = closing.cancelled() => None,
            followed = self.follow_until_the_end() => followed.err(),
        };
        if let Some(error) = error {
            let _ = self.sink.send(Err(error)).await;
        }
    }

    async fn follow_until_the_end(&mut self) -> Result<(), Error> {
        let retry = self.inner.retry;
        let mut failures = 0;
        let mut there_at = self.inner.last_answer();
        loop {
            let before = self.last;
            let found = match self.read_stream().await {
                Ok(true) => return Ok(()),
                // The stream ended in good order without the end of the run: the service stops, or the end lies
                // before the point from which we follow.
                Ok(false) => self.read_rest().await.map_err(|error| Broken { error, was_open: false }),
                Err(broken) => Err(broken),
            };
            if self.last != before {
                failures = 0;
            }
            match found {
                Ok(Rest::Ended) => return Ok(()),
                Ok(Rest::Entries) => {}
                Ok(Rest::Nothing) => tokio::time::sleep(retry.wait_after(1)).await,
                Err(broken) => {
                    if !broken.error.is_retryable() {
                        return Err(broken.error);
                    }
                    failures += 1;
                    if broken.was_open {
                        there_at = Some(Instant::now());
                    }
                    let is_patient = there_at.is_some_and(|at| at.elapsed() < PATIENCE);
                    if retry.attempts.is_some_and(|most| failures >= most) && !is_patient {
                        return Err(broken.error);
                    }
                    tokio::time::sleep(broken.error.asked_wait().max(retry.wait_after(failures))).await;
                }
            }
        }
    }

    /// Reads one connection. Gives whether the run has ended.
    async fn read_stream(&mut self) -> Result<bool, Broken> {
        let inner = Arc::clone(&self.inner);
        let mut request = Request::get(format!("{}/events", self.path)).timeout(inner.timeout);
        request.accept = Accept::Events { after: Some(self.last).filter(|last| *last >= 0) };
        let mut stream = inner.http.stream(&request).await.map_err(|error| Broken { error, was_open: false })?;
        inner.answered();
        let broken = |error| Broken { error, was_open: true };
        let mut reader = EventReader::default();
        while let Some(piece) = stream.read(inner.stream_idle).await.map_err(broken)? {
            reader.push(&piece).map_err(broken)?;
            while let Some(data) = reader.next() {
                if self.give(decode(data.as_bytes()).map_err(broken)?).await {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// A page of what follows. The run is read before its journal: when it had ended by then, the journal holds all
    /// there is; the other way round, its end could be missed.
    async fn read_rest(&mut self) -> Result<Rest, Error> {
        let inner = Arc::clone(&self.inner);
        let run: RunDetail = decode(&inner.send(&Request::get(self.path.as_str()), inner.retry).await?)?;
        let request = Request::get(format!("{}/events", self.path)).with("after", Some(self.last));
        let page: ListRunEventsResponse = decode(&inner.send(&request, inner.retry).await?)?;
        if page.events.is_empty() {
            return Ok(if is_over(run.status.as_str()) { Rest::Ended } else { Rest::Nothing });
        }
        for entry in page.events {
            if self.give(entry).await {
                return Ok(Rest::Ended);
            }
        }
        Ok(Rest::Entries)
    }

    /// Gives an entry on that was not given yet. Returns whether nothing comes behind it.
    async fn give(&mut self, entry: JournalEntry) -> bool {
        if entry.seq <= self.last {
            return false;
        }
        self.last = entry.seq;
        let is_last = entry.kind.as_str() == "run.finished";
        self.sink.send(Ok(entry)).await.is_err() || is_last
    }
}

enum Rest {
    Entries,
    Nothing,
    Ended,
}
