use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use crate::error::Error;
use crate::http::{Http, Request};
use crate::wire::SPEC_VERSION;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the service once for its `spec_version`. Without an answer it is asked again the next time.
#[derive(Default)]
pub(crate) struct SpecCheck {
    served: OnceLock<String>,
}

impl SpecCheck {
    /// Whether it needs no call.
    pub(crate) fn is_known(&self) -> bool {
        self.served.get().is_some()
    }

    /// Fails when the service has another major version. No answer is no fault.
    pub(crate) async fn ensure(&self, http: &Http) -> Result<(), Error> {
        if self.served.get().is_none() {
            match http.call_for::<Value>(&Request::get("/healthz").timeout(TIMEOUT)).await {
                Ok(health) => {
                    let served = health.get("spec_version").and_then(Value::as_str).unwrap_or(SPEC_VERSION);
                    let _ = self.served.set(served.to_owned());
                }
                Err(_) => return Ok(()),
            }
        }
        let served = self.served.get().map_or(SPEC_VERSION, String::as_str);
        if served.split('.').next() == SPEC_VERSION.split('.').next() {
            return Ok(());
        }
        Err(Error::IncompatibleServer { served: served.to_owned(), understood: SPEC_VERSION.to_owned() })
    }
}
