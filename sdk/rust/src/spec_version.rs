use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;

use crate::error::Error;
use crate::http::{Http, Request};
use crate::wire::SPEC_VERSION;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the service once for its `spec_version`. Without an answer it is asked again the next time. Those who ask
/// together share one call.
#[derive(Default)]
pub(crate) struct SpecCheck {
    served: OnceLock<String>,
    /// Held by the call under way.
    asking: Mutex<()>,
    /// Calls that were made to their end.
    ended: AtomicU64,
}

impl SpecCheck {
    /// Whether it needs no call.
    pub(crate) fn is_known(&self) -> bool {
        self.served.get().is_some()
    }

    /// Fails when the service has another major version. No answer is no fault.
    pub(crate) async fn ensure(&self, http: &Http) -> Result<(), Error> {
        if self.served.get().is_none() {
            self.ask(http).await;
        }
        let served = self.served.get().map_or(SPEC_VERSION, String::as_str);
        if served.split('.').next() == SPEC_VERSION.split('.').next() {
            return Ok(());
        }
        Err(Error::IncompatibleServer { served: served.to_owned(), understood: SPEC_VERSION.to_owned() })
    }

    /// Asks, or waits for the call that is under way. One whose caller has dropped it is not one that has ended.
    async fn ask(&self, http: &Http) {
        let ended = self.ended.load(Ordering::Acquire);
        let _under_way = self.asking.lock().await;
        if self.ended.load(Ordering::Acquire) != ended {
            return;
        }
        if let Ok(health) = http.call_for::<Value>(&Request::get("/healthz").timeout(TIMEOUT)).await {
            let served = health.get("spec_version").and_then(Value::as_str).unwrap_or(SPEC_VERSION);
            let _ = self.served.set(served.to_owned());
        }
        self.ended.fetch_add(1, Ordering::Release);
    }
}
