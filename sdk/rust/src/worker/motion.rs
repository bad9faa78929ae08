use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{timeout, Instant};

/// Nobody waits longer: a runtime of the user that is kept busy may hold up bodies that are about to begin.
const LIMIT: Duration = Duration::from_millis(5);
/// Nor so long where none comes any further: bodies that block their threads hold up nobody.
const STEP: Duration = Duration::from_millis(1);

/// Counts the leases that an answer has set going, until each has come as far as it comes by itself: its body has
/// begun, or its slot is free. One whose body begins before its declaration has left moves until the body waits, or
/// its report stands in line. What they ask for meanwhile travels together.
#[derive(Default)]
pub(crate) struct Motion {
    count: AtomicUsize,
    moved: AtomicUsize,
    ended: Notify,
}

impl Motion {
    pub(crate) fn begin(&self, leases: usize) {
        self.count.fetch_add(leases, Ordering::SeqCst);
    }

    pub(crate) fn end(&self) {
        self.moved.fetch_add(1, Ordering::SeqCst);
        // One that was given up as too slow comes late.
        let before = self.count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
        if before == Ok(1) {
            self.ended.notify_waiters();
        }
    }

    /// Returns when nothing moves, or the limit has passed.
    pub(crate) async fn wait(&self) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let still = async {
            loop {
                let ended = self.ended.notified();
                if self.count.load(Ordering::SeqCst) == 0 {
                    return;
                }
                ended.await;
            }
        };
        let mut still = pin!(still);
        let end = Instant::now() + LIMIT;
        loop {
            let before = self.moved.load(Ordering::SeqCst);
            if timeout(STEP, still.as_mut()).await.is_ok() {
                return;
            }
            if self.moved.load(Ordering::SeqCst) == before || Instant::now() >= end {
                break;
            }
        }
        // Those who wait next begin to count anew.
        self.count.store(0, Ordering::SeqCst);
        self.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::Motion;

    #[test]
    fn it_is_waited_for_until_nothing_moves_and_not_for_long() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let motion = Motion::default();
            motion.wait().await;
            motion.begin(2);
            let mut waiting = pin!(motion.wait());
            for _ in 0..2 {
                assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                motion.end();
            }
            assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
            motion.begin(1);
            motion.wait().await;
            // It comes late, and those that came with it are not counted twice.
            motion.end();
            motion.begin(1);
            motion.end();
            motion.wait().await;
        });
    }
}
