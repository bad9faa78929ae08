use std::fmt;
use std::time::Duration;

const MESSAGE_LIMIT_CHARACTERS: usize = 8 * 1024;

/// How the body of a step fails.
///
/// Every error of Rust becomes one by `?`, of class `fatal`: the step is not tried again. The others are made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    pub(crate) class: String,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    /// Made of an error that says nothing of classes.
    pub(crate) is_plain: bool,
}

impl StepError {
    /// Fails with a class of your choice, for `on_error` to match. A class that the service keeps for itself is
    /// refused by it, and the step fails as `fatal`.
    pub fn new(class: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { class: class.into(), code: None, message: cut(&message), retry_after: None, is_plain: false }
    }

    /// Tries the step again, within its retry budget.
    pub fn retryable(message: impl fmt::Display) -> Self {
        Self::new("retryable", message)
    }

    /// Tries the step again after a while, and spends no budget.
    pub fn rate_limited(message: impl fmt::Display, retry_after: Duration) -> Self {
        Self::new("rate_limited", message).after(retry_after)
    }

    /// Does not try the step again.
    pub fn fatal(message: impl fmt::Display) -> Self {
        Self::new("fatal", message)
    }

    /// With a code of your choice, for `on_error` to match.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// At least so long until the next try.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

/// A message within its limit.
pub(crate) fn cut(message: &impl fmt::Display) -> String {
    message.to_string().chars().take(MESSAGE_LIMIT_CHARACTERS).collect()
}

// It is no `std::error::Error` itself, so that all of those become one.
impl<E: std::error::Error> From<E> for StepError {
    fn from(error: E) -> Self {
        Self { is_plain: true, ..Self::fatal(error) }
    }
}

/// Why the work of a body is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interruption {
    /// Another worker has the step, or another lease ended this one.
    Fenced,
    /// The run ended, by a cancel above all.
    RunTerminal,
    /// This worker stops, and the time that it gives its bodies is over.
    Stopping,
}

impl Interruption {
    /// `fenced`, `run_terminal` or `stopping`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fenced => "fenced",
            Self::RunTerminal => "run_terminal",
            Self::Stopping => "stopping",
        }
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Fenced => "the step is no longer held by this worker",
            Self::RunTerminal => "the run has ended",
            Self::Stopping => "the worker is stopping",
        })
    }
}

impl std::error::Error for Interruption {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_rust_becomes_fatal_with_its_message() {
        let fail = || -> Result<(), StepError> { Err(std::io::Error::other("the bank is closed"))? };
        let error = fail().unwrap_err();
        assert_eq!(
            (error.class.as_str(), error.message.as_str(), error.is_plain),
            ("fatal", "the bank is closed", true)
        );
    }

    #[test]
    fn a_message_is_cut_at_its_limit_between_characters() {
        assert_eq!(
            StepError::fatal("ü".repeat(MESSAGE_LIMIT_CHARACTERS)).message.chars().count(),
            MESSAGE_LIMIT_CHARACTERS
        );
        assert_eq!(
            StepError::fatal("ü".repeat(MESSAGE_LIMIT_CHARACTERS + 1)).message.chars().count(),
            MESSAGE_LIMIT_CHARACTERS
        );
    }
}
