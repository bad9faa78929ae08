use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::cancellation::CancellationToken;
use crate::error::Error;
use crate::random;

/// How often a call is tried, and how it waits in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, the first included; `None` for no bound.
    pub attempts: Option<u32>,
    /// The wait before the second try is random between nothing and this; it doubles with each try.
    pub base: Duration,
    /// No wait is longer, unless the service asks for it.
    pub max: Duration,
    /// No try begins later than this after the first.
    pub within: Option<Duration>,
}

impl RetryPolicy {
    /// Five tries, with waits from 200 ms to 10 s: what a caller has the patience for.
    pub const CALLER: Self =
        Self { attempts: Some(5), base: Duration::from_millis(200), max: Duration::from_secs(10), within: None };
    /// Eight tries, with waits from 500 ms to 30 s: what signals are sent with.
    pub const EXPORT: Self =
        Self { attempts: Some(8), base: Duration::from_millis(500), max: Duration::from_secs(30), within: None };
    /// For what must arrive: it ends by an answer, or by who asked for it.
    pub(crate) const UNTIL_ANSWERED: Self =
        Self { attempts: None, base: Duration::from_millis(200), max: Duration::from_secs(5), within: None };

    /// The same, and no try later than this after the first.
    #[must_use]
    pub const fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    pub(crate) fn forever(self) -> Self {
        Self { attempts: None, ..self }
    }

    /// Full jitter: between nothing and the exponential step, so that many callers do not come back at once.
    pub(crate) fn backoff(&self, attempt: u32, fraction: f64) -> Duration {
        let step = self.base.saturating_mul(1_u32 << attempt.saturating_sub(1).min(30));
        step.min(self.max).mul_f64(fraction)
    }

    pub(crate) fn wait_after(&self, attempt: u32) -> Duration {
        self.backoff(attempt, random::fraction())
    }
}

/// Calls until it succeeds, until it fails for good, or until the policy or the token ends it; the token ends the
/// waiting between tries, never a call on its way. Fails with the last error.
pub(crate) async fn with_retries<T, F, Fut>(
    policy: RetryPolicy,
    stop: Option<&CancellationToken>,
    mut call: F,
) -> Result<T, Error>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, Error>>,
{
    let started = Instant::now();
    let mut attempt = 0;
    loop {
        attempt += 1;
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let spent = policy.attempts.is_some_and(|most| attempt >= most);
        if spent || !error.is_retryable() || stop.is_some_and(CancellationToken::is_cancelled) {
            return Err(error);
        }
        let wait = error.asked_wait().max(policy.wait_after(attempt));
        if policy.within.is_some_and(|within| started.elapsed() + wait > within) {
            return Err(error);
        }
        match stop {
            None => tokio::time::sleep(wait).await,
            Some(stop) => {
                if tokio::time::timeout(wait, stop.cancelled()).await.is_ok() {
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ServiceError;
    use crate::vectors;
    use std::cell::Cell;

    #[test]
    fn waits_are_within_the_bounds_of_the_vectors() {
        for case in vectors::cases("backoff") {
            let millis = |name: &str| Duration::from_millis(case[name].as_u64().unwrap());
            let policy = RetryPolicy { attempts: None, base: millis("base_ms"), max: millis("max_ms"), within: None };
            let attempt = u32::try_from(case["attempt"].as_u64().unwrap()).unwrap();
            assert_eq!(policy.backoff(attempt, 0.0), millis("least_ms"), "{case}");
            assert_eq!(policy.backoff(attempt, 1.0), millis("most_ms"), "{case}");
            assert!(policy.wait_after(attempt) <= millis("most_ms"), "{case}");
        }
    }

    /// How often a call is made that fails so.
    fn tries(error: &Error, attempts: u32) -> u32 {
        let policy = RetryPolicy { attempts: Some(attempts), base: Duration::ZERO, max: Duration::ZERO, within: None };
        let made = Cell::new(0);
        let call = || {
            made.set(made.get() + 1);
            std::future::ready(Err::<(), Error>(error.clone()))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert!(runtime.block_on(with_retries(policy, None, call)).is_err());
        made.get()
    }

    #[test]
    fn what_may_work_later_is_tried_again_and_nothing_else() {
        let refusal = |status, code: &str| {
            let problem = serde_json::json!({ "code": code });
            Error::from(ServiceError::from_value(status, Some(&problem), ""))
        };
        for error in [Error::Connection(String::new()), refusal(429, "overloaded"), refusal(503, "store_unavailable")] {
            assert_eq!(tries(&error, 3), 3, "{error:?}");
        }
        for error in [refusal(404, "not_found"), refusal(500, "internal"), refusal(503, "runs_disabled")] {
            assert_eq!(tries(&error, 3), 1, "{error:?}");
        }
    }
}
