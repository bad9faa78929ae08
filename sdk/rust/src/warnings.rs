use std::sync::Arc;

use crate::wire::Severity;

/// Where the library says of itself what a person should know: severity and words. Never holds a key or a payload.
pub type LogSink = Arc<dyn Fn(&Severity, &str) + Send + Sync>;

/// Lines on standard error, from `warn` up.
pub(crate) fn standard_error() -> LogSink {
    Arc::new(|severity, message| {
        if matches!(severity, Severity::Warn | Severity::Error | Severity::Fatal) {
            eprintln!("svc: {severity}: {message}");
        }
    })
}
