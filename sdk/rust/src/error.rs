use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::wire::RunDetail;

/// What a call of this library can end with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The service answered, and refused. Branch on its `code`.
    Service(Box<ServiceError>),
    /// No answer: not reached, broken off, too late, or unreadable. What became of the call is unknown.
    Connection(String),
    /// A run that was waited for did not succeed. This is the run as it ended.
    RunFailed(Box<RunDetail>),
    /// The service implements another major version of the data model than this library.
    IncompatibleServer {
        /// The `spec_version` of the service.
        served: String,
        /// The one that this library was written for.
        understood: String,
    },
    /// The library refused the arguments or settings itself; nothing was sent.
    InvalidArgument(String),
    /// The output of a run is not what the caller reads it as.
    Output(String),
}

/// A refusal of the service.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServiceError {
    /// The status of HTTP.
    pub status: u16,
    /// Stable and machine-readable: `not_found`, `input_invalid`, `run_terminal`, ...
    pub code: String,
    /// For people.
    pub message: String,
    /// The one parameter at fault, where there is one.
    pub field: Option<String>,
    /// The id of the request, for whoever runs the service.
    pub request_id: Option<String>,
    /// What the service asks to wait before another try.
    pub retry_after: Option<Duration>,
}

const MESSAGE_LIMIT_CHARACTERS: usize = 500;

impl ServiceError {
    /// Whether a later try may help: 429, and the 5xx that say "later". Never another 4xx.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.code != "runs_disabled" && matches!(self.status, 429 | 502 | 503 | 504)
    }

    /// A refusal from the status and the body of an answer, which may be anything.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        Self::from_value(status, serde_json::from_slice(body).ok().as_ref(), &String::from_utf8_lossy(body))
    }

    pub(crate) fn from_value(status: u16, problem: Option<&Value>, text: &str) -> Self {
        let member = |name: &str| problem.and_then(|p| p.get(name)).and_then(Value::as_str).map(str::to_owned);
        let words = || {
            let start: String = text.chars().take(MESSAGE_LIMIT_CHARACTERS).collect();
            if start.is_empty() {
                format!("HTTP {status}")
            } else {
                start
            }
        };
        Self {
            status,
            code: member("code").unwrap_or_else(|| format!("http_{status}")),
            message: member("message").unwrap_or_else(words),
            field: member("field"),
            request_id: None,
            retry_after: None,
        }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ServiceError {}

impl Error {
    /// The refusal of the service, where it is one.
    #[must_use]
    pub fn as_service(&self) -> Option<&ServiceError> {
        match self {
            Self::Service(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether a later try may change it: no answer, 429, and the 5xx that say "later".
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection(_) => true,
            Self::Service(refusal) => refusal.is_retryable(),
            _ => false,
        }
    }

    /// What the service asks to wait; nothing where it asks for none.
    pub(crate) fn asked_wait(&self) -> Duration {
        self.as_service().and_then(|refusal| refusal.retry_after).unwrap_or_default()
    }

    pub(crate) fn not_json(what: &str, cause: &serde_json::Error) -> Self {
        Self::InvalidArgument(format!("{what} is not JSON: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(refusal) => refusal.fmt(formatter),
            Self::Connection(why) | Self::InvalidArgument(why) | Self::Output(why) => formatter.write_str(why),
            Self::RunFailed(run) => {
                let how = if run.status.as_str() == "cancelled" { "was cancelled" } else { "failed" };
                write!(formatter, "run {} {how}", run.run_id)?;
                let Some(error) = &run.error else { return Ok(()) };
                let code = error.code.as_ref().map_or_else(String::new, |code| format!("/{code}"));
                write!(formatter, ": {}{code}: {}", error.class, error.message)
            }
            Self::IncompatibleServer { served, understood } => write!(
                formatter,
                "the service implements spec_version {served}, this library understands {understood}: \
                 use a release of the library for that major version"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<ServiceError> for Error {
    fn from(refusal: ServiceError) -> Self {
        Self::Service(Box::new(refusal))
    }
}
