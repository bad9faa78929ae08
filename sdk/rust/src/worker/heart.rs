use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{timeout, Instant};

/// Details that change quickly travel together.
const DETAILS_DELAY: Duration = Duration::from_secs(1);

/// What a heartbeat found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pulse {
    /// It was answered: the next one comes in time.
    Again,
    /// It was not: the next one comes sooner.
    Sooner,
    /// None shall follow.
    Over,
}

#[derive(Default)]
struct State {
    /// What the body gave since the last beat, as JSON.
    details: Option<Vec<u8>>,
    in_flight: bool,
    hurried: bool,
    over: bool,
}

/// Beats for one lease while its loop runs.
#[derive(Default)]
pub(crate) struct Heart {
    state: Mutex<State>,
    changed: Notify,
    settled: Notify,
}

impl Heart {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Details for the next beat, which comes within a second.
    pub(crate) fn tell(&self, details: Vec<u8>) {
        self.state().details = Some(details);
        self.changed.notify_one();
    }

    /// Beats from now on; ends when a beat says so, or when it is dropped.
    pub(crate) async fn run<F: Future<Output = Pulse>>(&self, every: Duration, beat: impl Fn(Option<Vec<u8>>) -> F) {
        let mut last = Instant::now();
        let mut wait = every;
        loop {
            self.until_due(last, wait).await;
            let sent = {
                let mut state = self.state();
                state.in_flight = true;
                state.hurried = false;
                state.details.take()
            };
            last = Instant::now();
            let found = beat(sent.clone()).await;
            let mut state = self.state();
            state.in_flight = false;
            state.over = found == Pulse::Over;
            // Details that did not arrive are sent again, unless newer ones came meanwhile.
            if found == Pulse::Sooner && state.details.is_none() {
                state.details = sent;
            }
            drop(state);
            self.settled.notify_waiters();
            wait = match found {
                Pulse::Again => every,
                Pulse::Sooner => every / 4,
                Pulse::Over => return,
            };
        }
    }

    async fn until_due(&self, last: Instant, wait: Duration) {
        loop {
            let due = {
                let state = self.state();
                if state.hurried {
                    return;
                }
                last + if state.details.is_some() { wait.min(DETAILS_DELAY) } else { wait }
            };
            tokio::select! {
                () = tokio::time::sleep_until(due) => return,
                () = self.changed.notified() => {}
            }
        }
    }

    /// Returns when the details given so far have arrived, or no beat shall follow, or the time is over.
    pub(crate) async fn flush(&self, time: Duration) {
        let sent = async {
            // At once; where nobody answers, the beats that follow it repeat the details.
            let mut hurries = true;
            loop {
                let settled = self.settled.notified();
                {
                    let mut state = self.state();
                    if state.over || (state.details.is_none() && !state.in_flight) {
                        return;
                    }
                    if hurries && !state.in_flight {
                        state.hurried = true;
                        hurries = false;
                    }
                }
                self.changed.notify_one();
                settled.await;
            }
        };
        let _ = timeout(time, sent).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const EVERY: Duration = Duration::from_millis(400);

    type Sent = Arc<Mutex<Vec<(Duration, Option<Vec<u8>>)>>>;

    /// A heart whose beats find these pulses, one after the other, and then [`Pulse::Again`]; with what was sent when.
    fn beating(pulses: Vec<Pulse>) -> (Arc<Heart>, Sent) {
        let heart = Arc::new(Heart::default());
        let sent = Sent::default();
        let (own, log) = (Arc::clone(&heart), Arc::clone(&sent));
        let began = Instant::now();
        tokio::spawn(async move {
            own.run(EVERY, |details| {
                let mut log = log.lock().unwrap();
                log.push((began.elapsed(), details));
                let pulse = pulses.get(log.len() - 1).copied().unwrap_or(Pulse::Again);
                async move { pulse }
            })
            .await;
        });
        (heart, sent)
    }

    fn block_on(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn it_beats_no_sooner_than_asked_and_sooner_after_a_miss() {
        block_on(async {
            let (_heart, sent) = beating(vec![Pulse::Sooner]);
            while sent.lock().unwrap().len() < 3 {
                tokio::time::sleep(EVERY / 10).await;
            }
            let times: Vec<Duration> = sent.lock().unwrap().iter().map(|(at, _)| *at).collect();
            let waits: Vec<Duration> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
            assert!(times[0] >= EVERY && waits[0] >= EVERY / 4 && waits[1] >= EVERY, "{times:?}");
            assert!(waits[0] < EVERY, "{times:?}");
        });
    }

    #[test]
    fn details_that_did_not_arrive_are_sent_again_unless_newer_ones_came() {
        block_on(async {
            let (heart, sent) = beating(vec![Pulse::Sooner, Pulse::Again]);
            heart.tell(b"1".to_vec());
            heart.flush(EVERY * 50).await;
            let found: Vec<_> = sent.lock().unwrap().iter().map(|(_, details)| details.clone()).collect();
            assert_eq!(found, [Some(b"1".to_vec()), Some(b"1".to_vec())]);
        });
    }

    #[test]
    fn no_beat_follows_the_end() {
        block_on(async {
            let (heart, sent) = beating(vec![Pulse::Over]);
            tokio::time::sleep(EVERY * 3).await;
            heart.tell(b"1".to_vec());
            heart.flush(EVERY * 50).await;
            assert_eq!(sent.lock().unwrap().len(), 1);
        });
    }
}
