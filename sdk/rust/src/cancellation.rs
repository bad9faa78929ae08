use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use tokio::sync::Notify;

/// Fires once, for all its clones. Works on every runtime.
#[derive(Clone, Default)]
pub struct CancellationToken {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    fired: AtomicBool,
    notify: Notify,
}

impl CancellationToken {
    /// A token that has not fired.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fires it. A second call does nothing.
    pub fn cancel(&self) {
        self.inner.fired.store(true, Ordering::SeqCst);
        self.inner.notify.notify_waiters();
    }

    /// Whether it has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.fired.load(Ordering::SeqCst)
    }

    /// Returns when it fires, at once if it has.
    pub async fn cancelled(&self) {
        // A waiter counts from its creation, so that no firing falls between the look and the wait.
        let waiter = self.inner.notify.notified();
        if !self.is_cancelled() {
            waiter.await;
        }
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CancellationToken").field("cancelled", &self.is_cancelled()).finish()
    }
}
