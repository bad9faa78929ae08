from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ._errors import ConnectionFailed, ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._signal import Signal

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is tried, and how it waits in between. Times are seconds."""

    attempts: int | None = 5
    """Tries in all, the first included; `None` for no bound."""
    base: float = 0.2
    max: float = 10.0
    within: float | None = None
    """No try begins later than this after the first."""


UNTIL_ANSWERED = RetryPolicy(attempts=None, base=0.2, max=5.0)
"""For what must arrive: it ends by an answer, or by its signal."""
ONCE = RetryPolicy(attempts=1)


def backoff(policy: RetryPolicy, attempt: int, rand: Callable[[], float] = random.random) -> float:
    """Full jitter: seconds between nothing and the exponential step, so that many callers do not come back at once."""
    return rand() * min(policy.max, policy.base * 2.0 ** min(attempt - 1, 30))


def is_retryable(error: BaseException) -> bool:
    """Whether a later try may change it: no answer, 429, and the 5xx that say "later". Never another 4xx."""
    return isinstance(error, ConnectionFailed) or (isinstance(error, ServiceError) and error.retryable)


def asked_wait(error: BaseException) -> float:
    """Seconds that the service asked to wait; 0 where it asked for none."""
    if isinstance(error, ServiceError) and error.retry_after_ms is not None:
        return error.retry_after_ms / 1000
    return 0.0


def with_retries(policy: RetryPolicy, call: Callable[[], T], signal: Signal | None = None) -> T:
    """Calls until it succeeds, until it fails for good, or until the policy or the signal ends it.

    Raises the last error; when the signal fires during a wait, the error before it.
    """
    started = time.monotonic()
    attempt = 0
    while True:
        attempt += 1
        try:
            return call()
        except (ConnectionFailed, ServiceError) as error:
            spent = policy.attempts is not None and attempt >= policy.attempts
            if spent or not is_retryable(error) or (signal is not None and signal.fired):
                raise
            wait = max(asked_wait(error), backoff(policy, attempt))
            if policy.within is not None and time.monotonic() - started + wait > policy.within:
                raise
            if signal is None:
                time.sleep(wait)
            elif signal.wait(wait):
                raise
